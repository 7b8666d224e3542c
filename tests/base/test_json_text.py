"""JSON of others: the same is taken and refused with orjson and without."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from nearfar.base import json_text


def installed() -> Callable[[bytes], Any] | None:
    try:
        found: Callable[[bytes], Any] = importlib.import_module("orjson").loads
    except ImportError:
        return None
    return found


def stubborn(text: bytes) -> Any:
    """A parser that takes nothing but plain ASCII."""
    if not text.isascii() or b"N" in text or b"I" in text or b"[[" in text:
        raise ValueError("no")
    return json.loads(text)


@pytest.fixture(params=[None, stubborn, installed()], ids=["json", "stubborn", "as_installed"])
def quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "_quick", request.param)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2.5}', '"ü"', "\ufeff{}", "[0.1, 1e22, 123456789012345678, -0.0, true, null]", '"\\ud800"']
)
def test_taken(text: str) -> None:
    assert json_text.parse(text.encode()) == json.loads(text.encode())


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1, NaN]", "NaN is no figure"),
        ("-Infinity", "-Infinity is no figure"),
        ('{"a": 1', "Expecting ',' delimiter: line 1 column 8"),
        ("\n[1,,2]", "Expecting value: line 2"),
        ("", "Expecting value"),
        ("[" * 200_000, "nested too deep"),
    ],
)
def test_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        json_text.parse(text.encode())
