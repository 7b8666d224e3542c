"""What a command shows as a PDF on paper: to be signed, and sent."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from nearfar.base import CouldNotJudge, plural

from .kinds import Block, Chart, Entry, Group, Labels, Row, Shown, Table, Text, row
from .templates import heading
from .templates import sentence as sentence_text

if TYPE_CHECKING:
    from reportlab.platypus import Flowable

#: Pages at most. A table has so many rows, and a place of it so many letters, at first: both are halved until all fits.
MOST_PAGES, _ROWS, _LETTERS, _LEAST_LETTERS = 6, 40, 700, 40
#: Names of nodes and whole paragraphs may have so many times the letters: which node is refused is the last to be cut.
_NAMES = 10
#: A row with more letters in a place may be broken between two pages.
_LONG = 2000
_NAME = "ReportLab"
#: What its typeface lacks, in letters that it has.
_LETTERS_FOR = {
    "→": "->", "←": "<-", "↔": "<->", "↓": "H2D", "↑": "D2H", "⁹": "^9", "Σ": "sum", "μ": "µ", **dict.fromkeys("✓✕▼◇", ""),
    **dict.fromkeys("●■◆▲", "*"),
}  # fmt: skip
#: A long list of nodes, which may be broken behind each.
_NODES = re.compile(r"\[[\d,-]{20,}")
_COLOURS = {"FAIL": "#a4231b", "DEGRADED": "#8a5a00", "INDETERMINATE": "#5b3f86", "PASS": "#10633e"}
_GREY = "#5c6670"


def shown_pdf(shown: Shown, foot: str = "") -> bytes:
    """The PDF, at most six pages of A4: long tables are cut, and say by how much. ``foot`` stands at the foot of each page. Folded groups
    and drawings are left out. The same input has the same bytes. Raises ``CouldNotJudge`` where ReportLab is not installed."""
    rows, letters = _ROWS, _LETTERS
    while (pages := _made(shown, foot, rows, letters, 0)[1]) > MOST_PAGES and letters > _LEAST_LETTERS:
        rows, letters = max(1, rows // 2), max(_LEAST_LETTERS, letters // 2)
    return _made(shown, foot, rows, letters, pages)[0]


def _made(shown: Shown, foot: str, rows: int, letters: int, pages: int) -> tuple[bytes, int]:
    """The PDF with tables of so many rows, and its number of pages; ``pages``: how many it says that they are."""
    try:
        from reportlab.lib.pagesizes import A4
        from reportlab.lib.units import mm
        from reportlab.pdfbase import pdfmetrics
        from reportlab.pdfbase.ttfonts import TTFont
        from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate
    except ImportError as error:
        how = "python3 -m pip install 'nearfar[record]'"
        raise CouldNotJudge(f"a PDF needs {_NAME}, which is not installed: {how} ({error})") from None
    for name in ("Vera", "VeraBd"):
        pdfmetrics.registerFont(TTFont(name, f"{name}.ttf"))
    pdfmetrics.registerFontFamily("Vera", normal="Vera", bold="VeraBd", italic="Vera", boldItalic="VeraBd")
    written = io.BytesIO()
    title = _plain(shown.title)
    document = BaseDocTemplate(
        written, pagesize=A4, leftMargin=18 * mm, rightMargin=18 * mm, topMargin=18 * mm, bottomMargin=20 * mm, title=title, author="",
        creator="nearfar", invariant=1,
    )  # fmt: skip
    frame = Frame(document.leftMargin, document.bottomMargin, document.width, document.height, 0, 0, 0, 0)
    below = partial(_foot, text=_plain(" · ".join(filter(None, [title, foot]))), pages=pages)
    document.addPageTemplates(PageTemplate(frames=[frame], onPage=below))
    page = _Page(document.width, rows, letters)
    document.build(list(page.story(shown)))
    return written.getvalue(), document.page


def _foot(canvas: Any, document: Any, text: str, pages: int) -> None:
    canvas.saveState()
    canvas.setFont("Vera", 7)
    canvas.setFillColor(_GREY)
    canvas.drawString(document.leftMargin, 12 * 72 / 25.4, text)
    canvas.drawRightString(document.leftMargin + document.width, 12 * 72 / 25.4, f"page {document.page} of {pages}")
    canvas.restoreState()


def _plain(text: str) -> str:
    """A text in letters that the typeface has, without line breaks."""
    from reportlab.pdfbase import pdfmetrics

    face: Any = pdfmetrics.getFont("Vera")
    known = face.face.charToGlyph
    letters = "".join(_LETTERS_FOR.get(letter, letter) for letter in text)
    known_ones = "".join(letter if ord(letter) in known else " " if letter.isspace() else "?" for letter in letters)
    return _NODES.sub(lambda names: names[0].replace(",", ", "), known_ones).strip()


def _marked(text: str) -> str:
    """A text for a paragraph: escaped, with what stands between backticks as code."""
    parts = escape(_plain(text)).split("`")
    return "".join(f'<font name="Courier">{part}</font>' if place % 2 else part for place, part in enumerate(parts))


class _Page:
    """Blocks as ReportLab's parts, on a page so ``width`` points wide."""

    def __init__(self, width: float, rows: int, letters: int) -> None:
        from reportlab.lib.colors import HexColor
        from reportlab.lib.styles import ParagraphStyle

        self._width, self._rows, self._letters, grey = width, rows, letters, HexColor(_GREY)
        body = ParagraphStyle("body", fontName="Vera", fontSize=8.5, leading=11.5, spaceAfter=3, splitLongWords=True)
        self._styles = {
            "body": body,
            "title": ParagraphStyle("title", body, fontName="VeraBd", fontSize=17, leading=22, spaceAfter=6),
            "answer": ParagraphStyle("answer", body, fontName="VeraBd", fontSize=10.5, leading=14, spaceAfter=4),
            "heading": ParagraphStyle("heading", body, fontName="VeraBd", fontSize=11, leading=14, spaceBefore=10),
            "head": ParagraphStyle(
                "head", body, fontName="VeraBd", fontSize=7.5, leading=9.5, textColor=grey, spaceAfter=0
            ),
            "cell": ParagraphStyle("cell", body, fontSize=7.5, leading=9.8, spaceAfter=0),
            "number": ParagraphStyle("number", body, fontSize=7.5, leading=9.8, spaceAfter=0, alignment=2),
        }

    def story(self, shown: Shown) -> Iterator[Flowable]:
        """Everything, in order."""
        yield self._words(shown.title, "title")
        yield from (self._words(sentence_text(self._cut(sentence)), "answer") for sentence in shown.answer)
        yield from self._blocks(shown.blocks)
        yield from [self._words(sentence_text(shown.made), "body")] if shown.made else []

    def _words(self, text: str, style: str) -> Flowable:
        from reportlab.platypus import Paragraph

        return Paragraph(_marked(text), self._styles[style])

    def _blocks(self, blocks: Iterable[Block]) -> Iterator[Flowable]:
        from reportlab.platypus import CondPageBreak

        for block in blocks:
            if isinstance(block, Text):
                for sentence in block.sentences:
                    text = self._cut(sentence, _NAMES)
                    yield self._words(text if block.plain else sentence_text(text), "body")
            elif isinstance(block, Labels):
                yield self._table(Table((), tuple(row(heading(name), words) for name, words in block.labels)))
            elif isinstance(block, Table):
                yield from [self._words(heading(block.title), "heading")] if block.title else []
                yield self._table(block)
                if more := len(block.rows) - len(self._kept(block)):
                    yield self._words(f"and {plural(more, 'more row')}", "body")
            elif isinstance(block, Group) and block.folded is not True:
                yield CondPageBreak(120)  # with some rows below it, and with the lines for signatures
                yield self._words(heading(block.title), "heading")
                yield from self._blocks(block.blocks)
            else:
                assert isinstance(block, (Chart, Group)), f"{block!r} is no block"

    def _said(self, entry: Entry) -> str:
        one_name = len(entry.words.split()) < 2
        return self._cut(entry.words, _NAMES if one_name else 1)

    def _kept(self, block: Table) -> tuple[Row, ...]:
        """The rows that have room; empty ones, which are to be written in, are all kept."""
        blank = not any(entry.words or entry.verdict for each in block.rows for entry in each.entries)
        return block.rows if blank else block.rows[: self._rows]

    def _cut(self, text: str, times: int = 1) -> str:
        """What has room of a text, to its last whole word or name."""
        most = times * self._letters
        kept = re.sub(r"[^\s,]*$", "", text[:most], count=1).rstrip() or text[:most]
        return text if len(text) <= most else f"{kept} …"

    def _table(self, block: Table) -> Flowable:
        from reportlab.lib import colors
        from reportlab.platypus import Spacer
        from reportlab.platypus import Table as Grid

        shown = self._kept(block)
        count = max([len(block.columns), *(len(each.entries) for each in shown)], default=0)
        head = [[self._words(heading(name), "head") for name in block.columns]] if any(block.columns) else []
        if not count or not (head or shown):
            return Spacer(0, 0)
        entries = [enumerate(each.entries) for each in shown]
        cells = [[self._entry(entry, place in block.numbers) for place, entry in each] for each in entries]
        empty = [not any(entry.words or entry.verdict for entry in each.entries) for each in shown]
        style: list[tuple[Any, ...]] = [
            ("VALIGN", (0, 0), (-1, -1), "TOP"), ("LEFTPADDING", (0, 0), (-1, -1), 0), ("RIGHTPADDING", (0, 0), (-1, -1), 8),
            ("TOPPADDING", (0, 0), (-1, -1), 2.5), ("BOTTOMPADDING", (0, 0), (-1, -1), 2.5),
            ("LINEBELOW", (0, 0), (-1, -1), 0.4, colors.HexColor("#c9ced3")),
        ]  # fmt: skip
        heights = [None] * len(head) + [34.0 if blank else None for blank in empty]  # an empty row is to be written in
        lines = [[*line, *[""] * (count - len(line))] for line in [*head, *cells]]
        split = int(any(len(entry.words) > _LONG for each in shown for entry in each.entries))
        return Grid(
            lines, self._widths(block, shown, count), heights, repeatRows=len(head), splitInRow=split, style=style, hAlign="LEFT",
            spaceAfter=4,
        )  # fmt: skip

    def _entry(self, entry: Entry, number: bool) -> Flowable:
        from reportlab.platypus import Paragraph

        words = _marked(self._said(entry))
        if entry.verdict:
            colour = _COLOURS.get(entry.verdict, _GREY)
            words = f'<font name="VeraBd" color="{colour}">{escape(entry.verdict)}</font> {words}'
        return Paragraph(words, self._styles["number" if number else "cell"])

    def _widths(self, block: Table, shown: Sequence[Row], count: int) -> list[float]:
        """No word is broken that has room; what is left goes to the columns that have most to say, to none more than its longest text."""
        from reportlab.pdfbase.pdfmetrics import stringWidth

        if not any(entry.words or entry.verdict for each in shown for entry in each.entries):
            return [self._width / count] * count
        least, most, whole = [12.0] * count, [12.0] * count, [1.0] * count
        for entries in [[Entry(heading(name)) for name in block.columns], *(each.entries for each in shown)]:
            for place, entry in enumerate(entries):
                text = _plain(" ".join(filter(None, [entry.verdict, self._said(entry)])).replace("`", ""))
                word = max((stringWidth(word, "VeraBd", 7.5) for word in text.split()), default=0.0) + 10
                size = stringWidth(text, "VeraBd", 7.5) + 10
                least[place] = max(least[place], min(word, self._width / (count + 1)))
                most[place], whole[place] = max(most[place], size), whole[place] + size
        for _ in range(count):
            places = [place for place in range(count) if least[place] < most[place]]
            room, all_of_them = self._width - sum(least), sum(whole[place] for place in places)
            for place in places:
                least[place] = min(most[place], least[place] + room * whole[place] / all_of_them)
        return least
