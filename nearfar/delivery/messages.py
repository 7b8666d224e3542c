"""What findings about a delivery and its nodes say."""

from __future__ import annotations

from functools import partial

from nearfar.base import NOT_JUDGED, Message

_refuses = partial(Message, verdict="FAIL")
_again = partial(Message, verdict="INDETERMINATE")
_notes = partial(Message, verdict=NOT_JUDGED)

#: ``part``: what all figures have in common; ``worst``: one value, or those of several nodes.
_FIGURES = "[{part}, ]{name}[ ({several:#figure})]: {worst}, {sources}[: {cause}]"

# fmt: off
# Of the delivery.
NOT_AS_ORDERED = _refuses("delivery.not_as_ordered", sentence="{nodes} of {of} nodes are not as ordered: {cause}")
SLOW = _refuses("delivery.slow", sentence="{subject}: {nodes} of {of} nodes are slow, {median} (median): {expected}")
NOT_ALIKE = _again("delivery.not_alike", sentence="{subject}: the nodes cannot be compared with each other: {cause}")
COUNT = _again(
    "delivery.count", sentence="measured: {found:#node}, ordered: {expected}",
    next="measure the others, or name the ordered nodes in the order (nodes)")
NOT_SEEN = _again("delivery.not_seen", sentence="ordered but never measured: {nodes}", next="measure them, or have them delivered")
STRANGERS = _notes("delivery.strangers", sentence="measured but not ordered: {nodes}", next="correct the order, or leave out their runs")
BOARDS_CHANGED = _notes(
    "delivery.boards_changed", sentence="{nodes}: different GPUs (by UUID) than in an earlier run, which is ignored", next="record why")
UNLIKE = _notes("delivery.unlike", sentence="{groups}", next="make the nodes identical before you compare them")
NOT_READ = _notes("delivery.not_read", sentence="ordered, but not read on any node: {items}", next="compare by hand")
SETTINGS_NOT_READ = _notes("delivery.settings_not_read", sentence="not read on {nodes}: {settings}")
NOT_ASKED = _notes("delivery.not_asked", sentence="{subject} was not run[: {cause}]")
NOT_RUN = _notes(
    "delivery.not_run", sentence="not run on any node: {checks}", next="nearfar accept --measure runs all that the nodes have programs for")
AHEAD = _notes(
    "delivery.ahead", sentence="{nodes}: the newest run is of a day to come", next="set the clock, remove these runs, and measure again")
NO_REFERENCES = _notes(
    "delivery.no_references", sentence="the site has no references for these nodes", page="references.md")

# Of a node: refused.
NOT_ORDERED = _refuses("delivery.not_ordered", sentence="{subject} is not among the {count} ordered nodes")
WRONG_HOST = _refuses("delivery.wrong_host", sentence="{check} was measured on {host}", next="measure on the node itself")
PRODUCT = _refuses("delivery.product", sentence="the machine is {found}, ordered {expected}")
SOFTWARE = _refuses("delivery.software", sentence="{subject} is {found}, ordered {expected}", next="install it, then measure again")
SERIAL = _refuses("delivery.serial", sentence="GPUs that are not on the node's delivery note: {serials}")
PROMISE = _refuses("delivery.promise", sentence=_FIGURES, next="show the vendor the run's page")
OUTLIER = _refuses("delivery.outlier", sentence=_FIGURES)
UNHEALTHY = Message("delivery.unhealthy", "DEGRADED", _FIGURES)

# Of a node: measured again.
NOT_MEASURED = _again("delivery.not_measured", sentence="{subject} was never measured", next="measure it (nearfar accept --measure)")
OTHER_SYSTEM = _again(
    "delivery.other_system", sentence="measured as a node of {found}, ordered for {expected}", next="measure it with --system {expected}")
CHECK_MISSING = _again("delivery.check_missing", sentence="not measured here: {checks}", next="run them again")
NO_VERDICT = _again("delivery.no_verdict", sentence="{subject} left no verdict: it did not finish", next="run it again")
NOT_DESCRIBED = _again("delivery.not_described", sentence="no run describes the node's parts", next="measure it again")
UNJUDGED = _again(
    "delivery.unjudged", sentence="{figures:#figure} with nothing to compare with ({checks})", page="accept.md",
    next="measure at least three nodes, tune references, or promise these figures in the order")
PROMISE_UNMEASURED = _again(
    "delivery.promise_unmeasured", sentence="promised but not measured: {figures}", next="run their checks again")
FAILED_BEFORE = _again(
    "delivery.failed_before", sentence="{subject} was {was}[ on {day}] and passed once since", next="measure it once more")
SAME_BOARD = _again(
    "delivery.same_board", sentence="the same GPUs are in {others} ({uuids})", next="measure these nodes again at the same time")
