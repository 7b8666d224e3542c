"""The text of a tuned reference file with new rows: what an administrator wrote beside the values stays, byte for byte."""

from __future__ import annotations

import difflib
import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.base import NearfarError
from nearfar.history.tuning import reference_text
from nearfar.verdict.references import ReferenceRow, RowPlace, place_key

STAMP = {"driver": "590.1", "cuda": "13.0"}
#: What a tune says of a file.
ABOUT = {
    "date": "2026-11-20", "first": "2026-11-18", "n": 4, "stamp": STAMP,
    "budget": {"node_nights": 1000, "fail": 0.5, "degraded": 5.0, "figures": 9}, "runs": ["b", "c"], "command": "nearfar tune",
}  # fmt: skip

WRITTEN = """\
# Reviewed by Ada.
host_device_check:
  # One H100 is still in the old chassis.
  $index: ["$dev.gpu.model"]
  NVIDIA H200:
    sole.h2d:   [55.60, -0.045, null, "GB/s"]   # the riser was swapped
    sole.d2h: [55.3, -0.045, ~, GB/s]

    # The sum, in one line an item:
    sole.both.total:
      - 100   # as in the tender
      - -0.05
      - null
      - GB/s
provenance:   # made by nearfar
    tuned:
        date: 2026-11-01
        note: "two nodes were away"
        n: 3
        stamp: { driver: "580.1",   cuda: '13.0' }   # MPS off
        runs: [a,  # a bad night
               b]
        rows:
            # by check, model, row
            host_device_check/NVIDIA H200/sole.h2d: {n: 3, spread: 0.00557, degraded: -0.03}   # measured twice
            host_device_check/NVIDIA H200/sole.d2h: {n: 5,
                spread: 0.0055, # narrow
                degraded: -0.030}
            host_device_check/NVIDIA H200/sole.both.total:
                n: 3   # of 4
                spread: 0.01
# The end.
"""


def row(place: RowPlace, value: float, **own: Any) -> ReferenceRow:
    return ReferenceRow(
        *place, value, -0.045, None, "GB/s", {"date": "2026-11-20", "stamp": STAMP, "n": 4, "spread": 0.006, **own}
    )


def place(name: str, model: str | None = "NVIDIA H200", check: str = "host_device_check") -> RowPlace:
    return check, model, name


def written(folder: Path, text: str) -> reference_text.CurrentFile:
    path = folder / "redwood.yaml"
    path.write_bytes(text.encode())
    return reference_text.read(path)


def tuned(today: reference_text.CurrentFile, *rows: ReferenceRow) -> str:
    """The text with new rows, which is read as it is meant."""
    new = {each.place: each for each in rows}
    text = reference_text.text(today, ABOUT, new)
    reference_text.check(text, today, new)
    return text


def changed(old: str, new: str) -> list[str]:
    """The lines that differ, as in a diff."""
    return [line for line in difflib.ndiff(old.splitlines(), new.splitlines()) if line[0] in "+-"]


def test_one_changed_limit_is_one_line_and_its_provenance(tmp_path: Path) -> None:
    text = tuned(written(tmp_path, WRITTEN), row(place("sole.h2d"), 55.61, degraded=-0.03))
    indent = " " * 12
    assert changed(WRITTEN, text) == [
        '-     sole.h2d:   [55.60, -0.045, null, "GB/s"]   # the riser was swapped',
        '+     sole.h2d:   [55.61, -0.045, null, "GB/s"]   # the riser was swapped',
        f"- {indent}host_device_check/NVIDIA H200/sole.h2d: {{n: 3, spread: 0.00557, degraded: -0.03}}   # measured twice",
        f"+ {indent}host_device_check/NVIDIA H200/sole.h2d: {{n: 4, spread: 0.006, degraded: -0.03, date: '2026-11-20', "
        "stamp: {driver: '590.1', cuda: '13.0'}}   # measured twice",
    ]  # fmt: skip


def test_where_all_rows_are_new_the_file_says_it_once(tmp_path: Path) -> None:
    names = ("sole.h2d", "sole.d2h", "sole.both.total")
    today = written(tmp_path, WRITTEN)
    text = tuned(today, *(row(place(name), 55.0) for name in names))
    assert "date: 2026-11-20" in text.replace("'", "") and text.count("2026-11-20") == 1
    assert """stamp: { driver: "590.1",   cuda: '13.0' }   # MPS off""" in text
    assert set(re.findall("#.*", WRITTEN)) == set(re.findall("#.*", text)) and "two nodes were away" in text
    assert "command: nearfar tune\n" in text and "runs: [b,  # a bad night\n               c]" in text
    # And again, from its own text: nothing is left to change.
    assert tuned(written(tmp_path, text), *(row(place(name), 55.0) for name in names)) == text


def test_new_rows_models_and_checks_come_last(tmp_path: Path) -> None:
    places = [place("sole.both.h2d"), place("sole.h2d", "NVIDIA H100"), place("local.triad", None, "host_memory_check")]
    text = tuned(written(tmp_path, WRITTEN), *(row(each, 50.0) for each in places))
    added = changed(WRITTEN, text)
    assert [line for line in added if line.startswith("-")] == []
    assert [line for line in added if "2026" not in line] == [
        "+     sole.both.h2d: [50.0, -0.045, null, GB/s]",
        "+   NVIDIA H100:",
        "+     sole.h2d: [50.0, -0.045, null, GB/s]",
        "+ host_memory_check:",
        "+   local.triad: [50.0, -0.045, null, GB/s]",
    ]
    assert len(added) == 5 + 3


@pytest.mark.parametrize(
    "provenance",
    ["{tuned: {date: 2026-11-01, n: 3}}", "\n  tuned: {date: 2026-11-01, n: 3}", "\n  tuned:\n    n: 3\n    date: 2026-11-01",
     "\n  tuned:\n    rows: {}  # none\n    n: 3\n    date: 2026-11-01"],
)  # fmt: skip
@pytest.mark.parametrize("end", ["", "\n"], ids=["no line end", "line end"])
def test_a_file_without_rows_gets_them_as_a_new_one_has_them(tmp_path: Path, provenance: str, end: str) -> None:
    old = f"# ours\nprovenance: {provenance}{end}"
    text = tuned(written(tmp_path, old), row(place("sole.h2d"), 50.0), row(place("sole.d2h"), 51.0))
    assert text.startswith("# ours\nprovenance:") and "\n    sole.d2h: [51.0, -0.045, null, GB/s]" in text
    assert "\n      host_device_check/NVIDIA H200/sole.d2h: {n: 4, spread: 0.006}\n" in text


def test_a_file_of_windows_stays_one(tmp_path: Path) -> None:
    old = WRITTEN.replace("\n", "\r\n")
    text = tuned(
        written(tmp_path, old), row(place("sole.both.total"), 99.0), row(place("sole.h2d", "NVIDIA H100"), 50.0)
    )
    assert text.count("\n") == text.count("\r\n") > old.count("\n")
    assert text.replace("\r\n", "\n") == tuned(
        written(tmp_path, WRITTEN), row(place("sole.both.total"), 99.0), row(place("sole.h2d", "NVIDIA H100"), 50.0)
    )


@pytest.mark.parametrize("text", [WRITTEN.replace("    sole.d2h: [", "    sole.d2h: &row ["), "{# x #}" + WRITTEN])
def test_anchors_and_templates_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(NearfarError, match="is a template or has anchors"):
        written(tmp_path, text)


def test_what_cannot_be_edited_is_one_line_with_the_file(tmp_path: Path) -> None:
    today = written(tmp_path, WRITTEN.replace("sole.h2d:", "? sole.h2d\n    :", 1))
    with pytest.raises(NearfarError, match=rf"^{today.path}: tune cannot edit it \(not YAML: .*\); please report it"):
        tuned(today, row(place("sole.both.h2d"), 50.0))


def test_tabs_before_comments_stay(tmp_path: Path) -> None:
    old = WRITTEN.replace("n: 3\n", "n: 3\t# tab\n")
    text = tuned(written(tmp_path, old), row(place("sole.both.h2d"), 50.0))
    assert {line[0] for line in changed(old, text)} == {"+"}


# --- Any file ---

NAMES = ("sole.h2d", "sole.d2h", "sole.both.h2d", "near.h2d", "near.d2h")
PLACES = [place(name, model) for model in ("NVIDIA H200", "NVIDIA H100") for name in NAMES]
PLACES += [place(name, None, "host_memory_check") for name in ("local.triad", "local.copy")]


class Scribe:
    """Writes a reference file as somebody might, with a numbered comment wherever one may be."""

    def __init__(self, source: random.Random) -> None:
        self._source, self.comments = source, 0
        self.step = source.choice((1, 2, 4))

    def _comment(self, before: str) -> str:
        if self._source.random() < 0.5:
            return ""
        self.comments += 1
        return f"{before}# c{self.comments}: [x, 'y"

    def _value(self, value: Any) -> str:
        if value is None:
            return self._source.choice(("null", "~", "Null"))
        if isinstance(value, str):
            return self._source.choice((value, f"'{value}'", f'"{value}"')) if "." not in value else f"'{value}'"
        return str(value)

    def _flow(self, content: Any, indent: str) -> str:
        if not isinstance(content, (dict, list)):
            return self._value(content)
        items = [f"{key}: {self._flow(value, indent)}" for key, value in content.items()] if isinstance(content, dict) else [
            self._flow(value, indent) for value in content]  # fmt: skip
        gap = self._source.choice(("", " "))
        ends = [(self._comment(" ") or "") if self._source.random() < 0.3 else None for _ in items]
        text = gap + "".join(
            f"{item}{',' if n < len(items) - 1 else gap}" + (" " if end is None else f"{end}\n{indent}    ")
            for n, (item, end) in enumerate(zip(items, ends))
        )
        return "{" + text + "}" if isinstance(content, dict) else f"[{text}]"

    def lines(self, content: Mapping[str, Any], indent: str = "") -> Iterator[str]:
        for key, value in content.items():
            yield from filter(None, (self._comment(indent), self._comment(" ")))
            nested = isinstance(value, dict) and any(isinstance(each, dict) for each in value.values())
            block = bool(value) and isinstance(value, dict) and (nested or self._source.random() < 0.3)
            if block or (nested and isinstance(value, dict) and self._source.random() < 0.9):
                yield f"{indent}{key}:{self._comment(' ')}"
                yield from self.lines(value, indent + " " * self.step)
            elif isinstance(value, list) and self._source.random() < 0.2:
                yield f"{indent}{key}:{self._comment('  ')}"
                for item in value:
                    yield f"{indent}- {self._value(item)}{self._comment('   ')}"
            else:
                yield f"{indent}{key}: {self._flow(value, indent)}{self._comment('  ')}"
            if self._source.random() < 0.1:
                yield ""


def any_file(source: random.Random) -> tuple[str, int]:
    """A file of some rows, and its number of comments."""
    scribe = Scribe(source)
    tuned: dict[str, Any] = {"date": "2026-11-01", "n": 3, "command": "tune it", "runs": ["a", "b"]}
    if source.random() < 0.7:
        tuned["stamp"] = source.choice(({"driver": "590.1", "cuda": "13.0"}, {"driver": "580.1", "mps": "off"}))
    checks: dict[str, Any] = {}
    rows: dict[str, Any] = {}
    for each in source.sample(PLACES, source.randint(0, len(PLACES))):
        table = checks.setdefault(each[0], {"$index": ["$dev.gpu.model"]} if each[1] else {})
        table = table.setdefault(each[1], {}) if each[1] else table
        table[each[2]] = [source.choice((50, 50.5)), -0.045, None, "GB/s"]
        own = {
            "n": 3,
            "spread": 0.01,
            "degraded": -0.03,
            "note": "ours",
            "date": "2026-10-01",
            "stamp": {"driver": "570.1"},
        }
        rows[place_key(each)] = dict(source.sample(list(own.items()), source.randint(1, len(own))))
    if rows or source.random() < 0.5:
        tuned["rows"] = rows
    parts = [*checks.items(), ("provenance", {"tuned": dict(source.sample(list(tuned.items()), len(tuned)))})]
    source.shuffle(parts)
    newline = source.choice(("\n", "\r\n"))
    lines = [*scribe.lines(dict(parts)), *filter(None, [scribe._comment("")])]
    return "\n".join(lines).replace("\n", newline) + source.choice(("", newline)), scribe.comments


@given(st.integers(0, 10**9))
def test_any_comment_of_any_file_survives(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    source = random.Random(seed)
    old, comments = any_file(source)
    today = written(tmp_path_factory.getbasetemp(), old)
    places = source.sample(PLACES, source.randint(1, len(PLACES)))
    text = tuned(
        today, *(row(each, source.choice((50.0, 51.0)), **source.choice(({}, {"degraded": -0.02}))) for each in places)
    )
    assert sorted(re.findall(r"# c(\d+): \[x, 'y", text), key=int) == [str(n + 1) for n in range(comments)], old
    assert text.count("\n") == (text.count("\r\n") if "\r" in old else text.count("\n"))
    kept = [each for each in today.rows if each not in places]
    for each in kept:
        stays = re.findall(rf"^.*{re.escape(place_key(each))}\b.*$", old, re.M)
        assert all(line in text for line in stays), (old, text)
