"""Times that a user names."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from nearfar.base import NearfarError, parse_since

NOW = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


def test_since() -> None:
    for text, at in (
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=timezone.utc)),
        ("2026-11-01T09:00:00Z", datetime(2026, 11, 1, 9, tzinfo=timezone.utc)),
        ("2026-11-01T09:00:00+01:00", datetime(2026, 11, 1, 8, tzinfo=timezone.utc)),
        ("90m", NOW - timedelta(minutes=90)),
        ("30d", NOW - timedelta(days=30)),
        ("2w", NOW - timedelta(days=14)),
    ):
        assert parse_since(text, NOW) == at
    for bad in ("yesterday", "30", "2026-13-01", "1e9d", "999999w"):
        with pytest.raises(
            NearfarError, match="expected 24h, 30d, 12w, a day such as 2026-11-20, or a time such as 2026-11-20T12"
        ):
            parse_since(bad, NOW)
