"""Blocks as a PDF: read back, within six pages whatever is in it, the same bytes again."""

from __future__ import annotations

import builtins
import io
from collections.abc import Sequence
from typing import Any

import pytest

from nearfar.base import CouldNotJudge
from nearfar.report.blocks import Entry, Group, Labels, Shown, Text, row, shown_pdf, table

pypdf = pytest.importorskip("pypdf")
pytest.importorskip("reportlab")


def shown(rows: Sequence[Any], **more: Any) -> Shown:
    listed = table(("node", ">value", "why"), rows)
    return Shown(
        "Delivery", ("38 of 40 nodes accepted",), (Labels((("order", "rack"),)), Group("refused", (listed,))), **more
    )


def read(content: bytes) -> tuple[int, str]:
    """Number of pages, and the text without line breaks."""
    reader = pypdf.PdfReader(io.BytesIO(content))
    return len(reader.pages), " ".join(" ".join(page.extract_text() for page in reader.pages).split())


@pytest.mark.parametrize("count", [0, 1, 40, 1000])
def test_it_has_six_pages_at_most(count: int) -> None:
    pages, text = read(shown_pdf(shown([(f"n{n}", str(n), "slow " * (n % 60)) for n in range(count)])))
    assert pages <= 6 and f"page {pages} of {pages}" in text and "38 of 40 nodes accepted." in text
    assert ("more rows" in text) == (count > 40)


def test_many_groups_of_long_tables_have_six_pages_too() -> None:
    rows = [(f"n{number}", "sole.n0_g2: 33.3 GB/s, promised 54.0 GB/s; " * 12) for number in range(1000)]
    groups = [Group(f"group {number}", (table(("nodes", "why"), rows),)) for number in range(16)]
    signatures = Group("signatures", (table(("for the vendor", "date"), [("", "")] * 2),))
    pages, text = read(shown_pdf(Shown("Delivery", ("0 accepted",), (*groups, signatures))))
    assert pages <= 6 and "Group 15" in text and "Signatures" in text and text.count("more rows") == 16


def test_names_of_a_thousand_nodes_are_not_cut() -> None:
    names = f"gpu[{','.join(f'{number:04}' for number in range(0, 1000, 2))}]"
    blocks = (Text((names,), plain=True), table(("nodes", "why"), [(names, "bios is 1.2, ordered 1.4")]))
    pages, text = read(shown_pdf(Shown("Delivery", ("0 accepted",), blocks)))
    assert pages <= 6 and text.replace(" ", "").count(names) == 2
    assert text.count(" 0998") == 2  # lines end behind a name, never in one


def test_headings_of_columns_are_not_broken() -> None:
    names = ("check", "figure", ">nodes", ">lowest", "on", ">median", ">highest", "expected")
    rows = [
        ("host_device", "sole.both.total", "39", "1.2", "gpu038", "101.4", "101.6 GB/s", "at least 94.3 GB/s; " * 9)
    ]
    assert "Nodes Lowest On Median Highest" in read(shown_pdf(Shown("T", ("a",), (table(names, rows),))))[1]


def test_tables_without_rows_or_with_uneven_ones_are_set() -> None:
    blocks = (table((), []), table(("a",), []), table(("a", "b", "c"), [("x",), ("x", "y", "z")]), Labels(()))
    assert read(shown_pdf(Shown("T", ("a",), blocks)))[0] == 1


def test_what_is_no_letter_of_its_typeface_is_written_in_others() -> None:
    said = "g0→g1 ≥ 54 µs, ↔ × … – <b>&amp; 日 \x07 " + "x" * 400
    _, text = read(shown_pdf(shown([row("n1", "1", Entry(said, verdict="FAIL"))])))
    assert "FAIL g0->g1 ≥ 54 µs, <-> × … – <b>&amp; ?" in text and "■" not in text


def test_folded_groups_are_left_out_and_pages_alone_are_not() -> None:
    blocks = (Group("runs", (Text(("hidden",)),), folded=True), Group("signatures", (Text(("here",)),), page_only=True))
    text = read(shown_pdf(Shown("T", ("a",), blocks)))[1]
    assert "Signatures" in text and "Here." in text and "idden" not in text


def test_the_same_has_the_same_bytes() -> None:
    assert shown_pdf(shown([("n1", "2", "why")])) == shown_pdf(shown([("n1", "2", "why")]))


def test_without_reportlab_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def importing(name: str, *more: Any) -> Any:
        if name.startswith("reportlab"):
            raise ImportError(f"No module named '{name}'")
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", importing)
    with pytest.raises(CouldNotJudge, match=r"pip install 'nearfar\[record\]'"):
        shown_pdf(shown([]))
