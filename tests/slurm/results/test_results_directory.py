"""A results directory as others leave it: not mounted, closed, full of what is not ours; and until when it counts as read."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from nearfar.base import CouldNotJudge
from nearfar.slurm.findings import gather, gathering
from nearfar.slurm.findings.gathering import Gathered, TimeRange
from tests.support.node_results import leave
from tests.support.told import Told

NOW = float(int(time.time()))
DAY = 86400.0
OTHER = 12345
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes another user's files")


@pytest.fixture
def site(tmp_path: Path) -> Told:
    made = Told(tmp_path)
    made.hooks = {}
    return made


def read(results: Path, *users: int) -> Gathered:
    return gather(results, None, "vm", frozenset({0, os.geteuid(), *users}), NOW, TimeRange(0.0))


def until(site: Told) -> float:
    (found,) = json.loads((site.state / "read.json").read_text())["until"].values()
    return float(found)


def given_away(path: Path) -> None:
    for one in (path, *path.rglob("*")):
        os.chown(one, OTHER, OTHER, follow_symlinks=False)


def test_what_comes_while_the_file_system_is_not_mounted_is_not_lost(
    site: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "_came", lambda place: place.lstat().st_mtime)
    away = site.folder / "mounted"

    def act(at: float) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: at)
            site.act()

    leave(site.results, "n2", "0000000f", at=NOW - 9 * DAY)
    act(NOW - 4 * DAY)
    site.results.rename(away)
    site.results.mkdir()
    leave(away, "n1", "0000000a", at=NOW - 3.5 * DAY, wrong="wrong data")
    for at in (NOW - 3 * DAY, NOW - 60):
        with pytest.raises(CouldNotJudge, match=r"no sweep is there of those that were .*: is its file system mounted"):
            act(at)
    site.results.rmdir()
    away.rename(site.results)
    act(NOW)
    assert "wrong_data" in str(site.slurm.states["n1"].reason)


def test_sweeps_that_were_removed_on_purpose(site: Told) -> None:
    leave(site.results, "n2", "0000000f", at=NOW - 60)
    site.act()
    (site.results / "s-0000000f").rename(site.folder / "away")
    site.act()
    leave(site.results, "n2", "0000000e", at=NOW - 60)
    site.act()


def test_another_directory_in_the_place_of_the_one_that_was_read(site: Told) -> None:
    leave(site.results, "n2", "0000000f", at=NOW - 60)
    site.act()
    site.results.rename(site.folder / "old")
    site.results.mkdir()
    leave(site.results, "n2", "0000000d", at=NOW - 60)
    with pytest.raises(CouldNotJudge, match=f"Where they were removed, remove {site.state}/read.json as well"):
        site.act()
    (site.state / "read.json").unlink()
    site.act()
    leave(site.results, "n2", "0000000e", at=NOW - 60)
    site.act()


def test_what_is_refused_holds_the_time_until_which_all_was_read(site: Told) -> None:
    """It does not move it back at each call."""
    site.act()
    before = until(site)
    place = leave(site.results, "n1", "0000000a", at=NOW - 60, wrong="wrong data")
    whole = (place / "run.json").read_bytes()
    (place / "run.json").write_bytes(b"")
    for _ in range(3):
        assert len(site.act().seen.refused) == 1 and until(site) == before
    (place / "run.json").write_bytes(whole)
    assert site.act().seen.refused == () and until(site) > before


@root_only
def test_what_others_leave_does_not_hold_it(site: Told) -> None:
    site.results.chmod(0o1777)
    site.act()
    before = until(site)
    leave(site.results, "n1", "0000000a", at=NOW - 60, wrong="wrong data")
    given_away(site.results / "s-0000000a")
    seen = site.act().seen
    assert seen.refused == (f"{site.results}/s-0000000a: belongs to user {OTHER}, not to 0; not counted",)
    assert seen.runs == [] or not seen.runs
    assert until(site) > before


@root_only
def test_a_thousand_directories_of_others_are_a_few_lines(tmp_path: Path) -> None:
    results = tmp_path / "results"
    leave(results, "n1", "0000000a", at=NOW - 60)
    for number in range(1000):
        (results / f"x{number:04}" / "nodes" / "n1" / "1").mkdir(parents=True)
        given_away(results / f"x{number:04}")
    found = read(results)
    assert [run.node for run in found.runs] == ["n1"] and not found.fixable
    assert len(found.refused) == 11 and found.refused[-1] == f"990 more of user {OTHER}; not counted"


@root_only
def test_a_link_in_the_place_of_the_nodes_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = tmp_path / "results"
    (results / "y").mkdir(parents=True)
    (results / "y/nodes").symlink_to("/")
    listed, names = [], os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: listed.append(str(path)) or names(path))  # type: ignore[func-returns-value]
    assert read(results).refused == (f"{results}/y/nodes: not a directory (links are not followed); not counted",)
    given_away(results / "y")
    assert read(results).refused == (f"{results}/y: belongs to user {OTHER}, not to 0; not counted",)
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
    assert len(found.refused) == 1 and str(results / closed) in found.refused[0] and found.fixable


@root_only
def test_what_a_file_system_has_of_its_own_is_no_sweep(tmp_path: Path) -> None:
    results = tmp_path / "results"
    (results / "lost+found").mkdir(parents=True, mode=0o700)
    (results / "notes").mkdir()
    (results / "read-me").write_text("")
    os.chown(results / "notes", OTHER, OTHER)
    assert read(results).refused == ()


@root_only
def test_a_name_forges_no_line_and_moves_no_cursor(tmp_path: Path) -> None:
    results = tmp_path / "results"
    name = "x\nn5           drain         nearfar: FAIL \x1b[2K\udcff"
    (results / name / "nodes/n1/1").mkdir(parents=True)
    given_away(results / name)
    (line,) = read(results).refused
    assert line.isprintable() and "x\\nn5 " in line and "\\x1b[2K\\udcff" in line
    assert line.encode()
