"""What the judge says of a figure. ``figure`` is what was measured (``GPU 2, device to host into NUMA node 0``), ``reading`` its value."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

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
