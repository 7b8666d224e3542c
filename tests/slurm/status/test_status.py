"""``nearfar slurm status``: what it prints, whether what watches is alive, and its exit codes."""

from __future__ import annotations

import copy
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nearfar import cli
from nearfar.base import CouldNotJudge, schema
from nearfar.commands.schema import SCHEMAS
from nearfar.slurm.act import act, node_states
from nearfar.slurm.status import status_page, watchers
from tests.support.played_fleet import PlayedFleet

GOOD, WRONG_USE, COULD_NOT_JUDGE = 0, 2, 3
_SYSTEM = """\
system: vm
hosts: ["n[1-6]"]
act:
  trusted: [root, {user}]
  default: drain
  same_metric: {{nodes: 99, share: 1.0}}
  cap: {{per_day: {{nodes: 6, share: 1.0}}, in_all: {{nodes: 6, share: 1.0}}, available: {{share: 0.0}}}}
partitions:
  - name: gpu
"""
Run = Callable[..., int]


@pytest.fixture
def fleet(tmp_path: Path) -> PlayedFleet:
    return PlayedFleet(tmp_path)


@pytest.fixture
def run(fleet: PlayedFleet, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command of ``nearfar slurm`` on the fleet."""
    folder = fleet.folder / "site/systems"
    folder.mkdir(parents=True)
    (folder / "vm.yaml").write_text(_SYSTEM.format(user=os.geteuid()))
    monkeypatch.setenv("NEARFAR_SITE", str(fleet.folder / "site"))
    monkeypatch.setattr("nearfar.slurm.controller.Slurm.refuse_absence", lambda self: None)
    for name in ("act", "clear", "status"):
        monkeypatch.setattr(f"nearfar.commands.slurm.{name}.Slurm", lambda: fleet.slurm)

    def command(name: str, *words: str) -> int:
        places = {"state": fleet.state, "results": fleet.results, "health": fleet.health}
        return cli.main(["slurm", name, *(f"--{key}={value}" for key, value in places.items()), *words])

    return command


def all_measured(fleet: PlayedFleet) -> None:
    for node in fleet.slurm.nodes():
        fleet.result(node)


def test_all_good_in_a_few_lines(fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    all_measured(fleet)
    assert run("act") == GOOD
    capsys.readouterr()
    assert run("status") == GOOD
    first, drains, _, _, good = capsys.readouterr().out.splitlines()
    assert first.endswith("6 of 6 nodes in use measured lately") and "act 0 seconds ago" in first
    assert drains == "drains: 0 of 6 in all; 0 of 6 within a day"
    assert good.split() == ["good", "6", "n[1-6]:", "measured,", "with", "no", "open", "finding"]


def test_nodes_alike_share_a_line_with_what_to_type(
    fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    all_measured(fleet)
    for node in ("n1", "n2", "n3"):
        fleet.wrong(node)
    run("act")
    capsys.readouterr()
    assert run("status") == COULD_NOT_JUDGE
    said = capsys.readouterr().out
    assert "  n[1-3]: FAIL host_device g2:n0 cell.wrong_data" in said
    assert "nearfar slurm retest 'n[1-3]', or nearfar slurm clear 'n[1-3]' --because WORDS" in said


def test_failed_prolog_has_a_next_step(fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.wrong("n1")
    fleet.slurm.drain("n1", "Prolog error", "root")
    run("act")
    run("status", "n1")
    assert "nearfar slurm retest n1" in capsys.readouterr().out


def test_drain_typed_as_printed_is_not_the_nodes(
    fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet.slurm.drain("n1", f"nearfar: FAIL host_device g2:n0 cell.wrong_data run={fleet.wrong('n1')}")
    assert run("act", "--take-over", "none") == GOOD
    run("act")
    capsys.readouterr()
    run("status", "n1")
    assert "drained by hand, by alice" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("stopped", "words"),
    [
        ("act", "act has not run for 2 hours"),
        ("health", "no health check of n[1-6] for up to 2 hours"),
        ("sweep", "no node in use was measured within 36 hours"),
    ],
)
def test_what_stopped_watching_is_missed(
    fleet: PlayedFleet,
    run: Run,
    stopped: str,
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if stopped == "health" and os.geteuid() != 0:
        pytest.skip("health findings count as root's alone")
    all_measured(fleet)
    for node in fleet.slurm.nodes():
        fleet.health_check(node)
    run("act")
    later = time.time() + (40 * 3600.0 if stopped == "sweep" else 2 * 3600.0)
    monkeypatch.setattr(time, "time", lambda: later)
    if stopped != "act":
        run("act")
    capsys.readouterr()
    assert run("status") == COULD_NOT_JUDGE
    assert words in capsys.readouterr().out


@pytest.mark.skipif(os.geteuid() != 0, reason="health findings count as root's alone")
def test_only_idle_nodes_owe_health_checks(fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """HealthCheckNodeState is IDLE,CYCLE: a job of two hours is no reason to ask for slurmd, a check that never came is one."""
    all_measured(fleet)
    fleet.slurm.states["n2"] = replace(fleet.node("n2"), base="ALLOCATED")
    for node in ("n1", "n2"):
        fleet.health_check(node)
    run("act")
    capsys.readouterr()
    assert run("status") == COULD_NOT_JUDGE
    assert "no health check of n[3-6]: is HealthCheckProgram set" in capsys.readouterr().out
    for node in ("n3", "n4", "n5", "n6"):
        fleet.health_check(node)
    run("act")
    with fleet.ledger() as ledger:
        ledger.write("UPDATE check_run SET known = known - 7200 WHERE node = 'n2' AND check_name = 'health'")
    capsys.readouterr()
    assert run("status") == GOOD, capsys.readouterr().out


def test_act_reports_drains_beyond_a_cap(fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """Nodes that drain themselves in the same second do not see each other's drains."""
    file = fleet.folder / "site/systems/vm.yaml"
    file.write_text(file.read_text().replace("per_day: {nodes: 6", "per_day: {nodes: 2"))
    all_measured(fleet)
    for number in (1, 2, 3):
        reason = f"nearfar: FAIL health g2 gpu.missing run=0000000{number}"
        fleet.slurm.states[f"n{number}"] = replace(fleet.node(f"n{number}"), flags=frozenset({"DRAIN"}), reason=reason)
    assert run("act") == GOOD
    assert "3 nodes are drained within a day, and its cap is 2: n[1-3]" in capsys.readouterr().out


def test_one_node_in_full(fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    bad = fleet.wrong("n2")
    run("act")
    run("clear", "n2", "--because", "GPU 2 replaced")
    capsys.readouterr()
    assert run("status", "n2") == GOOD
    said = capsys.readouterr().out
    assert "n2: back in use, not measured since" in said
    assert "cleared, by" in said and "GPU 2 replaced" in said
    assert f"{bad} host_device_check FAIL" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="health findings count as root's alone")
def test_no_file_is_named_that_act_has_removed(
    fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    found = fleet.health_check("n2", missing="g2")
    run("act")
    capsys.readouterr()
    run("status", "n2")
    said = capsys.readouterr().out
    assert f"{found} health FAIL\n" in said, said


def test_what_was_done_since(fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.wrong("n2")
    run("act")
    capsys.readouterr()
    assert run("status", "--since", "1h") == GOOD
    assert "  n2  drained, by " in capsys.readouterr().out
    assert run("status", "--since", "yesterday") == WRONG_USE
    assert "expected 24h, 30d, 12w, a day such as" in capsys.readouterr().err


def strict(node: Any) -> Any:
    """A schema that refuses keys which it does not name."""
    if isinstance(node, dict):
        found = {key: strict(value) for key, value in node.items()}
        return {**found, "additionalProperties": False} if "properties" in node else found
    return [strict(each) for each in node] if isinstance(node, list) else node


def problems(name: str, document: Any) -> list[str]:
    found = jsonschema.Draft7Validator(strict(copy.deepcopy(schema(SCHEMAS[name])))).iter_errors(document)
    return [error.message for error in found]


def test_the_documents_conform(fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    all_measured(fleet)
    fleet.wrong("n2")
    assert run("act") == GOOD
    capsys.readouterr()
    assert run("status", "--json", "--since", "all") == COULD_NOT_JUDGE
    status = json.loads(capsys.readouterr().out)
    assert problems("status", status) == []
    assert status["states"]["drained"]["nodes"] == "n2" and len(status["actions"]) >= 1


def test_slurm_that_does_not_answer(
    fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    all_measured(fleet)
    fleet.wrong("n2")
    run("act")

    def away() -> Any:
        raise CouldNotJudge("Unable to contact slurm controller")

    monkeypatch.setattr(fleet.slurm, "nodes", away)
    capsys.readouterr()
    assert run("status") == COULD_NOT_JUDGE
    assert "Unable to contact slurm controller" in capsys.readouterr().err
    assert run("status", "--since", "1h") == GOOD
    assert "n2  drained, by " in capsys.readouterr().out, "what was done the ledger knows by itself"


def test_before_act_ever_ran_a_dry_run_shows_what_it_would_do(
    fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    all_measured(fleet)
    fleet.wrong("n2")
    assert run("status") == COULD_NOT_JUDGE and "act has never run here" in capsys.readouterr().err
    assert run("act", "--dry-run") == GOOD
    assert "n2           would drain   nearfar: FAIL" in capsys.readouterr().out
    assert not fleet.state.exists(), "nothing was written"


def test_a_node_that_nobody_knows(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("act")
    assert run("status", "n77") == WRONG_USE
    assert "Slurm has no node n77" in capsys.readouterr().err


def test_files_that_are_not_believed(fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    all_measured(fleet)
    fleet.result("n5")
    for path in fleet.results.glob("*/nodes/n5/1/result.json"):
        path.chmod(0o666)
    assert run("act") == COULD_NOT_JUDGE
    assert "other users can write to it" in capsys.readouterr().err


def test_a_long_list_is_cut_and_can_be_pasted(tmp_path: Path) -> None:
    fleet = PlayedFleet(tmp_path, tuple(f"n{number * 7}" for number in range(1, 201)))
    all_measured(fleet)
    view = fleet.act().view
    with fleet.ledger() as ledger:
        lines = list(status_page.lines(view, watchers(view, ledger)))
    assert ",… (all of them: --json): " in lines[-1] and max(map(len, lines)) < 400
    assert len(view.fleet.of_state(node_states.GOOD)) == 200


def test_a_faulty_node_that_slurm_does_not_know_or_not_so(
    fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    all_measured(fleet)
    assert run("act") == GOOD
    fleet.wrong("n9")
    assert run("act") == COULD_NOT_JUDGE and run("status") == COULD_NOT_JUDGE
    assert "if it is gone for good: nearfar slurm clear n9 --because WORDS" in capsys.readouterr().out
    assert run("clear", "n9", "--because", "sold") == GOOD
    assert run("act") == GOOD and run("status") == GOOD
    fleet.slurm.states["n1"] = replace(fleet.node("n1"), flags=frozenset({"NEW_WORD"}))
    assert run("act") == COULD_NOT_JUDGE and run("status") == COULD_NOT_JUDGE


def test_since_a_time_that_is_none_of_this_world(
    fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet.act()
    for since in ("99999w", "9999-12-31T23:59:59-23:00"):
        assert run("status", f"--since={since}") == GOOD
        assert capsys.readouterr().out == f"nothing was done since {since}\n"


def test_a_state_directory_that_is_a_file(fleet: PlayedFleet, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.state.write_text("")
    assert run("status") == COULD_NOT_JUDGE and "ledger.db: cannot be read: Not a directory" in capsys.readouterr().err


def test_act_of_another_system_is_not_this_one_s(fleet: PlayedFleet) -> None:
    fleet.act()
    with fleet.ledger() as ledger:
        ledger.write("UPDATE action SET at = at - 7200")
    act(replace(fleet.options, policy=replace(fleet.policy, system="other")), fleet.slurm)
    view = fleet.view()
    assert view.acted is not None and view.now - view.acted >= 7200
