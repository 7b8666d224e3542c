"""The roles on hosts that are reached by a real SSH: what they change, what a second run changes, and bad input."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.private_hosts import PrivateHosts, missing
from tests.support.private_slurm import PrivateSlurm
from tests.support.private_slurm import missing as no_slurm

from .conftest import ready_made

pytestmark = [pytest.mark.ansible, pytest.mark.skipif(missing() is not None, reason=f"needs {missing()}")]

#: What hosts have before a role comes: n2 another version, n3 little room and a user without sudo.
_N2 = """mkdir -p opt/nearfar/.venv/bin
printf '#!/bin/sh\\necho nearfar 0.0.9\\n' >opt/nearfar/.venv/bin/nearfar
chmod +x opt/nearfar/.venv/bin/nearfar"""
_N3 = "mkdir -p opt; mount -t tmpfs -o size=20m none opt; echo plain:x:2000:2000::/tmp:/bin/sh >>etc/passwd"
_SYSTEM = {"system": "mine", "hosts": ["n[1-9]"], "partitions": [{"name": "nodes", "features": []}]}


class Site:
    """The hosts, and plays on them."""

    def __init__(self, hosts: PrivateHosts, slurm: PrivateSlurm | None) -> None:
        self.hosts, self.slurm = hosts, slurm
        port = hosts.ports["n1"]
        # a1, a2: n1 by other names; away: no machine.
        self.more = "".join(f"a{n} ansible_host=127.0.0.1 ansible_port={port}\n" for n in (1, 2))
        self.more += "away ansible_host=127.0.0.1 ansible_port=1\n"

    def play(self, book: str | Path, *words: str, code: int = 0, **variables: Any) -> str:
        """Play a playbook; what Ansible said."""
        given = {
            "nearfar_space_mb": 50, "nearfar_packages": False, "nearfar_minutes": 5,
            "nearfar_gather_into": str(self.hosts.folder / "gathered"), **variables,
        }  # fmt: skip
        done = self.hosts.play(
            book, "-e", json.dumps(given), *words, inventory=self.hosts.inventory(more=self.more)
        )  # fmt: skip
        assert done.returncode == code, done.stdout
        return done.stdout

    def roles(self, names: str, *roles: str, words: tuple[str, ...] = (), code: int = 0, **variables: Any) -> str:
        """Play roles one after another."""
        tasks = [
            {"ansible.builtin.include_role": {"name": "nearfar.validation.nearfar", "tasks_from": role}}
            for role in roles
        ]
        book = self.hosts.folder / "book.yml"
        book.write_text(yaml.safe_dump([{"hosts": names, "gather_facts": False, "tasks": tasks}]))
        return self.play(book, *words, code=code, **variables)

    def packed(self) -> None:
        """Have nearfar on n1."""
        if self.hosts.on("n1", "ls /opt/nearfar/.nearfar-pack.json").returncode:
            self.roles("n1", "pack")


def changed(said: str) -> dict[str, int]:
    """How many changes each host had, from the recap."""
    return {name: int(count) for name, count in re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+)", said, re.M)}


def errors(said: str) -> dict[str, str]:
    """The last message with which each host failed."""
    found = re.findall(r"^fatal: \[([^\] ]+)[^\]]*\]: FAILED! => (\{.*\})$", said, re.M)
    return {name: json.loads(words)["msg"] for name, words in found}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    before = {"n1": ready_made(), "n2": _N2, "n3": _N3}
    slurm = None if no_slurm() else PrivateSlurm(cpus=1, gpus=0, nodes=1)
    if slurm is not None:
        slurm.__enter__()
        before["n1"] += f"mkdir -p .{slurm.folder}; mount --rbind {slurm.folder} .{slurm.folder}\n"
    try:
        with PrivateHosts(list(before), before=before) as hosts:
            yield Site(hosts, slurm)
    finally:
        if slurm is not None:
            slurm.__exit__()


def test_check_says_what_pack_would_do_and_does_nothing(site: Site) -> None:
    said = site.roles("n1", "pack", words=("--check", "--diff"))
    assert "+nearfar/cli.py" in said and changed(said)["n1"] > 0
    assert site.hosts.on("n1", "ls -A /opt/nearfar").stdout.split() == [".venv", "build"]


def test_from_bare_machines_to_a_page_in_one_play(site: Site) -> None:
    said = site.play(
        "nearfar.validation.bare_to_verdict", code=2, nearfar_hosts="n1:n3:away", nearfar_systems={"mine": _SYSTEM},
        nearfar_site_folder="/etc/nearfar/site", nearfar_options=["--check", "topology_check"],
    )  # fmt: skip
    newest = max((site.hosts.folder / "gathered").iterdir())
    report = json.loads((newest / "hosts-report.json").read_text())
    assert (newest / "index.html").read_text().count("<h1>Hosts") == 1 and str(newest / "index.html") in said
    hosts = {host["host"]: host for host in report["hosts"]}
    assert report["verdict"] == "INDETERMINATE" and sorted(hosts) == ["away", "n1", "n3"]
    assert hosts["n1"]["checks"] == {"topology_check": "INDETERMINATE"}, hosts["n1"]
    assert "/etc/nearfar/site/systems/mine.yaml does not describe what" in hosts["n1"]["reason"], (
        "judged by the site's file"
    )
    assert (newest / "nodes/n1/index.html").exists()
    assert yaml.safe_load(site.hosts.on("n1", "cat /etc/nearfar/site/systems/mine.yaml").stdout) == _SYSTEM
    assert site.hosts.on("n1", "ls /opt/nearfar/reports/gathered").stdout == "", "nothing is left on the host"
    assert "it cannot be reached" in hosts["away"]["reason"] and "Connection refused" in hosts["away"]["reason"]
    full = r"/opt/nearfar: [12]\d MB free, [567]\d MB needed: make room, or set nearfar_checkout to another place"
    assert re.fullmatch(full, hosts["n3"]["reason"])
    for name, host in hosts.items():
        assert errors(said)[name] == f"INDETERMINATE: {host['reason']}"


def test_a_second_run_puts_right_what_was_edited_and_a_third_changes_nothing(site: Site) -> None:
    site.packed()
    site.hosts.on("n1", "echo '# mine' >>/opt/nearfar/nearfar/cli.py; touch /opt/nearfar/reports/note")
    assert changed(site.roles("n1", "pack")) == {"n1": 1}
    assert "mine" not in site.hosts.on("n1", "tail -n 1 /opt/nearfar/nearfar/cli.py").stdout
    assert site.hosts.on("n1", "rm /opt/nearfar/reports/note").returncode == 0, "what runs left stays"
    assert changed(site.roles("n1", "pack")) == {"n1": 0}


def test_what_keeps_pack_from_a_host_is_one_line(site: Site) -> None:
    said = site.roles("n1", "pack", code=2, nearfar_archive="/none.tar")
    assert errors(said)["n1"] == "nearfar_archive /none.tar: no such file on the machine that runs Ansible"
    said = site.roles("n3", "pack", words=("-e", "ansible_user=plain"), code=2)
    assert re.search(r"cannot become root here \(.*sudo.*\): allow it with sudo", errors(said)["n3"])
    assert "value of nearfar_cuda must be one of" in site.roles("n1", "pack", code=2, nearfar_cuda="cuda")


def test_nothing_lands_that_lint_complains_of(site: Site) -> None:
    site.packed()
    place: dict[str, Any] = {"nearfar_site_folder": "/etc/nearfar/other"}
    said = site.roles("n1", "site", code=2, nearfar_systems={"mine": {**_SYSTEM, "partition": []}}, **place)
    assert "nothing was written: systems/mine.yaml:" in errors(said)["n1"]
    assert site.hosts.on("n1", "ls /etc/nearfar/other").returncode != 0
    shown = changed(site.roles("n1", "site", words=("--check", "--diff"), nearfar_systems={"mine": _SYSTEM}, **place))
    assert shown["n1"] > 0 and site.hosts.on("n1", "ls /etc/nearfar/other").returncode != 0


def test_one_machine_by_two_names_and_another_version_are_told(site: Site) -> None:
    site.packed()
    said = errors(site.roles("n1:a1:n2", "validate", code=2))
    for name in ("n1", "a1"):
        assert said[name] == "INDETERMINATE: a1 and n1 are one machine, n1: name it once"
    assert re.match(
        r"INDETERMINATE: it has nearfar 0\.0\.9, and others have \S+ \(archive [0-9a-f]{12}\): run tasks_from: pack on it$", said["n2"]
    )  # fmt: skip


@pytest.mark.slurm
def test_slurm_installs_what_install_shows_and_undo_takes_all_away(site: Site) -> None:
    if site.slurm is None:
        pytest.skip(f"{no_slurm()} is not installed")
    site.packed()
    order: dict[str, Any] = {
        "nearfar_slurm_partition": "all", "nearfar_slurm_results": "/srv/nearfar", "nearfar_slurm_start_timers": False,
        "nearfar_slurm_conf": str(site.slurm.folder / "commands.conf"), "nearfar_slurm_health_output": "/srv/health",
    }  # fmt: skip
    said = site.roles("n1", "slurm", **order)
    assert changed(said) == {"n1": 3}, "the user, the directories, and the files"
    assert "Prolog=/etc/nearfar/prolog (now: not set)" in said
    owners = site.hosts.on("n1", "stat -c '%U %a' /srv/nearfar /etc/nearfar/health-check").stdout.split("\n")
    assert owners[:2] == ["nearfar 755", "root 755"]
    assert changed(site.roles("n1", "slurm", **order)) == {"n1": 0}
    site.hosts.on("n1", "chmod 700 /etc/nearfar/act; echo '#' >>/etc/nearfar/epilog")
    said = site.roles("n1", "slurm", words=("--check", "--diff"), **order)
    assert changed(said) == {"n1": 1} and "/etc/nearfar/act: mode 0755" in said
    assert "-#" in said, "what was edited is shown"
    assert changed(site.roles("n1", "slurm", **order)) == {"n1": 1}

    assert changed(site.play("nearfar.validation.undo", nearfar_hosts="n1"))["n1"] >= 2
    left = site.hosts.on(
        "n1", "ls -d /etc/nearfar/* /etc/systemd/system/nearfar-* /opt/nearfar/*; find /srv/nearfar -maxdepth 0"
    )
    assert set(left.stdout.split()) <= {"/srv/nearfar", "/etc/nearfar/site", "/opt/nearfar/reports"}, (
        "runs and history stay"
    )
    assert changed(site.roles("n1", "undo")) == {"n1": 0}


def test_undo_keeps_what_nobody_brought_or_somebody_changed(site: Site) -> None:
    site.hosts.on("n1", "rm -rf /etc/nearfar/site /opt/nearfar/reports")
    site.packed()
    place = {"nearfar_site_folder": "/etc/nearfar/site"}
    site.roles(
        "n1",
        "site",
        nearfar_systems={"mine": _SYSTEM, "other": {**_SYSTEM, "system": "other", "hosts": ["x1"]}},
        **place,
    )
    site.hosts.on(
        "n1",
        "mkdir -p /etc/nearfar/site/references /opt/nearfar/reports/mine/1; echo {} >/opt/nearfar/reports/mine/1/run.json\n"
        "echo '# tuned' >/etc/nearfar/site/references/mine.yaml; echo '# ours' >>/etc/nearfar/site/systems/other.yaml\n"
        "echo '# edited' >>/opt/nearfar/site/gpus/a10.yaml",
    )
    said = site.play("nearfar.validation.undo", nearfar_hosts="n1", **place)
    assert (
        "/etc/nearfar/site: left alone, since nobody brought it or somebody changed it: references/mine.yaml, systems/other.yaml"
        in said
    )
    assert "it: reports/mine, site/gpus" in said
    left = site.hosts.on("n1", "find /etc/nearfar/site /opt/nearfar -type f").stdout.split()
    assert sorted(left) == [
        "/etc/nearfar/site/references/mine.yaml", "/etc/nearfar/site/systems/other.yaml", "/opt/nearfar/reports/mine/1/run.json",
        "/opt/nearfar/site/gpus/a10.yaml",
    ]  # fmt: skip
    site.hosts.on("n1", "rm -rf /opt/nearfar /etc/nearfar/site")


def test_undo_leaves_a_checkout_of_somebody_else_alone(site: Site) -> None:
    said = site.roles("n2", "undo", code=2)
    assert errors(said)["n2"] == "/opt/nearfar: the role has not brought this; left alone"
