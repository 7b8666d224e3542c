"""Times as documents and names have them, and as people read them: UTC everywhere."""

from __future__ import annotations

import time
from datetime import datetime, timezone

_DOCUMENT = "%Y-%m-%dT%H:%M:%SZ"


def utc_text(at: datetime | float | None = None) -> str:
    """``2026-11-20T09:00:00Z``, as documents write a moment (a UTC datetime, or seconds since 1970; without one: now)."""
    return _moment(at).strftime(_DOCUMENT)


def utc_time(text: str) -> datetime:
    """The moment that ``utc_text`` wrote. Raises ``ValueError`` for anything else."""
    return datetime.strptime(text, _DOCUMENT).replace(tzinfo=timezone.utc)


def day_text(at: datetime | float | None = None) -> str:
    """``2026-11-20``."""
    return _moment(at).strftime("%Y-%m-%d")


def day_time(text: str) -> datetime:
    """The begin of the day that ``day_text`` wrote. Raises ``ValueError`` for anything else."""
    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=timezone.utc)


def minute_text(at: datetime | float | None = None) -> str:
    """``2026-11-20 09:00``."""
    return _moment(at).strftime("%Y-%m-%d %H:%M")


def second_text(at: datetime | float | None = None) -> str:
    """``2026-11-20 09:00:00 UTC``, for a person."""
    return f"{_moment(at):%Y-%m-%d %H:%M:%S} UTC"


def name_text(at: datetime | float | None = None) -> str:
    """``20261120T090000``, as the names of runs begin."""
    return _moment(at).strftime("%Y%m%dT%H%M%S")


def _moment(at: datetime | float | None) -> datetime:
    if isinstance(at, datetime):
        return at
    return datetime.fromtimestamp(int(time.time() if at is None else at), timezone.utc)
