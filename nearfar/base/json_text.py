"""JSON that somebody else has written, parsed strictly: NaN and Infinity are refused. Where orjson is installed it does it, in a third
of the time; what it refuses the standard library looks at, so that the same is taken, and refused with the same words, without it."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn


def _orjson() -> Callable[[bytes], Any] | None:
    try:
        loads: Callable[[bytes], Any] = importlib.import_module("orjson").loads
    except ImportError:
        return None
    return loads


_quick = _orjson()


def parse(text: bytes) -> Any:
    """What a JSON document holds. Raises ``ValueError`` for one that is cut short, nested too deep, or holds NaN or Infinity;
    ``json.JSONDecodeError``, which has the line, where it is no JSON."""
    if _quick is not None:
        with suppress(ValueError):
            return _quick(text)
    try:
        return json.loads(text, parse_constant=_no_figure)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _no_figure(word: str) -> NoReturn:
    raise ValueError(f"{word} is no figure")
