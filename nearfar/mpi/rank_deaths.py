"""Which rank of an MPI job died, in its launcher's words: what is left where the launcher killed the others at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from nearfar.binding import LAUNCHERS


@dataclass(frozen=True)
class RankDeath:
    """How a rank ended, as ``was ended by signal 9``; ``rank`` None: nobody knows which, ``host`` empty: nobody knows where."""

    rank: int | None
    host: str
    ending: str

    @property
    def words(self) -> str:
        """``rank 1 on n was ended by signal 9``."""
        who = "a rank" if self.rank is None else f"rank {self.rank}"
        return f"{who}{self.host and f' on {self.host}'} {self.ending}"


def death(text: str, processes: Mapping[int, int]) -> RankDeath | None:
    """The first death that a launcher tells of (Open MPI, Hydra, srun); None where it tells of none. ``processes`` are the
    ranks by process number, which is all that Hydra says."""
    for row in LAUNCHERS.values():
        match = re.search(row.death, text) if row.death else None
        if match is None:
            continue
        groups = match.groupdict()
        known = processes.get(int(groups.get("pid") or 0))
        rank = int(groups["rank"]) if groups.get("rank") else known
        return RankDeath(rank, groups.get("host") or "", _how(groups, text))
    return None


def _how(groups: Mapping[str, str | None], text: str) -> str:
    if groups.get("signal"):
        return f"was ended by signal {groups['signal']}"
    if groups.get("word"):
        return f"was ended ({groups['word']})"
    # Hydra calls a signal's number an exit code, and says below that it was a signal.
    by_signal = f"(signal {groups['code']})" in text
    return f"was ended by signal {groups['code']}" if by_signal else f"ended with exit code {groups['code']}"
