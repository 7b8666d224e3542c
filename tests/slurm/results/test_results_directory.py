"""A results directory as others leave it: not mounted, closed, full of what is not ours; and until when it counts as read."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from nearfar.base import CouldNotJudge
from tests.support.node_results import leave
from tests.support.played_fleet import PlayedFleet
from tests.support.taking_in import Taken, take_in

NOW = float(int(time.time()))
DAY = 86400.0
OTHER = 12345
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes another user's files")


def read(results: Path) -> Taken:
    return take_in(results, None, NOW)


def given_away(path: Path) -> None:
    for one in (path, *path.rglob("*")):
        os.chown(one, OTHER, OTHER, follow_symlinks=False)


def test_what_comes_while_the_file_system_is_not_mounted_is_not_lost(tmp_path: Path) -> None:
    fleet, away = PlayedFleet(tmp_path), tmp_path / "mounted"
    fleet.result("n2")
    fleet.act()
    fleet.results.rename(away)
    fleet.results.mkdir()
    leave(away, "n1", "0000000a", at=NOW - 3.5 * DAY, wrong="wrong data")
    for _ in range(2):
        with pytest.raises(
            CouldNotJudge, match="empty, and not the directory that was read before: is its file system mounted"
        ):
            fleet.act()
    fleet.results.rmdir()
    away.rename(fleet.results)
    fleet.act()
    assert "wrong_data" in str(fleet.node("n1").reason)


def test_sweeps_that_were_removed_on_purpose(tmp_path: Path) -> None:
    fleet = PlayedFleet(tmp_path)
    fleet.result("n2")
    fleet.act()
    for sweep in fleet.results.iterdir():
        sweep.rename(tmp_path / "away")
    fleet.act()
    fleet.wrong("n2")
    fleet.act()
    assert fleet.drained() == ["n2"]


def test_a_new_directory_counts_from_its_first_sweep(tmp_path: Path) -> None:
    fleet = PlayedFleet(tmp_path)
    fleet.result("n2")
    fleet.act()
    fleet.results.rename(tmp_path / "old")
    fleet.results.mkdir()
    fleet.wrong("n2")
    fleet.act()
    assert fleet.drained() == ["n2"]


def test_what_is_refused_counts_once_it_is_whole(tmp_path: Path) -> None:
    fleet = PlayedFleet(tmp_path)
    fleet.act()
    place = leave(fleet.results, "n1", "0000000a", at=NOW - 60, wrong="wrong data")
    whole = (place / "run.json").read_bytes()
    (place / "run.json").write_bytes(b"")
    for _ in range(3):
        assert len(fleet.act().view.refused) == 1
    (place / "run.json").write_bytes(whole)
    assert list(fleet.act().view.refused) == [] and fleet.drained() == ["n1"]


@root_only
def test_a_thousand_directories_of_others_are_a_few_lines(tmp_path: Path) -> None:
    results = tmp_path / "results"
    leave(results, "n1", "0000000a", at=NOW - 60)
    for number in range(1000):
        (results / f"x{number:04}" / "nodes" / "n1" / "1").mkdir(parents=True)
        given_away(results / f"x{number:04}")
    found = read(results)
    assert [run.node for run in found.runs] == ["n1"]
    assert len(found.refused) == 11 and found.refused[-1] == f"990 more of user {OTHER}; not counted"


@root_only
def test_a_link_in_the_place_of_the_nodes_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = tmp_path / "results"
    (results / "y").mkdir(parents=True)
    (results / "y/nodes").symlink_to("/")
    listed, names = [], os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: listed.append(str(path)) or names(path))  # type: ignore[func-returns-value]
    assert read(results).refused == [f"{results}/y/nodes: not a directory (links are not followed); not counted"]
    given_away(results / "y")
    assert read(results).refused == [f"{results}/y: belongs to user {OTHER}, not to 0; not counted"]
    assert not [path for path in listed if path.startswith(f"{results}/y")]


@root_only
@pytest.mark.parametrize("closed", ["s-0000000a", "s-0000000a/nodes", "s-0000000a/nodes/n1", "s-0000000a/nodes/n1/1"])
def test_a_directory_that_is_closed_to_this_user_is_told_of(tmp_path: Path, closed: str) -> None:
    for above in (tmp_path, *tmp_path.parents[:3]):
        above.chmod(0o755)
    results = tmp_path / "results"
    leave(results, "n1", "0000000a", at=NOW - 60, wrong="wrong data")
    leave(results, "n2", "0000000b", at=NOW - 60)
    (results / closed).chmod(0o700)
    os.setegid(OTHER), os.seteuid(OTHER)
    try:
        found = read(results)
    finally:
        os.seteuid(0), os.setegid(0)
    assert [run.node for run in found.runs] == ["n2"]
    assert len(found.refused) == 1 and str(results / closed) in found.refused[0]


@root_only
def test_what_a_file_system_has_of_its_own_is_no_sweep(tmp_path: Path) -> None:
    results = tmp_path / "results"
    (results / "lost+found").mkdir(parents=True, mode=0o700)
    (results / "notes").mkdir()
    (results / "read-me").write_text("")
    os.chown(results / "notes", OTHER, OTHER)
    assert read(results).refused == []


@root_only
def test_a_name_forges_no_line_and_moves_no_cursor(tmp_path: Path) -> None:
    results = tmp_path / "results"
    name = "x\nn5           drain         nearfar: FAIL \x1b[2K\udcff"
    (results / name / "nodes/n1/1").mkdir(parents=True)
    given_away(results / name)
    (line,) = read(results).refused
    assert line.isprintable() and "x\\nn5 " in line and "\\x1b[2K\\udcff" in line
    assert line.encode()
