"""A tuned reference file: today's rows, and its text with new ones."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, SiteFileError
from nearfar.verdict.references import INDEX, PROVENANCE, ReferenceFile, ReferenceRow, RowPlace, known_checks, place_key

from . import yaml_patch
from .yaml_patch import OneLine, same

#: Run identities that the provenance lists.
MOST_RUNS = 60
#: What the provenance says of a row, by itself or for all rows that do not.
_OF_A_TUNE = frozenset({"date", "n", "stamp"})
#: What a tune says of a row. Other keys are a person's, and stay.
_OF_A_ROW = _OF_A_TUNE | {"spread", "degraded", "accepted", "accepted_bound"}


@dataclass(frozen=True)
class CurrentFile:
    """The file that counts today, and where the new one is to stand (``into``). ``tuned`` is what its provenance says of all rows."""

    path: Path
    into: Path
    text: str = ""
    rows: Mapping[RowPlace, ReferenceRow] = field(default_factory=dict)
    tuned: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shadowed(self) -> Path | None:
        """The file that the new one will stand before; None where it takes its place, or there is none."""
        return self.path if self.text and self.path != self.into else None


def read(path: Path, into: Path | None = None) -> CurrentFile:
    """The file at ``path``, empty where there is none. Raises ``NearfarError`` for one that tune cannot write."""
    into = path if into is None else into
    if not path.exists():
        return CurrentFile(path, into)
    file = ReferenceFile(path, known_checks())
    text = path.read_bytes().decode("utf-8")  # line ends as they are
    if file.origin != "tuned":
        refusal = "holds published values; name another file with `references:` in the system's partition"
        raise NearfarError(f"{path}: {refusal}")
    if any(mark in text for mark in ("{{", "{%", "{#")) or yaml_patch.has_anchors(text):
        raise NearfarError(f"{path}: is a template or has anchors, which tune would lose; name another file")
    return CurrentFile(path, into, text, {row.place: row for row in file.rows()}, file.tuned)


def text(today: CurrentFile, about: Mapping[str, Any], new: Mapping[RowPlace, ReferenceRow]) -> str:
    """Today's text with ``new`` rows, whose provenance has all that holds for them; ``about`` is what holds for this tune.

    The file's provenance is this tune's where no row that stays relies on it; else a new row has what differs by itself. Rows that are
    new stand after those of their check and GPU model.
    """
    staying = [row.provenance for place, row in today.rows.items() if place not in new]
    content = yaml_patch.loaded(today.text) if today.text else {}
    tuned = _table(_table(content, PROVENANCE), "tuned")
    whole = today.tuned
    if all(own.keys() >= _OF_A_TUNE for own in staying):
        whole = {**about, "n": min([about["n"], *(own["n"] for own in staying)])}
        tuned.update(whole)
    rows = _table(tuned, "rows")
    for place, row in new.items():
        whole_too = {key for key in ("date", "stamp") if same(whole.get(key) or {}, row.provenance[key])}
        own = {key: value for key, value in row.provenance.items() if key not in whole_too}
        before = rows.get(place_key(place)) or {}
        kept = {key: value for key, value in before.items() if key not in _OF_A_ROW or key in own}
        rows[place_key(place)] = OneLine({**kept, **own})
        table = _table(content, row.check)
        if row.model is not None:
            table[INDEX] = ["$dev.gpu.model"]
            table = _table(table, row.model)
        table[row.name] = row.values
    return yaml_patch.patched(today.text, content) if today.text else yaml_patch.dumped(content)


def _table(content: dict[str, Any], key: str) -> dict[str, Any]:
    """The mapping at a key of another, made where there is none."""
    if not isinstance(content.get(key), dict):
        content[key] = {}
    table: dict[str, Any] = content[key]
    return table


def check(text: str, today: CurrentFile, new: Mapping[RowPlace, ReferenceRow]) -> ReferenceFile:
    """The text as ``nearfar.verdict.references`` reads it; raises ``NearfarError`` where that is not today's file with ``new`` rows."""
    rows = {**today.rows, **new}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tuned.yaml"
        path.write_bytes(text.encode("utf-8"))
        try:
            file = ReferenceFile(path, known_checks())
        except SiteFileError as error:
            raise NearfarError(
                f"{today.path}: tune cannot edit it ({error.words}); please report it with the file"
            ) from None
    again = {row.place: row for row in file.rows()}
    if again != rows or not all(same(_known(again[at], file.tuned), _known(rows[at], today.tuned)) for at in rows):
        raise NearfarError(
            f"{today.path}: tune cannot edit it (the new file would have another meaning); please report it with the file"
        )
    return file


def _known(row: ReferenceRow, tuned: Mapping[str, Any]) -> dict[str, Any]:
    own = {**{key: tuned[key] for key in _OF_A_TUNE & tuned.keys()}, **row.provenance}
    return {key: own[key] for key in _OF_A_ROW & own.keys() if own[key] != {}}
