"""A tuned reference file: today's rows, what a tune makes of them, and the text of the new file.

The file is written whole, so that it reads the same whoever wrote it; the comment at its head is kept.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError
from nearfar.verdict.references import ReferenceFile, known_checks

_INDEX = "$index"
_MODEL_INDEX = "[$dev.gpu.model]"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 _.-]*")
#: Run identities that the provenance lists.
MOST_RUNS = 60

#: Check, GPU model (None: the check has no index), row.
Place = tuple[str, "str | None", str]
Row = Sequence["float | str | None"]


@dataclass(frozen=True)
class CurrentFile:
    """The file that counts today, and where the new one is to stand (``into``). ``rows`` and, of each that has its own,
    ``provenance`` by place; ``head`` are its first comment lines."""

    path: Path
    into: Path
    text: str = ""
    head: str = ""
    rows: Mapping[Place, Row] = field(default_factory=dict)
    provenance: Mapping[Place, Mapping[str, Any]] = field(default_factory=dict)
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
    text = path.read_text(encoding="utf-8")
    if file.origin != "tuned":
        words = "holds published values; name another file with `references:` in the system's partition"
        raise NearfarError(f"{path}: {words}")
    if any(mark in text for mark in ("{{", "{%", "{#")) or "<<:" in text:
        raise NearfarError(f"{path}: is a template or has anchors, which tune would lose; name another file")
    rows: dict[Place, Row] = {}
    for check, below in file.file.data.items():
        if check == "provenance":
            continue
        groups = {m: r for m, r in below.items() if m != _INDEX} if _INDEX in below else {None: below}
        for model, own in groups.items():
            rows.update({(check, model, key): row for key, row in own.items()})
    tuned = dict(file.provenance["tuned"])
    kept = tuned.pop("rows", None) or {}
    head = "".join(line for line in text.splitlines(keepends=True)[: _comment_lines(text)])
    return CurrentFile(path, into, text, head, rows, {_place(key): value for key, value in kept.items()}, tuned)


def _comment_lines(text: str) -> int:
    lines = text.splitlines()
    return next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))


def key_of(place: Place) -> str:
    """A place as the provenance names it: ``check/model/row``."""
    check, model, row = place
    return f"{check}/{model}/{row}" if model is not None else f"{check}/{row}"


def _place(key: str) -> Place:
    check, *model, row = key.split("/")
    return check, "/".join(model) if model else None, row


def text(
    head: str, about: Mapping[str, Any], rows: Mapping[Place, Row], provenance: Mapping[Place, Mapping[str, Any]]
) -> str:
    """The file: ``about`` is what holds for all rows, ``provenance`` what is each row's own."""
    lines = ["provenance:", "  tuned:"]
    lines += [f"    {key}: {_flow(value)}" for key, value in about.items()]
    lines += [
        "    rows:",
        *(f"      {_key(key_of(place))}: {_flow(provenance[place])}" for place in rows if place in provenance),
    ]
    for check in dict.fromkeys(place[0] for place in rows):
        own = {place: row for place, row in rows.items() if place[0] == check}
        lines.append(f"{check}:")
        indexed = any(model is not None for _, model, _ in own)
        if indexed:
            lines.append(f"  {_INDEX}: {_MODEL_INDEX}")
        for model in dict.fromkeys(place[1] for place in own):
            indent = "  "
            if model is not None:
                lines.append(f"  {_key(model)}:")
                indent = "    "
            lines += [f"{indent}{_key(place[2])}: {_flow(row)}" for place, row in own.items() if place[1] == model]
    return head + "\n".join(lines) + "\n"


def _key(word: str) -> str:
    return word if _PLAIN.fullmatch(word) and word.strip() == word else json.dumps(word, ensure_ascii=False)


def _flow(value: Any) -> str:
    """A value in YAML's flow style, on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(str(key))}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return f"{value:.10g}"
    word = str(value)
    return (
        word
        if re.fullmatch(r"[A-Za-z][A-Za-z/_]*", word) and word not in _YAML_WORDS
        else json.dumps(word, ensure_ascii=False)
    )


_YAML_WORDS = (
    "true",
    "false",
    "null",
    "yes",
    "no",
    "on",
    "off",
    "y",
    "n",
    "True",
    "False",
    "Yes",
    "No",
    "On",
    "Off",
    "Null",
)


def check(new: str, rows: Mapping[Place, Row]) -> ReferenceFile:
    """The text as ``nearfar.verdict.references`` reads it; raises ``NearfarError`` where that is not what was meant."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tuned.yaml"
        path.write_text(new, encoding="utf-8")
        again = read(path)
        file = ReferenceFile(path, known_checks())
    if {place: list(row) for place, row in again.rows.items()} != {place: list(row) for place, row in rows.items()}:
        raise NearfarError("the new file would not be read as it is meant; please report it with the history's rows")
    return file
