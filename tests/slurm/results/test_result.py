"""A node's result: handed over whole, and believed only where it is whole, its own and a trusted user's."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearfar.base.errors import CouldNotJudge
from nearfar.base.verdicts import NOT_JUDGED
from nearfar.slurm.results import publish_result, result, results_directory
from nearfar.slurm.results.result import RunInfo
from nearfar.slurm.trust import own
from tests.data.runs import synthetic
from tests.support.node_results import leave

HOST = "gpu-0417"


JOB = {"job": 12, "partition": "gpu", "cluster": "private"}


def info(nodes: tuple[str, ...] = ("n1",), hostname: str = HOST, **other: Any) -> RunInfo:
    values = {"level": "accept", "sweep": "s1", "started": "2026-11-20T09:00:00Z", "ended": "2026-11-20T09:01:00Z"}
    return RunInfo(nodes=nodes, hostname=hostname, slurm=JOB, **{**values, **other})


def left(tmp_path: Path, scenario: str = "broken", **other: Any) -> tuple[Path, Path]:
    """The results directory, and the place of a run in it."""
    results = tmp_path / "results"
    run = synthetic.SCENARIOS[scenario](tmp_path / "run")
    place = result.place(results, "s1", "n1", 1)
    publish_result.leave(run, place, info(**other))
    return results, place


def hostname_of(scenario: str, folder: Path) -> str:
    return str(json.loads((synthetic.SCENARIOS[scenario](folder) / "run.json").read_text())["hostname"])


def test_what_was_left_is_read_back(tmp_path: Path) -> None:
    host = hostname_of("broken", tmp_path / "name")
    results, place = left(tmp_path, hostname=host)
    assert list(results_directory.folders(results, "s1")) == [place]
    read = result.read(place, own(results))
    assert (read.nodes, read.sweep, read.level, read.verdict) == (("n1",), "s1", "accept", "FAIL")
    assert read.slurm == JOB
    check, worst = read.findings[0]
    assert worst.hard and worst.verdict == "FAIL", worst
    slow = [f for _, f in read.findings if f.verdict == "FAIL" and "value" in f.fields]
    assert slow and all({"limit", "unit"} <= f.fields.keys() and f.reason for f in slow)
    absent = [f for _, f in read.findings if f.code == "cell.absent"]
    assert absent and all(f.hard for f in absent), "what failed has the code of its message"
    assert any("host_memory_check" in words for words in read.missing)
    assert (Path(check.source) / "verdict.json").exists() and not (place / "reframe").exists()


def test_a_run_outside_slurm_has_no_job(tmp_path: Path) -> None:
    place = leave(tmp_path / "results", "n1", "00000001", at=1.8e9, job=None)
    assert result.read(place, own(tmp_path / "results")).slurm is None


def test_it_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(publish_result, "write_atomically", full)
    with pytest.raises(CouldNotJudge, match="the disk is full; make room, or name another --results DIR"):
        left(tmp_path)
    assert [path for path in (tmp_path / "results").rglob("*") if path.is_file()] == []


def test_a_result_that_is_there_is_kept(tmp_path: Path) -> None:
    _, place = left(tmp_path)
    before = (place / "result.json").read_bytes()
    with pytest.raises(CouldNotJudge, match="there is a result already"):
        publish_result.leave(tmp_path / "run", place, info())
    assert (place / "result.json").read_bytes() == before
    assert [path.name for path in place.parent.iterdir()] == ["1"], "nothing half is left beside it"


def test_what_is_modelled_is_no_result(tmp_path: Path) -> None:
    run = synthetic.SCENARIOS["modelled"](tmp_path / "run")
    place = result.place(tmp_path / "results", "s1", "n1", 1)
    publish_result.leave(run, place, info(hostname="buildhost"))
    read = result.read(place, own(tmp_path / "results"))
    assert {check.check for check in read.checks} == {"topology_check", "host_memory_check"}
    assert not list(place.glob("*-modelled"))


@pytest.mark.parametrize(
    "node, checks, missing, verdict",
    [
        ("n1", ["PASS", NOT_JUDGED], False, "PASS"),
        ("n1", ["PASS", NOT_JUDGED], True, "INDETERMINATE"),
        ("n1", [NOT_JUDGED, NOT_JUDGED], False, "INDETERMINATE"),
        ("n1+n2", [NOT_JUDGED], False, NOT_JUDGED),
        ("n1", [NOT_JUDGED, "FAIL"], True, "FAIL"),
    ],
)
def test_a_node_of_which_nothing_was_judged_has_no_answer(
    node: str, checks: list[str], missing: bool, verdict: str
) -> None:
    """A question that does not apply to a node counts neither way; pairs are judged together."""
    assert result.verdict_of(tuple(node.split("+")), checks, missing) == verdict


def test_bounds_that_were_only_widened_pass_nothing(tmp_path: Path) -> None:
    for node, stale, passed in (("n1", "", {"sole.g2_n0"}), ("n2", "widened", set())):
        place = leave(tmp_path / "results", node, "00000001", at=1.8e9, stale=stale)
        (check,) = result.read(place, own(tmp_path / "results")).checks
        assert {each.name for each in check.figures if each.passed} == passed


def change(place: Path, **keys: Any) -> None:
    path = place / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **keys}))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def a_verdict(place: Path) -> Path:
    return next(place.glob("*/host_device_check/verdict.json"))


def rewrite_verdict(place: Path, change_it: Callable[[str], str]) -> None:
    """Forge a verdict file, and the size that is noted for it."""
    path = a_verdict(place)
    path.write_text(change_it(path.read_text()))
    sizes = json.loads((place / "result.json").read_text())["files"]
    change(place, files={**sizes, str(path.relative_to(place)): path.stat().st_size})


FORGED: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut short": (lambda p: cut(p / "result.json"), "not a whole JSON document"),
    "half a document": (lambda p: cut(next(p.glob("*/host_device_check/document.json"))), "an incomplete result is not counted"),
    "no verdict": (lambda p: a_verdict(p).unlink(), "an incomplete result is not counted"),
    "another node's": (lambda p: change(p, node="n2"), "of node n2, in the place of n1"),
    "another host's": (lambda p: change(p, hostname="other"), "in a result of other"),
    "modelled": (lambda p: rewrite_verdict(p, lambda t: t.replace('"measured"', '"modelled"')), "modelled, not measured"),
    "greener": (lambda p: change(p, verdict="PASS"), "has verdict PASS where its checks have FAIL"),
    "other words": (lambda p: rewrite_verdict(p, lambda t: t.replace('"host_device_check"', '"peer_check"')), "has peer_check"),
    "no boolean": (lambda p: rewrite_verdict(p, lambda t: t.replace('"converged": true', '"converged": 1')), "is not of type 'boolean'"),
    "NaN": (lambda p: rewrite_verdict(p, lambda t: re.sub(r'"value": [0-9.]+', '"value": NaN', t)), "NaN is not a number"),
    "-1e999": (lambda p: rewrite_verdict(p, lambda t: re.sub(r'"value": [0-9.]+', '"value": -1e999', t)), "-1e999 is not a number"),
    "a whole number that is no float": (lambda p: rewrite_verdict(p, lambda t: re.sub(r'"value": [0-9.]+', f'"value": {"9" * 400}', t)),
                                        "99999 is not a number"),
    "newer": (lambda p: change(p, schema="nearfar-node-result/9"), "expected schema nearfar-node-result/1"),
    "backwards": (lambda p: change(p, ended="2026-11-20T08:59:59Z"), "before it started"),
    "no key": (lambda p: (p / "result.json").write_text('{"schema": "nearfar-node-result/1"}'), "is a required property"),
    "a list": (lambda p: (p / "result.json").write_text("[]"), "expected a JSON object"),
    "outside": (lambda p: change(p, files={"../../x": 1}), "names a file outside its directory"),
    "writable file": (lambda p: (p / "result.json").chmod(0o666), "other users can write to it"),
    "writable directory": (lambda p: p.parent.chmod(0o777), "other users can write to it"),
    "a link": (lambda p: (p.rename(p.parent / "x"), p.symlink_to("x")), "not a directory"),
    "a linked file": (lambda p: ((p / "result.json").rename(p / "x"), (p / "result.json").symlink_to("x")), "cannot be read"),
    "a pipe": (lambda p: ((p / "result.json").unlink(), os.mkfifo(p / "result.json")), "not a file"),
    "a directory": (lambda p: ((p / "result.json").unlink(), (p / "result.json").mkdir()), "not a file"),
}  # fmt: skip


@pytest.mark.parametrize("how", FORGED)
def test_what_is_not_believed_is_told_in_a_line(tmp_path: Path, how: str) -> None:
    results, place = left(tmp_path, hostname=hostname_of("broken", tmp_path / "name"))
    result.read(place, own(results))  # it would be believed
    harm, words = FORGED[how]
    harm(place)
    with pytest.raises(CouldNotJudge) as told:
        result.read(place, own(results))
    assert words in str(told.value) and "\n" not in str(told.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes another user's files")
@pytest.mark.parametrize("what", ["", "result.json"])
def test_another_users_result_is_not_believed(tmp_path: Path, what: str) -> None:
    results, place = left(tmp_path, hostname=hostname_of("broken", tmp_path / "name"))
    os.chown(place / what, 65534, 65534)
    with pytest.raises(CouldNotJudge, match="belongs to user 65534, not to 0"):
        result.read(place, own(results))
