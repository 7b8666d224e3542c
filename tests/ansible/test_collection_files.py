"""The collection's files: what its variables say stands in one place, and ansible-lint has nothing against them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
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


@pytest.fixture
def tool(tmp_path: Path) -> Callable[..., str]:
    """Runs one of Ansible's programs in the collection, as it is installed; returns what it prints."""
    tools = ansible()
    if tools is None or not (tools / "ansible-lint").exists():
        pytest.skip("no ansible-lint: setup/ansible_for_tests")
    place = tmp_path / "collections/ansible_collections/nearfar"
    place.mkdir(parents=True)
    (place / "validation").symlink_to(CHECKOUT / "ansible")
    environment = {
        **os.environ, "PATH": f"{tmp_path}/bin:{tools}:{os.environ['PATH']}", "ANSIBLE_HOME": str(tmp_path),
        "ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections"), "XDG_CACHE_HOME": str(tmp_path),
    }  # fmt: skip

    def run(name: str, *words: str | Path) -> str:
        done = subprocess.run(
            [tools / name, *words],
            cwd=place / "validation",
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.ansible
def test_ansible_lint_is_content(tool: Callable[..., str]) -> None:
    tool("ansible-lint", "--nocolor", "--offline", "-q")


@pytest.mark.ansible
def test_each_family_installs_its_packages(tool: Callable[..., str], tmp_path: Path) -> None:
    """``dnf`` and ``zypper`` are stand-ins that keep their arguments."""
    hosts = {
        "rhel9": ("RedHat", "RedHat", "9", "dnf", "--enablerepo=codeready-builder-for-rhel-9-x86_64-rpms"),
        "rocky8": ("RedHat", "Rocky", "8", "dnf", "--enablerepo=powertools"),
        "alma10": ("RedHat", "AlmaLinux", "10", "dnf", "--enablerepo=crb"),
        "fedora": ("RedHat", "Fedora", "42", "dnf", "install"),
        "sles15": ("Suse", "SLES", "15", "zypper", "--no-recommends"),
    }
    (tmp_path / "bin").mkdir()
    for program in ("dnf", "zypper"):
        (tmp_path / "bin" / program).write_text(f'#!/bin/sh\necho {program} "$@"\necho Nothing to do.\n')
        (tmp_path / "bin" / program).chmod(0o755)
    plays = [
        {"hosts": name, "connection": "local", "gather_facts": False, "tasks": [
            {"ansible.builtin.set_fact": {
                "ansible_os_family": family, "ansible_distribution": distribution, "ansible_architecture": "x86_64",
                "ansible_distribution_major_version": release, "cacheable": True,
            }},
            {"ansible.builtin.include_role": {"name": "nearfar.validation.nearfar", "tasks_from": "pack/packages"}},
            {"ansible.builtin.debug": {"msg": "{{ (nearfar_" + program + ").stdout_lines[0] }}"}},
        ]}
        for name, (family, distribution, release, program, _) in hosts.items()
    ]  # fmt: skip
    (tmp_path / "book.yml").write_text(yaml.safe_dump(plays))
    python = f"ansible_python_interpreter={sys.executable}"
    said = tool("ansible-playbook", "-i", f"{','.join(hosts)},", "-e", python, tmp_path / "book.yml")
    calls = dict(re.findall(r'^ok: \[(\w+)\] => \{\s+"msg": "(.*)"', said, re.M))
    packages = load(ROLE / "vars/main.yml")["nearfar_table"]
    for name, (family, _, _, program, option) in hosts.items():
        words = calls[name].split()
        assert words[0] == program and "install" in words and option in words, calls[name]
        assert words[-len(packages[family.lower()]) :] == packages[family.lower()]
    assert "--enablerepo" not in calls["fedora"] and "changed=0" in said and "changed=1" not in said
