"""The kinds of blocks. Words may hold `code` between backticks, which a page sets as such and a terminal shows bare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True)
class Entry:
    """A place of a table: its words; smaller ones ``below``, which a page alone has; ``mark``: CSS classes; ``tip``: a tooltip;
    ``drawing``: in place of words, on a page alone."""

    words: str = ""
    below: tuple[str, ...] = ()
    mark: str = ""
    tip: str = ""
    anchor: str = ""
    drawing: Markup | None = None
    #: The verdict that stands before the words with its sign.
    verdict: str = ""
    #: A sign that stands before the words.
    sign: str = ""
    #: What opens on demand, on a page alone: its title and its words.
    more: tuple[str, str] = ("", "")
    #: Where a link of the words leads, on a page.
    href: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table. ``mark``: CSS classes of the whole row."""

    entries: tuple[Entry, ...]
    mark: str = ""
    anchor: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under ``columns`` (none: without a heading). ``numbers``: the columns that stand at their right edge; ``kind``: CSS classes;
    ``cut``: the column whose words are cut on a terminal that is too narrow."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    numbers: frozenset[int] = frozenset()
    title: str = ""
    caption: str = ""
    kind: str = ""
    cut: int = 0


@dataclass(frozen=True)
class Text:
    """Sentences, each a paragraph. ``kind``: CSS classes (``muted``, ``answer``), ``pre``: lines of a program; ``plain``: as they are,
    where a page would set a capital and a full stop."""

    sentences: tuple[str, ...]
    kind: str = ""
    plain: bool = False


@dataclass(frozen=True)
class Labels:
    """Labels and what each stands for, a line each."""

    labels: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Chart:
    """A drawing, on a page alone. ``notes``: a line each below it."""

    drawing: Markup
    title: str = ""
    caption: str = ""
    notes: tuple[str, ...] = ()
    kind: str = ""


@dataclass(frozen=True)
class Group:
    """Blocks under a title. ``folded``: whether a page shows the title alone at first (None: it cannot be folded); ``note``: behind the
    title."""

    title: str
    blocks: tuple[Block, ...]
    note: str = ""
    folded: bool | None = None
    anchor: str = ""
    kind: str = ""
    page_only: bool = False


Block = Table | Text | Labels | Chart | Group


@dataclass(frozen=True)
class Shown:
    """All that a command shows: its ``title``, the ``answer`` in sentences, blocks, and what to do next."""

    title: str
    answer: tuple[str, ...]
    blocks: tuple[Block, ...]
    next: str = ""
    #: How a page was made, at its foot.
    made: str = ""


def row(*entries: Entry | str, mark: str = "", anchor: str = "") -> Row:
    """A row of entries and plain words."""
    return Row(tuple(each if isinstance(each, Entry) else Entry(each) for each in entries), mark, anchor)


def table(
    columns: Sequence[str],
    rows: Iterable[Row | Sequence[Entry | str]],
    *,
    title: str = "",
    caption: str = "",
    kind: str = "",
    cut: int = 0,
) -> Table:
    """A table; a column whose name begins with ``>`` holds numbers."""
    numbers = frozenset(place for place, name in enumerate(columns) if name.startswith(">"))
    found = tuple(each if isinstance(each, Row) else row(*each) for each in rows)
    return Table(tuple(name.removeprefix(">") for name in columns), found, numbers, title, caption, kind, cut)


def titled_table(
    title: str, rows: Sequence[Row | Sequence[Entry | str]], columns: Sequence[str] = (), page_only: bool = False
) -> list[Block]:
    """A group of one table; nothing without rows."""
    return [Group(title, (table(columns, rows),), page_only=page_only)] if rows else []


def anchors(blocks: Iterable[Block]) -> Iterator[str]:
    """The anchors of all rows and entries of tables."""
    for block in blocks:
        if isinstance(block, Group):
            yield from anchors(block.blocks)
        elif isinstance(block, Table):
            yield from (each.anchor for each in block.rows if each.anchor)
            yield from (entry.anchor for each in block.rows for entry in each.entries if entry.anchor)
