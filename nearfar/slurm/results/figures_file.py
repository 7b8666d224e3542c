"""``figures.json`` beside a result: the figures of its checks that are wholly good, so that who reads thousands need not read each whole.

Written with the result, from the verdict files as their one reader has them, and bound to these by their hashes. It is a convenience:
where it is missing, damaged, or of other verdict files than those that are there, and for every check with a finding, ``verdict.json``
itself is read. So no node is ever judged by it.

Three lines of JSON: what this is, with the hashes of the verdict files and of the other two lines; what the figures are called, which
most nodes have alike, so that it is understood once; and their numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
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
_ABOUT = ("check", "verdict", "partition")
_NAMES = ("names", "subjects", "units", "rows")
_NUMBERS = ("values", "lowest", "highest", "below", "above")


class CheckFigures(NamedTuple):
    """A wholly good check: the hash (``digest``) of its ``verdict.json``, what that says of the run, and its figures."""

    digest: str
    node: str
    check: str
    verdict: str
    partition: str
    figures: FigureColumns


def write(folder: Path, checks: Iterable[str]) -> None:
    """Write the file of a result that is being made; ``checks``: their folders, relative to the result's. Raises ``OSError``."""
    good: dict[str, tuple[str, Verdict, FigureColumns]] = {}
    for name in checks:
        path = folder / name / verdict_file.NAME
        text = path.read_bytes()
        verdict = _verdict(path, text)
        if verdict is not None and _wholly_good(verdict):
            good[name] = digest(text), verdict, columns(verdict.metrics)
    called = _line([_called(verdict, figures) for _, verdict, figures in good.values()])
    numbers = _line([{name: getattr(figures, name) for name in _NUMBERS} for _, _, figures in good.values()])
    head = {
        "schema": _SCHEMA, "called": digest(called), "numbers": digest(numbers),
        "verdicts": [[name, of, verdict.node] for name, (of, verdict, _) in good.items()],
    }  # fmt: skip
    kept = folder / NAME
    kept.write_bytes(b"\n".join([_line(head), called, numbers, b""]))
    kept.chmod(0o644)


def read(folder: Path, trust: Trust, with_numbers: bool = True) -> Mapping[str, CheckFigures]:
    """What the file of a result has, by the checks' folders; nothing where there is none, or it is not to be used. ``with_numbers``:
    without them their columns are empty."""
    path = folder / NAME
    try:
        first, called, numbers, _ = trust.file(path).split(b"\n")
        head = json.loads(first)
        if (head["schema"], head["called"], head["numbers"]) != (_SCHEMA, digest(called), digest(numbers)):
            return {}
        checks, verdicts = _understood(called), head["verdicts"]
        values = _checked(path, numbers, "numbers") if with_numbers else [None] * len(checks)
        entries = zip(checks, values, verdicts, strict=True)
        return {name: _taken(of, node, what, these) for what, these, (name, of, node) in entries}
    except (CouldNotJudge, ValueError, TypeError, LookupError, RecursionError):
        return {}


def digest(text: bytes) -> str:
    """The hash by which a file is known."""
    return sha256(text).hexdigest()


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def _verdict(path: Path, text: bytes) -> Verdict | None:
    """What is in a verdict file; None of one that is damaged, which who reads the result finds out."""
    try:
        return verdict_file.from_raw(own(path.parent).parsed(path, text), path)
    except NearfarError:
        return None


def _wholly_good(verdict: Verdict) -> bool:
    words = {verdict.verdict, *(m.verdict for m in verdict.metrics), *(f.verdict for f in verdict.findings)}
    return verdict.kind == "measured" and not verdict.reasons and words.issubset(_GOOD)


def _called(verdict: Verdict, figures: FigureColumns) -> dict[str, Any]:
    return {
        **{key: getattr(verdict, key) for key in _ABOUT}, **{name: getattr(figures, name) for name in _NAMES},
        "judged": _bits(word == "PASS" for word in figures.verdicts), "passed": _bits(figures.passed),
    }  # fmt: skip


def _bits(flags: Iterable[bool]) -> str:
    return "".join("01"[flag] for flag in flags)


class _Called(NamedTuple):
    """A check and its figures without their numbers."""

    check: str
    verdict: str
    partition: str
    columns: Mapping[str, tuple[Any, ...]]
    figures: int


@lru_cache(maxsize=256)
def _understood(line: bytes) -> Sequence[_Called]:
    """What the second line says. Raises ``CouldNotJudge`` or ``ValueError``."""
    return tuple(map(_named, _checked(Path(NAME), line, "called")))


def _named(entry: Mapping[str, Any]) -> _Called:
    judged, passed = (tuple(map("1".__eq__, entry[name])) for name in ("judged", "passed"))
    made: dict[str, tuple[Any, ...]] = {name: tuple(entry[name]) for name in _NAMES}
    made["verdicts"] = tuple(["PASS" if each else NOT_JUDGED for each in judged])
    made |= {"passed": passed, "intermittent": (False,) * len(judged)}
    if len(set(map(len, made.values()))) > 1:
        raise ValueError(f"columns of {entry['check']} differ in length")
    return _Called(entry["check"], entry["verdict"], entry["partition"], made, len(judged))


def _checked(path: Path, line: bytes, what: str) -> list[Mapping[str, Any]]:
    raw = own(path.parent).parsed(path, b'{"%s":%s}' % (what.encode(), line))
    if not conforms(_FILE)(raw):
        raise ValueError(f"{what} not as {_FILE} has it")
    entries: list[Mapping[str, Any]] = raw[what]
    return entries


def _taken(of: str, node: str, what: _Called, values: Mapping[str, Sequence[float | None]] | None) -> CheckFigures:
    """Raises ``ValueError`` for columns of another length."""
    numbers: dict[str, tuple[Any, ...]] = {} if values is None else {name: tuple(values[name]) for name in _NUMBERS}
    if not {what.figures}.issuperset(map(len, numbers.values())):
        raise ValueError(f"columns of {what.check} differ in length")
    return CheckFigures(
        of, node, what.check, what.verdict, what.partition, FigureColumns(**what.columns, **numbers)
    )  # fmt: skip
