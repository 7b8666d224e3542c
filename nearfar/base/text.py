"""Texts as people read and write them: columns, lists, names of hosts and users, expressions, what others wrote."""

from __future__ import annotations

import pwd
import re
from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import zip_longest
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
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    lines = (
        [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths))
        ]
        for row in rows
    )
    return ["  ".join(line).rstrip() for line in lines]


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
