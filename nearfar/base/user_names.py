"""Users by name."""

from __future__ import annotations

import pwd


def user_name(uid: int) -> str:
    """A user's name; the number of one that this machine does not know."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
