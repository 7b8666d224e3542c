"""The module ``checkout`` on this machine: what it writes, what it leaves alone, and archives that it refuses."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.private_hosts import PrivateHosts, missing

pytestmark = [pytest.mark.ansible, pytest.mark.skipif(missing() is not None, reason=f"needs {missing()}")]

FILES = {
    "nf/validate": "#!/bin/sh\n",
    "nf/pyproject.toml": "",
    "nf/checks/new_check.py": "new",
    "nf/checks/old_check.py": "old",
    "nf/checks/README": "-> ../validate",
}


def archive(path: Path, files: Mapping[str, str]) -> str:
    """A tar archive of these files (``-> target``: a link); its path."""
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            if text.startswith("-> "):
                member.type, member.linkname, text = tarfile.SYMTYPE, text[3:], ""
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return str(path)


def play(folder: Path, *steps: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Play ``checkout`` with each step's options, or a shell command; what each said."""
    tasks = [
        {**({"ansible.builtin.shell": step["run"]} if "run" in step else {"nearfar.validation.checkout": dict(step)}),
         "register": f"step{number}", "ignore_errors": True}
        for number, step in enumerate(steps)
    ]  # fmt: skip
    said = {"content": "{{ [" + ", ".join(f"step{number}" for number in range(len(steps))) + "] | to_json }}"}
    last = {"ansible.builtin.copy": {"dest": str(folder / "said.json"), "mode": "0644", **said}}
    book = folder / "book.yml"
    book.write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": [*tasks, last]}]))
    with PrivateHosts([]) as hosts:
        here = "localhost ansible_connection=local\n"
        done = hosts.play(book, inventory=hosts.inventory(more=here))
    assert done.returncode == 0, done.stdout
    return list(json.loads((folder / "said.json").read_text()))


def test_it_writes_what_differs_and_removes_what_an_earlier_archive_had(tmp_path: Path) -> None:
    dest = tmp_path / "nearfar"
    first = {"dest": str(dest), "digest": "a" * 64, "archive": archive(tmp_path / "first.tar", FILES)}
    fewer = {name: text for name, text in FILES.items() if "old" not in name}
    second = {"dest": str(dest), "digest": "b" * 64, "archive": archive(tmp_path / "second.tar", fewer)}
    edit = {"run": f"echo '# mine' >>{dest}/checks/new_check.py; touch {dest}/checks/my_check.py"}
    new, same, _, seen, fixed, without = play(
        tmp_path, first, first, edit, {"dest": str(dest), "digest": "a" * 64}, first, second
    )  # fmt: skip
    assert new["changed"] and len(new["written"]) == 5 and not new["current"]
    assert not same["changed"] and same["current"]
    assert not seen["changed"] and not seen["current"]
    assert fixed["written"] == ["checks/new_check.py"] and fixed["removed"] == []
    assert without["written"] == [] and without["removed"] == ["checks/old_check.py"] and without["changed"]
    assert sorted(path.name for path in (dest / "checks").iterdir()) == ["README", "my_check.py", "new_check.py"]


def test_what_it_refuses_is_one_line_and_nothing_is_written(tmp_path: Path) -> None:
    dest = tmp_path / "nearfar"
    whole = archive(tmp_path / "whole.tar", FILES)
    damaged = tmp_path / "damaged.tar"
    damaged.write_bytes(Path(whole).read_bytes()[:60])
    (tmp_path / "clone" / ".git").mkdir(parents=True)
    order = {"dest": str(dest), "digest": "a" * 64, "archive": whole}
    refused = play(
        tmp_path,
        {**order, "archive": archive(tmp_path / "other.tar", {"nf/README": ""})},
        {**order, "archive": archive(tmp_path / "leads.tar", {**FILES, "nf/../../etc/passwd": ""})},
        {**order, "archive": archive(tmp_path / "link.tar", {**FILES, "nf/link": "-> ../etc"})},
        {**order, "archive": str(damaged)},
        {**order, "space": 1 << 30},
        {**order, "dest": str(tmp_path / "clone")},
        {**order, "dest": "/"},
    )
    expected = (
        "not an archive of nearfar's checkout", "leads out of the checkout", "link: a link that leads out", "the archive cannot be used",
        "MB needed: make room, or set nearfar_checkout to another place", "a git clone, which is its owner's",
        "not a directory for a checkout",
    )  # fmt: skip
    for step, words in zip(refused, expected, strict=True):
        assert step["failed"] and words in step["msg"] and "\n" not in step["msg"]
    assert not dest.exists()
