"""The words of verdicts and their order, and what is found besides figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

#: In place of a verdict: a figure that was compared with nothing, a note, and whatever consists of such alone.
NOT_JUDGED = "not judged"
#: Worst first.
VERDICTS = ("FAIL", "INDETERMINATE", "DEGRADED", "PASS")
#: All words, those that count least last.
ORDER = (*VERDICTS, NOT_JUDGED)


@dataclass(frozen=True)
class Finding:
    """Something that is no figure: drift, an absent device, wrong data. ``hard``: it stands without a second run.

    One that is PASS says that something was compared and is well; a note that only informs is ``NOT_JUDGED``. It is made by the
    ``Message`` of its ``code``, whose sentence with the ``fields`` (numbers, units, devices, bounds) is the ``reason``. Files keep the
    reason: it stays what the judge wrote, whichever version and whichever tables read it.
    """

    subject: str
    verdict: str
    reason: str
    hard: bool = False
    code: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any]) -> Finding:
        """The finding that an object of a file describes, which conforms to the file's schema."""
        return cls(
            raw["subject"], raw["verdict"], raw["reason"], raw["hard"], raw.get("code", ""), raw.get("fields", {})
        )

    def to_raw(self) -> dict[str, Any]:
        """The finding as every file has it."""
        return {key: value for key, value in vars(self).items() if value or key not in ("code", "fields")}


def worst(verdicts: Iterable[str]) -> str:
    """The worst of some verdicts. What is not judged counts neither way; of such alone, and of none, it is that."""
    return min(verdicts, key=ORDER.index, default=NOT_JUDGED)


def passes(verdict: str) -> bool:
    """Whether ReFrame's case passes with this verdict, and a run's exit code is 0: nothing is held against it."""
    return good(verdict) or verdict == NOT_JUDGED


def good(verdict: str) -> bool:
    """Whether it was judged, and found within its bounds."""
    return verdict in ("PASS", "DEGRADED")


def shown_verdict(verdict: str, modelled: bool) -> str:
    """The word that a page shows: what a modelled document would pass is MODELLED."""
    return "MODELLED" if modelled and verdict in ("PASS", NOT_JUDGED) else verdict
