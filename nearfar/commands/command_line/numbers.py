"""Numbers on a command line."""

from __future__ import annotations

import argparse
import re

from nearfar.base import NearfarError

_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%")


def positive(text: str) -> int:
    """A whole number from 1 on, as argparse's ``type``."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: not a whole number") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: at least 1")
    return number


def percent(text: str, most: float = 100.0) -> float:
    """``5%`` as 0.05, as argparse's ``type``."""
    match = _PERCENT.fullmatch(text.strip())
    if match is None or not 0 < float(match[1]) <= most:
        raise argparse.ArgumentTypeError(f"{text}: a part in per cent, above 0 % and at most {most:g} %, as 5%")
    return float(match[1]) / 100


def refuse_outside(option: str, value: float | None, least: float, most: float, unit: str) -> None:
    """Raise ``NearfarError`` for an option's value that is below ``least``, above ``most``, or no number at all (nan);
    None is what was not given."""
    if value is not None and not least <= value <= most:
        shown = value if isinstance(value, int) else f"{value:g}"
        raise NearfarError(f"{option} {shown}: from {least:g} to {most:g} {unit}")
