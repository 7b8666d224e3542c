"""Short lines while the checks run: on standard error, so that ``--json`` stays alone on standard output."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from nearfar.base import NOT_JUDGED

from .expected_cases import ExpectedCase, belongs, verdicts

#: What ReFrame says of a case as it begins and ends.
_STATUS = re.compile(r"^\[\s*(RUN|OK|FAIL|SKIP|ABORT)\s*\]\s+(?:\(.*?\)\s+)?(\w+).*?@(\w[\w-]*):([\w-]+)\+([\w-]+)")


class RunProgress:
    """A line for each case that begins or ends, from what ReFrame prints; ``verbose``: all that it prints."""

    def __init__(self, cases: Sequence[ExpectedCase], folder: Path, verbose: bool) -> None:
        self._verbose = verbose
        self._cases = {(c.check, c.partition, c.environ): c for c in cases}
        self._places = len({(c.partition, c.environ) for c in cases if not c.modelled})
        self._folder = folder

    def say(self, words: str) -> None:
        """One line of the pack's own."""
        print(f"nearfar: {words}", file=sys.stderr, flush=True)

    def reframe_said(self, line: str) -> None:
        """One line of ReFrame's standard output."""
        if self._verbose:
            print(line, file=sys.stderr, flush=True)
        match = _STATUS.match(line)
        if not match:
            return
        status, check, _, partition, environ = match.groups()
        case = self._cases.get((check, partition, environ))
        if case is None:
            if status == "FAIL":
                self.say(f"{check} failed: nothing can be measured with it")
            return
        on = (
            f" on the modelled {case.node}" if case.modelled else f" @{partition}+{environ}" if self._places > 1 else ""
        )
        if status == "RUN":
            if sys.stderr.isatty():
                self.say(f"{check}{on} ...")
            return
        self.say(f"{check}{on}: {self._word(case, status)}")

    def _word(self, case: ExpectedCase, status: str) -> str:
        if status == "SKIP":
            return "skipped"
        verdict = next((v for v in verdicts(self._folder) if belongs(v, case)), None)
        if verdict is None:
            return "INDETERMINATE, it left no verdict"
        word = verdict.verdict
        if case.modelled and word in ("PASS", NOT_JUDGED):
            return "MODELLED"
        return f"{word}, it has no reference" if word == NOT_JUDGED and verdict.metrics else word
