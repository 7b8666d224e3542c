"""A FAIL that one look finds is seen however many looks follow: kept, read, believed or refused, forgotten."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar.base.errors import CouldNotJudge
from nearfar.slurm.health import finding_files
from nearfar.slurm.trust import Trust
from tests.conftest import CHECKOUT
from tests.support.taking_in import Taken, take_in

NOW = float(int(time.time()))
ABSENT = ("g2", "FAIL", True, "GPU 2 is missing")
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="health findings count as root's alone")


def look(run: str, *findings: tuple[str, str, bool, str], minutes: float = 0, node: str = "n1") -> dict[str, Any]:
    """What one look saw, so many minutes after the first."""
    found = [dict(zip(("subject", "verdict", "hard", "reason"), each)) for each in findings]
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOW - 3600 + 60 * minutes))
    verdict = "FAIL" if any(f["verdict"] == "FAIL" for f in found) else "PASS"
    return {"schema": "nearfar-health/1", "run": run, "node": node, "hostname": node, "system": "vm", "partition": "gpu",
            "time": at, "boot": None, "seconds": 1.0, "verdict": verdict, "findings": found}  # fmt: skip


@pytest.fixture
def health(tmp_path: Path) -> Path:
    """Where findings go; nobody else may write there."""
    folder = tmp_path / "health"
    folder.mkdir(mode=0o755)
    return folder


def store(health: Path, *looks: dict[str, Any]) -> None:
    mask = os.umask(0o022)
    try:
        for one in looks:
            finding_files.store(health, one, "name another")
    finally:
        os.umask(mask)


def kept(health: Path, node: str = "n1") -> list[str]:
    """The runs that are kept, oldest first."""
    return [path.name.split("-")[1][:8] for path in sorted((health / "kept" / node).glob("[!.]*"))]


def gathered(health: Path) -> Taken:
    return take_in(None, health, NOW)


def runs(health: Path) -> list[tuple[str, str, str]]:
    found = gathered(health)
    assert found.refused == []
    return sorted((run.node, run.run, run.verdict) for run in found.runs)


@root_only
def test_a_gpu_that_was_absent_for_one_look(health: Path) -> None:
    store(health, look("00000001", ABSENT), look("00000002", minutes=5))
    assert json.loads((health / "n1.json").read_text())["run"] == "00000002", "the newest look stays where it was"
    assert runs(health) == [("n1", "00000001", "FAIL"), ("n1", "00000002", "PASS")]
    (failed,) = [run for run in gathered(health).runs if run.verdict == "FAIL"]
    assert failed.failures[0].hard and failed.source.startswith(f"{health}/kept/n1/")


@root_only
def test_the_newest_look_and_its_kept_twin_are_one(health: Path) -> None:
    store(health, look("00000001", ABSENT))
    assert runs(health) == [("n1", "00000001", "FAIL")]


def test_a_fail_that_lasts_is_kept_once(health: Path) -> None:
    store(health, *(look(f"0000000{n}", ABSENT, minutes=5 * n) for n in range(4)))
    assert kept(health) == ["00000000"]
    store(health, look("00000004", minutes=20), look("00000005", ABSENT, minutes=25))
    assert kept(health) == ["00000000", "00000005"], "it came back: an administrator may have cleared the node between"
    store(health, look("00000006", ("g1", "FAIL", True, "GPU 1 is missing"), minutes=30), look("00000007", minutes=35))
    assert kept(health) == ["00000000", "00000005", "00000006"]


def test_only_the_newest_are_kept(health: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding_files, "MOST", 5)
    for n in range(1, 10):
        store(health, look(f"000000{n:02}", ABSENT, minutes=2 * n), look(f"000001{n:02}", minutes=2 * n + 1))
    assert kept(health) == [f"000000{n:02}" for n in range(5, 10)]


@root_only
def test_forgotten_is_what_was_read(health: Path) -> None:
    store(health, look("00000001", ABSENT, node="n1.rack2"), look("00000002", minutes=5, node="n1.rack2"))
    finding_files.forget(Path(run.source) for run in gathered(health).runs)
    assert runs(health) == [("n1.rack2", "00000002", "PASS")], "newest looks stay"
    store(health, look("00000003", ABSENT, minutes=10, node="n1.rack2"))
    assert kept(health, "n1.rack2") == ["00000003"], "found again after that: kept again"


@root_only
def test_a_directory_that_the_reader_cannot_change(health: Path) -> None:
    store(health, look("00000001", ABSENT), look("00000002", minutes=5))
    (path,) = (health / "kept" / "n1").iterdir()
    forget = (
        "import sys; from pathlib import Path; from nearfar.slurm.health import finding_files as health_kept;"
        "health_kept.forget([Path(sys.argv[1]), Path('/nowhere/kept/n1/20260101T000000Z-00000001.json')])"
    )
    nobody = ["setpriv", "--reuid=65534", "--clear-groups"]
    for place in reversed(health.parents):  # so that it fails for want of the right to write alone
        if place.stat().st_uid == 0 and place != Path("/") and str(place).startswith("/tmp/"):
            place.chmod(place.stat().st_mode | 0o055)
    done = subprocess.run(
        [*nobody, sys.executable, "-c", forget, str(path)],
        env={"PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True, cwd="/",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert path.exists() and len(runs(health)) == 2


@root_only
def test_what_is_not_believed_is_a_line_each(health: Path) -> None:
    for n in range(1, 8):
        store(health, look(f"0000000{n}", ABSENT, minutes=6 * n), look(f"0000001{n}", minutes=6 * n + 3))
    good, foreign, torn, open_, other, renamed, link = sorted((health / "kept" / "n1").iterdir())
    os.chown(foreign, 65534, 65534)
    torn.write_text(torn.read_text()[:-40])
    open_.chmod(0o666)
    other.write_text(other.read_text().replace('"node": "n1"', '"node": "n2"'))
    renamed.rename(renamed.with_name(renamed.name.replace("00000006", "00000009")))
    link.unlink()
    link.symlink_to(good)
    (health / "kept" / "n3").mkdir()
    os.chown(health / "kept" / "n3", 65534, 65534)
    (health / "kept" / "n3" / good.name).write_text(good.read_text().replace('"n1"', '"n3"'))
    (health / "kept" / "n1" / f".{good.name}.a8d2").write_text("{")
    found = gathered(health)
    assert sorted(run.run for run in found.runs) == ["00000001", "00000017"]
    words = {str(foreign): "belongs to user 65534", str(torn): "not a whole JSON document",
             str(open_): "other users can write to it", str(other): "of node n2", "00000009.json": "of run 00000006",
             str(link): "cannot be read", str(health / "kept" / "n3"): "belongs to user 65534"}  # fmt: skip
    assert len(found.refused) == len(words), "\n".join(found.refused)
    for file, why in words.items():
        assert any(f"{file}:" in line and why in line for line in found.refused), (
            f"no line says of {file} that {why}: {found.refused}"
        )


@root_only
def test_a_run_with_two_contents(health: Path) -> None:
    store(health, look("00000001", ABSENT))
    text = (health / "n1.json").read_text()
    (health / "n1.json").write_text(text.replace("GPU 2", "GPU 3"))
    found = gathered(health)
    assert [run.failures[0].reason for run in found.runs] == ["GPU 2 is missing"]
    assert len(found.refused) == 1 and "n1.json: run 00000001 has something else" in found.refused[0]


def test_a_directory_of_findings_that_is_called_kept(tmp_path: Path) -> None:
    """Only names of kept looks are forgotten, whatever the directories above are called."""
    folder = tmp_path / "kept" / "health"
    folder.mkdir(parents=True)
    for place in (folder, folder.parent):
        place.chmod(0o755)
    store(folder, look("00000001", ABSENT))
    refused: list[CouldNotJudge] = []
    found = finding_files.all_of(folder, Trust(folder, frozenset({os.geteuid()})), refused)
    assert not refused and len(found) == 1
    finding_files.forget([folder / "n1.json", *(path for path, _ in found)])
    assert (folder / "n1.json").exists() and not kept(folder)


@pytest.mark.parametrize("first", [(), (ABSENT,)])
def test_a_full_disk_keeps_the_look_before(health: Path, first: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be kept does not replace anything: the look fails, and the next tries again."""
    store(health, look("00000001", *first))
    before = (health / "n1.json").read_text()
    written = os.replace

    def full(source: Any, target: Any) -> None:
        if "kept" in str(target):
            raise OSError(28, "No space left on device")
        written(source, target)

    monkeypatch.setattr(os, "replace", full)
    lost = ("g1", "FAIL", True, "GPU 1 is missing")
    with pytest.raises(CouldNotJudge, match=r"kept/n1/.*: cannot be written: the disk is full"):
        store(health, look("00000002", lost, minutes=5))
    assert (health / "n1.json").read_text() == before
    monkeypatch.undo()
    store(health, look("00000003", lost, minutes=10))
    assert kept(health)[-1] == "00000003"


@pytest.mark.parametrize("at", range(1, 9))
def test_killed_at_any_moment(health: Path, at: int) -> None:
    """A process that ends at any of its system calls leaves what was found before."""
    store(health, look("00000001", ABSENT), look("00000002", ("g1", "FAIL", True, "GPU 1 is missing"), minutes=5))
    code = (
        "import json, os, sys; from pathlib import Path; from nearfar.slurm.health import finding_files as health_kept\n"
        "left = [int(sys.argv[3])]\n"
        "def dying(call):\n"
        "    def one(*words, **more):\n"
        "        left[0] -= 1\n"
        "        if left[0] == 0: os.kill(os.getpid(), 9)\n"
        "        return call(*words, **more)\n"
        "    return one\n"
        "for name in ('replace', 'fsync', 'chmod', 'unlink', 'mkdir'): setattr(os, name, dying(getattr(os, name)))\n"
        "os.umask(0o022)\n"
        "health_kept.store(Path(sys.argv[1]), json.loads(sys.argv[2]), 'name another')"
    )
    passed = json.dumps(look("00000003", minutes=10))
    done = subprocess.run(
        [sys.executable, "-c", code, str(health), passed, str(at)], env={**os.environ, "PYTHONPATH": str(CHECKOUT)}
    )
    refused: list[CouldNotJudge] = []
    found = finding_files.all_of(health, Trust(health, frozenset({os.geteuid()})), refused)
    assert not refused, "nothing half may be in the way of the readers"
    failed = {one["run"] for _, one in found if one["verdict"] == "FAIL"}
    assert failed == {"00000001", "00000002"}, f"ended with {done.returncode} at step {at}"
