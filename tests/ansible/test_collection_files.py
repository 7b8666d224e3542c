"""The collection's files: what its variables say stands in one place, and ansible-lint has nothing against them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from nearfar import __version__
from tests.support.private_hosts import ansible

CHECKOUT = Path(__file__).resolve().parents[2]
ROLE = CHECKOUT / "ansible/roles/nearfar"


def load(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text()))


def test_packages_are_those_of_validate() -> None:
    text = (CHECKOUT / "setup/common.sh").read_text()
    tables = [re.search(rf"^{name}=['\"]\n(.*?)^['\"]", text, re.M | re.S) for name in ("NEEDS", "WANTED")]
    lines = [line.split("|") for table in tables if table for line in table[1].splitlines()]
    known = load(ROLE / "vars/main.yml")["nearfar_table"]
    for family, column in (("debian", 2), ("redhat", 3), ("suse", 4)):
        assert known[family] == [package for line in lines for package in line[column].split()]


def test_the_collection_has_the_version_of_the_checkout() -> None:
    assert load(CHECKOUT / "ansible/galaxy.yml")["version"] == __version__


def test_each_variable_has_a_type_and_words_and_a_default_where_one_is_said() -> None:
    entries = load(ROLE / "meta/argument_specs.yml")["argument_specs"]
    assert sorted(entries) == sorted(path.stem for path in (ROLE / "tasks").glob("*.yml"))
    defaults = load(ROLE / "defaults/main.yml")
    options = {name: option for entry in entries.values() for name, option in entry["options"].items()}
    for name, option in options.items():
        assert option["type"] and option["description"].endswith("."), name
        assert (name in defaults) != bool(option.get("required")), name
        if "default" in option:
            assert defaults[name] == option["default"], name
    assert set(defaults) <= set(options)
    tasks = "".join(path.read_text() for path in [*(ROLE / "tasks").rglob("*.yml"), ROLE / "vars/main.yml"])
    assert [name for name in options if name not in tasks and name not in str(defaults)] == [], (
        "variables that nothing reads"
    )


def names(tasks: list[dict[str, Any]]) -> tuple[set[str], set[str]]:
    """What tasks note for all of the play (``register``, ``set_fact``), and what they say for themselves alone (``vars``)."""
    noted: set[str] = set()
    said: set[str] = set()
    for task in tasks:
        noted |= {task["register"]} if "register" in task else set()
        noted |= set(task.get("ansible.builtin.set_fact", {}))
        said |= set(task.get("vars", {}))
        for part in ("block", "rescue", "always"):
            inner = names(task.get(part, []))
            noted, said = noted | inner[0], said | inner[1]
    return noted, said


def test_what_is_noted_stands_in_no_variables_way() -> None:
    """What tasks of a play have noted goes before the ``vars`` and defaults of those after them."""
    files = {path: names(yaml.safe_load(path.read_text())) for path in (ROLE / "tasks").rglob("*.yml")}
    given = [load(ROLE / folder / "main.yml") for folder in ("defaults", "vars")]
    own = set().union(*(said for _, said in files.values()), *given)
    assert {str(path): clash for path, (noted, _) in files.items() if (clash := noted & own)} == {}


@pytest.mark.ansible
def test_ansible_lint_is_content(tmp_path: Path) -> None:
    tools = ansible()
    if tools is None or not (tools / "ansible-lint").exists():
        pytest.skip("no ansible-lint: setup/ansible_for_tests")
    place = tmp_path / "collections/ansible_collections/nearfar"
    place.mkdir(parents=True)
    (place / "validation").symlink_to(CHECKOUT / "ansible")
    environment = {
        **os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections"),
        "ANSIBLE_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path),
    }  # fmt: skip
    done = subprocess.run(
        [tools / "ansible-lint", "--nocolor", "--offline", "-q"], cwd=place / "validation", env=environment, capture_output=True,
        text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
