"""``figures.json`` beside a result: the figures of its checks that are wholly good, so that who reads thousands need not read each whole.

Written with the result, from the verdict files as their one reader has them, and bound to these by their hashes, which stand in the
first of its two lines; so does the hash of the second. It is a convenience: where it is missing, damaged, or of other verdict files
than those that are there, and for every check with a finding, ``verdict.json`` itself is read. So nothing is ever held against a node
by it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from nearfar.base import NOT_JUDGED, CouldNotJudge, NearfarError, conforms
from nearfar.slurm.trust import Trust, own
from nearfar.verdict import FigureColumns, Verdict, columns, verdict_file

NAME = "figures.json"
_SCHEMA = "nearfar-node-figures/1"
_FILE = "node-figures-1"
_GOOD = ("PASS", NOT_JUDGED)
_ABOUT = ("check", "verdict", "node", "partition")
#: Columns that stand in the file as they are.
_PLAIN = ("names", "subjects", "units", "rows", "values", "lowest", "highest", "below", "above")


class CheckFigures(NamedTuple):
    """A wholly good check: the hash (``digest``) of its ``verdict.json``, what that says of the run, and its figures."""

    digest: str
    check: str
    verdict: str
    node: str
    partition: str
    figures: FigureColumns


def write(folder: Path, checks: Iterable[str]) -> None:
    """Write the file of a result that is being made; ``checks``: their folders, relative to the result's. Raises ``OSError``."""
    digests, entries = {}, {}
    for name in checks:
        path = folder / name / verdict_file.NAME
        text = path.read_bytes()
        verdict = _verdict(path, text)
        if verdict is not None and _wholly_good(verdict):
            digests[name], entries[name] = digest(text), _entry(verdict)
    body = json.dumps(entries, ensure_ascii=False, allow_nan=False).encode()
    head = json.dumps({"schema": _SCHEMA, "body": digest(body), "verdicts": digests}).encode()
    kept = folder / NAME
    kept.write_bytes(head + b"\n" + body + b"\n")
    kept.chmod(0o644)


def read(folder: Path, trust: Trust) -> Mapping[str, CheckFigures]:
    """What the file of a result has, by the checks' folders; nothing where there is none, or it is not to be used."""
    path = folder / NAME
    try:
        first, body = trust.file(path).rstrip(b"\n").split(b"\n")
        head = json.loads(first)
        if head["schema"] != _SCHEMA or head["body"] != digest(body):
            return {}
        raw, digests = trust.parsed(path, body), head["verdicts"]
        return {name: _taken(entry, digests[name]) for name, entry in raw.items()} if conforms(_FILE)(raw) else {}
    except (CouldNotJudge, ValueError, TypeError, KeyError, RecursionError):
        return {}


def digest(text: bytes) -> str:
    """The hash by which a file is known."""
    return sha256(text).hexdigest()


def _verdict(path: Path, text: bytes) -> Verdict | None:
    """What is in a verdict file; None of one that is damaged, which who reads the result finds out, or of an earlier version."""
    try:
        raw = own(path.parent).parsed(path, text)
        return verdict_file.from_raw(raw, path) if raw.get("schema") == verdict_file.SCHEMA else None
    except NearfarError:
        return None


def _wholly_good(verdict: Verdict) -> bool:
    words = {verdict.verdict, *(m.verdict for m in verdict.metrics), *(f.verdict for f in verdict.findings)}
    return verdict.kind == "measured" and not verdict.reasons and words.issubset(_GOOD)


def _entry(verdict: Verdict) -> dict[str, Any]:
    figures = columns(verdict.metrics)
    return {
        **{key: getattr(verdict, key) for key in _ABOUT}, **{name: getattr(figures, name) for name in _PLAIN},
        "judged": _bits(word == "PASS" for word in figures.verdicts), "passed": _bits(figures.passed), "counted": _bits(figures.counted),
    }  # fmt: skip


def _taken(entry: Mapping[str, Any], of: str) -> CheckFigures:
    """Raises ``ValueError`` for columns of different lengths."""
    plain = {name: tuple(entry[name]) for name in _PLAIN}
    judged, passed, counted = (tuple(map("1".__eq__, entry[name])) for name in ("judged", "passed", "counted"))
    if len({len(judged), len(passed), len(counted), *map(len, plain.values())}) > 1:
        raise ValueError(f"columns of {entry['check']} differ in length")
    figures = FigureColumns(
        **plain, verdicts=tuple(["PASS" if each else NOT_JUDGED for each in judged]), passed=passed, counted=counted,
        intermittent=(False,) * len(judged),
    )  # fmt: skip
    return CheckFigures(of, **{key: entry[key] for key in _ABOUT}, figures=figures)


def _bits(flags: Iterable[bool]) -> str:
    return "".join("01"[flag] for flag in flags)
