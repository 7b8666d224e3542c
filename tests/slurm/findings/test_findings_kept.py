"""No hard finding is lost, whatever ends ``act`` in the middle of a drain; on a real Slurm."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from nearfar.slurm.act import ActOptions, read_policy, view
from nearfar.slurm.act.decide import DRAIN
from nearfar.slurm.health import kept_looks
from tests.support.acting import Site, instead_of_scontrol
from tests.support.node_results import leave, utc

pytestmark = pytest.mark.slurm


def killed(site: Site, after: float | None = None, in_a_drain: bool = False) -> None:
    """Run ``act`` in a child that is killed after some seconds (None: by what it calls), counted from where it begins to drain
    or from its start."""
    child = os.fork()
    if child == 0:
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        try:
            site.act()
        finally:
            os._exit(0)
    if after is not None:
        end = time.monotonic() + 2
        while (
            in_a_drain
            and time.monotonic() < end
            and not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        ):
            if (site.state / "log.jsonl").exists() and site.log() and site.log()[-1][:2] == ("drain", "begun"):
                break
            time.sleep(0.002)
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@pytest.mark.parametrize("update", ["kill -9 $PPID; exit 1", "exit 1", '"$REAL" "$@"; kill -9 $PPID; exit 1'],
                         ids=["killed before the write", "slurmctld away", "killed after the write"])  # fmt: skip
def test_a_drain_that_was_begun_and_not_confirmed(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], update: str
) -> None:
    run = f"{len(update):08x}"
    leave(site.results, "n3", run, at=site.now - 60, wrong="wrong data")
    monkeypatch.setenv("REAL", str(shutil.which("scontrol", path=site.private.environment["PATH"])))
    with monkeypatch.context() as patch:
        instead_of_scontrol(site, tmp_path / "bin", patch, update)
        killed(site)
    assert site.log()[0] == ("drain", "begun", "n3") and ("drain", "done", "n3") not in site.log()
    assert site.act() == 0
    assert (
        site.node("n3").reason == f"nearfar: FAIL host_device g2:n0 cell.wrong_data run={run}" and site.node("n3").drain
    )
    capsys.readouterr()
    assert site.act() == 0 and "n3           waits" in capsys.readouterr().out


def test_drains_that_slurmctld_had_not_saved_when_it_was_killed(site: Site) -> None:
    leave(site.results, "n2", "00000102", at=site.now - 60, wrong="wrong data")
    assert site.act() == 0 and site.node("n2").drain
    assert site.private.controller is not None
    site.private.controller.kill()
    site.private.stop_controller()
    time.sleep(1.1)
    site.private.start_controller()
    site.slurm.wait("n2", lambda node: node.base == "IDLE" and "NOT_RESPONDING" not in node.flags, 30)
    leave(site.results, "n2", "00000112", at=time.time())
    assert site.act() == 0
    assert site.node("n2").drain, "nobody has resumed it, and the run that passed closes nothing"


def test_what_is_read_though_it_came_late(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Copied with its times kept; refused for weeks; after the file that says what was read is gone, or is of the future."""
    place = leave(site.results, "n1", "00000101", at=site.now - 12 * 86400, wrong="wrong data")
    (place / "result.json").chmod(0o666)
    order = ActOptions(read_policy(None), site.results, None, site.state)
    assert site.act() == 3 and not site.node("n1").drain
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda now=site.now + 20 * 86400: now)
        assert len(view.look(order, site.slurm).refused) == 1, "it stays refused, and is told of"
    (place / "result.json").chmod(0o644)
    assert site.act() == 0 and site.node("n1").drain, "fixed, it counts"
    for node, text in (
        ("n2", None),
        ("n3", json.dumps({"schema": "nearfar-act-read/1", "until": {f"vm:{site.results}": 9e12}})),
    ):
        leave(site.results, node, f"0000020{node[1]}", at=site.now - 12 * 86400, wrong="wrong data")
        (site.state / "read.json").unlink() if text is None else (site.state / "read.json").write_text(text)
        assert site.act() == 0 and site.node(node).drain
    capsys.readouterr()


def test_forty_kills_lose_nothing(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong data is found, drained, cleared and resumed over and over while ``act`` is killed at any moment of it."""
    file = tmp_path / "site" / "systems" / "vm.yaml"
    many = "{nodes: 999, share: 1.0}"
    file.write_text(
        f'system: vm\nhosts: ["n[1-6]"]\nact:\n  default: drain\n  trusted: [{os.geteuid()}]\n'
        f"  cap: {{per_day: {many}, in_all: {many}}}\npartitions:\n  - name: gpu\n"
    )
    order = ActOptions(read_policy(None), site.results, None, site.state)
    chance, found = random.Random(11), {}
    free: dict[str, float] = {}
    for number in range(40):
        node = chance.choice(site.private.names)
        if node not in found:
            # Times of results are whole seconds: a run is not to begin in the second in which the node was resumed.
            if int(time.time()) > free.get(node, 0.0):
                found[node] = f"{number:08x}"
                leave(site.results, node, found[node], at=time.time(), wrong="wrong data", took=0.0)
        elif site.node(node).drain:
            assert site.run("clear", node, "--because", "repaired") == 0
            site.private.run(["scontrol", "update", f"nodename={node}", "state=resume"])
            del found[node]
            free[node] = time.time()
        if view.look(order, site.slurm).past.stopped:
            assert site.run("allow-drains", "--because", "go on") == 0
        drains = bool(number % 4)
        killed(site, after=chance.uniform(0.0, 0.04 if drains else 0.25), in_a_drain=drains)
        seen = view.look(order, site.slurm)
        would = {d.node for d in seen.decisions.nodes if d.action == DRAIN or d.cause.code == "act.drains_stopped"}
        kept = {name for name, state in seen.nodes.items() if state.drain and "nearfar: FAIL" in str(state.reason)}
        lost = set(found) - would - kept
        assert not lost, f"kill {number}: {lost} are in use and nothing is to be done about them; {site.log()[-6:]}"
        assert not would - set(found), f"kill {number}: {would - set(found)} were repaired and would be drained again"
    for _ in range(3):
        if site.act() == 0:
            break
        assert site.run("allow-drains", "--because", "go on") == 0
    assert {name for name, state in site.slurm.nodes().items() if state.drain} == set(found)
    outcomes = [entry[1] for entry in site.log() if entry[0] == "drain"]
    assert outcomes.count("begun") > outcomes.count("done"), "no kill fell into a drain: the test shows nothing"


def test_what_is_held_while_drains_are_stopped_does_not_expire(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five nodes, a cap of three: the other two wait for days, their results are tidied away, and they are drained all the same."""
    for node in range(1, 6):
        leave(site.results, f"n{node}", f"0000000{node}", at=site.now - 60, wrong="wrong data")
    assert site.act() == 3
    assert [n for n, s in site.slurm.nodes().items() if s.drain] == ["n1", "n2", "n3"]
    shutil.rmtree(site.results)
    site.results.mkdir()
    (site.state / "read.json").unlink()  # on purpose
    log = site.state / "log.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line["time"] = line["time"].replace(line["time"][:10], "2026-01-02")
        line |= {
            key: line[key] - 30 * 86400 for key in ("started", "ended", "came") if isinstance(line.get(key), float)
        }
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    capsys.readouterr()
    assert site.act() == 3
    assert (
        "n5           held          FAIL host_device g2:n0 cell.wrong_data run=00000005: held, drains are stopped"
        in capsys.readouterr().out
    )
    site.private.run(["scontrol", "update", "nodename=n1", "state=resume"])
    assert site.run("allow-drains", "--because", "they are really broken") == 0
    assert site.act() in (0, 3)
    assert site.node("n4").drain and not site.node("n1").drain, "and what a person has resumed is left alone"
    assert ("resumed_by_others", "done", "n1") in site.log("resumed_by_others")


def test_a_persons_word_closes_what_was_held(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    for node in range(1, 6):
        leave(site.results, f"n{node}", f"0000000{node}", at=site.now - 60, wrong="wrong data")
    assert site.act() == 3
    assert site.run("clear", "n5", "--because", "GPU 2 replaced") == 0
    assert (
        "n5           written down  1 hard finding closed, slow figures from before count no more"
        in capsys.readouterr().out
    )
    assert site.run("clear", "n1", "--because", "GPU 2 replaced") == 0
    site.private.run(["scontrol", "update", "nodename=n1", "state=resume"])
    assert site.run("allow-drains", "--because", "go on") == 0
    assert site.act() in (0, 3)
    assert site.node("n4").drain and not site.node("n5").drain, "a repaired node is not drained again"
    assert site.run("clear", "n99", "--because", "x") == 2
    assert "n99: Slurm has no such node, and the log knows nothing of it" in capsys.readouterr().err


def test_a_drain_of_ours_with_others_words_around_it(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """As ``scontrol reboot`` and ticket systems leave it."""
    for node, words in (("n1", "{} : reboot issued"), ("n2", "INC-4711 {}")):
        site.slow_twice(node, f"0000000{node[1]}", f"0000001{node[1]}")
        assert site.act() == 0
        reason = words.format(site.node(node).reason)
        site.private.run(["scontrol", "update", f"nodename={node}", f"reason={reason}"])
        assert site.run("clear", node, "--because", "reseated") == 0
        assert "it is resumed once the check that drained it has passed" in capsys.readouterr().out
        leave(site.results, node, f"0000002{node[1]}", at=time.time() + 60, job=None)
        site.slurm.wait(node, lambda state: "NOT_RESPONDING" not in state.flags, 60)
        assert site.act() == 0 and not site.node(node).drain, site.node(node)


def test_a_gpu_that_was_absent_for_one_look(site: Site, tmp_path: Path) -> None:
    """At 07:00, and back at 07:05; ``act`` comes later, and reads it once."""
    if os.geteuid() != 0:
        pytest.skip("health findings count as root's alone")
    health = tmp_path / "health"
    gone = {"subject": "g2", "verdict": "FAIL", "hard": True, "reason": "GPU 2 is absent"}
    for minutes, findings in ((10, [gone]), (5, [])):
        look = {
            "schema": "nearfar-health/1", "run": f"000000{minutes:02}", "node": "n4", "hostname": "n4", "system": "vm", "partition": "gpu",
            "time": utc(site.now - 60 * minutes), "boot": None, "seconds": 0.3, "verdict": "FAIL" if findings else "PASS",
            "findings": findings, "last": None,
        }  # fmt: skip
        kept_looks.store(health, look, "")
    assert site.act("--health", str(health)) == 0
    assert site.node("n4").reason == "nearfar: FAIL health g2 run=00000010" and site.node("n4").drain
    assert list((health / "kept" / "n4").iterdir()) == [], "the log has it now"
    assert site.run("clear", "n4", "--because", "reseated") == 0
    site.private.run(["scontrol", "update", "nodename=n4", "state=resume"])
    assert site.act("--health", str(health)) == 0 and not site.node("n4").drain
