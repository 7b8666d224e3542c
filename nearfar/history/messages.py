"""What findings about the history say."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

_UPDATE = "references.md#the-day-of-a-driver-update"
_STALE = "; {nodes} of {of:#node} run it; these references are stale and follow the fleet's level"
_TUNE = "run nearfar tune --system {system} to propose new references, and with --apply to accept them"

HOST_SLOW = Message(
    "host.slow", "DEGRADED",
    "the host was slow on {slow_days} of the last {days} days with runs (paths that share only its memory slowed down together)",
    "find out who else uses it, and check its memory modules", page="references.md#paths-that-fall-together",
)  # fmt: skip
HOST_STAYS_SLOW = Message(
    "host.stays_slow", "FAIL",
    "the host was slow on each of the last {days} days with runs (paths that share only its memory slowed down together)",
    "check its firmware settings (NPS, IOMMU, memory speed), memory modules and binding", page="references.md#paths-that-fall-together",
)  # fmt: skip
UNREADABLE = Message("history.unreadable", NOT_JUDGED, "not compared with the node's history: {error}")
LEFT_OUT = Message("history.left_out", NOT_JUDGED, "part of the node's history was not read: {error}")
EFFECT_UNREADABLE = Message(
    "software.unreadable", NOT_JUDGED, "the effect of new software is unknown: {error}", page=_UPDATE
)
EFFECT_UNKNOWN = Message(
    "software.effect_unknown", NOT_JUDGED,
    "{new}, references of {old}: its effect on the figures is unknown until {needed} nodes have figures with it; {nodes} of {of:#node} run "
    "it; the bounds of these references are wider until then", _TUNE, page=_UPDATE,
)  # fmt: skip
NO_EFFECT = Message(
    "software.no_effect", NOT_JUDGED, f"{{new}}, references of {{old}}: no figure changed by more than its noise{_STALE}", _TUNE,
    page=_UPDATE,
)  # fmt: skip
WORSE = Message("software.worse", "DEGRADED", f"{{new}}, references of {{old}}: {{moved}}{_STALE}", _TUNE, page=_UPDATE)
MOVED = Message("software.moved", NOT_JUDGED, f"{{new}}, references of {{old}}: {{moved}}{_STALE}", _TUNE, page=_UPDATE)
