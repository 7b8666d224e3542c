"""``nearfar slurm act`` against a real Slurm: findings acted on, and all that must not be."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar.slurm.findings import reasons
from tests.conftest import CHECKOUT
from tests.support.acting import Site
from tests.support.node_results import leave, utc

pytestmark = pytest.mark.slurm


@pytest.fixture
def asked(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a line for each of Slurm's commands that is called."""
    wrappers, lines = tmp_path / "wrappers", tmp_path / "asked"
    wrappers.mkdir()
    for name in ("scontrol", "sinfo", "squeue", "sbatch", "sacct", "scancel"):
        real = shutil.which(name, path=site.private.environment["PATH"])
        (wrappers / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {lines}\nexec {real} "$@"\n')
        (wrappers / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrappers}:{site.private.environment['PATH']}")
    return lines


def test_one_question_where_nothing_changed_and_a_node_is_asked_for_alone(site: Site, asked: Path) -> None:
    table = "scontrol --all show nodes"
    leave(site.results, "n1", "00000001", at=site.now - 60)
    assert site.act() == 0
    assert asked.read_text().splitlines() == [table]
    leave(site.results, "n2", "00000002", at=site.now - 30, wrong="wrong data")
    asked.write_text("")
    assert site.act() == 0 and site.node("n2").drain
    first, before, update, *after = asked.read_text().splitlines()
    assert (first, update[:31]) == (table, "scontrol update nodename=n2 sta")
    assert {line.split(" --Format")[0] for line in (before, *after)} == {"sinfo --all --noheader --Node --nodes=n2"}


def test_findings_of_a_sweep_are_acted_on(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.private.run(["scontrol", "update", "nodename=n4", "state=drain", "reason=bad DIMM, ticket 12"])
    leave(site.results, "n1", "00000001", at=site.now - 60)
    site.slow_twice("n2", "00000002", "00000003")
    for node in ("n3", "n4"):
        leave(
            site.results,
            node,
            f"0000010{node[1]}",
            at=site.now - 60,
            wrong="wrong data" if node == "n3" else "wrong data in n4",
        )
    leave(site.results, "n5", "00000005", at=site.now - 60, speed=None, indeterminate="the GPU is busy")
    leave(site.results, "n6", "00000006", at=site.now - 60, speed=27.0, check="saturation_check")

    assert site.act("--dry-run") == 0
    assert (
        "n2           would drain   nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=00000003"
        in capsys.readouterr().out
    )
    assert not site.state.exists() and not site.node("n2").drain, "a dry run leaves all as it is"

    assert site.act() == 0
    said = capsys.readouterr().out
    assert (
        "n4           -             FAIL host_device g2:n0 cell.wrong_data run=00000104: it was drained by somebody else on"
        in said
    )
    found = site.slurm.nodes()
    assert {n: (s.drain, s.reason) for n, s in found.items()} == {
        "n1": (False, None), "n5": (False, None), "n6": (False, None),
        "n2": (True, "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=00000003"),
        "n3": (True, "nearfar: FAIL host_device g2:n0 cell.wrong_data run=00000103"),
        "n4": (True, "bad DIMM, ticket 12"),
    }  # fmt: skip
    assert sorted(site.log()) == [
        ("drain", "begun", "n2"), ("drain", "begun", "n3"), ("drain", "done", "n2"), ("drain", "done", "n3"),
    ]  # fmt: skip
    assert site.act() == 0 and len(site.log()) == 4, "nothing is done twice"


def test_resumed_only_by_the_check_that_drained_it_and_after_a_person(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.slow_twice("n2", "00000002", "00000003")
    leave(site.results, "n3", "00000103", at=site.now - 60, wrong="wrong data")
    assert site.act() == 0
    leave(site.results, "n2", "0000000a", at=time.time() + 60, check="peer_check", job=None)
    leave(site.results, "n3", "0000010a", at=time.time() + 60, job=None)
    assert site.act() == 0
    assert site.node("n2").drain and site.node("n3").drain
    leave(site.results, "n2", "0000000b", at=time.time() + 60, job=None)
    assert site.act() == 0
    assert not site.node("n2").drain and site.node("n3").drain
    capsys.readouterr()

    assert site.run("status", "n3") == 3, "it waits for a person"
    assert "nearfar slurm clear n3" in capsys.readouterr().out
    assert site.run("clear", "n3", "--because", "GPU 2 replaced") == 0
    assert site.act() == 0 and not site.node("n3").drain, "the run was begun after the person's word"
    assert [entry for entry in site.log() if entry[1] == "done"][2:] == [
        ("resume", "done", "n2"), ("clear", "done", "n3"), ("resume", "done", "n3"),
    ]  # fmt: skip


def test_who_waits_for_a_person_is_told_of(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """A drain that the log does not know (it was moved away), one for hard evidence, and one whose reason was edited."""
    site.slow_twice("n2", "00000002", "00000003")
    assert site.act() == 0
    (site.state / "log.jsonl").unlink()
    leave(site.results, "n3", "00000103", at=site.now - 60, wrong="wrong data")
    site.slow_twice("n4", "00000004", "00000005")
    assert site.act() == 0
    site.private.run(["scontrol", "update", "nodename=n4", "state=drain", "reason=called vendor"])
    capsys.readouterr()
    expected = {
        "n2": "nearfar slurm clear n2 --because",
        "n3": "nearfar slurm clear n3 --because WORDS",
        "n4": "called vendor' (act wrote 'nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=00000005')",
    }
    assert site.act() == 0
    said = capsys.readouterr().out
    for node, words in expected.items():
        assert [line for line in said.splitlines() if line.startswith(f"{node}           waits ") and words in line], (
            said
        )
        assert site.run("status", node) == 3
        explained = " ".join(capsys.readouterr().out.split())
        assert "now drained by us, waits for a person" in explained, explained
        assert words in explained, explained
    assert site.act("--json") == 0
    assert {n["node"]: n["code"] for n in json.loads(capsys.readouterr().out)["nodes"] if n["waits"]} == {
        "n2": "act.reason_unknown", "n3": "act.hard_evidence", "n4": "act.reason_edited",
    }  # fmt: skip

    assert site.run("clear", "n2", "--because", "cable replaced") == 0
    leave(site.results, "n2", "0000000a", at=time.time() + 60, job=None)
    assert site.act() == 0 and not site.node("n2").drain, "one word is enough"


def test_the_cap_stops_drains_until_a_person_allows_them(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    for node in range(1, 6):
        leave(
            site.results,
            f"n{node}",
            f"0000000{node}",
            at=site.now - 60,
            check=f"{'abcde'[node - 1]}_check",
            wrong="wrong data",
        )
    assert site.act() == 3
    assert "drains are stopped: no more than 3 drained within a day" in capsys.readouterr().out
    assert [n for n, s in site.slurm.nodes().items() if s.drain] == ["n1", "n2", "n3"]
    assert site.act() == 3 and not site.node("n4").drain, "it stays closed"
    assert site.run("allow-drains") == 2
    assert site.run("allow-drains", "--because", "they are really broken") == 0
    assert site.run("allow-drains", "--because", "again") == 2
    assert site.act() == 3
    assert "no more than 3 of the 6 nodes of partition all drained in all" in capsys.readouterr().out
    assert [n for n, s in site.slurm.nodes().items() if s.drain] == ["n1", "n2", "n3"]


def test_many_nodes_at_once_drain_nobody(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    for node in range(1, 5):
        leave(site.results, f"n{node}", f"0000000{node}", at=site.now - 60, wrong="GPU 2 is absent", code="absent")
    assert site.act() == 3, "it waits for a person"
    said = capsys.readouterr().out
    assert said.count("on 4 of 4 nodes at once") == 5 and said.count(" held ") == 4
    assert not any(node.drain for node in site.slurm.nodes().values())


def test_a_slurmctld_that_is_away_and_comes_back(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.slow_twice("n2", "00000002", "00000003")
    site.private.stop_controller()
    try:
        began = time.monotonic()
        assert site.act() == 3
        assert time.monotonic() - began < 35
        assert "Unable to contact slurm controller" in capsys.readouterr().err
        assert not (site.state / "log.jsonl").exists(), "nothing was begun"
    finally:
        site.private.start_controller()
    site.slurm.wait("n2", lambda node: node.idle, 30)
    assert site.act() == 0 and site.node("n2").drain


def test_a_node_that_died_and_a_reason_that_came_in_between(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from nearfar.slurm.act import act

    site.slow_twice("n2", "00000002", "00000003")
    leave(site.results, "n3", "00000103", at=site.now - 60, wrong="wrong data")
    look = act.look

    def meanwhile(*arguments: Any, **named: Any) -> act.ActView:
        view = look(*arguments, **named)
        site.private.run(["scontrol", "update", "nodename=n2", "state=drain", "reason=by hand"])
        site.private.run(["scontrol", "update", "nodename=n3", "state=down", "reason=Not responding"])
        return view

    monkeypatch.setattr(act, "look", meanwhile)
    assert site.act() == 3
    assert (site.node("n2").reason, site.node("n3").reason) == ("by hand", "Not responding")
    assert [entry[1] for entry in site.log()] == ["begun", "refused", "begun", "refused"]


def forged(place: Path) -> None:
    os.chown(place / "result.json", 65534, 65534)


def half(place: Path) -> None:
    (place / "result.json").write_text((place / "result.json").read_text()[:200])


def no_figure(place: Path) -> None:
    (place / "result.json").write_text((place / "result.json").read_text().replace("27.1", "NaN"))


def another_node(place: Path) -> None:
    place.parent.rename(place.parent.with_name("n5"))


@pytest.mark.parametrize("spoil", [forged, half, no_figure, another_node])
def test_findings_that_are_not_believed(site: Site, spoil: object, capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make another user's file")
    leave(site.results, "n2", "00000002", at=site.now - 7200, speed=27.2)
    place = leave(site.results, "n2", "00000003", at=site.now - 60, speed=27.1)
    spoil(place)  # type: ignore[operator]
    assert site.act() == 3, "what it says of the node is not known"
    said = capsys.readouterr()
    assert "not counted" in said.err and "1 file was not believed" in said.out
    assert not any(node.drain for node in site.slurm.nodes().values())


def test_a_clock_ahead_another_system_and_the_same_run_twice(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leave(site.results, "n1", "00000001", at=site.now + 3600, wrong="wrong data")
    leave(site.results, "n2", "00000002", at=site.now - 60, wrong="wrong data", system="other")
    leave(site.results, "n3", "00000003", at=site.now - 7200, speed=27.0, sweep="a")
    place = leave(site.results, "n3", "00000004", at=site.now - 60, speed=27.0, sweep="b")
    subprocess.run(["cp", "-a", str(place), str(place.parent / "2")], check=True)
    leave(site.results, "n4", "00000005", at=site.now - 60, wrong="wrong data", sweep="a")
    (tmp_path / "b").mkdir()
    again = leave(tmp_path / "b" / "results", "n4", "00000005", at=site.now - 60, wrong="another thing", sweep="b")
    again.parent.rename(place.parent.parent / "n4")
    assert site.act() == 3
    said = capsys.readouterr().err
    assert "which is not yet; set the node's clock" in said
    assert "run 00000005 of node n4 is there twice, and not alike; neither is counted" in said
    assert [n for n, s in site.slurm.nodes().items() if s.drain] == ["n3"]


def test_hard_evidence_of_a_system_that_nobody_acts_for_is_told_of(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As results of before a system file was written, or renamed."""
    leave(site.results, "n1", "00000001", at=site.now - 60, wrong="wrong data", system="local")
    leave(site.results, "n2", "00000002", at=site.now - 60, wrong="wrong data", system="other")
    (tmp_path / "site" / "systems" / "other.yaml").write_text(
        "system: other\nhosts: [o1]\nact: {default: drain}\npartitions:\n  - name: gpu\n"
    )
    assert site.act("--system", "vm") == 3
    said = capsys.readouterr().out
    assert "n1: hard evidence of system 'local', which nothing is done about: no system file is called so" in said
    assert "n2" not in said, "its own act looks at it"


def test_a_results_directory_that_others_can_write(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    leave(site.results, "n1", "00000001", at=site.now - 60, wrong="wrong data")
    site.results.chmod(0o777)
    assert site.act() == 3
    assert capsys.readouterr().err == f"nearfar: {site.results}: others can write to it (mode 0777); not counted\n"
    assert not (site.state / "log.jsonl").exists(), "nothing is done"


def test_a_comment_comes_and_goes(site: Site) -> None:
    site.private.run(["scontrol", "update", "nodename=n5", "comment=mine"])
    for node in ("n1", "n5"):
        leave(site.results, node, f"0000000{node[1]}", at=site.now - 7200, speed=27.0, check="saturation_check")
        leave(site.results, node, f"0000001{node[1]}", at=site.now - 60, speed=27.0, check="saturation_check")
    assert site.act() == 0 and site.act() == 0
    expected = "nearfar: FAIL saturation d2h g2 27<52.6 GB/s run=00000011"
    assert (site.node("n1").comment, site.node("n5").comment) == (expected, "mine")
    leave(site.results, "n1", "00000021", at=time.time() + 30, check="saturation_check")
    assert site.act() == 0
    assert (site.node("n1").comment, site.node("n5").comment, site.node("n1").drain) == (None, "mine", False)
    assert [entry for entry in site.log() if entry[1] == "done"] == [
        ("comment", "done", "n1"),
        ("uncomment", "done", "n1"),
    ]


def test_without_the_right_to(site: Site) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    leave(site.results, "n3", "00000103", at=site.now - 60, wrong="wrong data")
    site.results.parent.chmod(0o755)
    for parent in site.results.parents:
        if parent.stat().st_uid == 0 and str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    site.state.mkdir()
    os.chown(site.state, 65534, 65534)
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-m", "nearfar", "slurm", "act", "--results",
         str(site.results), "--state", str(site.state)],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2 and "needs Slurm's operator rights" in done.stderr, done.stderr + done.stdout
    for command, code, words in (("status", 0, "suspect: 1\n  n3"), ("log", 0, "drained (not done)")):
        asked = subprocess.run(
            ["setpriv", "--reuid=65533", "--clear-groups", sys.executable, "-m", "nearfar", "slurm", command, "--results",
             str(site.results), "--state", str(site.state)],
            env={**os.environ, "PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True,
        )  # fmt: skip
        assert asked.returncode == code and words in asked.stdout, asked.stdout + asked.stderr
    assert site.log() == [("drain", "begun", "n3"), ("drain", "refused", "n3")]
    assert not site.node("n3").drain


def test_a_retest_by_a_user_whose_results_do_not_count(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "site" / "systems" / "vm.yaml"
    file.write_text('system: vm\nhosts: ["n[1-6]"]\nact: {trusted: [12345]}\npartitions:\n  - name: gpu\n')
    assert site.run("retest", "n1") == 2
    assert "the results of root do not count: add it to `act: trusted` of system 'vm'" in capsys.readouterr().err
    assert not site.state.exists()


def test_a_retest_into_somebody_elses_directory(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Root measures as that user; one whose results do not count is refused before a node is touched."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    os.chown(site.results, 65534, 65534)
    assert site.run("retest", "n1") == 2
    assert "the results of nobody do not count" in capsys.readouterr().err
    assert not site.state.exists()


def test_a_state_directory_that_others_can_write(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    site.state.mkdir()
    site.state.chmod(0o777)
    assert site.act() == 2
    assert "others can write to it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("act: {trusted: [nobody-here]}", "vm.yaml:3: act: trusted: no user 'nobody-here' on this host"),
        ("act: {checks: {host_devise_check: drain}}", "vm.yaml:3: act: no check is called 'host_devise_check' (did you mean"),
        ("act: {default: destroy}", "vm.yaml:3: act.default: \"destroy\": expected a step: observe, comment or drain"),
        ("act: {cap: {per_day: {nodes: 9}}}", "vm.yaml:3: act: cap: more a day than in all"),
        ("act: {intermittent: {nights: 5, of: 3}}", "vm.yaml:3: act: intermittent: 5 of 3 nights is impossible"),
        ("act: {intermittent: {nights: 1}}", "vm.yaml:3: act.intermittent.nights"),
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


def test_a_reason_in_slurm_is_read_back_by_the_parser(site: Site) -> None:
    site.slow_twice("n2", "00000002", "00000003")
    assert site.act() == 0
    read = reasons.read(site.node("n2").reason)
    assert read is not None
    assert (read.check, read.what, read.run, read.figures) == (
        "host_device",
        ("d2h", "g2"),
        "00000003",
        ("27.1", "52.6", "GB/s"),
    )


def test_health_findings_count_only_as_roots(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make another user's file")
    health = tmp_path / "health"
    health.mkdir()
    for node in ("n1", "n2", "n3"):
        finding = {"subject": "g2", "verdict": "FAIL", "hard": True, "reason": "GPU 2 is missing"}
        (health / f"{node}.json").write_text(json.dumps({
            "schema": "nearfar-health/1", "run": f"0000000{node[1]}", "node": "n3" if node == "n2" else node, "hostname": node,
            "system": "vm", "partition": "gpu", "time": utc(site.now - 60), "boot": None, "seconds": 0.3, "verdict": "FAIL",
            "findings": [finding], "last": None,
        }))  # fmt: skip
    os.chown(health / "n1.json", 65534, 65534)
    assert site.act("--health", str(health)) == 3
    said = capsys.readouterr().err
    assert "n1.json: belongs to user 65534" in said and "n2.json: of node n3" in said
    assert {n: s.reason for n, s in site.slurm.nodes().items() if s.drain} == {
        "n3": "nearfar: FAIL health g2 run=00000003"
    }
