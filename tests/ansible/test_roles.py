"""The roles on hosts that are reached by a real SSH: what they change, what a second run changes, and bad input."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.private_hosts import PrivateHosts, missing
from tests.support.private_slurm import PrivateSlurm
from tests.support.private_slurm import missing as no_slurm

from .conftest import ready_made

pytestmark = [pytest.mark.ansible, pytest.mark.skipif(missing() is not None, reason=f"needs {missing()}")]

#: n3 has little room in /opt; n1 and n2 have Slurm's files.
NAMES = ("n1", "n2", "n3")
SYSTEM = {
    "system": "mine", "hosts": ["n[0-9]+"],
    "partitions": [{"name": "nodes", "features": []}],
}  # fmt: skip


class Site:
    """The hosts, and plays of single roles on them."""

    def __init__(self, hosts: PrivateHosts, slurm: PrivateSlurm | None) -> None:
        self.hosts, self.slurm = hosts, slurm

    def role(self, role: str, names: str, *words: str, code: int = 0, **variables: Any) -> str:
        """Play a role; what Ansible said."""
        tasks = [{"ansible.builtin.include_role": {"name": f"nearfar.validation.{role}"}}]
        play = [{"hosts": names, "gather_facts": False, "tasks": tasks}]
        book = self.hosts.folder / f"{role}.yml"
        book.write_text(yaml.safe_dump(play))
        given = {
            "nearfar_space_mb": 50,
            "nearfar_packages": False,
            "nearfar_gather_into": str(self.hosts.folder / "gathered"),
            **variables,
        }
        done = self.hosts.play(book, "-e", json.dumps(given), *words)
        assert done.returncode == code, done.stdout
        return done.stdout

    def packed(self) -> None:
        """Have nearfar on n1 and n2."""
        if any(self.hosts.on(name, "ls /opt/nearfar/.nearfar-pack.json").returncode for name in ("n1", "n2")):
            self.role("pack", "n1:n2")


def changed(said: str) -> dict[str, int]:
    """How many changes each host had, from the recap."""
    return {name: int(count) for name, count in re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+)", said, re.M)}


def errors(said: str) -> dict[str, str]:
    """The last message with which each host failed."""
    return dict(re.findall(r'^fatal: \[([^\] ]+)[^\]]*\]: FAILED! => .*?"msg": "(.*)"\}$', said, re.M))


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = ready_made()
    before = dict.fromkeys(("n1", "n2"), made)
    before["n3"] = (
        "mkdir -p opt; mount -t tmpfs -o size=20m none opt; echo plain:x:2000:2000::/tmp:/bin/sh >>etc/passwd"
    )
    slurm = None if no_slurm() else PrivateSlurm(cpus=1, gpus=0, nodes=1)
    if slurm is not None:
        slurm.__enter__()
        before["n1"] += f"mkdir -p .{slurm.folder}; mount --rbind {slurm.folder} .{slurm.folder}\n"
    try:
        with PrivateHosts(NAMES, before=before) as hosts:
            yield Site(hosts, slurm)
    finally:
        if slurm is not None:
            slurm.__exit__()


def test_pack_says_what_it_would_do_does_it_and_then_nothing(site: Site) -> None:
    before = site.role("pack", "n1:n2", "--check", "--diff")
    assert "+nearfar/cli.py" in before and all(changed(before).values())
    assert site.hosts.on("n1", "ls -A /opt/nearfar").stdout.split() == [".venv", "build"], "nothing was written"
    assert all(changed(site.role("pack", "n1:n2")).values())
    assert site.hosts.on("n1", "/opt/nearfar/.venv/bin/nearfar --version").stdout.startswith("nearfar ")
    assert changed(site.role("pack", "n1:n2")) == {"n1": 0, "n2": 0}
    # Somebody edits a file, and leaves one of his own.
    site.hosts.on("n1", "echo '# mine' >>/opt/nearfar/nearfar/cli.py; touch /opt/nearfar/reports/note")
    said = site.role("pack", "n1:n2", "--check", "--diff")
    assert changed(said) == {"n1": 1, "n2": 0} and re.findall(r"^[+-](\w.*)$", said, re.M) in ([], ["nearfar/cli.py"])
    assert changed(site.role("pack", "n1:n2")) == {"n1": 1, "n2": 0}
    assert (
        "mine"
        not in site.hosts.on("n1", "tail -n 1 /opt/nearfar/nearfar/cli.py; ls /opt/nearfar/reports/note").stdout.split()
    )


def test_a_file_that_an_archive_no_longer_has_goes(site: Site) -> None:
    site.packed()
    site.hosts.on("n2", "cp /opt/nearfar/.nearfar-pack.json /tmp/kept")
    site.hosts.on(
        "n2",
        'cd /opt/nearfar && touch checks/old_check.py && sed -i \'s/"digest": "[0-9a-f]*/"digest": "0123456789abcdef/; '
        's/"files": {/"files": {"checks\\/old_check.py": ["0644", "x"],/\' .nearfar-pack.json',
    )
    assert changed(site.role("pack", "n2")) == {"n2": 1}
    assert site.hosts.on("n2", "ls /opt/nearfar/checks/old_check.py").returncode != 0
    assert site.hosts.on("n2", "cmp /tmp/kept /opt/nearfar/.nearfar-pack.json").returncode == 0


def test_what_keeps_pack_from_a_host_is_one_line(site: Site, tmp_path: Path) -> None:
    said = site.role("pack", "n3", code=2, nearfar_space_mb=1000)
    assert re.fullmatch(
        r".*/opt/nearfar: [0-9]+ MB free, 10\d\d MB needed: make room, or set nearfar_checkout to another place",
        errors(said)["n3"],
    )
    assert (
        "no such file on the machine that runs Ansible"
        in errors(site.role("pack", "n1", code=2, nearfar_archive="/none.tar"))["n1"]
    )
    other = tmp_path / "other.tar"
    subprocess.run(["tar", "-cf", other, "-C", "/etc", "hostname"], check=True)
    assert (
        "not an archive of nearfar's checkout"
        in errors(site.role("pack", "n1", code=2, nearfar_archive=str(other)))["n1"]
    )
    said = site.role("pack", "n3", "-e", "ansible_user=plain", code=2)
    assert re.search(r"cannot become root here \(.*sudo.*\): allow it with sudo", errors(said)["n3"])
    assert "value of nearfar_cuda must be one of" in site.role("pack", "n1", code=2, nearfar_cuda="cuda")


def test_nothing_lands_that_lint_complains_of(site: Site) -> None:
    site.packed()
    wrong = {**SYSTEM, "partition": []}
    said = site.role("site", "n1", code=2, nearfar_systems={"mine": wrong})
    assert "nothing was written: systems/mine.yaml:" in errors(said)["n1"]
    assert site.hosts.on("n1", "ls /etc/nearfar/site").returncode != 0
    said = site.role("site", "n1", "--check", "--diff", nearfar_systems={"mine": SYSTEM})
    assert (
        "+system: mine" in said and changed(said)["n1"] > 0 and site.hosts.on("n1", "ls /etc/nearfar").returncode != 0
    )
    assert changed(site.role("site", "n1", nearfar_systems={"mine": SYSTEM}))["n1"] > 0
    assert yaml.safe_load(site.hosts.on("n1", "cat /etc/nearfar/site/systems/mine.yaml").stdout) == SYSTEM
    assert changed(site.role("site", "n1", nearfar_systems={"mine": SYSTEM})) == {"n1": 0}
    said = site.role("site", "n1", "--check", "--diff", nearfar_systems={"mine": {**SYSTEM, "description": "another"}})
    assert changed(said) == {"n1": 1} and "+description: another" in said


@pytest.mark.slurm
def test_slurm_installs_what_install_shows_and_undo_takes_it_away(site: Site) -> None:
    if site.slurm is None:
        pytest.skip(f"{no_slurm()} is not installed")
    site.packed()
    order = {
        "nearfar_slurm_partition": "all", "nearfar_slurm_results": "/srv/nearfar", "nearfar_slurm_timer": "cron",
        "nearfar_slurm_conf": str(site.slurm.folder / "commands.conf"), "nearfar_slurm_health_output": "/srv/health",
    }  # fmt: skip
    shown = site.role(
        "slurm",
        "n1",
        "--check",
        "--diff",
        **{**order, "nearfar_slurm_make_user": False, "nearfar_slurm_user": "daemon"},
    )
    assert "+++ /etc/nearfar/prolog" in shown and "/srv/nearfar: made" in shown and changed(shown) == {"n1": 1}
    assert site.hosts.on("n1", "ls /srv/nearfar /etc/nearfar/prolog").returncode != 0
    said = site.role("slurm", "n1", **order)
    assert changed(said) == {"n1": 2}, "the user, and the files"
    assert "slurm.conf: Prolog=/etc/nearfar/prolog    # now: not set" in said
    assert site.hosts.on("n1", "stat -c '%U %a' /srv/nearfar /etc/nearfar/health-check").stdout.split("\n")[:2] == [
        "nearfar 755",
        "root 755",
    ]
    assert changed(site.role("slurm", "n1", **order)) == {"n1": 0}
    site.hosts.on("n1", "chmod 700 /etc/nearfar/act; echo '#' >>/etc/nearfar/epilog")
    said = site.role("slurm", "n1", "--check", "--diff", **order)
    assert changed(said) == {"n1": 1} and "/etc/nearfar/act: mode 0755" in said
    assert (
        "kept, because somebody has edited it or it was there before; nearfar_slurm_force replaces it: /etc/nearfar/epilog"
        in said
    )
    assert changed(site.role("slurm", "n1", **{**order, "nearfar_slurm_force": True})) == {"n1": 1}
    said = site.role("slurm", "n1", code=2, **{**order, "nearfar_slurm_at": "25:00"})
    assert "--at 25:00: expected HH:MM, as 02:30" in errors(said)["n1"]

    shown = site.role("undo", "n1", "--check", nearfar_undo=["slurm", "site"])
    assert changed(shown) == {"n1": 2} and site.hosts.on("n1", "ls /etc/nearfar/prolog").returncode == 0
    assert changed(site.role("undo", "n1", nearfar_undo=["slurm", "site"])) == {"n1": 2}
    assert site.hosts.on("n1", "ls /etc/nearfar /etc/cron.d/nearfar-act").stdout == ""
    assert changed(site.role("undo", "n1", nearfar_undo=["slurm", "site"])) == {"n1": 0}


def hosts_of(said: str, folder: Path) -> tuple[str, Mapping[str, Sequence[str]]]:
    """The verdict of the newest gathered run, and each host's verdict and reason."""
    newest = max((folder / "gathered").iterdir())
    report = json.loads((newest / "hosts-report.json").read_text())
    assert (newest / "index.html").read_text().count("<h1>Hosts") == 1 and str(newest / "index.html") in said
    return report["verdict"], {host["host"]: (host["verdict"], host["reason"]) for host in report["hosts"]}


def test_hosts_are_measured_gathered_and_judged(site: Site) -> None:
    site.packed()
    options = {"nearfar_options": ["--check", "topology_check"]}
    inventory = site.hosts.inventory(more="n4 ansible_host=127.0.0.1 ansible_port=1\n")
    said = site.hosts.play(site_book(site, "all"), "-e", json.dumps({**given(site), **options}), inventory=inventory)
    assert said.returncode == 2, said.stdout
    verdict, hosts = hosts_of(said.stdout, site.hosts.folder)
    assert verdict == "INDETERMINATE" and list(hosts) and set(hosts) == {"n1", "n2", "n3", "n4"}
    assert "it cannot be reached" in hosts["n4"][1] and "Connection refused" in hosts["n4"][1]
    assert hosts["n3"][1] == "/opt/nearfar: nearfar is not set up there; first the role pack"
    assert errors(said.stdout)["n4"].startswith("INDETERMINATE: it cannot be reached")
    assert changed(said.stdout) == dict.fromkeys(hosts, 0), "measuring is no change"
    newest = max((site.hosts.folder / "gathered").iterdir())
    assert (newest / "nodes/n1/index.html").exists() and (newest / "nodes/n2/run.json").exists()
    assert site.hosts.on("n1", "ls /opt/nearfar/reports/gathered").stdout == "", "nothing is left on the host"


def given(site: Site) -> dict[str, Any]:
    return {"nearfar_gather_into": str(site.hosts.folder / "gathered"), "nearfar_minutes": 5}


def site_book(site: Site, names: str) -> Path:
    book = site.hosts.folder / "book.yml"
    tasks = [{"ansible.builtin.include_role": {"name": "nearfar.validation.validate"}}]
    book.write_text(yaml.safe_dump([{"hosts": names, "gather_facts": False, "tasks": tasks}]))
    return book


def test_one_machine_by_two_names_and_another_version_are_told(site: Site) -> None:
    site.packed()
    twin = f"n5 ansible_host=127.0.0.1 ansible_port={site.hosts.ports['n1']}\n"
    site.hosts.on(
        "n2", 'sed -i \'s/"digest": "[0-9a-f]*/"digest": "0123456789abcdef/\' /opt/nearfar/.nearfar-pack.json'
    )
    said = site.hosts.play(
        site_book(site, "n1:n2:n5"), "-e", json.dumps(given(site)), inventory=site.hosts.inventory(more=twin)
    ).stdout
    for name in ("n1", "n5"):
        assert errors(said)[name] == "INDETERMINATE: n1 and n5 are one machine, n1: name it once"
    assert re.match(
        r"INDETERMINATE: it has nearfar \S+ \(archive 0123456789ab\), and others have \S+ \(archive [0-9a-f]{12}\): run the role pack",
        errors(said)["n2"],
    )


def test_undo_takes_the_checkout_away_and_no_other(site: Site) -> None:
    site.packed()
    assert changed(site.role("undo", "n2", "--check")) == {"n2": 1}
    assert changed(site.role("undo", "n2")) == {"n2": 1} and site.hosts.on("n2", "ls /opt/nearfar").returncode != 0
    assert changed(site.role("undo", "n2")) == {"n2": 0}
    site.hosts.on("n2", "mkdir /opt/nearfar; touch /opt/nearfar/mine")
    assert "the role pack has not brought this; left alone" in errors(site.role("undo", "n2", code=2))["n2"]
