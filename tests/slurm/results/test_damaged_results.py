"""One file that was made up stops nothing: it is not believed, in one line, and what other nodes have left counts."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearfar.slurm.results import result
from tests.support.node_results import leave
from tests.support.taking_in import Taken, take_in

NOW = float(int(time.time()))
VERDICT = "n1/host_device_check/verdict.json"
DEEP = "[" * 100_000


def read(results: Path) -> Taken:
    return take_in(results, None, NOW)


def patched(place: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = place / result.RESULT
    raw = json.loads(path.read_text())
    change(raw)
    path.write_text(json.dumps(raw))


def verdict(place: Path, text: str) -> None:
    (place / VERDICT).write_text(text)
    patched(place, lambda raw: raw["files"].update({VERDICT: len(text)}))


def sparse(place: Path) -> None:
    os.truncate(place / result.RESULT, 3 << 30)


def words(raw: dict[str, Any]) -> None:
    raw["checks"][0]["findings"][0]["reason"] = "half a letter \ud800"


DAMAGES: dict[str, Callable[[Path], None]] = {
    "nested": lambda place: (place / result.RESULT).write_text(DEEP) and None,
    "nested verdict": lambda place: verdict(place, DEEP),
    "half a letter": lambda place: patched(place, words),
    "NUL in a name": lambda place: patched(place, lambda raw: raw["files"].update({"a\0b": 1})),
    "half a letter in a name": lambda place: patched(place, lambda raw: raw["files"].update({"a\ud800b": 1})),
    "folder with NUL": lambda place: patched(place, lambda raw: raw["checks"][0].update(folder="n1\0x")),
    "30 February": lambda place: patched(place, lambda raw: raw.update(started="2026-02-30T09:00:00Z")),
    "year 0": lambda place: patched(place, lambda raw: raw.update(started="0000-01-01T09:00:00Z")),
    "hour 24": lambda place: patched(place, lambda raw: raw.update(started="2026-02-20T24:00:00Z")),
    "month 99": lambda place: patched(place, lambda raw: raw.update(ended="9999-99-99T99:99:99Z")),
    "3 GiB": sparse,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_result_is_one_line(tmp_path: Path, damage: str) -> None:
    place = leave(tmp_path / "results", "n1", "00000001", at=NOW - 60, wrong="wrong data")
    leave(tmp_path / "results", "n2", "00000002", at=NOW - 60)
    DAMAGES[damage](place)
    found = read(tmp_path / "results")
    assert [run.node for run in found.runs] == ["n2"]
    assert len(found.refused) == 1 and str(place) in found.refused[0] and "not counted" in found.refused[0]


@pytest.mark.parametrize("error", [ValueError, TypeError, OverflowError, RecursionError, KeyError])
def test_whatever_else_is_wrong_with_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    whole = result.read

    def broken(place: Path, trust: Any, **how: Any) -> Any:
        if place.parent.name == "n1":
            raise error("unforeseen")
        return whole(place, trust, **how)

    monkeypatch.setattr(result, "read", broken)
    for node in ("n1", "n2"):
        leave(tmp_path / "results", node, f"0000000{node[1]}", at=NOW - 60)
    found = read(tmp_path / "results")
    assert [run.node for run in found.runs] == ["n2"]
    assert len(found.refused) == 1 and "result.json: cannot be understood" in found.refused[0]


def test_a_sweep_whose_name_is_no_text_is_named_and_hides_none(tmp_path: Path) -> None:
    leave(tmp_path / "results", "n2", "00000002", at=NOW - 60)
    place = leave(tmp_path / "results", "n1", "00000001", at=NOW - 60, sweep="odd")
    place.parents[2].rename(os.fsdecode(os.fsencode(tmp_path / "results") + b"/caf\xe9"))
    found = read(tmp_path / "results")
    assert [run.node for run in found.runs] == ["n2"]
    assert len(found.refused) == 1 and "cannot be understood" in found.refused[0] and found.refused[0].isprintable()
