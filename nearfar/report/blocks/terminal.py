"""Blocks as the lines of a terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from nearfar.base import columns, printable

from .kinds import Block, Chart, Group, Labels, Shown, Table, Text

#: No name of a table is cut to less.
_LEAST_NAME = 16
#: No words of a table are wrapped to less.
_LEAST_ROOM = 36
_INDENT = "  "


def terminal_width() -> int | None:
    """The columns of standard output; None where it is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def shown_lines(shown: Shown) -> list[str]:
    """The answer first, what to do next last; no wider than the terminal."""
    width = terminal_width()
    lines = [line for sentence in shown.answer for line in wrapped_line(sentence, width)]
    for block in (each for each in shown.blocks if not _page_only(each)):
        lines += ["", *block_lines([block], width)]
    return [*lines, *(["", *wrapped_line(f"next: {shown.next}", width)] if shown.next else [])]


def block_lines(blocks: Iterable[Block], width: int | None = None) -> list[str]:
    """The lines of blocks. ``width``: no line is longer, names in tables are cut (None: nothing is broken or cut)."""
    return [line for block in blocks if not _page_only(block) for line in _lines(block, width)]


def _page_only(block: Block) -> bool:
    return isinstance(block, Chart) or (isinstance(block, Group) and block.page_only)


def _lines(block: Block, width: int | None) -> Iterator[str]:
    if isinstance(block, Text):
        for sentence in block.sentences:
            yield from wrapped_line(sentence, width)
    elif isinstance(block, Labels):
        label = max((len(name) for name, _ in block.labels), default=0)
        for name, words in block.labels:
            yield from wrapped_line(f"{name:<{label}}  {words}", width)
    elif isinstance(block, Table):
        yield from [block.title] if block.title else []
        yield from _table(block, width)
    elif isinstance(block, Group):
        inner = None if width is None else width - len(_INDENT)
        yield from [block.title] if block.title else []
        yield from (f"{_INDENT}{line}" if line else "" for line in block_lines(block.blocks, inner))


def _table(block: Table, width: int | None) -> list[str]:
    drawn = {place for each in block.rows for place, entry in enumerate(each.entries) if entry.drawing is not None}
    rows = [list(block.columns)] if any(block.columns) else []
    for each in block.rows:
        if not any(entry.words or entry.verdict for entry in each.entries):
            continue
        said = (filter(None, [entry.verdict, entry.sign, entry.words]) for entry in each.entries)
        rows.append([_words(" ".join(words)) for words in said])
        # Without a heading a row may have several lines.
        for line in range(0 if block.columns else max(len(entry.below) for entry in each.entries)):
            rows.append([_words("".join(entry.below[line : line + 1])) for entry in each.entries])
    kept = [place for place in range(len(rows[0]) if rows else 0) if place not in drawn]
    rows = [[each[place] for place in kept] for each in rows]
    numbers = [position for position, place in enumerate(kept) if place in block.numbers]
    made = columns(rows, numbers)
    over = 0 if width is None else max(map(len, made), default=0) - width
    if width is None or over <= 0 or block.cut in drawn:
        return made
    if len(rows[0]) - 1 not in numbers:
        rows = _wrapped_last(rows, width)
        over = max(map(len, columns(rows, numbers))) - width
    return columns(_narrowed(rows, over, kept.index(block.cut)), numbers)


def _wrapped_last(rows: Sequence[list[str]], width: int) -> list[list[str]]:
    """With the words of the last column in lines that fit beside the others."""
    room = max(_LEAST_ROOM, width - sum(max(len(each[at]) for each in rows) + 2 for at in range(len(rows[0]) - 1)))
    wrapped = []
    for *first, last in rows:
        lines = textwrap.wrap(last, room, break_long_words=False, break_on_hyphens=False) or [""]
        wrapped += [[*first, lines[0]], *([*("" for _ in first), line] for line in lines[1:])]
    return wrapped


def _narrowed(rows: Sequence[list[str]], over: int, place: int) -> list[list[str]]:
    """With the names in one column cut by ``over``, where that is more than 0."""
    most = max(_LEAST_NAME, max(len(each[place]) for each in rows) - max(0, over))
    cut = [each[place] if len(each[place]) <= most else f"{each[place][: most - 1].rstrip(' ,:')}…" for each in rows]
    return [[*each[:place], name, *each[place + 1 :]] for each, name in zip(rows, cut)]


def wrapped_line(text: str, width: int | None) -> list[str]:
    """A text in lines of ``width`` (None: one), those after the first indented, deeper where the text is."""
    text = _words(text)
    if width is None:
        return [text]
    kept = text.replace(" %", "\u00a0%")  # no number is parted from its unit
    indent = 2 * _INDENT if text.startswith(" ") else _INDENT
    wrapper = textwrap.TextWrapper(max(40, width), "", indent, break_long_words=False, break_on_hyphens=False)
    lines = wrapper.wrap(kept)
    return [line.replace("\u00a0", " ") for line in lines or [""]]


def _words(text: str) -> str:
    return printable(text.replace("`", ""))
