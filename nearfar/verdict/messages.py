"""What findings about a document, its program and its devices say."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

# The program.
PREVENTED = Message("program.prevented", "INDETERMINATE", "{error}")
HUNG = Message(
    "program.hung", "FAIL", "{program} did not end within {limit:g} s, {times}[; its last line: {line}]",
    page="guide/reading-a-report.md",
)  # fmt: skip
HUNG_ONCE = Message(
    "program.hung_once", "DEGRADED",
    "{program} did not end within {limit:g} s, and did at a second attempt[; its last line: {line}]",
)  # fmt: skip
DIED_LATE = Message("program.died_late", "DEGRADED", "{program}{ending} after it had printed its document")
NO_DOCUMENT = Message("program.no_document", "INDETERMINATE", "{program}{ending}[: {line}]")
NOT_READ = Message("program.not_read", "INDETERMINATE", "{error}")
INTERRUPTED = Message(
    "program.interrupted", "INDETERMINATE", "the run was interrupted: measured cells have fewer visits than planned"
)  # fmt: skip

# What was asked for.
MISSING = Message("cells.missing", "INDETERMINATE", "requested but not measured: {cells}")
ALL_SKIPPED = Message(
    "cells.all_skipped", "INDETERMINATE", "nothing was measured: every cell was skipped; the first: {cause}"
)  # fmt: skip
SKIPPED = Message("cells.skipped", "INDETERMINATE", "not measured: {cells}: {cause}[ ({who})]")
LEFT_OUT = Message("cells.left_out", "INDETERMINATE", "requested, and not measured: {cells}: {cause}")
LINK_MISSING = Message("link.missing", "FAIL", "not there: {cells}: {cause}[ ({who})]", hard=True)
#: One for each word that a program has for a cell that failed; ``measurement/document.md`` explains them.
FAILED = {
    code: Message(f"cell.{code}", "FAIL", "[{cell}: ]{error}", hard=True)
    for code in ("absent", "error", "hang", "lost", "other", "placement", "uncorrectable", "wrong_data")
}

# Whether anything was judged.
NOTHING_TO_COMPARE = Message(
    "check.nothing_to_compare", "INDETERMINATE", "none of its figures was judged: there was nothing to compare with"
)  # fmt: skip
NOTHING_COMPARED = Message("check.nothing_compared", "INDETERMINATE", "none of its figures was judged: {cause}")
NO_LIMITS = Message(
    "check.no_limits", "INDETERMINATE",
    "none of its figures was judged: healthy figures of all of them differ too much for a limit",
)  # fmt: skip
NO_REFERENCES = Message(
    "check.no_references", "INDETERMINATE", "none of its figures was judged: {figures:#figure} without a reference",
    "nearfar tune --system {system} makes references from healthy runs", page="guide/tuning.md",
)  # fmt: skip
NO_RATIOS = Message(
    "check.no_ratios", "INDETERMINATE", "none of its figures was judged: {figures:#figure} without a reference",
    "write references of ratios by hand", page="guide/describe-your-system.md#references",
)  # fmt: skip
NOT_ACCEPTED = Message(
    "check.not_accepted", "INDETERMINATE", "{figures:#figure} without a reference that can accept a node",
    "nearfar tune --system {system} makes references from healthy runs", page="guide/tuning.md",
)  # fmt: skip
REFERENCES_UNUSED = Message(
    "references.unused", "INDETERMINATE",
    "{file}:{line}: no reference of {check} fits a figure (it has {rows}[; this node's GPUs are {models}])",
    page="guide/describe-your-system.md#references",
)  # fmt: skip

# The document.
OTHER_KIND = Message("document.other_kind", "INDETERMINATE", "the document is {kind}, where one was to be {expected}")
NO_TIME = Message("document.no_time", "INDETERMINATE", "the document was started at '{started}', which is not a time")
OTHER_TIME = Message(
    "document.other_time", "INDETERMINATE",
    "the document was started at {started}, and it is judged at {judged}: it is from another run, or the node's clock is wrong",
)  # fmt: skip
AGGRESSOR = Message(
    "document.aggressor", "INDETERMINATE", "measured beside an aggressor ({cells}): the figures are not the node's own"
)  # fmt: skip

# Devices under load.
UNCORRECTED = Message(
    "memory.uncorrectable", "FAIL", "GPU {gpu}: {errors:#uncorrected memory error} since its last reset", hard=True,
)  # fmt: skip
THROTTLED = Message(
    "clocks.throttled", "DEGRADED", "GPU {gpu}: its hardware reduced the clocks while it was measured ({causes})"
)  # fmt: skip
SLOW_CPU = Message(
    "cpu.slow", NOT_JUDGED,
    "CPU {cpu} is slow at driving a GPU: {quantity} of {cell}: {time:.3g} us, {usual:.3g} us with the others",
)  # fmt: skip
#: Of counters of links: DEGRADED where the link corrected them, FAIL above DCGM's limits.
COUNTED = {
    "pcie_replays": Message("pcie.replays", "DEGRADED", "{gpu}: {errors:#PCIe replay} while it was measured"),
    "nvlink_replays": Message("nvlink.replays", "DEGRADED", "{gpu}: {errors:#NVLink replay} while it was measured"),
    "nvlink_recoveries": Message("nvlink.recoveries", "FAIL", "{gpu}: {errors} NVLink recoveries while it was measured", hard=True),
    "nvlink_crc_flit_errors": Message(
        "nvlink.crc_flit_errors", "DEGRADED", "{gpu}: {errors:#NVLink CRC flit error} while it was measured"
    ),
}  # fmt: skip
COUNTER_RESET = Message(
    "counter.reset", NOT_JUDGED, "{gpu}: its counter {counter} decreased while it was measured: it was reset, and its count is lost"
)  # fmt: skip

# Figures. ``figure`` is what was measured (``GPU 2, device to host into NUMA node 0``), ``reading`` its value.
INVALID = Message(
    "figure.invalid", "INDETERMINATE", "{figure}: {flaw}"
)  # fmt: skip
DERIVED_FROM_INVALID = Message(
    "figure.derived_from_invalid", "INDETERMINATE", "{figure}: {reading}, derived from a figure that is not valid",
)  # fmt: skip
NO_REFERENCE = Message("figure.no_reference", NOT_JUDGED, "{figure}: {reading}, not judged: no reference")
NO_LIMIT = Message(
    "figure.no_limit", NOT_JUDGED,
    "{figure}: {reading}, not judged: healthy figures differ too much for a limit ({reference})",
)  # fmt: skip
NO_BOUND = Message(
    "figure.no_bound", NOT_JUDGED, "{figure}: {reading}, not judged: its reference has no bound ({reference})"
)  # fmt: skip
UNSETTLED = Message(
    "figure.unsettled", "INDETERMINATE",
    "{figure}: {reading} did not settle: its {range} {low} to {high} contains the bound {bound}",
)  # fmt: skip
BEYOND_REFERENCE = Message("figure.beyond_reference", "FAIL", "{figure}: {reading}, expected {expected}")
BEYOND_USUAL = Message("figure.beyond_usual", "DEGRADED", "{figure}: {reading}, expected {expected}")
LIKE_SIBLINGS = Message(
    "figure.like_siblings", "INDETERMINATE", "{figure}: {reading}, like its siblings; that alone does not accept a node"
)  # fmt: skip
NOT_BROKEN = Message(
    "figure.not_broken", "INDETERMINATE", "{figure}: {reading}, not broken; that alone does not accept a node"
)  # fmt: skip
BELOW_HISTORY = Message("figure.worse_than_history", "DEGRADED", "{figure}: {change}")
INTERMITTENT = Message("figure.intermittent", "DEGRADED", "{figure}: intermittent: {looks}")
UNCONFIRMED = Message("figure.unconfirmed", "INDETERMINATE", "{figure}; {problem}")
DISTURBED = Message(
    "figure.disturbed", "INDETERMINATE", "{figure}; {cause}; this is no evidence against the node", "run again {until}",
    page="method/disturbances.md",
)  # fmt: skip
FIGURES_DISTURBED = Message("figures.disturbed", "INDETERMINATE", "{cause} (and {more:#more figure})")
NONE_SETTLED = Message(
    "figures.unsettled", "INDETERMINATE", "none of the {figures} figures settled, so that none can be judged: {cause}"
)  # fmt: skip
UNSTEADY = Message(
    "figure.unsteady", "DEGRADED",
    "{figure}: reaches {plateau}, and in half of its samples at most {median}: steadiness {steadiness:.3f}, at least {least} on an own "
    "host",
    page="method/disturbances.md#steadiness",
)  # fmt: skip
MEDIAN_BELOW = Message(
    "figure.median_below", "DEGRADED",
    "{figure}: reaches {plateau}, and in half of its samples at most {median}, below its bound {bound}",
    page="method/disturbances.md#steadiness",
)  # fmt: skip
LOW_VISITS = Message(
    "figure.low_visits", "DEGRADED",
    "{figure}: reaches {plateau}, and in {low} of {visits} visits was below {limit}; {others}",
    page="method/disturbances.md#steadiness",
)  # fmt: skip
OUTLIER = Message(
    "figure.outlier", "DEGRADED", "{figure}: {ratio:.1f} times as long; {limit:g} times and more is an outlier"
)  # fmt: skip
FAILED_BEFORE = Message("figure.failed_before", "FAIL", "{reason}, before it was run again")
