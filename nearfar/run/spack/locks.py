"""Whether Spack can lock its install tree."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import tempfile
from pathlib import Path

from nearfar.base import CouldNotJudge, cannot_write

from .failures import no_locks
from .found import Spack

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_ELSEWHERE = "set NEARFAR_SPACK_TREE to a directory"


def need_locks(spack: Spack, tree: Path) -> None:
    """Make the install tree and try the kind of lock that Spack takes on it (POSIX, by ``fcntl``).

    Raises ``CouldNotJudge`` where the tree cannot be written, or has no locks and Spack's configuration still wants them.
    """
    try:
        tree.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".nearfar-lock.", dir=tree)
    except OSError as error:
        raise cannot_write(tree, error, _ELSEWHERE) from None
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise CouldNotJudge(f"{tree}: a lock failed: {error.strerror}") from None
        if _wants_locks(spack):
            raise no_locks(tree, os.strerror(error.errno)) from None
    finally:
        os.close(handle)
        os.unlink(name)


def _wants_locks(spack: Spack) -> bool:
    said = spack.run(["config", "get", "config"]).stdout
    return not re.search(r"^\s+locks:\s*false\b", said, re.MULTILINE)
