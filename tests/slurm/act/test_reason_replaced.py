"""A drain of ours whose reason Slurm has replaced by its own: people's commands treat it as ours, as ``act`` does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.slurm.act import quarantine
from nearfar.slurm.findings import ActLog, deaths, summarize
from tests.slurm.status.test_status import Fleet


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """n2 is drained by us for a slow figure."""
    fleet = Fleet(tmp_path, monkeypatch)
    fleet.slow("n2", 7200, 60)
    assert fleet.run("act") == 0 and fleet.slurm.node("n2").drain
    return fleet


def replaced(fleet: Fleet, reason: str, base: str, *flags: str) -> None:
    state = fleet.slurm.node("n2")
    fleet.slurm.states["n2"] = replace(state, base=base, flags=state.flags | set(flags), reason=reason)


@pytest.mark.parametrize("reason", ["Not responding", "Node unexpectedly rebooted"])
@pytest.mark.parametrize("base", ["IDLE", "DOWN"])
def test_it_is_released(fleet: Fleet, reason: str, base: str, capsys: pytest.CaptureFixture[str]) -> None:
    replaced(fleet, reason, base)
    assert fleet.run("release", "n2", "--because", "power cord") == 0
    assert "released      in use again; it was drained with 'nearfar: FAIL host_device" in capsys.readouterr().out
    assert fleet.slurm.node("n2").idle
    assert fleet.run("act") == 0 and fleet.slurm.node("n2").idle, "what was found before counts no more"


def test_one_that_does_not_answer_is_not_released(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    replaced(fleet, "Not responding", "DOWN", "NOT_RESPONDING")
    assert fleet.run("release", "n2", "--because", "x") == 3
    assert "not released  it is DOWN+DRAIN+NOT_RESPONDING" in capsys.readouterr().out and fleet.slurm.node("n2").drain


def test_a_person_s_reason_in_its_place_is_the_person_s(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    replaced(fleet, "ticket 12", "IDLE")
    assert fleet.run("release", "n2", "--because", "x") == 3 and fleet.slurm.node("n2").drain
    assert "not drained by act: left alone" in capsys.readouterr().out


def test_it_may_be_tested_again(fleet: Fleet) -> None:
    replaced(fleet, "Not responding", "DOWN")
    past = summarize(ActLog(fleet.state).entries())
    nodes = deaths.with_our_reasons(fleet.slurm.nodes(), past)
    [one] = quarantine.suspects(["n2"], nodes, past, fleet.options.policy, None)
    assert one.drained is not None and one.reason.startswith("nearfar: FAIL host_device")


def test_clear_says_that_it_has_to_pass(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    replaced(fleet, "Not responding", "DOWN")
    capsys.readouterr()
    assert fleet.run("clear", "n2", "--because", "power cord") == 0
    assert "it is resumed once the check that drained it has passed" in capsys.readouterr().out
    assert fleet.run("status", "n2") == 3 and "does not know" not in capsys.readouterr().out
