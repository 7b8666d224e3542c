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
