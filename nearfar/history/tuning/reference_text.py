"""A tuned reference file: today's rows, what a tune makes of them, and the text of the new file.

The file is written whole, so that it reads the same whoever wrote it; the comment at its head is kept.
"""

from __future__ import annotations

import copy
import math
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from nearfar.base import NearfarError
from nearfar.verdict.references import INDEX, PROVENANCE, ReferenceFile, ReferenceRow, RowPlace, known_checks, place_key

#: Run identities that the provenance lists.
MOST_RUNS = 60


@dataclass(frozen=True)
class CurrentFile:
    """The file that counts today, and where the new one is to stand (``into``). ``head`` are its first comment lines, ``tuned``
    is what its provenance says of all rows."""

    path: Path
    into: Path
    text: str = ""
    head: str = ""
    rows: Mapping[RowPlace, ReferenceRow] = field(default_factory=dict)
    tuned: Mapping[str, Any] = field(default_factory=dict)

    @property
    def comments_lost(self) -> int:
        """How many comment lines stand elsewhere than at its head."""
        return sum(line.lstrip().startswith("#") for line in self.text[len(self.head) :].splitlines())

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
    text = path.read_text(encoding="utf-8")
    if file.origin != "tuned":
        refusal = "holds published values; name another file with `references:` in the system's partition"
        raise NearfarError(f"{path}: {refusal}")
    if any(mark in text for mark in ("{{", "{%", "{#")) or "<<:" in text:
        raise NearfarError(f"{path}: is a template or has anchors, which tune would lose; name another file")
    head = "".join(line for line in text.splitlines(keepends=True)[: _comment_lines(text)])
    return CurrentFile(path, into, text, head, {row.place: row for row in file.rows()}, file.tuned)


def _comment_lines(text: str) -> int:
    lines = text.splitlines()
    return next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))


def text(head: str, tuned: Mapping[str, Any], rows: Iterable[ReferenceRow]) -> str:
    """The file: ``tuned`` is what holds for all rows; what is a row's own stands with it. The rows of a check stand together,
    those of a GPU model too."""
    own: dict[str, dict[str, Any]] = {}
    checks: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row.provenance:
            own[place_key(row.place)] = copy.deepcopy(
                dict(row.provenance)
            )  # of a value that is there twice YAML makes an alias
        table = checks.setdefault(row.check, {} if row.model is None else {INDEX: ["$dev.gpu.model"]})
        table = table if row.model is None else table.setdefault(row.model, {})
        table[row.name] = row.values
    content = {PROVENANCE: {"tuned": {**tuned, "rows": own}}, **checks}
    # Lists and mappings that hold no others stand on one line.
    return head + yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=math.inf, allow_unicode=True)


def check(new: str, rows: Mapping[RowPlace, ReferenceRow]) -> ReferenceFile:
    """The text as ``nearfar.verdict.references`` reads it; raises ``NearfarError`` where that is not what was meant."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tuned.yaml"
        path.write_text(new, encoding="utf-8")
        again = read(path)
        file = ReferenceFile(path, known_checks())
    if again.rows != rows:
        raise NearfarError("the new file would not be read as it is meant; please report it with the history's rows")
    return file
