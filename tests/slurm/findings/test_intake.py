"""What is taken in of results and health findings: each once, however late it comes, and from nowhere that others could have written."""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nearfar.base.errors import CouldNotJudge
from nearfar.site.drain_policy import Policy
from nearfar.slurm.act import act
from nearfar.slurm.findings import confirmation
from nearfar.slurm.ledger import CheckRun, Ledger
from nearfar.slurm.sweep import sweep_file
from nearfar.verdict import FigureLook, JudgedMetric, JudgedReference, Verdict
from tests.support.node_results import leave
from tests.support.pair_results import figure
from tests.support.pair_results import leave as leave_pairs
from tests.support.played_fleet import PlayedFleet
from tests.support.sweeping import planned
from tests.support.taking_in import take_in
from tests.support.verdicts import TIME, judged, judged_metric

NOW = float(int(time.time()))
DAY = 86400.0
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's directory")


@pytest.fixture
def fleet(tmp_path: Path) -> PlayedFleet:
    return PlayedFleet(tmp_path)


@pytest.fixture
def results(fleet: PlayedFleet) -> Path:
    return fleet.results


def only(results: Path) -> CheckRun:
    [run] = take_in(results, None, NOW).runs
    return run


# Each once, however late.


def test_each_result_is_read_once(results: Path) -> None:
    ledger = Ledger.in_memory()
    place = leave(results, "n1", "00000001", at=NOW - 60)
    assert len(take_in(results, None, NOW, ledger).runs) == 1
    (place / "result.json").write_text("{")
    leave(results, "n2", "00000002", at=NOW - 30)
    found = take_in(results, None, NOW, ledger)
    assert [run.node for run in found.runs] == ["n1", "n2"] and not found.refused


def test_what_came_weeks_late_with_its_time_kept(fleet: PlayedFleet) -> None:
    fleet.act()
    place = leave(fleet.results, "n1", "00000001", at=NOW - 30 * DAY, wrong="wrong data")
    (place / "result.json").chmod(0o666)
    for _ in range(2):
        assert len(fleet.act().view.refused) == 1 and fleet.drained() == [], "it stays refused, and is told of"
    (place / "result.json").chmod(0o644)
    fleet.act()
    assert fleet.drained() == ["n1"], "fixed, it counts"


@pytest.mark.parametrize("swept", [True, False], ids=["by a sweep", "by hand"])
def test_another_attempt_in_a_sweep_of_weeks_ago(fleet: PlayedFleet, swept: bool) -> None:
    """As ``nearfar slurm node --sweep by-hand --attempt 2`` leaves it, or a sweep that was resumed."""
    place = leave(fleet.results, "n1", "00000001", at=NOW - 20 * DAY, sweep="s")
    sweep = fleet.results / "s"

    def age(days: float) -> None:
        for path in (sweep, *sweep.rglob("*")):
            os.utime(path, (NOW - days * DAY,) * 2)

    if swept:
        planned(sweep, ["n1"]).save()
    age(20)
    fleet.act()
    again = leave(fleet.folder / "other", "n1", "00000002", at=NOW - 60, wrong="wrong data", sweep="s")
    again.rename(place.parent / "2")
    age(20)
    if swept:
        os.utime(sweep / sweep_file.FILE)
    fleet.act()
    assert fleet.drained() == ["n1"]


def test_what_was_read_is_forgotten_with_its_runs_and_opens_nothing(fleet: PlayedFleet) -> None:
    """Four sweeps of long ago: what passed, wrong data that was cleared, wrong data that is open; and one of another night."""
    fleet.slurm.drain("n3", "ticket 12")
    what: tuple[dict[str, Any], ...] = ({}, {"wrong": "wrong data"}, {"wrong": "wrong data"}, {})
    for n, more in enumerate(what, 1):
        leave(fleet.results, f"n{n}", f"0000000{n}", at=NOW - (100 if n < 4 else 20) * DAY, sweep=f"s{n}", **more)
        planned(fleet.results / f"s{n}", [f"n{n}"]).save()

    def age() -> None:
        for n in range(1, 5):
            for path in (fleet.results / f"s{n}", *(fleet.results / f"s{n}").rglob("*")):
                os.utime(path, (NOW - (100 if n < 4 else 20) * DAY,) * 2)

    age()
    fleet.act()
    fleet.clear("n2")
    for _ in range(2):
        fleet.act()
    with fleet.ledger() as ledger:
        keys = {row["place"] for row in ledger.rows("SELECT place FROM taken WHERE place LIKE 'run:%'")}
        assert keys == {"run:n2:00000002", "run:n3:00000003", "run:n4:00000004"}, "what had hard evidence stays known"
        places = [row["place"] for row in ledger.rows("SELECT place FROM taken WHERE place LIKE '%/nodes/%'")]
        assert sorted(place.rpartition("/nodes/")[2] for place in places) == ["n2/1", "n3/1", "n4/1"]
    for n in range(1, 5):  # as after a restore, or where a sweep is resumed
        (fleet.results / f"s{n}").rename(fleet.results / f"t{n}")
        (fleet.results / f"t{n}").rename(fleet.results / f"s{n}")
        os.utime(fleet.results / f"s{n}" / sweep_file.FILE)
    fleet.slurm.resume("n3")
    fleet.act()
    assert fleet.drained() == ["n3"], "what is open stays so, and what was cleared"


def test_each_system_takes_in_its_own(fleet: PlayedFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The act of another system that comes first leaves it alone, whoever it trusts."""
    systems = fleet.folder / "site" / "systems"
    systems.mkdir(parents=True)
    (systems / "vm.yaml").write_text("system: vm\nact: {}\npartitions:\n  - name: gpu\n")
    monkeypatch.setenv("NEARFAR_SITE", str(fleet.folder / "site"))
    fleet.wrong("n1")
    other = replace(fleet.options, policy=replace(fleet.policy, system="other"))
    for _ in range(2):
        act(other, fleet.slurm)
    with fleet.ledger() as ledger:
        assert not ledger.rows("SELECT 1 FROM check_run")
    assert fleet.drained() == []
    fleet.act()
    assert fleet.drained() == ["n1"]
    (systems / "vm.yaml").unlink()
    fleet.wrong("n2")
    act(other, fleet.slurm)
    with fleet.ledger() as ledger:
        assert ledger.rows("SELECT 1 FROM finding WHERE node = 'n2'"), "nobody else would speak of it"


def test_pairs_of_nodes_never_drain(fleet: PlayedFleet) -> None:
    """n4 has wrong data with both of its partners, one of whom is well with another: the sweep's page says so, and that is all."""
    good, wrong = {"metrics": [figure(1.5)]}, {"metrics": [figure(9.0)], "wrong": "wrong data at 8 B"}
    pairs = {"n1+n2": good, "n3+n4": wrong, "n5+n6": good, "n1+n3": good, "n2+n4": wrong}
    leave_pairs(fleet.results, "s", NOW - 60, pairs)
    view = fleet.act().view
    assert fleet.drained() == [] and not view.refused and not any(view.facts.evidence.values())
    with fleet.ledger() as ledger:
        assert not ledger.rows("SELECT 1 FROM check_run")


def test_a_job_that_waited_for_days_behind_others(fleet: PlayedFleet) -> None:
    """A second attempt, of a sweep whose process is gone: neither its file nor its list of nodes changes."""
    place = leave(fleet.results, "n1", "00000001", at=NOW - 5 * DAY, sweep="s")
    sweep = fleet.results / "s"
    planned(sweep, ["n1"]).save()
    for path in (sweep, *sweep.rglob("*")):
        os.utime(path, (NOW - 5 * DAY,) * 2)
    fleet.act()
    leave(fleet.folder / "other", "n1", "00000002", at=NOW - 60, wrong="wrong data", sweep="s").rename(
        place.parent / "2"
    )
    fleet.act()
    assert fleet.drained() == ["n1"]


def test_what_held_nodes_wait_for_needs_no_results(fleet: PlayedFleet) -> None:
    fleet.wrong("n1")
    fleet.slurm.drain("n1", "ticket 12")
    fleet.act()
    fleet.results.rename(fleet.folder / "unmounted")
    fleet.results.mkdir()
    with pytest.raises(CouldNotJudge, match="empty, and not the directory that was read before"):
        fleet.act()
    leave(fleet.results, "n2", "0000000a", at=NOW - 60, sweep="s-00000001")
    fleet.slurm.resume("n1")
    fleet.act()
    assert fleet.drained() == ["n1"]


def test_a_check_of_health_is_forgotten_only_once_it_is_in_the_ledger(fleet: PlayedFleet) -> None:
    """A GPU that was absent for one check; then one whose clock is ahead, which is refused."""
    if fleet.options.health is None:
        pytest.skip("health findings count as root's alone")
    fleet.health_check("n4", missing="g2")
    fleet.health_check("n4")
    kept = fleet.health / "kept" / "n4"
    assert len(list(kept.iterdir())) == 1
    fleet.act()
    assert fleet.drained() == ["n4"] and not list(kept.iterdir())
    ahead = kept.with_name("n5")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: NOW + DAY)
        fleet.health_check("n5", missing="g2")
        fleet.health_check("n5")
    assert fleet.act().view.refused and len(list(ahead.iterdir())) == 1, "it is not known yet"


# By whose clock.


def test_a_node_whose_clock_is_behind_is_named_and_what_it_found_counts(results: Path) -> None:
    place = leave(results, "n1", "00000001", at=NOW - 20 * DAY, wrong="wrong data")
    os.utime(place, (NOW - 60, NOW - 60))
    leave(results, "n2", "00000002", at=NOW - 60)
    found = take_in(results, None, NOW)
    assert {(run.node, run.known) for run in found.runs} == {("n1", NOW - 60), ("n2", NOW - 60)}
    assert [line[:39] for line in found.clocks] == ["n1: run 00000001 ended 20.0 days before"]


@pytest.fixture(params=[None, 946684800.0], ids=["of now", "of long ago"])
def restored(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    """Puts a copy in the place of a directory, all of it with one time, as a backup leaves it."""

    def restore(folder: Path) -> None:
        aside = folder.with_name(f"{folder.name}-backup")
        folder.rename(aside)
        shutil.copytree(aside, folder, copy_function=shutil.copyfile)
        when = time.time() if request.param is None else request.param
        for path in (folder, *folder.rglob("*")):
            os.utime(path, (when, when))
        shutil.rmtree(aside)

    return restore


def test_what_a_backup_restored_before_it_was_read_counts(fleet: PlayedFleet, restored: Callable[[Path], None]) -> None:
    fleet.result("n2", 90 * 3600.0)
    fleet.act()
    fleet.result("n1", 20 * 3600.0, speed=27.2)
    fleet.result("n1", 3600.0, speed=27.1)
    fleet.wrong("n2")
    fleet.result("n3", 250 * 3600.0, speed=27.2)
    fleet.result("n3", 240 * 3600.0, speed=27.1)
    restored(fleet.results)
    fleet.act()
    assert fleet.drained() == ["n1", "n2"], "slow figures of long ago drain nobody"


def test_what_was_cleared_stays_so_after_a_restore(fleet: PlayedFleet, restored: Callable[[Path], None]) -> None:
    for node in ("n1", "n2"):
        fleet.wrong(node, ago=400 * 3600.0)
    fleet.act()
    fleet.clear("n1", "n2")
    time.sleep(1.1)
    fleet.wrong("n2", ago=0, took=0.0)
    restored(fleet.results)
    fleet.act()
    assert fleet.drained() == ["n2"]
    fleet.act()
    assert fleet.did().count(("drain", "done", "n2")) == 2, "once"


# What a result says.


@pytest.mark.parametrize(("stale", "proves"), [("", True), ("moved", True), ("widened", False)])
def test_bounds_that_were_only_widened_prove_nothing(results: Path, stale: str, proves: bool) -> None:
    """They release no node that was drained for that figure."""
    leave(results, "n1", "00000001", at=NOW - 60, stale=stale)
    assert only(results).clears("sole.g2_n0") is proves and only(results).clears(None)


def test_a_night_on_which_it_was_slow_now_and_then(results: Path) -> None:
    leave(results, "n1", "00000001", at=NOW - 60, looks=(27.0, 55.0, 55.0))
    run = only(results)
    assert (run.verdict, run.failures, run.intermittent) == ("DEGRADED", (), frozenset(["sole.g2_n0"]))


def test_a_night_that_came_two_days_late_is_none_of_those_on_which_it_was_slow(tmp_path: Path) -> None:
    fleet = PlayedFleet(tmp_path)
    os.utime(leave(fleet.results, "n1", "00000001", at=time.time() - 2 * DAY, looks=(27.0, 55.0, 55.0)))
    fleet.act()
    with fleet.ledger() as ledger:
        assert [(row["passed"], row["intermittent"]) for row in ledger.rows("SELECT * FROM check_run")] == [
            ('["sole.g2_n0"]', "[]")
        ]


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
    """A run whose ``peer_check`` has these figures beside D2H of GPU 2, and ``beside`` as its ``host_device_check``."""
    word = next((w for w in ("FAIL", "DEGRADED") if any(f.verdict == w for f in figures)), "PASS")
    others = [beside, judged("peer_check", *figures, verdict=word)]
    leave(results, "n1", run, at=NOW - days_ago * DAY, check="host_memory_check", beside=others, **more)


def standing(results: Path) -> tuple[list[tuple[str, str, bool]], list[CheckRun]]:
    runs = take_in(results, None, NOW).runs
    evidence = confirmation.fails(runs, Policy("vm"), 0.0, NOW)
    return [(e.found_by.check, e.finding.subject, e.stands) for e in evidence], runs


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


def test_a_check_that_fails_by_a_disturbed_host_alone_could_not_be_judged_and_says_why(results: Path) -> None:
    night(results, "00000001", 0.1, STREAM, beside=disturbed(), wrong="wrong data")
    found, runs = standing(results)
    assert found == [("host_memory_check", "g2:n0", True)], "wrong data stands"
    run = next(run for run in runs if run.check == "peer_check")
    assert (run.verdict, run.failures) == ("INDETERMINATE", ()) and "host_device_check of the same run" in run.words


def test_a_night_with_a_disturbed_host_is_none_of_those_on_which_it_was_slow(results: Path) -> None:
    night(results, "00000001", 0.1, STREAM, beside=disturbed(None))
    for run, days in (("00000002", 9), ("00000003", 19)):
        night(results, run, days, NOW_AND_THEN, beside=disturbed())
    assert standing(results)[0] == [("peer_check", "near.c0_n0_triad", False)]
    for run, days in (("00000004", 8), ("00000005", 18)):
        night(results, run, days, NOW_AND_THEN, beside=disturbed(None))
    assert standing(results)[0] == [("peer_check", "near.c0_n0_triad", True)]


# From where.


@pytest.mark.parametrize("where", ["its sweep's file", "a result"])
@pytest.mark.parametrize("trouble", [errno.ESTALE, errno.EIO])
def test_what_cannot_be_looked_at_is_no_empty_directory(
    fleet: PlayedFleet, monkeypatch: pytest.MonkeyPatch, where: str, trouble: int
) -> None:
    place = leave(fleet.results, "n1", "00000001", at=NOW - 60, wrong="wrong data", sweep="s")
    bad = place if where == "a result" else fleet.results / "s" / sweep_file.FILE
    real = os.lstat

    def lstat(path: Any, *more: Any, **named: Any) -> os.stat_result:
        if str(path) == str(bad):
            raise OSError(trouble, os.strerror(trouble), str(path))
        return real(path, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, "lstat", lstat)
        patch.setattr(Path, "lstat", lambda path: lstat(path))
        try:
            said = "".join(fleet.act().view.refused)
        except CouldNotJudge as error:
            said = str(error)
    assert str(bad) in said and fleet.drained() == [], said
    fleet.act()
    assert fleet.drained() == ["n1"]


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A directory of root's, below one that a test gives to others."""
    folder = tmp_path / "others" / "site" / "results"
    folder.mkdir(parents=True)
    for place in (tmp_path, folder.parents[1], folder.parent, folder):
        place.chmod(0o755)
    leave(folder, "n1", "00000001", at=NOW - 60)
    return folder


def refusal(folder: Path) -> str:
    """Why nothing in a directory is believed, as results and as health findings, in a line; empty where it is."""
    said = set()
    for results, health in ((folder, None), (None, folder)):
        try:
            take_in(results, health, NOW)
        except CouldNotJudge as error:
            said.add(str(error).replace("sweeps", "looks"))
    assert len(said) < 2 and "\n" not in "".join(said), said
    return "".join(said)


@root_only
@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda place: os.chown(place, 65534, 65534), "belongs to user 65534"),
        (lambda place: place.chmod(0o777), "other users can write to it (mode 0777)"),
        (lambda place: place.chmod(0o775), "other users can write to it (mode 0775)"),
    ],
)
def test_a_directory_that_somebody_can_put_another_in_the_place_of(
    shared: Path, spoil: Any, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = shared.parents[1]
    assert refusal(shared) == ""
    spoil(others)
    said = refusal(shared)
    assert said.startswith(f"{others}: {why}"), f"its owner can replace {shared}, and it is believed: {said!r}"
    assert str(shared) in said
    monkeypatch.chdir(shared.parent)
    assert refusal(Path("results")).startswith(f"{others}: {why}")


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
    link.unlink()
    link.symlink_to("link")
    assert "cannot be listed" in refusal(link / "results")
