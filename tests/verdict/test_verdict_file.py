"""``verdict.json``: what is written is read again, and what is no verdict is one clear line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nearfar.base import NearfarError, conforms, site_file
from nearfar.verdict import FigureLook, verdict_file
from tests.data.runs import small, synthetic


@pytest.fixture
def raw(tmp_path: Path) -> dict[str, Any]:
    """A verdict file of many kinds of figures."""
    folder = small.write(tmp_path / "small") / "n1/host_device_check"
    found: dict[str, Any] = json.loads((folder / "verdict.json").read_text())
    return found


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
        (("document", "schema"), "nearfar-measurement/7"), (("document", "results"), {}),
        (("measurement", "program"), 7), (("failed", 0, "code"), None), (("verdict",), None), (("metrics",), {}), (("findings", 0), "x"),
    ],
)  # fmt: skip
def test_what_no_judge_wrote_is_refused_with_file_and_place(
    place: tuple[Any, ...], value: Any, tmp_path: Path, raw: dict[str, Any]
) -> None:
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
def test_a_file_that_lacks_a_part_is_refused(key: str, tmp_path: Path, raw: dict[str, Any]) -> None:
    del raw[key]
    (tmp_path / "verdict.json").write_text(json.dumps(raw))
    with pytest.raises(NearfarError, match=f"'{key}' is a required property; the file was changed or cut short"):
        verdict_file.read(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_file_in_a_closed_directory_is_named(tmp_path: Path) -> None:
    folder = small.write(tmp_path / "small") / "n1/host_device_check"
    for above in tmp_path.parents[:3]:
        above.chmod(0o755)
    tmp_path.chmod(0o700)
    os.seteuid(65534)
    try:
        with pytest.raises(NearfarError, match=f"{folder}/verdict.json: cannot be read: Permission denied"):
            verdict_file.load_object(folder / "verdict.json")
    finally:
        os.seteuid(0)


def test_keys_that_are_not_known_are_left_out_and_those_to_come_are_read(tmp_path: Path, raw: dict[str, Any]) -> None:
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
