"""Root on behalf of the user that a directory belongs to: what is written stays that user's, and so are jobs."""

from __future__ import annotations

import os
import pwd
import shlex
import sys
from pathlib import Path

from nearfar.base import NearfarError, places, user_name


def of_owner(place: Path) -> None:
    """Where root calls: this process goes on as the user that ``place`` belongs to, as under ``sudo -u``, and says so on standard error.
    Nothing happens for other users, and where ``place`` is root's or not there. Raises ``NearfarError`` for a user that this machine does
    not know, or who cannot read this program."""
    uid = owner(place)
    if os.geteuid() != 0 or uid is None or uid == 0:
        return
    try:
        user = pwd.getpwuid(uid)
    except KeyError:
        raise NearfarError(f"{place}: belongs to user {uid}, whom this machine does not know; chown it") from None
    os.environ.setdefault("SUDO_USER", "root")  # who typed it, for the log
    os.environ.update({"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name})
    os.initgroups(user.pw_name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(uid)
    for path, mode in ((Path(sys.executable), os.X_OK), (places.PACKAGE / "cli.py", os.R_OK)):
        if not os.access(path, mode):
            raise NearfarError(f"{path}: {user.pw_name} cannot use it, and {place} is that user's; fix its mode")
    if not os.access(".", os.X_OK):
        os.chdir("/")
    print(f"nearfar: goes on as {user.pw_name}: {place} is that user's", file=sys.stderr)


def owner(place: Path) -> int | None:
    """The user that a directory belongs to; None where it is not there."""
    try:
        return place.stat().st_uid
    except OSError:
        return None


def typed_as(user: int) -> str:
    """The line that does what was typed, as another user."""
    return shlex.join(["sudo", *(["-u", user_name(user)] if user else []), "nearfar", *sys.argv[1:]])
