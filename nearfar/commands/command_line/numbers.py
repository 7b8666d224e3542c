"""Numbers on a command line."""

from __future__ import annotations

import argparse

from nearfar.base import NearfarError


def positive(text: str) -> int:
    """A whole number from 1 on, as argparse's ``type``."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: not a whole number") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: at least 1")
    return number


def refuse_outside(option: str, value: float | None, least: float, most: float, unit: str) -> None:
    """Raise ``NearfarError`` for an option's value that is below ``least``, above ``most``, or no number at all (nan);
    None is what was not given."""
    if value is not None and not least <= value <= most:
        shown = value if isinstance(value, int) else f"{value:g}"
        raise NearfarError(f"{option} {shown}: from {least:g} to {most:g} {unit}")
