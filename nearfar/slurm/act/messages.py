"""Why a node is in its state: what drains it, what holds its drain, what it waits for."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

_PAGE = "drains.md"
_CLEAR = "nearfar slurm clear {subject} --because WORDS"
_BY_HAND = "scontrol update nodename={subject} state=drain reason={quoted}"


def _why(code: str, sentence: str, next: str = "", verdict: str = NOT_JUDGED) -> Message:
    return Message(code, verdict, sentence, next, page=_PAGE)


# fmt: off
# Evidence.
STANDS = _why("act.evidence", "{cause}")
NOT_CONFIRMED = _why("act.not_confirmed", "{cause}")
OBSERVED = _why("act.observed", "the system file lets nearfar only observe what {check} finds",
                "if the node is faulty, drain it: " + _BY_HAND)
NOT_ALL_RAN = _why("act.not_all_ran", "run {run} did not run every check[: {cause}]", verdict="INDETERMINATE")
NOT_JUDGEABLE = _why("act.could_not_judge", "{checks} could not be judged[: {cause}]", verdict="INDETERMINATE")
NOT_GOOD = _why("act.not_good", "{verdict_of}: {checks}[: {cause}]")
PASSED = _why("act.passed", "{check} passed in run {run}", verdict="PASS")
GOOD = _why("act.good", "measured, with no open finding", verdict="PASS")
NOT_MEASURED = _why("act.not_measured", "{when}", "/etc/nearfar/nightly --nodes {subject}")
CLEARED = _why("act.cleared", "resumed or cleared on {when}, not measured since", "/etc/nearfar/nightly --nodes {subject}")

# The node as Slurm shows it.
NO_SUCH_NODE = _why("act.no_such_node", "Slurm has no such node", "if it is gone for good: " + _CLEAR)
UNREADABLE = _why("act.unreadable", "{objection}; nearfar leaves it alone")
NOT_DRAINED = _why("act.not_drained", "not drained: {objection}")
OTHERS = _why("act.others", "{state}[, '{reason}'][, by {who}]")
PROLOG_FAILED = _why("act.prolog_failed", "'{reason}': its prolog found it faulty, and Slurm drained it; once it is repaired",
                     "nearfar slurm retest {subject}")

# What holds a drain.
HELD_CAP = _why(
    "act.held_by_cap",
    "held: {cause}[; jobs on it may compute with {harm}]; the next act drains it once the cap has room; to drain it now", _BY_HAND)
HELD_FLOOR = _why("act.held_by_floor",
                  "held until more nodes are usable: {cause}[; jobs on it may compute with {harm}]; to drain it anyway", _BY_HAND)
UNREAD_REASON = _why("act.reason_not_read", "held: nearfar could not read its own reason back",
                     "drain it by hand, and report this as a defect of nearfar")
SHARED_HARD = _why(
    "act.shared_hard", "held: the same is found on {nodes} of {tested} nodes at once: check the driver, the power and recent changes; then",
    _CLEAR + ", or drain it")
SHARED = _why("act.shared", "on {nodes} of {tested} nodes at once, so the reference or the driver is to blame; for an old reference",
              "nearfar tune --system {system}")

# What a drained node waits for.
DRAINED = _why("act.drained", "[{dead}; ]repair or check it, then", "nearfar slurm retest {subject}, or " + _CLEAR)
FLAPS = _why("act.flaps", "[{dead}; ]drained {count} times since {since}; once it is repaired", _CLEAR)
REASON_EDITED = _why("act.reason_edited",
                     "its reason is now '{reason}' (nearfar wrote '{ours}'); if anyone resumes it, nearfar drains it again, until", _CLEAR)
IN_RETEST = _why("act.in_retest", "being retested in reservation {reservation}")
# The checks of a retest.
NOT_RUN = _why("act.not_run", "{check} has not run since")
NOT_COVERED = _why("act.not_covered", "{check} passed in run {run}, which did not judge {figure} (no reference, or a shorter run)")
NOT_PASSED = _why("act.not_passed", "{check} was {verdict_of} in run {run}")
