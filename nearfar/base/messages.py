"""What a code says: the one format of the tables of texts (``messages.py`` of each package).

A sentence is written as ``str.format`` takes it, with three additions. ``{errors:#memory error}`` is a number with its noun (``1 memory
error``, ``2 memory errors``). A list of more than three is cut: ``a, b, c and 4 more``. A part in ``[ ]`` is left out where a field in it
is missing, None or empty.

>>> GONE = Message("gpu.missing", "FAIL", "{subject} is missing[; {others:#other GPU} on the bus]", "look for Xid messages", hard=True)
>>> GONE.finding("GPU 3", others=7).reason
'GPU 3 is missing; 7 other GPUs on the bus: look for Xid messages'
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from .text import listed
from .verdicts import Finding

#: Every message by its code. Importing a package's table fills it.
MESSAGES: dict[str, Message] = {}


def plural(count: int, noun: str, many: str | None = None) -> str:
    """``1 figure``, ``2 figures``; ``many`` where the plural takes more than an s."""
    return f"{count} {noun if count == 1 else many or noun + 's'}"


@dataclass(frozen=True)
class Message:
    """What a code says, what it does to the verdict, and what to do next."""

    #: A stable word, as ``link.width``: the subject's kind, a dot, what is wrong with it.
    code: str
    #: The verdict of a finding of this code, unless the finding says another.
    verdict: str
    #: What is wrong, with places for ``subject`` and the fields of a finding.
    sentence: str
    #: What to do next, in the imperative.
    next: str = ""
    #: Whether a finding of this code stands without a second run.
    hard: bool = False
    #: The page of the manual that explains it, below ``docs/``.
    page: str = ""

    def __post_init__(self) -> None:  # noqa: D105
        if self.code in MESSAGES:
            raise ValueError(f"two messages have the code {self.code}")
        MESSAGES[self.code] = self

    def finding(self, subject: str, *, verdict: str = "", hard: bool | None = None, **fields: Any) -> Finding:
        """A finding of this code. ``verdict`` and ``hard``: where what was seen says more than the code."""
        stands = self.hard if hard is None else hard
        return Finding(subject, verdict or self.verdict, self.text(subject, fields), stands, self.code, plain(fields))

    def text(self, subject: str | Sequence[str], fields: Mapping[str, Any]) -> str:
        """The sentence and what to do next. Raises ``KeyError`` for a field that is missing outside of ``[ ]``."""
        values = {**fields, "subject": subject}
        return _filled(f"{self.sentence}: {self.next}" if self.next else self.sentence, values)


def of_several(findings: Sequence[Finding]) -> Finding:
    """One for findings that differ in their subject alone, and names them all."""
    first, subjects = findings[0], [each.subject for each in findings]
    message = MESSAGES.get(first.code) if len(findings) > 1 else None
    if message is None:
        return first
    with suppress(KeyError, TypeError, ValueError):  # another version's fields
        cell = {"cell": subjects} if first.fields.get("cell") else {}
        reason = message.text(subjects, {**first.fields, **cell})
        return replace(first, reason=reason)
    return first


def plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as JSON has them."""
    return {key: list(value) if isinstance(value, (tuple, set, frozenset)) else value for key, value in fields.items()}


def _filled(sentence: str, values: Mapping[str, Any]) -> str:
    """A sentence with its places filled; each second part of it is optional."""
    parts = re.split(r"\[(.*?)\]", sentence)
    return "".join(
        _WRITER.vformat(part, (), values) for at, part in enumerate(parts) if at % 2 == 0 or _has_all(part, values)
    )


def _has_all(part: str, values: Mapping[str, Any]) -> bool:
    places = [name for _, name, _, _ in _WRITER.parse(part) if name]
    return all(values.get(name) not in (None, "", (), []) for name in places)


class _Writer(string.Formatter):
    def format_field(self, value: Any, spec: str) -> str:
        if spec.startswith("#"):
            return plural(value, spec[1:])
        if isinstance(value, (list, tuple)) and not spec:
            return listed(value)
        return str(super().format_field(value, spec))


_WRITER = _Writer()
