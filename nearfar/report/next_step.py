"""What to do after a run: what to inspect, and the line to type then."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from nearfar.base import NOT_JUDGED, printable
from nearfar.model.diagnosis import repair
from nearfar.report.explanations import Answer
from nearfar.report.figures import coverage
from nearfar.verdict import RunDirectory

from .causes import ReasonGroup
from .headline import slow_unjudged

#: More checks than these are not listed: the whole run is measured again.
_MOST_CHECKS = 3


def inspection(run: RunDirectory, found: Sequence[ReasonGroup], answers: Mapping[str, Answer] | None) -> str:
    """What to inspect, and then to repair, of the parts that the run's first sentence names; empty where it names none."""
    first = next((group.cause.node for group in found[:1] if group.explained), None)
    node = first or slow_unjudged(run, found, answers)
    answer = (answers or {}).get(node.folder.name) if node is not None and not node.modelled else None
    if node is None or node.node is None or answer is None:
        return ""
    return "; ".join(dict.fromkeys(words for part in answer.parts if (words := repair(part, node.node))))


def next_command(run: RunDirectory) -> tuple[str, str]:
    """A command that can be pasted, and what it is for; where ReFrame was started by hand, or a kit measured, that command in the place
    of ``nearfar validate``."""
    words = [str(word) for word in run.raw.get("command") or ["nearfar", "validate"]]
    command, why = _next_command(run, words)
    other_way = words[0] in ("reframe", "kit/run") and command.startswith("nearfar validate")
    return printable(shlex.join(words)) if other_way else command, why


def _next_command(run: RunDirectory, words: list[str]) -> tuple[str, str]:
    system = str(run.raw.get("system"))
    shown = run.shown
    if run.raw.get("interrupted"):
        return printable(shlex.join(words)), "the whole run again"
    if shown == "MODELLED":
        models = [node.name for node in run.nodes if node.modelled]
        faults = [word for fault in run.raw.get("degraded") or [] for word in ("--degrade", str(fault))]
        return _line(
            ["predict", "--node", *models[:1], *faults], "what the model predicts for every path, and what limits it"
        )
    if run.raw.get("foreign"):
        return _line(["kit"], "an archive that measures such a node with nearfar itself")
    named = [] if system == "local" else ["--system", system]
    way = _way(words)
    acceptance = run.raw.get("acceptance")
    accepts = acceptance is not None
    site = ["detect", "--site", _site_name(run)]
    why = "again on a quiet machine: other load disturbed this run, so nothing is tuned from it"
    quiet = _line(["validate", *way, *named, *["--acceptance"] * accepts], why)
    if shown == "INDETERMINATE" and accepts and coverage.of_run(run).unjudged:
        if system == "local":
            return _line(site, "describes this machine: an acceptance needs its files and references")
        if coverage.too_disturbed(run):
            return quiet
        return _line(["tune", *named], "proposes references from its healthy runs, which acceptance needs, as a diff")
    refused = shown == "DEGRADED" and acceptance is not None and not acceptance["accept_degraded"]
    if shown in ("FAIL", "INDETERMINATE") or refused:
        broken = [case for case in run.missing_cases if case.get("problem")]
        every = (check for node in run.nodes if not node.modelled for check in node.checks)
        names = [check.name.partition("@")[0] for check in every if check.word == shown]
        checks = list(dict.fromkeys([*names, *(str(case["check"]) for case in broken)]))
        whole = len(checks) > _MOST_CHECKS and not any(word.startswith("--check") for word in words)
        again = ["--acceptance"] * accepts + ([] if whole else ["--check", *checks] if checks else [])
        mended = f"after {Path(broken[0]['where']).name} is fixed: " if broken else ""
        why = f"{mended}measures again what could not be judged"
        if shown == "FAIL":
            why = f"after the repair: measures {'the whole node again' if whole else 'again what failed'}"
        elif refused:
            why = "measures again what is DEGRADED"
        return _line(["validate", *way, *named, *again], why)
    if shown == "DEGRADED":
        return _line(["history", "--system", system], "shows whether it was so before")
    if system == "local":
        return _line(site, "describes this machine; later runs are compared with that file")
    if shown == NOT_JUDGED or coverage.of_run(run).unjudged:
        if coverage.too_disturbed(run):
            return quiet
        return _line(["tune", *named], "proposes references from this system's runs, as a diff")
    return _line(["history", *named], "shows these figures over time")


def _way(words: list[str]) -> list[str]:
    """How the programs came and that the system was insisted on, where the command said so: another run needs it too."""
    how = next((at for at, word in enumerate(words) if word == "--with" or word.startswith("--with=")), len(words))
    with_ = words[how : how + 2] if words[how : how + 1] == ["--with"] else words[how : how + 1]
    return [*with_, *(word for word in words if word == "--force-system")]


def _site_name(run: RunDirectory) -> str:
    """A name for a system of this machine: its host's, without the domain and a number at the end."""
    host = next((node.name for node in run.nodes if not node.modelled), "").partition(".")[0]
    return re.sub(r"[^a-z0-9-]|-?[0-9]+$", "", host.lower()) or "mycluster"


def _line(words: list[str], why: str) -> tuple[str, str]:
    return printable(shlex.join(["nearfar", *words])), why
