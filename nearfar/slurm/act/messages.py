"""Why something is done about a node, or nothing: what drains it, what holds its drain, what it waits for."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

_PAGE = "guide/slurm-act.md"
_CLEAR = "nearfar slurm clear {subject} --because WORDS"
_DEAD, _SEEN_TO = "[; it does not answer ({state})]", "; once it is repaired or checked"


def _why(code: str, sentence: str, next: str = "", verdict: str = NOT_JUDGED) -> Message:
    return Message(code, verdict, sentence, next, page=_PAGE)


# fmt: off
# Evidence.
STANDS = _why("act.evidence", "{cause}")
OBSERVED = _why("act.observed", "act may only observe {check}")
NOT_ALL_RAN = _why("act.not_all_ran", "run {run} did not run every check, and act does nothing for it[; {cause}]", verdict="INDETERMINATE")
NOT_JUDGEABLE = _why("act.could_not_judge", "{check} could not be judged in run {run}, and act does nothing for it[; {cause}]",
                     verdict="INDETERMINATE")
NO_FAIL = _why("act.no_fail", "no FAIL to act on")
NOTHING_KNOWN = _why("act.nothing_known", "no results")

# The node as Slurm shows it.
NO_SUCH_NODE = _why("act.no_such_node", "Slurm has no such node")
UNREADABLE = _why("act.unreadable", "{objection}; act leaves it alone")
NOT_DRAINED = _why("act.not_drained", "not drained: {objection}")
NO_COMMENT = _why("act.no_comment", "no comment: {objection}")
COMMENTED = _why("act.commented", "it already has a comment of act")
KEEPS_COMMENT = _why("act.keeps_comment", "it keeps the comment of act until {check} passes")

# What holds a drain.
STOPPED = _why("act.drains_stopped", "held, drains are stopped ({cause}); if the drained nodes are broken",
               "nearfar slurm allow-drains --because WORDS")
TOO_FEW = _why("act.too_few_left", "held until more nodes are usable: {cause}[; jobs on it may compute with {harm}]; to drain it anyway",
               "scontrol update nodename={subject} state=drain reason={quoted}")
UNREAD_REASON = _why("act.reason_not_read", "held, act could not read its own reason back",
                     "drain it by hand, and report this as a defect of nearfar")
SHARED_HARD = _why("act.shared_hard",
                   "held, you decide (on {nodes} of {tested} nodes at once; check the driver, the power and recent changes)",
                   _CLEAR + ", or drain it")
SHARED = _why("act.shared", "on {nodes} of {tested} nodes at once, so the reference or the driver is to blame; for an old reference",
              "nearfar tune --system {system}")

# What a drained node waits for.
PASSED = _why("act.passed", "{check} passed in run {run}", verdict="PASS")
NOT_RUN = _why("act.not_run", "{check} has not run since[, which takes {nodes} nodes]")
NOT_COVERED = _why("act.not_covered", "{check} passed in run {run}, which did not judge {figure} (no reference, or a shorter run)")
NOT_PASSED = _why("act.not_passed", "{check} was {verdict_of} in run {run}")
STAYS = _why("act.stays_drained", "{cause}[; it does not answer ({state})][; nearfar slurm retest {retest}][ --beside {beside}]")
STAYS_FOR = _why("act.stays_drained_for", "{cause}, but {other}")
OTHER_REASON = _why(
    "act.reason_edited",
    "its reason is now '{reason}'[ (act wrote '{ours}')], and act leaves it alone" + _DEAD + _SEEN_TO,
    "scontrol update nodename={subject} state=resume, or nearfar slurm retest {subject} --accept-delivered {quoted}")
REASON_UNKNOWN = _why("act.reason_unknown", "drained for a reason that is not in the log" + _DEAD + _SEEN_TO, _CLEAR)
FLAPS = _why("act.flaps", "flaps: {cause}" + _DEAD + _SEEN_TO, _CLEAR)
OPEN = _why("act.hard_evidence", "hard evidence" + _DEAD + _SEEN_TO, _CLEAR)
REBOOTED = _why("act.rebooted", "hard evidence, rebooted since" + _DEAD + "; a full run that passes releases it",
                "nearfar slurm retest {subject}")
DIED = _why("act.died", "{subject}: stopped answering after act drained it ({state}), and stays drained",
            "check its console, power-cycle it, then nearfar slurm retest {subject}")
UP_AGAIN = _why("act.up_again", "{subject}: answers again[, but Slurm keeps it down ({state})], and is still drained by act",
                "nearfar slurm retest {subject}")
