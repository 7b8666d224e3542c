"""What of a week's results is read: all that is new, and the older ones of nodes with a FAIL among it; and from where."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nearfar.base.errors import CouldNotJudge
from nearfar.site.drain_policy import NightRule, Policy
from nearfar.slurm.act import view
from nearfar.slurm.act.decide import decide
from nearfar.slurm.act.options import ActOptions
from nearfar.slurm.controller import NodeState
from nearfar.slurm.findings import CheckRun, LogSummary, confirmation, gathering
from nearfar.slurm.findings.gathering import TimeRange, gather
from nearfar.verdict import FigureLook, JudgedMetric, JudgedReference, Verdict
from tests.support.node_results import leave
from tests.support.verdicts import TIME, judged, judged_metric

NOW = float(int(time.time()))
DAY = 86400.0


@pytest.fixture(autouse=True)
def arrival(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a file came to be there nobody can make up, but when it was changed."""
    monkeypatch.setattr(gathering, "_came", lambda place: place.lstat().st_mtime)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    return folder


def left(results: Path, node: str, run: str, days_ago: float, speed: float = 55.0) -> Path:
    """A result that came so long ago."""
    place = leave(results, node, run, at=NOW - days_ago * DAY, speed=speed)
    os.utime(place, (NOW - days_ago * DAY,) * 2)
    return place


def read(results: Path, *whole: str) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    window = TimeRange(NOW - 8.5 * DAY, NOW - 1.5 * DAY, whole)
    found = gather(results, None, "vm", frozenset({os.geteuid()}), NOW, window)
    return sorted((run.node, run.run) for run in found.runs), found.refused


def test_older_results_are_read_where_they_may_decide(results: Path) -> None:
    left(results, "n1", "00000001", 0.5)
    left(results, "n1", "00000002", 3)
    left(results, "n2", "00000003", 0.5, speed=27.0)
    left(results, "n2", "00000004", 3, speed=27.0)
    left(results, "n2", "00000005", 9, speed=27.0)
    left(results, "n3", "00000006", 3, speed=27.0)
    new = [("n1", "00000001"), ("n2", "00000003")]
    assert read(results)[0] == sorted([*new, ("n2", "00000004")]), "its confirming run"
    assert read(results, "n3")[0] == sorted([*new, ("n2", "00000004"), ("n3", "00000006")]), "as for a drained node"


def test_a_node_whose_clock_is_behind_is_named_and_what_it_found_counts(results: Path) -> None:
    place = leave(results, "n1", "00000001", at=NOW - 20 * DAY, wrong="wrong data")
    os.utime(place, (NOW - 60, NOW - 60))
    leave(results, "n2", "00000002", at=NOW - 60)
    found = gather(results, None, "vm", frozenset({os.geteuid()}), NOW, TimeRange(NOW - 8.5 * DAY, NOW - 1.5 * DAY))
    assert {(run.node, run.known) for run in found.runs} == {("n1", NOW - 60), ("n2", NOW - 60)}
    assert [line[:39] for line in found.clocks] == ["n1: run 00000001 ended 20.0 days before"]


def test_what_is_not_believed_is_told_while_it_may_decide(results: Path) -> None:
    for days, run in ((0.5, "00000001"), (3, "00000002")):
        place = left(results, "n1", run, days)
        (place / "result.json").write_text("{")
        os.utime(place, (NOW - days * DAY,) * 2)
    found, refused = read(results)
    assert found == [] and len(refused) == 1 and "s-00000001" in refused[0]
    assert len(read(results, "n1")[1]) == 2


@pytest.mark.parametrize(("stale", "proves"), [("", True), ("moved", True), ("widened", False)])
def test_bounds_that_were_only_widened_prove_nothing(results: Path, stale: str, proves: bool) -> None:
    """They release no node that was drained for that figure."""
    leave(results, "n1", "00000001", at=NOW - 60, stale=stale)
    (run,) = gather(results, None, "vm", frozenset({os.geteuid()}), NOW, TimeRange(0.0)).runs
    assert run.clears("sole.g2_n0") is proves and run.clears(None)


def test_a_night_on_which_it_was_slow_now_and_then_is_read(results: Path) -> None:
    leave(results, "n1", "00000001", at=NOW - 60, looks=(27.0, 55.0, 55.0))
    (run,) = gather(results, None, "vm", frozenset({os.geteuid()}), NOW, TimeRange(0.0)).runs
    assert (run.verdict, run.failures) == ("DEGRADED", ())
    assert run.intermittent == frozenset(["sole.g2_n0"])


STREAM = judged_metric(
    name="near.c0_n0_triad", quantity="stream", subject="c0:n0/triad", gpus=(), value=200.0, verdict="FAIL", reason="STREAM: 200 GB/s",
    reference=JudgedReference(260.0, 245.0, None, "GB/s", "tuned", "", False),
)  # fmt: skip
LANE = replace(STREAM, name="NV18.g0_g1", quantity="copy", subject="g0:g1", gpus=(0, 1), reason="NVLink: 200 GB/s")
LOOKS = tuple(FigureLook(value, TIME, value < 245) for value in (200.0, 260.0, 260.0))
NOW_AND_THEN = replace(STREAM, verdict="DEGRADED", looks=LOOKS)


def disturbed(word: str | None = "host") -> Verdict:
    """H2D of two GPUs that fell together."""
    copies = [
        judged_metric(
            subject=f"n0:g{g}", gpus=(g,), value=44.0, verdict="INDETERMINATE", reason="fell", disturbance=word
        )
        for g in (0, 1)
    ]
    return judged("host_device_check", *copies, verdict="INDETERMINATE")


def night(results: Path, run: str, days_ago: float, *figures: JudgedMetric, beside: Verdict, **more: Any) -> None:
    """A run whose ``host_memory_check`` has these figures beside D2H of GPU 2, and ``beside`` as its ``host_device_check``."""
    word = next((w for w in ("FAIL", "DEGRADED") if any(f.verdict == w for f in figures)), "PASS")
    others = [beside, judged("peer_check", *figures, verdict=word)]
    place = leave(results, "n1", run, at=NOW - days_ago * DAY, check="host_memory_check", beside=others, **more)
    os.utime(place, (NOW - days_ago * DAY,) * 2)


def standing(results: Path) -> tuple[list[tuple[str, str, bool]], list[CheckRun]]:
    found = gather(results, None, "vm", frozenset({os.geteuid()}), NOW, TimeRange(0.0)).runs
    evidence = confirmation.fails(found, Policy("vm"), 0.0, NOW)
    return [(e.found_by.check, e.finding.subject, e.stands) for e in evidence], list(found)


@pytest.mark.parametrize(("word", "stands"), [("host", False), ("cpus", True), (None, True)])
def test_host_memory_beside_a_host_that_another_check_found_disturbed_is_no_evidence(
    results: Path, word: str | None, stands: bool
) -> None:
    for run, days in (("00000001", 0.1), ("00000002", 1), ("00000003", 9)):
        night(results, run, days, STREAM, LANE, beside=disturbed(word), speed=27.0)
    found, runs = standing(results)
    assert ("peer_check", "near.c0_n0_triad", True) in found if stands else "near.c0_n0_triad" not in str(found)
    assert ("peer_check", "NV18.g0_g1", True) in found, "what does not cross the host's memory stands"
    assert ("host_memory_check", "sole.g2_n0", True) in found, "and the direction that did not fall"
    assert {run.verdict for run in runs if run.check == "peer_check"} == {"FAIL"}


def test_wrong_data_stands_beside_a_disturbed_host(results: Path) -> None:
    night(results, "00000001", 0.1, STREAM, beside=disturbed(), wrong="wrong data")
    assert standing(results)[0] == [("host_memory_check", "g2:n0", True)]


def test_a_check_that_fails_by_a_disturbed_host_alone_could_not_be_judged_and_says_why(results: Path) -> None:
    night(results, "00000001", 0.1, STREAM, beside=disturbed())
    found, runs = standing(results)
    run = next(run for run in runs if run.check == "peer_check")
    assert (found, run.verdict, run.failures) == ([], "INDETERMINATE", ())
    assert "host_device_check of the same run" in run.words
    node = {"n1": NodeState("n1", "IDLE", partitions=("gpu",))}
    (decision,) = decide(runs, node, Policy("vm"), LogSummary(), NOW).nodes
    assert decision.why.endswith(run.words)


def test_a_night_with_a_disturbed_host_is_none_of_those_on_which_it_was_slow(results: Path) -> None:
    night(results, "00000001", 0.1, STREAM, beside=disturbed(None))
    for run, days in (("00000002", 9), ("00000003", 19)):
        night(results, run, days, NOW_AND_THEN, beside=disturbed())
    assert standing(results)[0] == [("peer_check", "near.c0_n0_triad", False)]
    for run, days in (("00000004", 8), ("00000005", 18)):
        night(results, run, days, NOW_AND_THEN, beside=disturbed(None))
    assert standing(results)[0] == [("peer_check", "near.c0_n0_triad", True)]


@pytest.mark.parametrize(("rule", "days"), [(NightRule(), 31.5), (NightRule(2, 10), 11.5), (None, 8.5)])
def test_as_many_nights_are_read_as_count(tmp_path: Path, rule: NightRule | None, days: float) -> None:
    """Of nodes that fail now; all others' results are read as far back as before."""
    options = ActOptions(Policy("vm", intermittent=rule), tmp_path, None, tmp_path)
    times = view._time_range(options, {}, LogSummary(), NOW, NOW, (), None)
    assert (times.oldest, times.recent) == (NOW - days * DAY, NOW - 8.5 * DAY)


root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's directory")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A directory of root's, below one that a test gives to others."""
    folder = tmp_path / "others" / "site" / "results"
    folder.mkdir(parents=True)
    for place in (tmp_path, folder.parents[1], folder.parent, folder):
        place.chmod(0o755)
    left(folder, "n1", "00000001", 0.5, speed=27.0)
    return folder


def refusal(folder: Path) -> str:
    """Why nothing in a directory is believed, as results and as health findings, in a line; empty where it is."""
    said = set()
    for results, health in ((folder, None), (None, folder)):
        try:
            gather(results, health, "vm", frozenset({0}), NOW, TimeRange(NOW - DAY))
        except CouldNotJudge as error:
            said.add(str(error).replace("sweeps", "looks"))
    assert len(said) < 2 and "\n" not in "".join(said), said
    return "".join(said)


@root_only
@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda place: os.chown(place, 65534, 65534), "belongs to user 65534"),
        (lambda place: place.chmod(0o777), "others can write to it (mode 0777)"),
        (lambda place: place.chmod(0o775), "others can write to it (mode 0775)"),
    ],
)
def test_a_directory_that_somebody_can_put_another_in_the_place_of(shared: Path, spoil: Any, why: str) -> None:
    others = shared.parents[1]
    assert refusal(shared) == ""
    spoil(others)
    said = refusal(shared)
    assert said.startswith(f"{others}: {why}"), f"its owner can replace {shared}, and it is believed: {said!r}"
    assert str(shared) in said


@root_only
def test_a_sticky_directory_keeps_others_from_what_is_not_theirs(shared: Path) -> None:
    shared.parents[1].chmod(0o1777)
    assert refusal(shared) == ""
    os.chown(shared.parent, 65534, 65534)
    assert refusal(shared).startswith(f"{shared.parent}: belongs to user 65534")


@root_only
def test_links_are_followed_to_where_they_lead_and_looked_at_where_they_are(shared: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("others/../others/site")
    assert refusal(link / "results") == ""
    os.chown(link, 65534, 65534, follow_symlinks=False)
    assert refusal(link / "results").startswith(f"{link}: belongs to user 65534")
    os.chown(link, 0, 0, follow_symlinks=False)
    os.chown(shared.parents[1], 65534, 65534)
    assert refusal(link / "results").startswith(f"{shared.parents[1]}: belongs to user 65534")
    link.unlink()
    link.symlink_to("link")
    assert "cannot be listed" in refusal(link / "results")


@root_only
def test_a_relative_path_is_looked_at_as_well(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared.parent)
    assert refusal(Path("results")) == refusal(Path("results/../results")) == ""
    os.chown(shared.parents[1], 65534, 65534)
    assert refusal(Path("results")).startswith(f"{shared.parents[1]}: belongs to user 65534")
    trusted = gather(Path("results"), None, "vm", frozenset({0, 65534}), NOW, TimeRange(NOW - DAY))
    assert [run.run for run in trusted.runs] == ["00000001"], "a trusted user's directory may be above"
