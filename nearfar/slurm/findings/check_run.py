"""What the decisions rest on: one check of one run on one node, believed."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.base import Finding, good, utc_time

#: What stands for cases that should have run and did not.
RUN = "run"


@dataclass(frozen=True)
class CheckRun:
    """One check of one run. Times are seconds since 1970, by the node's clock; ``came``: when its file came to be there, by
    the file system's (None: not known). ``failures`` are its FAILs, ``passed`` the names of the figures that were judged and
    inside their bounds, ``intermittent`` of those that were beyond their bound in some looks alone, ``cells`` all cells that were
    measured. ``parts`` are those that the diagnosis blames; ``level`` is what the run was to measure, ``job`` whether as a job of
    Slurm, ``source`` for the log.

    ``confirmed``: by what, where a run holds its own confirmation (its FAILs were found twice); ``words``: what it says of the
    node, where that is more than its verdict."""

    node: str
    check: str
    run: str
    started: float
    ended: float
    verdict: str
    failures: tuple[Finding, ...] = ()
    passed: frozenset[str] = frozenset()
    parts: tuple[str, ...] = ()
    source: str = ""
    confirmed: str = ""
    words: str = ""
    came: float | None = None
    cells: frozenset[str] = frozenset()
    level: str = ""
    job: bool = False
    intermittent: frozenset[str] = frozenset()

    @property
    def known(self) -> float:
        """When what it found was known: when its file came, however the node's clock was set."""
        return self.ended if self.came is None else self.came

    @property
    def began(self) -> float:
        """When it began; of a node whose clock was ahead, as much earlier as its end was later than its file."""
        return self.started - max(0.0, self.ended - self.known)

    def clears(self, what: str | None) -> bool:
        """Whether it passed, and with it the figure ``what`` (None: what was found is no figure, or is not known)."""
        return good(self.verdict) and (what is None or what in self.passed)


def seconds(time: str) -> float:
    """``2026-11-20T09:00:00Z`` in seconds since 1970."""
    return utc_time(time).timestamp()
