"""Texts as people read and write them: columns, lists, names of hosts and users, expressions, what others wrote."""

from __future__ import annotations

import pwd
import re
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import TypeVar

from .errors import NearfarError

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


def grouped(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    """The values by their keys, both in the order of the pairs."""
    groups: dict[_Key, list[_Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """A line for each row, the heading's too: columns two blanks apart, those in ``right`` (by position, 0 the first) at the
    right edge, as numbers stand."""
    if not rows:
        return []
    from tabulate import tabulate  # here: most commands print no table, and it takes 0.1 s to import

    sides = ["right" if column in right else "left" for column in range(len(rows[0]))]
    text = tabulate(rows, tablefmt="plain", disable_numparse=True, colalign=sides, preserve_whitespace=True)
    return [line.rstrip() for line in text.split("\n")]


def listed(items: Iterable[object], most: int = 3) -> str:
    """``a, b, c and 4 more``: no more than ``most`` are named."""
    names = list(map(str, items))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def printable(text: str) -> str:
    """A text with what is not printable as Python writes it, ``\\n``, ``\\x1b``: it begins no line, and moves no cursor."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def printable_lines(text: str) -> str:
    """The same of a text of several lines, which stay."""
    return "\n".join(map(printable, text.split("\n")))


def short_host_name(name: str) -> str:
    """A host's name without its domain; an IPv4 address as it is."""
    return name if name.replace(".", "").isdecimal() else name.partition(".")[0]


def user_name(uid: int) -> str:
    """A user's name; the number of one that this machine does not know."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def compiled(expression: str, option: str) -> re.Pattern[str]:
    """A regular expression; ``^`` and ``$`` are those of lines. Raises ``NearfarError``, which names the ``option``, where it is wrong."""
    try:
        return re.compile(expression, re.MULTILINE)
    except re.error as error:
        at = "" if error.pos is None else f" at character {error.pos + 1}"
        raise NearfarError(f"{option}: '{expression}' is not a regular expression: {error.msg}{at}") from None
