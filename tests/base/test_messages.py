"""The format of messages: places, numbers with nouns, cut lists, optional parts."""

from __future__ import annotations

import pytest

from nearfar.base import MESSAGES, Message


def message(sentence: str, next: str = "") -> Message:
    """A message that leaves no trace."""
    made = Message("test.only", "DEGRADED", sentence, next)
    del MESSAGES["test.only"]
    return made


@pytest.mark.parametrize(
    ("sentence", "fields", "text"),
    [
        ("{subject} runs at {rate:.1f} GB/s", {"rate": 12.345}, "GPU 3 runs at 12.3 GB/s"),
        ("{n:#memory error}", {"n": 1}, "1 memory error"),
        ("{n:#memory error}", {"n": 2}, "2 memory errors"),
        ("{cells}", {"cells": list("abcde")}, "a, b, c and 2 more"),
        ("hung[; its last line: {line}]", {"line": "step 3"}, "hung; its last line: step 3"),
        ("hung[; its last line: {line}]", {"line": ""}, "hung"),
        ("hung[ after {seconds:g} s]", {}, "hung"),
        ("{n} errors[ in {hours:g} h]", {"n": 0, "hours": 0}, "0 errors in 0 h"),
    ],
)
def test_a_sentence_is_filled(sentence: str, fields: dict[str, object], text: str) -> None:
    assert message(sentence).text("GPU 3", fields) == text


def test_a_finding_has_what_its_message_says() -> None:
    found = message("{subject} is slow", "replace {part}").finding("GPU 3", part="it", cells=("a", "b"))
    assert (found.subject, found.verdict, found.hard, found.code) == ("GPU 3", "DEGRADED", False, "test.only")
    assert found.reason == "GPU 3 is slow: replace it"
    assert found.fields == {"part": "it", "cells": ["a", "b"]}
    assert message("x").finding("a", verdict="FAIL", hard=True).verdict == "FAIL"


def test_a_missing_field_is_an_error_of_the_program() -> None:
    with pytest.raises(KeyError):
        message("{subject} runs at {rate}").text("GPU 3", {})


def test_a_code_is_one_messages_alone() -> None:
    code = next(iter(MESSAGES), None) or Message("test.only", "PASS", "x").code
    with pytest.raises(ValueError, match=code):
        Message(code, "PASS", "x")
