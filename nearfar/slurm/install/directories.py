"""The directories that an installation needs: whose they are, and making those that are missing."""

from __future__ import annotations

import os
import pwd
import shlex
import stat
from pathlib import Path

from nearfar.base import user_name

from .options import InstallOptions


def wanted(options: InstallOptions) -> dict[str, str]:
    """Each directory on the machine that installs, and the user that owns it. Nodes make that of their findings themselves."""
    found = {}
    if "nightly" in options.what or "act" in options.what:
        found[options.results] = options.user
    if "act" in options.what:
        found[options.state] = options.act_user
        found[options.findings] = "root"
    return found


def missing(options: InstallOptions) -> list[str]:
    """Those that are not there."""
    return [path for path in wanted(options) if not Path(path).exists()]


def make(options: InstallOptions) -> list[str]:
    """Make the directories that are missing, with those above them; a line for each that is not as it should be, with what
    to do. One that is there is left as it is."""
    lines = []
    for path, user in wanted(options).items():
        if not Path(path).exists():
            try:
                owner = pwd.getpwnam(user)
                Path(path).mkdir(mode=0o755, parents=True)
                os.chmod(path, 0o755)  # whatever the umask
                if owner.pw_uid != os.geteuid():
                    os.chown(path, owner.pw_uid, owner.pw_gid)
            except (KeyError, OSError):
                pass  # told below
        problem = complaint(Path(path), user)
        if problem is not None:
            lines.append(problem)
    return lines


def to_make(options: InstallOptions) -> list[str]:
    """What to do about them on the machine that an image is made for."""
    return [
        f"{path}: there: install -d -o {user} -m 0755 {shlex.quote(path)}" for path, user in wanted(options).items()
    ]


def complaint(path: Path, user: str) -> str | None:
    """What is wrong with a directory, with what to do; None where it is that user's alone."""
    how = f"install -d -o {user} -m 0755 {shlex.quote(str(path))}"
    try:
        uid = pwd.getpwnam(user).pw_uid
    except KeyError:
        return f"{path}: is to belong to {user}, and this machine knows no such user: make it, then {how}"
    try:
        status = path.stat()
    except OSError as error:
        return f"{path}: {error.strerror}; {how}"
    if not stat.S_ISDIR(status.st_mode):
        return f"{path}: not a directory; name another"
    if status.st_uid != uid:
        return f"{path}: belongs to user {user_name(status.st_uid)}, not to {user}; chown {user} {shlex.quote(str(path))}, or name another"
    if status.st_mode & 0o022:
        mode = stat.S_IMODE(status.st_mode)
        return f"{path}: others can write to it (mode {mode:04o}), and nothing in it would be believed; chmod go-w {shlex.quote(str(path))}"
    return None
