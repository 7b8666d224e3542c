"""Where the history's files are, and what they are called.

``rows-1/system=NAME/month=2026-11/NODE.TIME.DIGEST.parquet`` holds one run of one node, ``all=DIGEST.parquet`` what
compaction made of many; ``rows-1/system=NAME/sequence/NODE`` counts a node's recordings.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError, reports_directory

#: The variable that names the history's directory.
VARIABLE = "NEARFAR_HISTORY"
#: What a user can do about a history that cannot be written.
ELSEWHERE = f"set {VARIABLE} to a directory"
#: The folder below the history's directory; a changed meaning of a column makes a new one.
VERSION = "rows-1"
#: What the name of a compacted file begins with; no node's name does.
COMPACTED = "all="


def directory() -> Path:
    """Where the history is: ``NEARFAR_HISTORY``, else ``history`` among the reports."""
    own = os.environ.get(VARIABLE)
    return Path(own).expanduser().absolute() if own else reports_directory() / "history"


def readable(place: Path | None = None) -> Path:
    """``place``, else ``directory``, for who asks for what is in it; there may be nothing yet.

    Raises ``NearfarError`` where it is no directory, ``CouldNotJudge`` where it cannot be read.
    """
    place = directory() if place is None else place
    try:
        os.listdir(place / VERSION)
    except FileNotFoundError:
        pass
    except NotADirectoryError:
        raise NearfarError(f"{place}: a file is no place for a history; {ELSEWHERE}") from None
    except OSError as error:
        raise CouldNotJudge(f"{place}: the history cannot be read: {error.strerror}") from None
    return place


def word(name: str) -> str:
    """A node's or system's name as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)
