"""``verdict.json``: what is written is read again, results of version 1 say what they said, and what is no verdict is one clear line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nearfar import report
from nearfar.base import NearfarError, conforms, site_file
from nearfar.history import record
from nearfar.history.store import History, RowFilter
from nearfar.slurm.results import RunInfo, publish_result, result
from nearfar.slurm.trust import Trust
from nearfar.verdict import FigureLook, verdict_file
from tests.data.runs import small, synthetic

KEPT = Path(__file__).parents[1] / "data" / "verdict-versions"
TIMES = ("2026-11-20T09:00:00Z", "2026-11-20T09:05:00Z")


def run_of(version: int, directory: Path) -> Path:
    """The kept run, with its verdicts of a version."""
    shutil.copytree(KEPT, directory)
    for path in directory.rglob("verdict-*.json"):
        if path.name == f"verdict-{version}.json":
            path.rename(path.with_name("verdict.json"))
        else:
            path.unlink()
    return directory


def page(run: Path) -> dict[str, str]:
    report.build(run)
    return {name: (run / name).read_text() for name in ("index.html", "report.json", "junit.xml")}


def rows(run: Path) -> list[dict[str, Any]]:
    told: list[str] = []
    history = History(record(run, run.parent / "history", told.append), told.append)
    found = history.rows(RowFilter()).drop("source", "recorded").to_dicts()
    assert told == []
    return found


def node_result(run: Path) -> list[Any]:
    """What a sweep believes of the node, without the places."""
    place = result.place(run.parent / "results", "s1", "n1", 1)
    publish_result.leave(
        run,
        place,
        RunInfo(nodes=("n1",), hostname="n1", level="nightly", sweep="s1", started=TIMES[0], ended=TIMES[1]),
        "0a1b2c3d",
    )
    read = result.read(place, Trust(run.parent / "results", frozenset({place.stat().st_uid})))
    return [
        (read.verdict, read.reason),
        *(
            (c.check, c.verdict, c.findings, result.within_bounds(c.figures), result.cells(c.figures))
            for c in read.checks
        ),
    ]


@pytest.mark.parametrize("told", [page, rows, node_result])
def test_both_versions_say_the_same(told: Callable[[Path], Any], tmp_path: Path) -> None:
    one, two = (told(run_of(version, tmp_path / f"{version}" / "run")) for version in (1, 2))
    assert one and one == two


def test_what_version_1_said_is_on_the_page(tmp_path: Path) -> None:
    """Not only alike: the figures, their samples and the gaps are there."""
    run = run_of(1, tmp_path / "run")
    found = page(run)
    checks = {each["check"]: each for each in json.loads(found["report.json"])["nodes"][0]["checks"]}
    slow = next(m for m in checks["host_device_check"]["metrics"] if m["name"] == "off_socket_over_near.g0_n1")
    assert (slow["class"], slow["verdict"], slow["reference"]["lower"]) == (
        "off_socket_over_near",
        "FAIL",
        pytest.approx(0.45),
    )
    assert slow["value"] == pytest.approx(0.433, abs=0.001)
    assert checks["host_device_check"]["metrics"][0]["past"] == {"median": 55.6, "n": 5, "since": "2026-11-01"}
    assert [gap["code"] for gap in checks["host_device_check"]["skipped"]] == [
        "no_memory",
        "representative",
        "no_memory",
    ]
    for words in (
        "wrong data at byte 4096",
        "not converged",
        "9 samples, ",
        "55.6 before, 5 nights from 2026-11-01 on",
        "n 9",
    ):
        assert words in found["index.html"], words


def test_an_entry_of_version_1_gets_what_its_document_knows() -> None:
    folder = KEPT / "n1" / "host_device_check"
    raw, document = (json.loads((folder / name).read_text()) for name in ("verdict-1.json", "document.json"))
    whole, alone = (verdict_file.from_raw(raw, folder / "verdict.json", known) for known in (document, None))
    total = next(
        m for m in whole.metrics if m.question == "both.total" and m.path_class == "near" and m.derived is None
    )
    assert (total.bytes, total.n, len(total.samples), total.gpus, total.engine) == (268435456, 9, 9, (0,), "ce")
    assert [(gap.cell, gap.code) for gap in whole.failed] == [("n1:g1", "wrong_data")]
    # Without the document the figures stand, and say no more than they know.
    bare = next(m for m in alone.metrics if m.name == total.name)
    assert (bare.value, bare.reference, bare.n, bare.samples, alone.measurement) == (
        total.value,
        total.reference,
        None,
        (),
        None,
    )


@pytest.mark.parametrize(
    "bound, word", [("lower", "PASS"), ("upper", "PASS"), ("degraded_below", "PASS"), (None, "not judged")]
)
def test_early_versions_called_pass_what_nothing_was_held_against(bound: str | None, word: str) -> None:
    raw = json.loads((KEPT / "n1" / "size_sweep_check" / "verdict-1.json").read_text())
    metric = raw["metrics"][0]
    metric["reference"].update(lower=None, upper=None)
    metric["degraded_below"] = None
    if bound:
        (metric if bound == "degraded_below" else metric["reference"])[bound] = 1.0
    note = {"item": "history", "verdict": "PASS", "reason": "its own past: no such file", "hard": False}
    raw.update(metrics=[{**metric, "verdict": "PASS"}], findings=[note], verdict="PASS")
    read = verdict_file.from_raw(raw, Path("verdict.json"))
    assert (read.verdict, read.metrics[0].verdict, read.findings[0].verdict) == (word, word, "not judged")


@pytest.mark.parametrize(
    "spoilt", [{"metrics": 3}, {"verdict": None}, {"findings": [4]}, {"metrics": [{"name": "a:b"}]}]
)
def test_what_is_no_verdict_of_version_1_is_one_line(spoilt: dict[str, Any]) -> None:
    raw = json.loads((KEPT / "n1" / "size_sweep_check" / "verdict-1.json").read_text())
    with pytest.raises(NearfarError, match=r"^verdict\.json: .*the file was changed or cut short$"):
        verdict_file.from_raw({**raw, **spoilt}, Path("verdict.json"))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    small.write(tmp_path / "small")
    synthetic.broken(tmp_path / "broken")
    for path in tmp_path.rglob("verdict.json"):
        raw = json.loads(path.read_text())
        jsonschema.validate(raw, site_file.schema("verdict-2"))
        read = verdict_file.read(path.parent)
        assert read is not None and verdict_file.to_raw(read) == raw


@pytest.mark.parametrize(
    "place, value",
    [
        (("metrics", 0, "value"), "fast"), (("metrics", 0, "verdict"), "GOOD"), (("metrics", 0, "n"), True),
        (("metrics", 0, "name"), "a:b"),
        (("metrics", 0, "interval"), [1.0]), (("metrics", 0, "reference", "origin"), "guess"), (("metrics", 0, "gpus", 0), "g0"),
        (("measurement", "program"), 7), (("failed", 0, "code"), None), (("verdict",), None), (("metrics",), {}), (("findings", 0), "x"),
    ],
)  # fmt: skip
def test_what_no_judge_wrote_is_refused_with_file_and_place(place: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    raw = json.loads((KEPT / "n1" / "host_device_check" / "verdict-2.json").read_text())
    assert conforms("verdict-2")(raw)
    entry = raw
    for step in place[:-1]:
        entry = entry[step]
    entry[place[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(raw, site_file.schema("verdict-2"))
    (tmp_path / "verdict.json").write_text(json.dumps(raw))
    with pytest.raises(NearfarError) as told:
        verdict_file.read(tmp_path)
    assert str(told.value).startswith(f"{tmp_path / 'verdict.json'}: {'.'.join(map(str, place))}: ")


@pytest.mark.parametrize("key", ["metrics", "measurement", "failed", "provenance"])
def test_a_file_that_lacks_a_part_is_refused(key: str, tmp_path: Path) -> None:
    raw = json.loads((KEPT / "n1" / "host_device_check" / "verdict-2.json").read_text())
    del raw[key]
    (tmp_path / "verdict.json").write_text(json.dumps(raw))
    with pytest.raises(NearfarError, match=f"'{key}' is a required property; the file was changed or cut short"):
        verdict_file.read(tmp_path)


def test_keys_that_are_not_known_are_left_out_and_those_to_come_are_read(tmp_path: Path) -> None:
    raw = json.loads((KEPT / "n1" / "host_device_check" / "verdict-2.json").read_text())
    raw["metrics"][0].update(
        plateau=56.0, median=55.6, steadiness=0.993, colour="red",
        looks=[{"value": 31.0, "time": "2026-11-20T09:00:00Z", "beyond": True}, {"value": None, "time": "2026-11-20T09:01:00Z",
               "beyond": None, "why": "the second look was interrupted"}],
    )  # fmt: skip
    (tmp_path / "verdict.json").write_text(json.dumps(raw))
    read = verdict_file.read(tmp_path)
    assert read is not None
    first = read.metrics[0]
    assert (first.plateau, first.median, first.steadiness, first.looks) == (
        56.0,
        55.6,
        0.993,
        (
            FigureLook(31.0, "2026-11-20T09:00:00Z", True),
            FigureLook(None, "2026-11-20T09:01:00Z", None, "the second look was interrupted"),
        ),
    )
    del raw["metrics"][0]["colour"]
    assert verdict_file.to_raw(read) == raw
