"""What a user may do with files, as the kernel sees it: a child becomes that user and asks."""

from __future__ import annotations

import json
import os
import pwd
import select
from collections.abc import Sequence

from nearfar.base import CouldNotJudge, NearfarError

READ, WRITE, RUN = os.R_OK, os.R_OK | os.W_OK | os.X_OK, os.R_OK | os.X_OK
#: Seconds: a file system that does not answer is a finding too.
_LIMIT = 20.0


def denied(user: str, wants: Sequence[tuple[str, int]]) -> list[tuple[str, int]] | None:
    """Those of (path, mode as of ``os.access``) that a user may not; None where this process can become no other user.

    Raises ``NearfarError`` for a user that there is not, ``CouldNotJudge`` where the file system does not answer."""
    try:
        whose = pwd.getpwnam(user)
    except KeyError:
        raise NearfarError(f"this machine knows no user {user}") from None
    if os.geteuid() not in (0, whose.pw_uid):
        return None
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            if os.geteuid() == 0:
                os.setgroups(os.getgrouplist(user, whose.pw_gid))
                os.setgid(whose.pw_gid)
                os.setuid(whose.pw_uid)
            answer = [index for index, (path, mode) in enumerate(wants) if not os.access(path, mode)]
            os.write(writing, json.dumps(answer).encode())
        finally:
            os._exit(0)
    os.close(writing)
    text = os.read(reading, 65536) if select.select([reading], [], [], _LIMIT)[0] else b""
    os.close(reading)
    if not text:
        os.kill(child, 9)
        raise CouldNotJudge(f"what {user} may do could not be found out within {_LIMIT:.0f} s")
    os.waitpid(child, 0)
    return [wants[index] for index in json.loads(text)]
