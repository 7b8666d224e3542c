"""``nearfar slurm act`` against a real Slurm: findings acted on, and all that must not be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar.slurm.controller import Slurm
from nearfar.slurm.drains import reasons
from tests.conftest import CHECKOUT
from tests.support.acting import Site, instead_of_scontrol
from tests.support.node_results import fell_together, leave, utc

pytestmark = pytest.mark.slurm
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes another user's file, or becomes another user")


def test_findings_of_a_sweep_are_acted_on(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.private.run(["scontrol", "update", "nodename=n4", "state=drain", "reason=bad DIMM, ticket 12"])
    leave(site.results, "n1", "00000001", at=site.now - 60)
    site.slow_twice("n2", "00000002", "00000003")
    leave(site.results, "n3", "00000103", at=site.now - 60, wrong="wrong data")
    leave(site.results, "n4", "00000104", at=site.now - 60, wrong="wrong data in n4")
    leave(site.results, "n5", "00000005", at=site.now - 60, speed=None, indeterminate="the GPU is busy")
    leave(site.results, "n6", "00000006", at=site.now - 60, speed=27.0, check="saturation_check")
    slow = "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=00000003"

    assert site.act("--dry-run") == 0
    assert f"n2           would drain   {slow}" in capsys.readouterr().out
    assert not site.state.exists() and site.drained() == ["n4"], "a dry run leaves all as it is"

    assert site.act() == 0
    found = site.slurm.nodes()
    assert {n: (s.drain, s.reason) for n, s in found.items()} == {
        "n1": (False, None), "n5": (False, None), "n6": (False, None), "n2": (True, slow), "n4": (True, "bad DIMM, ticket 12"),
        "n3": (True, "nearfar: FAIL host_device g2:n0 cell.wrong_data run=00000103"),
    }  # fmt: skip
    read = reasons.read(slow)
    assert read is not None and (read.check, read.what) == ("host_device", " d2h g2 27.1<52.6 GB/s")
    assert sorted(site.log()) == [("drain", "done", "n2"), ("drain", "done", "n3")]
    assert site.act() == 0 and len(site.log()) == 2, "nothing is done twice"


def test_a_passing_run_resumes_nothing(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.slow_twice("n2", "00000002", "00000003")
    leave(site.results, "n3", "00000103", at=site.now - 60, wrong="wrong data")
    assert site.act() == 0
    for node in ("n2", "n3"):
        leave(site.results, node, f"0000020{node[1]}", at=time.time() + 60)
    assert site.act() == 0 and site.drained() == ["n2", "n3"]
    capsys.readouterr()
    assert site.run("status", "n3") == 3, "it waits for an administrator"
    assert "nearfar slurm clear n3" in capsys.readouterr().out


def test_another_program_s_drain_and_resume_closes_nothing(site: Site) -> None:
    """An epilog drains for its own reason while wrong data is held or ours is replaced, and takes it back."""
    others = ["scontrol", "update", "nodename=n2", "state=drain", "reason=/tmp not empty"]
    resume = ["scontrol", "update", "nodename=n2", "state=resume"]
    site.private.run(others)
    leave(site.results, "n2", "00000103", at=site.now - 60, wrong="wrong data")
    assert site.act() == 0 and site.node("n2").reason == "/tmp not empty"
    site.private.run(resume)
    leave(site.results, "n2", "00000104", at=time.time())
    assert site.act() == 0 and str(site.node("n2").reason).endswith("run=00000103"), "its drain closed nothing"

    site.private.run(others)
    assert site.act() == 0
    site.private.run(resume)
    leave(site.results, "n2", "00000105", at=time.time())
    assert site.act() == 0 and str(site.node("n2").reason).endswith("run=00000103"), "nor did it instead of ours"

    site.private.run(resume)
    assert site.act() == 0 and not site.node("n2").drain, "an administrator has resumed what nearfar had drained"
    assert site.act() == 0 and site.drained() == []
    assert [kind for kind, _, _ in site.log()] == ["drain", "lapsed", "drain", "resumed"]


def test_a_drain_whose_reason_was_edited_is_told_of(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.slow_twice("n4", "00000004", "00000005")
    assert site.act() == 0
    site.private.run(["scontrol", "update", "nodename=n4", "state=drain", "reason=called vendor"])
    site.act()
    capsys.readouterr()
    site.run("status", "n4")
    words = " ".join(capsys.readouterr().out.split())
    assert "'called vendor' (nearfar wrote 'nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=00000005')" in words


def test_five_with_wrong_data_and_a_cap_of_three(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first ``scontrol update`` fails once: the next call fills the cap, and nothing has to be allowed."""
    for node in range(1, 6):
        leave(site.results, f"n{node}", f"0000000{node}", at=site.now - 60, wrong="wrong data")
    leave(site.results, "n6", "00000006", at=site.now - 60, beside=[fell_together()])
    with monkeypatch.context() as patch:
        away = "echo 'slurm_update error: Unable to contact slurm controller (connect failure)' >&2; exit 1"
        instead_of_scontrol(site, tmp_path / "bin", patch, away)
        assert site.act() == 3
        assert "Unable to contact slurm controller" in capsys.readouterr().err and site.drained() == []
    assert site.act() == 3 and site.drained() == ["n1", "n2", "n3"]
    said = capsys.readouterr().out
    assert (
        "n[4-5]       held          FAIL host_device g2:n0 cell.wrong_data run=00000004 (and alike on 1 more): held: "
        in said
    )
    assert (
        "n6           suspect       FAIL: peer_check: paths of the host fell together, no grounds for a drain: H2D"
        in said
    )
    assert "no more than 3 drained within a day" in said and "WRONG DATA" in said
    assert site.act() == 3 and site.drained() == ["n1", "n2", "n3"]
    assert site.run("clear", "n[1-2]", "--because", "memory replaced") == 0
    assert site.act() == 3 and site.drained() == ["n3"], "a drain that was done counts for a day, though it is cleared"


def test_a_slurmctld_that_is_away_and_comes_back(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    leave(site.results, "n2", "00000002", at=site.now - 60, wrong="wrong data")
    site.private.stop_controller()
    try:
        began = time.monotonic()
        assert site.act() == 3
        assert time.monotonic() - began < 35
        assert "Unable to contact slurm controller" in capsys.readouterr().err and site.log() == []
    finally:
        site.private.start_controller()
    site.slurm.wait("n2", lambda node: node.idle, 30)
    assert site.act() == 0 and site.drained() == ["n2"]


def test_a_node_that_died_and_a_reason_that_came_in_between(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert site.act() == 0
    site.slow_twice("n2", "00000002", "00000003")
    leave(site.results, "n3", "00000103", at=site.now - 60, wrong="wrong data")
    shown = Slurm.nodes

    def meanwhile(slurm: Slurm) -> object:
        nodes = shown(slurm)
        site.private.run(["scontrol", "update", "nodename=n2", "state=drain", "reason=by hand"])
        site.private.run(["scontrol", "update", "nodename=n3", "state=down", "reason=Not responding"])
        return nodes

    with monkeypatch.context() as patch:
        patch.setattr(Slurm, "nodes", meanwhile)
        assert site.act() == 3
    assert (site.node("n2").reason, site.node("n3").reason) == ("by hand", "Not responding")
    assert sorted(site.log()) == [("drain", "refused", "n2"), ("drain", "refused", "n3")]


def forged(place: Path) -> None:
    os.chown(place / "result.json", 65534, 65534)


def half(place: Path) -> None:
    (place / "result.json").write_text((place / "result.json").read_text()[:200])


def no_figure(place: Path) -> None:
    (place / "result.json").write_text((place / "result.json").read_text().replace("27.1", "NaN"))


def another_node(place: Path) -> None:
    place.parent.rename(place.parent.with_name("n5"))


@root_only
@pytest.mark.parametrize("spoil", [forged, half, no_figure, another_node])
def test_findings_that_are_not_believed(
    site: Site, spoil: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    leave(site.results, "n2", "00000002", at=site.now - 7200, speed=27.2)
    spoil(leave(site.results, "n2", "00000003", at=site.now - 60, speed=27.1))
    assert site.act() == 3, "what it says of the node is not known"
    said = capsys.readouterr()
    assert "not counted" in said.err and "1 file was not believed" in said.out
    assert site.drained() == []


def test_a_clock_ahead_and_the_same_run_twice(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leave(site.results, "n1", "00000001", at=site.now + 3600, wrong="wrong data")
    leave(site.results, "n2", "00000002", at=site.now - 60, wrong="wrong data", system="other")
    leave(site.results, "n3", "00000003", at=site.now - 7200, speed=27.0, sweep="a")
    place = leave(site.results, "n3", "00000004", at=site.now - 60, speed=27.0, sweep="b")
    subprocess.run(["cp", "-a", str(place), str(place.parent / "2")], check=True)
    leave(site.results, "n4", "00000005", at=site.now - 60, sweep="a")
    (tmp_path / "b").mkdir()
    again = leave(tmp_path / "b" / "results", "n4", "00000005", at=site.now - 60, wrong="another thing", sweep="b")
    again.parent.rename(place.parent.parent / "n4")
    assert site.act() == 3
    said = capsys.readouterr()
    assert "which is not yet; set the node's clock" in said.err
    assert "run 00000005 of node n4 is there twice, and not alike; the first counts" in said.err
    assert "n2: hard evidence of system 'other', which nothing is done about: no system file is called so" in said.out
    assert site.drained() == ["n3"], "a copy of a run is the same run"


@root_only
def test_without_the_right_to(site: Site) -> None:
    leave(site.results, "n3", "00000103", at=site.now - 60, wrong="wrong data")
    site.results.parent.chmod(0o755)
    for parent in site.results.parents:
        if parent.stat().st_uid == 0 and str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    site.state.mkdir()
    os.chown(site.state, 65534, 65534)

    def typed(user: int, command: str) -> subprocess.CompletedProcess[str]:
        become = ["setpriv", f"--reuid={user}", "--clear-groups", sys.executable, "-m", "nearfar", "slurm", command]
        return subprocess.run(
            [*become, f"--results={site.results}", f"--state={site.state}"],
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True,
        )  # fmt: skip

    done = typed(65534, "act")
    assert done.returncode == 2 and "needs Slurm's operator rights" in done.stderr, done.stderr + done.stdout
    assert site.log() == [("drain", "refused", "n3")] and site.drained() == []
    asked = typed(65533, "status")
    assert "n3" in asked.stdout, asked.stdout + asked.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("act: {trusted: [nobody-here]}", "vm.yaml:3: act: trusted: no user 'nobody-here' on this host"),
        ("act: {checks: {host_devise_check: drain}}", "vm.yaml:3: act: no check is called 'host_devise_check' (did you mean"),
        ("act: {default: destroy}", "vm.yaml:3: act.default: \"destroy\": expected a step: observe or drain"),
        ("act: {cap: {per_day: {nodes: 9}}}", "vm.yaml:3: act: cap: more a day than in all"),
        ("act: {intermittent: {nights: 5, of: 3}}", "vm.yaml:3: act: intermittent: 5 of 3 nights is impossible"),
        ("act: {max_age: soon}", "vm.yaml:3: act.max_age: \"soon\": expected a duration such as 36h"),
    ],
)  # fmt: skip
def test_slips_in_the_policy(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    file = tmp_path / "site" / "systems" / "vm.yaml"
    file.write_text(f'system: vm\nhosts: ["n[1-6]"]\n{text}\npartitions:\n  - name: gpu\n')
    assert site.act() == 2
    assert words in capsys.readouterr().err


@root_only
def test_health_findings_count_only_as_roots(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    health = tmp_path / "health"
    health.mkdir()
    for node in ("n1", "n2", "n3"):
        finding = {"subject": "g2", "verdict": "FAIL", "hard": True, "reason": "GPU 2 is missing"}
        (health / f"{node}.json").write_text(json.dumps({
            "schema": "nearfar-health/1", "run": f"0000000{node[1]}", "node": "n3" if node == "n2" else node, "hostname": node,
            "system": "vm", "partition": "gpu", "time": utc(site.now - 60), "boot": None, "seconds": 0.3, "verdict": "FAIL",
            "findings": [finding],
        }))  # fmt: skip
    os.chown(health / "n1.json", 65534, 65534)
    assert site.act("--health", str(health)) == 3
    said = capsys.readouterr().err
    assert "n1.json: belongs to user 65534" in said and "n2.json: of node n3" in said
    assert {n: site.node(n).reason for n in site.drained()} == {"n3": "nearfar: FAIL health g2 run=00000003"}


@pytest.mark.parametrize(
    "answer",
    ["echo 'slurm_update error: Invalid node state specified' >&2; exit 1", "exit 0"],
    ids=["refused", "hidden"],
)
def test_one_node_that_slurm_does_not_drain_holds_up_no_other(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str
) -> None:
    for node in ("n1", "n2"):
        leave(site.results, node, f"0000000{node[1]}", at=site.now - 60, wrong="wrong data")
    wait = Slurm.wait
    monkeypatch.setattr(Slurm, "wait", lambda slurm, name, until, limit: wait(slurm, name, until, 1.0))
    instead_of_scontrol(site, tmp_path / "bin", monkeypatch, f"case $2 in nodename=n1) {answer} ;; esac")
    assert site.act() == 3 and site.drained() == ["n2"]
    assert "n1           not done      n1: " in capsys.readouterr().out
