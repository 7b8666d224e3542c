"""One check of one run on one node, as it was taken in."""

from __future__ import annotations

from dataclasses import dataclass

from nearfar.base import Finding, good, utc_time

#: The check that stands for cases that should have run and did not.
RUN = "run"


@dataclass(frozen=True)
class CheckRun:
    """One check of one run. Times are seconds since 1970."""

    node: str
    check: str
    run: str
    #: By the node's clock.
    started: float
    ended: float
    verdict: str
    #: Its FAILs.
    failures: tuple[Finding, ...] = ()
    #: Names of the figures that were judged and are inside their bounds.
    passed: frozenset[str] = frozenset()
    #: Parts that the diagnosis blames.
    parts: tuple[str, ...] = ()
    #: Where the result lies.
    source: str = ""
    #: By what its FAILs are confirmed, where the run itself found them twice.
    confirmed: str = ""
    #: Why it is neither PASS nor FAIL.
    words: str = ""
    #: When its file came to be there, by the file system's clock; None: not known.
    came: float | None = None
    #: The cells that were measured. Not kept in the ledger.
    cells: frozenset[str] = frozenset()
    level: str = ""
    #: Whether it ran as a job of Slurm.
    job: bool = False
    #: Of ``passed``, the figures that were beyond their bound in some measurements alone.
    intermittent: frozenset[str] = frozenset()
    system: str = ""
    sweep: str = ""

    @property
    def known(self) -> float:
        """When what it found was known: when its file came, however the node's clock is set."""
        return self.ended if self.came is None else self.came

    @property
    def began(self) -> float:
        """When it began, by the file system's clock: as long before its file came as it took, however the node's clock is set."""
        return self.known - (self.ended - self.started)

    def clears(self, figure: str | None) -> bool:
        """Whether it passed, and with it a figure (None: what was found is no figure, or is not known)."""
        return good(self.verdict) and (figure is None or figure in self.passed)


def seconds(time: str) -> float:
    """``2026-11-20T09:00:00Z`` in seconds since 1970."""
    return utc_time(time).timestamp()
