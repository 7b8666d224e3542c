"""What was read of results is kept: what is decided stays the same, whatever happens to the files, and less is read."""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from contextlib import suppress
from pathlib import Path

import pytest

from nearfar.base import CouldNotJudge
from nearfar.site.drain_policy import DrainCap, DrainSteps, Policy
from nearfar.slurm.act.decide import decide
from nearfar.slurm.controller import NodeState
from nearfar.slurm.findings import KeptReadings, LogSummary, gathering, kept_readings
from nearfar.slurm.findings.gathering import Gathered, TimeRange, gather
from nearfar.slurm.results import result, results_directory
from tests.support.node_results import leave

USERS = frozenset({os.geteuid()})
NODES = ("n1", "n2", "n3")
POLICY = Policy(
    "vm", USERS, default=DrainSteps("drain", "drain"), per_day=DrainCap(99, 1.0), in_all=DrainCap(99, 1.0),
    same_metric=DrainCap(9, 1.0),
)  # fmt: skip
EVENTS = (
    "slow", "slow", "wrong", "good", "good", "change", "cut", "remove", "forge", "open", "touch", "replace", "swap", "close", "rename",
)  # fmt: skip


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """All files were changed just now; here each change leaves another time or size."""
    monkeypatch.setattr(kept_readings, "SETTLED", -3600.0)
    monkeypatch.setattr(gathering, "_came", lambda place: place.lstat().st_mtime)


class Files:
    """Results of three nodes, and what happens to them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance, self.count, self.now = random.Random(seed), 0, float(int(time.time()))
        self.results, self.kept = folder / "results", folder / "kept.json"
        self.results.mkdir(parents=True)

    def places(self) -> list[Path]:
        return sorted(
            place for sweep in self.results.iterdir() for place in results_directory.folders(self.results, sweep.name)
        )

    def step(self) -> str:
        self.count += 1
        event, there = self.chance.choice(EVENTS), self.places()
        if event in ("slow", "wrong", "good") or not there:
            more = {"slow": {"speed": 27.0}, "wrong": {"wrong": "wrong data"}}.get(event, {})
            at = self.now - 80000 + self.count * 3000
            leave(self.results, self.chance.choice(NODES), f"{self.count:08x}", at=at, **more)  # type: ignore[arg-type]
        else:
            with suppress(FileNotFoundError):  # of half a result
                getattr(self, event)(self.chance.choice(there))
        return event

    def change(self, place: Path) -> None:
        """Of the same length, and the times as they were."""
        path = self.chance.choice([place / result.RESULT, *place.glob("*/*/verdict.json")])
        before = path.stat()
        time.sleep(0.01)  # a step of the file system's clock
        path.write_text(path.read_text().replace('"PASS"', '"FAIL"'))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def cut(self, place: Path) -> None:
        path = self.chance.choice([path for path in place.rglob("*") if path.is_file()])
        path.write_bytes(path.read_bytes()[:-1])

    def remove(self, place: Path) -> None:
        path = self.chance.choice([place, *place.rglob("*")])
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    def forge(self, place: Path) -> None:
        """A file in whose place others can put another, or that is theirs."""
        path = self.chance.choice([place, *place.parents[:3], *place.rglob("*")])
        if os.geteuid() == 0 and self.chance.random() < 0.5:
            os.chown(path, 65534, 65534)
        else:
            path.chmod(path.stat().st_mode | 0o022)

    def open(self, place: Path) -> None:
        (place / "new").write_text("new")

    def close(self, _: Path) -> None:
        """All is fixed."""
        for path in (self.results, *self.results.rglob("*")):
            os.chown(path, os.geteuid(), -1)
            path.chmod(0o755 if path.is_dir() else 0o644)

    def touch(self, place: Path) -> None:
        os.utime(self.chance.choice([place, *place.rglob("*")]))

    def replace(self, place: Path) -> None:
        """By a link to what it was."""
        path = self.chance.choice([*place.rglob("*")])
        if not path.is_symlink():
            path.rename(self.results / f".{self.count}")
            path.symlink_to(self.results / f".{self.count}")

    def swap(self, place: Path) -> None:
        """A verdict of another result."""
        other = self.chance.choice(self.places())
        for path in place.glob("*/*/verdict.json"):
            beside = other / path.relative_to(place)
            if beside.exists() and beside != path:
                shutil.copyfile(beside, path)

    def rename(self, place: Path) -> None:
        place.rename(place.with_name(str(self.count + 1)))


def looked_at(files: Files, readings: KeptReadings | None) -> Gathered | str:
    try:
        times = TimeRange(files.now - 9 * 86400, files.now - 86400)
        return gather(files.results, None, "vm", USERS, files.now, times, readings)
    except CouldNotJudge as error:
        return str(error)


@pytest.mark.parametrize("part", range(4))
def test_what_is_kept_changes_no_decision(tmp_path: Path, part: int) -> None:
    nodes = {name: NodeState(name, "IDLE", partitions=("all",)) for name in NODES}
    served = 0
    for seed in range(part * 25, part * 25 + 25):
        files, log = Files(tmp_path / str(seed), seed), []
        for _ in range(files.chance.randint(5, 14)):
            log.append(files.step())
            if files.chance.random() < 0.3:
                continue
            readings = KeptReadings(files.results, files.kept)
            served += len(readings._before)
            found, afresh = looked_at(files, readings), looked_at(files, None)
            assert found == afresh, (seed, log)
            readings.save()
            if isinstance(found, Gathered) and isinstance(afresh, Gathered):
                told = [decide(each.runs, nodes, POLICY, LogSummary(), files.now) for each in (found, afresh)]
                assert told[0] == told[1], (seed, log)
    assert served > 100, "else nothing was shown"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    found = Files(tmp_path, 1)
    for number, node in enumerate(NODES):
        leave(found.results, node, f"{number:08x}", at=found.now - 3600, wrong="wrong data")
    return found


def read_anew(files: Files, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The nodes whose results were read in a call of ``act``."""
    read, whole = [], result.read
    with monkeypatch.context() as patch:
        patch.setattr(
            result, "read", lambda place, *how, **more: read.append(place.parent.name) or whole(place, *how, **more)
        )  # type: ignore[func-returns-value]
        readings = KeptReadings(files.results, files.kept)
        found = looked_at(files, readings)
        assert isinstance(found, Gathered) and {run.node for run in found.runs} == set(NODES)
        readings.save()
    return sorted(read)


def test_only_what_is_new_is_read(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_anew(files, monkeypatch) == list(NODES)
    before = files.kept.stat().st_mtime_ns
    assert read_anew(files, monkeypatch) == []
    assert files.kept.stat().st_mtime_ns == before, "and nothing is written"
    leave(files.results, "n2", "0000000a", at=files.now - 60)
    assert read_anew(files, monkeypatch) == ["n2"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_was_read_while_its_user_was_trusted_counts_no_more_when_he_is_not(files: Files) -> None:
    for path in files.results.rglob("verdict.json"):
        os.chown(path, 65534, -1)
    times = TimeRange(files.now - 9 * 86400, files.now - 86400)
    for users, believed in ((USERS | {65534}, 3), (USERS, 0), (USERS | {65534}, 3), (USERS, 0)):
        readings = KeptReadings(files.results, files.kept)
        found = gather(files.results, None, "vm", users, files.now, times, readings)
        assert (len({run.node for run in found.runs}), len(found.refused)) == (believed, 3 - believed)
        if believed:
            readings.save()


def test_what_was_changed_just_now_is_read_again(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another change may leave the same time behind."""
    monkeypatch.setattr(kept_readings, "SETTLED", 310.0)
    assert read_anew(files, monkeypatch) == read_anew(files, monkeypatch) == list(NODES)
    files.now += 400
    assert read_anew(files, monkeypatch) == list(NODES)
    assert read_anew(files, monkeypatch) == []


@pytest.mark.parametrize("how", ["cut", "bit", "empty", "other", "version", "open", "directory"])
def test_a_damaged_file_is_as_none(files: Files, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    read_anew(files, monkeypatch)
    text = files.kept.read_text()
    if how == "cut":
        files.kept.write_text(text[: len(text) // 2])
    elif how == "bit":
        files.kept.write_text(text.replace("wrong data", "right data"))
    elif how == "empty":
        files.kept.write_text("")
    elif how == "other":
        files.kept.write_text(json.dumps([1]))
    elif how == "version":
        monkeypatch.setattr(kept_readings, "_package", lambda: "another")
    elif how == "open":
        files.kept.chmod(0o666)
    else:
        files.kept.unlink()
        files.kept.mkdir()
    assert read_anew(files, monkeypatch) == list(NODES)


def test_a_directory_that_cannot_be_written_is_no_error(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    files.kept = files.results.parent / "file" / "kept.json"
    files.kept.parent.write_text("no directory")
    assert read_anew(files, monkeypatch) == list(NODES)
