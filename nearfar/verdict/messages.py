"""What findings about a document, its program and its devices say."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

_XID, _RESET, _COOLING = "check the kernel log for Xid messages", "reset the GPU, or reboot", "check cooling and power"
_TUNE, _STEADINESS, _READING = (
    "run nearfar tune --system {system} to make references from healthy runs",
    "references.md#steadiness",
    "read-a-page.md",
)

# The program.
PREVENTED = Message("program.prevented", "INDETERMINATE", "{error}")
HUNG = Message(
    "program.hung", "INDETERMINATE", "{program} did not end within {limit:g} s[ (last line: {line})]", _XID,
    page=_READING,
)  # fmt: skip
HUNG_ONCE = Message("program.hung_once", "DEGRADED", "{error}", _XID)
SUSPENDED = Message("program.suspended", NOT_JUDGED, "{error}")
DIED_LATE = Message("program.died_late", "DEGRADED", "{program}{ending} after it wrote its results")
NO_DOCUMENT = Message("program.no_document", "INDETERMINATE", "{program}{ending}[: {line}]")
NOT_READ = Message("program.not_read", "INDETERMINATE", "{error}")
INTERRUPTED = Message(
    "program.interrupted", "INDETERMINATE", "the run was interrupted, with fewer samples of each cell than planned", "run it again"
)  # fmt: skip

# What was asked for.
MISSING = Message("cells.missing", "INDETERMINATE", "requested but not measured: {cells}")
ALL_SKIPPED = Message(
    "cells.all_skipped", "INDETERMINATE", "nothing was measured: every cell was skipped, the first because: {cause}"
)  # fmt: skip
SKIPPED = Message("cells.skipped", "INDETERMINATE", "not measured: {cells}: {cause}[ ({who})]")
LEFT_OUT = Message("cells.left_out", "INDETERMINATE", "requested but not measured: {cells}: {cause}")
LINK_MISSING = Message("link.missing", "FAIL", "missing link: {cells}: {cause}[ ({who})]", _XID, hard=True)
#: By the code that a program gives for a cell that failed (``docs/reference/document.md``), with what to do next.
FAILED = {
    code: Message(f"cell.{code}", "FAIL", "[{cell}: ]{error}", step, hard=True)
    for code, step in {
        "absent": _XID, "error": "", "hang": _XID, "hung_once": _XID, "lost": _XID, "other": "", "placement": "", "uncorrectable": _RESET,
        "wrong_data": "keep jobs off the node",
    }.items()
}  # fmt: skip

# Whether anything was judged.
NOTHING_COMPARED = Message("check.nothing_compared", "INDETERMINATE", "none of its figures was judged: {cause}")
NO_LIMITS = Message(
    "check.no_limits", "INDETERMINATE",
    "none of its figures was judged: healthy nodes vary too much in all of them to set a limit",
)  # fmt: skip
NO_REFERENCES = Message(
    "check.no_references", "INDETERMINATE", "none of its figures was judged: {figures:#figure} without a reference",
    _TUNE, page="references.md",
)  # fmt: skip
NO_RATIOS = Message(
    "check.no_ratios", "INDETERMINATE", "none of its figures was judged: {figures:#figure} without a reference",
    "write references of ratios by hand", page="reference/reference-file.md",
)  # fmt: skip
JUDGED_BY_OTHERS = Message(
    "check.judged_elsewhere", "INDETERMINATE", "none of its figures was judged: {judges}", "run it together with the check that judges them"
)  # fmt: skip
NOT_ACCEPTED = Message(
    "check.not_accepted", "INDETERMINATE", "{figures:#figure} without a reference good enough to accept a node",
    _TUNE, page="references.md",
)  # fmt: skip
SIBLINGS_ONLY = Message(
    "references.siblings_only", NOT_JUDGED,
    "{figures:#figure} passed only by comparison with similar parts or with half of a link's rate; the right value is not known",
    "[run nearfar tune --system {system}, or ]add figures of the GPU model to site/gpus/", page="references.md",
)  # fmt: skip
REFERENCES_UNUSED = Message(
    "references.unused", "INDETERMINATE",
    "{file}:{line}: no reference of {check} matches a figure (it lists {rows}[; this node's GPUs are {models}])",
    "correct the names of the references, or tune again",
    page="reference/reference-file.md",
)  # fmt: skip

# The document.
OTHER_KIND = Message("document.other_kind", "INDETERMINATE", "the document is {kind}, expected {expected}")
NO_TIME = Message("document.no_time", "INDETERMINATE", "the document's start time '{started}' is not a time")
OTHER_TIME = Message(
    "document.other_time", "INDETERMINATE",
    "the document was started at {started} and judged at {judged}; it is from another run, or the node's clock is wrong",
    "check the node's clock",
)  # fmt: skip
AGGRESSOR = Message(
    "document.aggressor", "INDETERMINATE", "measured beside a load (--aggressor {cells}), so the figures are not those of an idle node",
    "run again without --aggressor",
)  # fmt: skip

# Devices under load.
UNCORRECTED = Message(
    "memory.uncorrectable", "FAIL", "GPU {gpu}: {errors:#uncorrected memory error} since its last reset", _RESET, hard=True,
)  # fmt: skip
THROTTLED = Message(
    "clocks.throttled", "DEGRADED", "GPU {gpu}: its hardware reduced the clocks during the measurement ({causes})", _COOLING,
)  # fmt: skip
SLOW_CPU = Message(
    "cpu.slow", NOT_JUDGED,
    "CPU {cpu} drives a GPU slowly: {quantity} of {cell} is {time:.3g} us, {usual:.3g} us from other CPUs",
)  # fmt: skip
_SLOT, _LINK = "check the slot and the riser", "inspect the link if the errors recur"
#: Of counters of links: DEGRADED where the link corrected them, FAIL above DCGM's limits.
COUNTED = {
    "pcie_replays": Message("pcie.replays", "DEGRADED", "{gpu}: {errors:#PCIe replay} during the measurement", _SLOT),
    "nvlink_replays": Message("nvlink.replays", "DEGRADED", "{gpu}: {errors:#NVLink replay} during the measurement", _LINK),
    "nvlink_recoveries": Message(
        "nvlink.recoveries", "FAIL", "{gpu}: NVLink recovered from errors {errors:#time} during the measurement", _LINK, hard=True,
    ),
    "nvlink_crc_flit_errors": Message(
        "nvlink.crc_flit_errors", "DEGRADED", "{gpu}: {errors:#NVLink CRC flit error} during the measurement", _LINK,
    ),
}  # fmt: skip
COUNTER_RESET = Message(
    "counter.reset", NOT_JUDGED, "{gpu}: counter {counter} was reset during the measurement; its count is lost"
)  # fmt: skip

# Figures. ``figure`` is what was measured (``GPU 2, device to host into NUMA node 0``), ``reading`` its value.
INVALID = Message("figure.invalid", "INDETERMINATE", "{figure}: {flaw}")
DERIVED_FROM_INVALID = Message(
    "figure.derived_from_invalid", "INDETERMINATE", "{figure}: {reading}, derived from a figure that is not valid",
)  # fmt: skip
JUDGED_ELSEWHERE = Message("figure.judged_elsewhere", NOT_JUDGED, "{figure}: {reading}, not judged: {elsewhere}")
NO_REFERENCE = Message("figure.no_reference", NOT_JUDGED, "{figure}: {reading}, not judged: no reference")
NO_LIMIT = Message(
    "figure.no_limit", NOT_JUDGED,
    "{figure}: {reading}, not judged: healthy nodes vary too much to set a limit ({reference})",
)  # fmt: skip
NO_BOUND = Message(
    "figure.no_bound", NOT_JUDGED, "{figure}: {reading}, not judged: its reference has no bound ({reference})"
)  # fmt: skip
UNSETTLED = Message(
    "figure.unsettled", "INDETERMINATE",
    "{figure}: {reading} did not converge; its {range} {low} to {high} contains the bound {bound}",
    "run again on an idle node",
)  # fmt: skip
BEYOND_REFERENCE = Message("figure.beyond_reference", "FAIL", "{figure}: {reading}, expected {expected}", page=_READING)
BEYOND_USUAL = Message("figure.beyond_usual", "DEGRADED", "{figure}: {reading}, expected {expected}", page=_READING)
LIKE_SIBLINGS = Message(
    "figure.like_siblings", "INDETERMINATE", "{figure}: {reading}, similar to its siblings, which is not enough to accept a node"
)  # fmt: skip
NOT_BROKEN = Message(
    "figure.not_broken", "INDETERMINATE", "{figure}: {reading}, not broken, which is not enough to accept a node"
)  # fmt: skip
#: The codes which say that nothing but a reference which accepts a node is lacking.
UNREFERENCED = frozenset(message.code for message in (NO_REFERENCE, NO_BOUND, LIKE_SIBLINGS, NOT_BROKEN))
BELOW_HISTORY = Message("figure.worse_than_history", "DEGRADED", "{figure}: {change}")
INTERMITTENT = Message("figure.intermittent", "DEGRADED", "{figure}: intermittent: {looks}")
UNCONFIRMED = Message("figure.unconfirmed", "INDETERMINATE", "{figure}; {problem}")
DISTURBED = Message(
    "figure.disturbed", "INDETERMINATE", "{figure}; {cause}; no evidence against the node", "run again {until}",
    page="references.md#other-load",
)  # fmt: skip
FELL_TOGETHER = Message(
    "figure.fell_together", "FAIL",
    "{figure}; {cause}: the host's memory or a setting, or load from outside; no grounds for a drain until it has lasted {days} days",
    "run again when the host is idle; check memory modules, firmware settings (NPS, IOMMU, memory speed) and all GPUs' PCIe link states",
    page="references.md#other-load",
)  # fmt: skip
FIGURES_FELL = Message("figures.fell_together", "FAIL", "{cause} (and {more:#more figure})")
FIGURES_DISTURBED = Message("figures.disturbed", "INDETERMINATE", "{cause} (and {more:#more figure})")
NONE_SETTLED = Message(
    "figures.unsettled", "INDETERMINATE", "none of the {figures} figures converged, so none can be judged: {cause}"
)  # fmt: skip
UNSTEADY = Message(
    "figure.unsteady", "DEGRADED",
    "{figure}: reaches {plateau}, but half of its samples are at most {median}: steadiness {steadiness:.3f}, expected at least {least} "
    "on a dedicated host", page=_STEADINESS,
)  # fmt: skip
MEDIAN_BELOW = Message(
    "figure.median_below", "DEGRADED",
    "{figure}: reaches {plateau}, but half of its samples are at most {median}, below its bound {bound}", page=_STEADINESS,
)  # fmt: skip
LOW_VISITS = Message(
    "figure.low_visits", "DEGRADED",
    "{figure}: reaches {plateau}, but was below {limit} in {low} of {visits} rounds; {others}", page=_STEADINESS,
)  # fmt: skip
OUTLIER = Message("figure.outlier", "DEGRADED", "{figure}: {ratio:.1f}; {limit:g} or more is an outlier")
FAILED_BEFORE = Message("figure.failed_before", "FAIL", "{reason} (in an earlier run of this case)")
