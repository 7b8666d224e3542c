"""What is said of files that are not believed: a line each, of others' files no more than a few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nearfar.base import CouldNotJudge, printable
from nearfar.slurm.trust import NotOurs

#: So many lines are said of one user's files.
_LINES = 10


def lines(refused: Sequence[CouldNotJudge]) -> tuple[str, ...]:
    """A line for each, in which a name from the file system is no more than a name: it begins no line, and moves no cursor."""
    found, owners = [], Counter[int]()
    for error in refused:
        if isinstance(error, NotOurs):
            owners[error.owner] += 1
            if owners[error.owner] > _LINES:
                continue
        found.append(printable(str(error)))
    more = [
        f"{count - _LINES} more of user {user}; not counted" for user, count in sorted(owners.items()) if count > _LINES
    ]
    return (*found, *more)


def fixable(refused: Sequence[CouldNotJudge]) -> bool:
    """Whether one of them may count once it is fixed: what belongs to others never does."""
    return not all(isinstance(error, NotOurs) for error in refused)
