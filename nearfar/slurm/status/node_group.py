"""The group of a node: what is to be done about it, and what to type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nearfar.base import day_text, passes
from nearfar.site import HEALTH, MPI_PAIRS
from nearfar.slurm.act import COMMENT, DRAIN, NOTHING, RESUME, ActView, Decision, headline, held_nodes, messages
from nearfar.slurm.controller import NodeState
from nearfar.slurm.findings import RUN, CheckRun, drained_by_us, our_reason, reasons

DECIDE, WAITS, TO_TEST, RETURNING, SUSPECT = "decide", "waits", "to_test", "returning", "suspect"
OTHERS, UNKNOWN, UNJUDGED, NOT_MEASURED, GOOD = "others", "unknown", "unjudged", "not_measured", "good"
#: The groups and what they are called, in the order in which they are shown: what a person has to do first.
GROUPS = {
    DECIDE: "in use though found faulty: you decide",
    WAITS: "drained by us, waits for a person",
    TO_TEST: "drained by us, to be tested again",
    RETURNING: "on its way back",
    UNKNOWN: "found faulty or drained by us; whether in use is not known",
    SUSPECT: "suspect",
    OTHERS: "out of use, not by us",
    UNJUDGED: "could not be judged",
    NOT_MEASURED: "not measured lately",
    GOOD: "good",
}
#: Those that only Slurm can tell.
BY_SLURM = (DECIDE, WAITS, TO_TEST, RETURNING, OTHERS)
#: Letters of what a run says that a line shows.
_LONGEST = 160


@dataclass(frozen=True)
class NodeStatus:
    """A node: its group, ``found`` (a finding in few words, empty: none), ``words`` (why, and what is to be done), when it was taken
    out of use, and when its last result came; times in seconds since 1970, None: not known, or never."""

    node: str
    group: str
    words: str = ""
    found: str = ""
    since: float | None = None
    measured: float | None = None
    state: NodeState | None = None


def of_node(
    name: str,
    decision: Decision | None,
    newest: Mapping[str, CheckRun],
    seen: ActView,
    max_age: float,
    last: float | None,
) -> NodeStatus:
    """The status of a node. ``newest``: its newest run of each check; ``max_age``: seconds; ``last``: when its last result came."""
    state = seen.nodes.get(name)
    measured = max([run.known for run in newest.values() if run.check != HEALTH], default=last)
    since = _out_since(name, state, seen)
    if seen.trouble is not None:
        group, words, found = _without_slurm(name, seen) or (*_by_runs(name, newest, seen, max_age, measured), "")
        return NodeStatus(name, group, words, found, since, measured)
    found = "" if decision is None or decision.evidence is None else headline(decision.evidence)
    ours = our_reason(state) if state is not None and drained_by_us(state) else None
    drained_for = "" if ours is None else ours.headline
    placed = _by_decision(name, decision, state, seen, found)
    if placed is None:
        group, words = _by_runs(name, newest, seen, max_age, measured)
    else:
        group, words = placed
    if group == WAITS:
        found = found or drained_for
    if group in (TO_TEST, RETURNING):
        found = drained_for or found
    if group == OTHERS and found and state is not None:
        found = f"{_state(state)}; {found}"
    return NodeStatus(name, group, words, found, since, measured, state)


def _by_decision(
    name: str, decision: Decision | None, state: NodeState | None, seen: ActView, found: str
) -> tuple[str, str] | None:
    """Its group and words by what ``act`` decides of it; None where that is nothing."""
    if seen.past.retested(name):
        return RETURNING, "being tested again inside a reservation; the next act ends a test that was interrupted"
    if decision is not None and (decision.waits or decision.drained) and state is not None and state.dead:
        return WAITS, _dead(name, state)
    if decision is not None and decision.waits:
        return WAITS, decision.cause.reason
    if decision is not None and decision.action == RESUME:
        return RETURNING, f"the next act resumes it: {decision.cause.reason}"
    if decision is not None and decision.drained:
        return TO_TEST, decision.cause.reason
    if state is not None and (state.out or state.down):
        return OTHERS, decision.cause.reason if found and decision is not None else _state(state)
    if decision is not None and decision.action in (DRAIN, COMMENT):
        how = "drains it" if decision.action == DRAIN else "puts a comment on it"
        return SUSPECT, f"the next act {how}: {decision.cause.reason}"
    if decision is None or decision.evidence is None or decision.action != NOTHING:
        return None
    if held_nodes.in_use_though_faulty(decision, seen):
        return DECIDE, f"{decision.cause.reason}{_by_hand(name, decision)}"
    return SUSPECT, decision.cause.reason


def _dead(name: str, state: NodeState) -> str:
    """What to do about a node that has died while it was drained by us. Slurm's RESUME takes the drain away, also of one that is
    down."""
    return (
        f"it does not answer ({state.words}): check its console, power-cycle it, then nearfar slurm retest {name}; "
        "never scontrol's state=resume, which removes the drain"
    )


def _by_hand(name: str, decision: Decision) -> str:
    """What a person types who has decided; empty where the cause says it."""
    said = decision.cause.code in (messages.STOPPED.code, messages.TOO_FEW.code, messages.SHARED_HARD.code)
    if said or (decision.evidence is not None and decision.evidence.interventions):
        return ""
    return f"; nearfar slurm clear {name} --because WORDS, or drain it: scontrol update nodename={name} state=drain reason=WORDS"


def _without_slurm(name: str, seen: ActView) -> tuple[str, str, str] | None:
    """Group, words and finding of a node of which only Slurm could tell; None where the results are all that there is to be said."""
    hard = seen.decisions.hard.get(name)
    found = headline(hard.open[0]) if hard is not None and hard.open else ""
    drained = seen.past.drained.get(name)
    if drained is not None:
        tested = "; being tested again" if seen.past.retested(name) else ""
        reason = drained.reason if (ours := reasons.read(drained.reason)) is None else ours.headline
        return UNKNOWN, f"drained by us, as the log has it{tested}", reason
    return (UNKNOWN, "hard evidence is open", found) if found else None


def _by_runs(
    name: str, newest: Mapping[str, CheckRun], seen: ActView, max_age: float, measured: float | None
) -> tuple[str, str]:
    """The group of a node that nothing is to be done about, by what its newest runs said."""
    after = seen.past.since.get(name, 0.0)
    last = max((run.known for run in newest.values() if run.check not in (HEALTH, MPI_PAIRS, RUN)), default=0.0)
    recent = [run for run in newest.values() if seen.now - run.known <= max_age]
    # What did not run is the word of its run alone: the next one ran without it.
    recent = [run for run in recent if run.check != RUN or run.known >= last]
    # What was found before a person's word, or before a drain, counts no more; that it passed does: a retest comes before its release.
    # A look that was answered wants no second one: a run that has measured the node since it will do.
    void = [run for run in recent if run.known <= after and not passes(run.verdict)]
    lately = [run for run in recent if run not in void]
    void = [run for run in void if run.check != HEALTH or last <= run.known]
    unjudged = [run for run in lately if run.verdict == "INDETERMINATE"]
    if unjudged:
        return UNJUDGED, _said(unjudged)
    for verdict in ("FAIL", "DEGRADED"):
        these = [run for run in lately if run.verdict == verdict]
        if these:
            return SUSPECT, f"{verdict} {_said(these)}"
    if void:
        which = ", ".join(sorted(run.check for run in void))
        return NOT_MEASURED, f"{which} not since it was drained, cleared or released on {day_text(after)}"
    if any(run.check not in (HEALTH, MPI_PAIRS) for run in lately):
        return GOOD, ""
    return NOT_MEASURED, "never" if measured is None else f"last on {day_text(measured)}"


def _said(runs: Sequence[CheckRun]) -> str:
    """Checks, and what the first of them that says anything says."""
    which = ", ".join(sorted({run.check for run in runs if run.check != RUN})) or "the run"
    why = next((run.words for run in sorted(runs, key=lambda run: (run.check == RUN, run.check)) if run.words), "")
    return f"{which}: {_cut(why)}" if why else which


def _cut(words: str) -> str:
    one = " ".join(words.split())
    return one if len(one) <= _LONGEST else f"{one[:_LONGEST]}…"


def _out_since(name: str, state: NodeState | None, seen: ActView) -> float | None:
    """When a node was taken out of use: as the log has it, or Slurm's reason."""
    if seen.trouble is not None:
        return seen.past.drained[name].at if name in seen.past.drained else None
    if state is None or not (state.out or state.down):
        return None
    if drained_by_us(state) and name in seen.past.drained:
        return seen.past.drained[name].at
    return None if state.reason_at is None else state.reason_at.timestamp()


def _state(state: NodeState) -> str:
    reason = " ".join((state.why_out or "").split())
    given = f" '{reason}'" if reason else ""
    return f"{state.words}{given}" + (f" by {state.reason_by}" if reason and state.reason_by else "")
