"""Times as documents and names have them, and as people read them: UTC everywhere."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta, timezone

from .errors import NearfarError

_DOCUMENT = "%Y-%m-%dT%H:%M:%SZ"
#: Units of a span, in minutes.
_UNITS = {"m": 1, "h": 60, "d": 1440, "w": 10080}


def utc_text(at: datetime | float | None = None) -> str:
    """``2026-11-20T09:00:00Z``, as documents write a moment (a UTC datetime, or seconds since 1970; without one: now)."""
    return _moment(at).strftime(_DOCUMENT)


def utc_time(text: str) -> datetime:
    """The moment that ``utc_text`` wrote. Raises ``ValueError`` for anything else."""
    return datetime.strptime(text, _DOCUMENT).replace(tzinfo=timezone.utc)


def day_text(at: datetime | float | None = None) -> str:
    """``2026-11-20``."""
    return _moment(at).strftime("%Y-%m-%d")


def minute_text(at: datetime | float | None = None) -> str:
    """``2026-11-20 09:00``."""
    return _moment(at).strftime("%Y-%m-%d %H:%M")


def second_text(at: datetime | float | None = None) -> str:
    """``2026-11-20 09:00:00 UTC``, for a person."""
    return f"{_moment(at):%Y-%m-%d %H:%M:%S} UTC"


def name_text(at: datetime | float | None = None) -> str:
    """``20261120T090000``, as the names of runs begin."""
    return _moment(at).strftime("%Y%m%dT%H%M%S")


def parse_since(text: str, now: datetime) -> datetime:
    """The time that ``--since`` names: a day, ``2026-11-01``, a time, ``2026-11-01T09:00:00Z``, or a span back from now, ``90m``, ``24h``,
    ``30d``, ``12w``. Raises ``NearfarError`` for anything else."""
    span = re.fullmatch(r"(\d{1,5})([mhdw])", text)
    try:
        if span:
            return now - timedelta(minutes=int(span[1]) * _UNITS[span[2]])
        at = datetime.fromisoformat(text.removesuffix("Z"))
    except ValueError:
        words = f"expected 24h, 30d, 12w, a day such as {day_text(now)}, or a time such as {utc_text(now)}"
        raise NearfarError(f"--since {text}: {words}") from None
    return at if at.tzinfo else at.replace(tzinfo=timezone.utc)


def _moment(at: datetime | float | None) -> datetime:
    if isinstance(at, datetime):
        return at
    return datetime.fromtimestamp(int(time.time() if at is None else at), timezone.utc)
