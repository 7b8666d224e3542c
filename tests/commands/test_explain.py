"""``nearfar explain``, and the page that is made of the same tables."""

from __future__ import annotations

import json
import re
import string
from pathlib import Path

import pytest

from nearfar.base import ORDER
from nearfar.cli import main
from nearfar.commands import explain

CHECKOUT = Path(__file__).resolve().parents[2]
CODES = list(explain.messages())


def test_a_code_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "gpu.none"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("gpu.none: INDETERMINATE\n") and "\n  next: " in shown and "\n  more: docs/" in shown
    assert main(["explain", "--json", "gpu.none"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["code"] == "gpu.none"
    assert main(["explain"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(CODES)


def test_an_unknown_code_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "gpu.nonne"]) == 2
    assert capsys.readouterr().err == "nearfar: 'gpu.nonne': no such code (did you mean 'gpu.none'?)\n"
    assert main(["explain", ""]) == 2
    assert capsys.readouterr().err == "nearfar: '': no such code; nearfar explain lists them\n"


@pytest.mark.parametrize("code", CODES)
def test_every_message_is_whole(code: str) -> None:
    message = explain.messages()[code]
    subject, _, wrong = code.partition(".")
    assert subject and wrong and code == code.lower()
    assert message.verdict in ORDER
    assert not message.page or (CHECKOUT / "docs" / message.page.partition("#")[0]).exists()
    assert not message.sentence.endswith("."), "what to do next follows it"


@pytest.mark.parametrize("code", CODES)
def test_every_message_renders_its_fields(code: str) -> None:
    message = explain.messages()[code]
    plain = re.sub(r"[][]", "", f"{message.sentence} {message.next}")
    places = {name: spec for _, name, spec, _ in string.Formatter().parse(plain) if name}
    text = message.text("GPU 3", {name: 2 if spec else f"<{name}>" for name, spec in places.items()})
    assert not set("{}[]") & set(text)
    assert all(f"<{name}>" in text for name, spec in places.items() if not spec and name != "subject")


def test_the_page_is_made_of_the_tables() -> None:
    page = CHECKOUT / "docs/reference/messages.md"
    again = "the page is older than the tables: .venv/bin/python setup/reference_pages.py"
    assert page.read_text(encoding="utf-8") == explain.page(), again
