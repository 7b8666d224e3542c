"""What is read of a result by its figures' file is what its verdict files say, and only as long as these are the same."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearfar.base import CouldNotJudge, validator
from nearfar.slurm.results import figures_file, publish_result, result
from nearfar.slurm.results.result import NodeResult, RunInfo
from nearfar.slurm.trust import own, trust
from tests.data.runs import golden, synthetic
from tests.support.node_results import leave
from tests.support.verdicts import judged, judged_metric

CHECKS = ("host_memory_check", "host_device_check", "peer_check", "latency_check", "size_sweep_check")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results directory of a real run, of which one check has a slow figure."""
    folder = tmp_path_factory.mktemp("figures")
    run = golden.write(folder / "run", CHECKS, {"g2:g3": 0.5})
    publish_result.leave(run, result.place(folder / "results", "s1", "vm", 1), about("vm"))
    return folder / "results"


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """Its result, to be damaged."""
    shutil.copytree(made, tmp_path / "results")
    return result.place(tmp_path / "results", "s1", "vm", 1)


def about(host: str) -> RunInfo:
    return RunInfo(
        nodes=("vm",), hostname=host, level="accept", sweep="s1", started="2026-11-20T09:00:00Z", ended="2026-11-20T09:05:00Z",
    )  # fmt: skip


def read(place: Path) -> NodeResult:
    return result.read(place, own(place.parents[3]))


def whole(place: Path, monkeypatch: pytest.MonkeyPatch) -> NodeResult:
    """Read from the verdict files alone."""
    with monkeypatch.context() as patch:
        patch.setattr(figures_file, "read", lambda *_: {})
        return read(place)


def understood(place: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The checks whose verdict file is understood when the result is read."""
    found, parsed = [], trust.Trust.parsed
    with monkeypatch.context() as patch:
        patch.setattr(trust.Trust, "parsed", lambda self, path, text: (found.append(path), parsed(self, path, text))[1])
        read(place)
    return sorted(path.parent.name for path in found if path.name == "verdict.json")


def test_it_says_what_the_verdict_files_say(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(place) == whole(place, monkeypatch)
    words = {check.check: check.verdict for check in read(place).checks}
    bad = sorted(check for check, word in words.items() if word not in ("PASS", "not judged"))
    assert 0 < len(bad) < len(words), words
    assert understood(place, monkeypatch) == bad, "only what holds something against the node is read whole"


def test_it_is_as_its_schema_says(place: Path) -> None:
    head, called, numbers, end = (place / figures_file.NAME).read_bytes().split(b"\n")
    written = {"called": json.loads(called), "numbers": json.loads(numbers)}
    assert list(validator("node-figures-1").iter_errors(written)) == [] and end == b""
    assert len(written["called"]) == len(written["numbers"]) == len(json.loads(head)["verdicts"]) > 0


@pytest.mark.parametrize("scenario", ["healthy", "broken", "sub_numa", "one_gpu"])
def test_every_scenario_is_read_alike(tmp_path: Path, scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = synthetic.SCENARIOS[scenario](tmp_path / "run")
    host = json.loads((run / "run.json").read_text())["hostname"]
    place = publish_result.leave(run, result.place(tmp_path / "results", "s1", "vm", 1), about(host))
    assert read(place) == whole(place, monkeypatch)


def test_without_numbers_the_names_are_the_same(place: Path) -> None:
    without = result.read(place, own(place.parents[3]), numbers=False)
    for one, other in zip(without.checks, read(place).checks, strict=True):
        assert (one.check, one.findings) == (other.check, other.findings)
        assert result.within_bounds(one.figures) == result.within_bounds(other.figures)
        assert result.cells(one.figures) == result.cells(other.figures)


def test_a_figure_that_does_not_count_is_none_that_passed(tmp_path: Path) -> None:
    """Bounds that were widened for new software say nothing."""
    for node, stale, passed in (("n1", "", {"sole.g2_n0"}), ("n2", "widened", set())):
        place = leave(tmp_path / "results", node, "00000001", at=1.8e9, stale=stale)
        (check,) = read(place).checks
        assert result.within_bounds(check.figures) == passed, node


def lines(place: Path, change: Callable[[list[bytes]], Any]) -> None:
    path = place / figures_file.NAME
    found = path.read_bytes().split(b"\n")
    change(found)
    path.write_bytes(b"\n".join(found))
    sized(place, figures_file.NAME)


def sized(place: Path, name: str) -> None:
    told = json.loads((place / result.RESULT).read_text())
    told["files"][name] = (place / name).stat().st_size
    (place / result.RESULT).write_text(json.dumps(told))


def third(place: Path, value: str) -> None:
    """Numbers changed, and the hash of their line with them."""

    def change(found: list[bytes]) -> None:
        found[2] = value.encode()
        found[0] = json.dumps({**json.loads(found[0]), "numbers": figures_file.digest(found[2])}).encode()

    lines(place, change)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "gone": lambda p: ((p / figures_file.NAME).write_bytes(b""), sized(p, figures_file.NAME)),
    "cut short": lambda p: lines(p, lambda found: found.__setitem__(2, found[2][:-20])),
    "a name changed": lambda p: lines(p, lambda found: found.__setitem__(1, found[1].replace(b"g0", b"g7"))),
    "a value changed": lambda p: lines(p, lambda found: found.__setitem__(2, re.sub(rb"\d\d\.", b"99.", found[2]))),
    "another version": lambda p: lines(p, lambda found: found.__setitem__(0, found[0].replace(b"figures/1", b"figures/9"))),
    "no JSON": lambda p: lines(p, lambda found: found.__setitem__(0, b"[" * 100000)),
    "a list": lambda p: lines(p, lambda found: found.__setitem__(0, b"[]")),
    "columns too short": lambda p: third(p, re.sub(r'("highest": \[)null, ', r"\1", (p / figures_file.NAME).read_text().split("\n")[2])),
    "a number that is none": lambda p: third(p, (p / figures_file.NAME).read_text().split("\n")[2].replace("null", "1e999")),
    "a check too few": lambda p: third(p, "[]"),
    "open to others": lambda p: (p / figures_file.NAME).chmod(0o666),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_as_none(place: Path, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = read(place)
    DAMAGES[damage](place)
    assert len(understood(place, monkeypatch)) == len(CHECKS), "all verdict files are read"
    assert [check.figures for check in read(place).checks] == [check.figures for check in before.checks]


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda text: text.replace('"measured"', '"modelled"'), "modelled, not measured"),
        (lambda text: text.replace('"verdict": "PASS"', '"verdict": "FAIL"'), "says host_device_check FAIL, result.json"),
        (lambda text: text.replace('"node": "vm"', '"node": "n7"'), "of n7, in a result of vm"),
        (lambda text: re.sub(r'"value": [0-9.]+', '"value": NaN', text), "NaN is no figure"),
        (lambda text: text[:-9], "not a whole JSON document"),
        (lambda text: text.replace('"converged": true', '"converged": "yes"'), "is not of type 'boolean'"),
    ],
)  # fmt: skip
def test_a_forged_verdict_file_is_found_out(place: Path, change: Callable[[str], str], words: str) -> None:
    path = next(place.glob("*/host_device_check/verdict.json"))
    before = path.read_text()
    path.write_text(change(before))
    assert path.read_text() != before
    sized(place, str(path.relative_to(place)))
    with pytest.raises(CouldNotJudge, match=re.escape(words)):
        read(place)


def test_an_edited_result_is_held_against_the_verdict_files(place: Path) -> None:
    path = place / result.RESULT
    told = json.loads(path.read_text())
    slow = next(entry for entry in told["checks"] if entry["verdict"] == "FAIL")
    slow.update(verdict="PASS", findings=[])
    path.write_text(json.dumps({**told, "verdict": "PASS", "reason": None}))
    with pytest.raises(CouldNotJudge, match=f"says {slow['check']} FAIL, result.json {slow['check']} PASS"):
        read(place)


def test_an_edited_figure_is_read_again(place: Path) -> None:
    """An edit that leaves a valid file with the same verdict: the figures are those that are there now."""
    path = next(place.glob("*/host_device_check/verdict.json"))
    name = json.loads(path.read_text())["metrics"][0]["name"]
    path.write_text(path.read_text().replace(f'"{name}"', '"edited"'))
    sized(place, str(path.relative_to(place)))
    check = next(check for check in read(place).checks if check.check == "host_device_check")
    assert "edited" in check.figures.names and name not in check.figures.names


def test_a_finding_is_never_taken_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = leave(
        tmp_path / "results", "n1", "00000001", at=1.8e9, wrong="wrong data", beside=[judged("peer_check", judged_metric(verdict="PASS"))]
    )  # fmt: skip
    assert understood(place, monkeypatch) == ["host_device_check"]
    assert read(place) == whole(place, monkeypatch) and read(place).verdict == "FAIL"
