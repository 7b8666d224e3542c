"""Short lines while the checks run, with the time that is left: on standard error, so that ``--json`` stays alone on standard output."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from nearfar import question
from nearfar.base import NOT_JUDGED, say, shown_verdict
from nearfar.question import CELLS, SHARED_RUN

from .earlier_seconds import CaseKey
from .expected_cases import ExpectedCase, belongs, verdicts

#: What ReFrame says of a case as it begins and ends.
_STATUS = re.compile(r"^\[\s*(RUN|OK|FAIL|SKIP|ABORT)\s*\]\s+(?:\(.*?\)\s+)?(\w+).*?@(\w[\w-]*):([\w-]+)\+([\w-]+)")


class RunProgress:
    """A line for each case that begins or ends, from what ReFrame prints; ``verbose``: all that it prints.

    ``earlier``: seconds that cases took before. A case takes as long as then, and beside it as long as the cases of this run took beside
    theirs; one that nobody has seen as long as those of this run.
    """

    def __init__(
        self, cases: Sequence[ExpectedCase], folder: Path, verbose: bool, earlier: Mapping[CaseKey, float] | None = None
    ) -> None:
        self._verbose = verbose
        self._earlier = earlier or {}
        self._took: dict[CaseKey, float] = {}
        self._begun: dict[CaseKey, float] = {}
        self._measured: set[CaseKey] = set()
        self._cases = {(c.check, c.partition, c.environ): c for c in cases}
        self._places = len({(c.partition, c.environ) for c in cases if not c.modelled})
        self._folder = folder

    def reframe_said(self, line: str) -> None:
        """One line of ReFrame's standard output."""
        if self._verbose:
            print(line, file=sys.stderr, flush=True)
        match = _STATUS.match(line)
        if not match:
            return
        status, check, _, partition, environ = match.groups()
        key = (check, partition, environ)
        case = self._cases.get(key)
        if case is None:
            self._beside_the_cases(check, status, partition, environ)
            return
        on = (
            f" on the modelled {case.node}" if case.modelled else f" @{partition}+{environ}" if self._places > 1 else ""
        )
        if status == "RUN":
            self._begun[key] = time.monotonic()
            if sys.stderr.isatty():
                say(f"[{len(self._took) + 1}/{len(self._cases)}] {check}{on} ...{self._left()}")
            return
        self._took[key] = time.monotonic() - self._begun.get(key, time.monotonic())
        word = self._word(case, status)
        say(f"[{len(self._took)}/{len(self._cases)}] {check}{on}{f': {word}' if word else ''}{self._left()}")

    def _beside_the_cases(self, name: str, status: str, partition: str, environ: str) -> None:
        """The build, or a run that measures for several cases: as they begin and end."""
        place = (partition, environ)
        sharing = [
            k for k, c in self._cases.items() if k[1:] == place and c.node and not c.modelled and _shares(c.check, name)
        ]
        if status == "RUN" and len(sharing) > 1:
            say(f"{CELLS} measures for {len(sharing)} checks ...{self._left()}")
        elif status == "OK" and len(sharing) > 1:
            self._measured.update(sharing)
        elif status == "FAIL":
            say(f"{name} failed: nothing can be measured with it")

    def _left(self) -> str:
        """``; about 12 s left`` for all cases that have not ended; nothing where nothing tells, or none is left."""
        rest = [key for key in self._cases if key not in self._took and key not in self._measured]
        alone = {key: took for key, took in self._took.items() if key not in self._measured}
        beside = [max(0.0, took - self._earlier[key]) for key, took in alone.items() if key in self._earlier]
        more = sum(beside) / len(beside) if beside else 0.0
        mean = sum(alone.values()) / len(alone) if alone else None
        durations = [self._earlier[key] + more if key in self._earlier else mean for key in rest]
        known = [seconds for seconds in durations if seconds is not None]
        if not known or len(known) < len(durations):
            return ""
        left = sum(known)
        return f"; about {round(left)} s left" if left < 100 else f"; about {round(left / 60)} min left"

    def _word(self, case: ExpectedCase, status: str) -> str:
        """Its verdict; nothing where nothing was judged, which the summary says once."""
        if status == "SKIP":
            return "skipped"
        verdict = next((v for v in verdicts(self._folder) if belongs(v, case)), None)
        if verdict is None:
            return "INDETERMINATE, it left no verdict"
        shown = shown_verdict(verdict.verdict, case.modelled)
        return "" if shown == NOT_JUDGED else shown


def _shares(check: str, run: str) -> bool:
    """Whether a check takes its part of a run that measures for several."""
    return run == SHARED_RUN and check in question.check_names() and question.named(check).asks is not None
