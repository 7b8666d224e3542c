"""Long lines broken where a person reads on, and never inside a command."""

from __future__ import annotations

from collections.abc import Iterator

#: Letters of a line.
WIDTH = 110


def broken(words: str) -> Iterator[str]:
    """A text in lines that end behind a semicolon where it is longer than one; none for an empty text."""
    line = ""
    for part in words.split("; ") if words else ():
        if line and len(line) + len(part) > WIDTH:
            yield f"{line};"
            line = part
        else:
            line = f"{line}; {part}" if line else part
    if line:
        yield line
