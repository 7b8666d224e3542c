"""Texts of others as they are shown."""

from __future__ import annotations


def printable(text: str) -> str:
    """A text with what is not printable as Python writes it, ``\\n``, ``\\x1b``: it begins no line, and moves no cursor."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def printable_lines(text: str) -> str:
    """The same of a text of several lines, which stay."""
    return "\n".join(map(printable, text.split("\n")))
