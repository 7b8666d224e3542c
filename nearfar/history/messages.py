"""What findings about the history say."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

_UPDATE = "guide/driver-update.md"
_STALE = (
    "; {nodes} of {of:#node} run it; these references are stale[ since {since}][ and fail no speed until {until}]"
    "[ and are judged as usual since {ended}]"
)
_TUNE = "run nearfar tune --system {system} to propose new references, and with --apply to accept them"

HOST_SLOW = Message(
    "host.slow", "DEGRADED",
    "the host was slow on {slow_days} of the last {days} days with runs: paths that share only its memory slowed down together",
    "find out who else uses it, and check its memory", page="method/own-past.md",
)  # fmt: skip
UNREADABLE = Message("history.unreadable", NOT_JUDGED, "not compared with the node's history: {error}")
LEFT_OUT = Message("history.left_out", NOT_JUDGED, "the node's history: {error}")
EFFECT_UNREADABLE = Message(
    "software.unreadable", NOT_JUDGED, "the effect of new software is not known: {error}", page=_UPDATE
)
EFFECT_UNKNOWN = Message(
    "software.effect_unknown", NOT_JUDGED,
    f"{{new}}, references of {{old}}: its effect on the figures is not known yet[ ({{cause}})]{_STALE}", _TUNE, page=_UPDATE,
)  # fmt: skip
NO_EFFECT = Message(
    "software.no_effect", NOT_JUDGED, f"{{new}}, references of {{old}}: no figure moved beyond its noise{_STALE}", _TUNE,
    page=_UPDATE,
)  # fmt: skip
WORSE = Message("software.worse", "DEGRADED", f"{{new}}, references of {{old}}: {{moved}}{_STALE}", _TUNE, page=_UPDATE)
MOVED = Message("software.moved", NOT_JUDGED, f"{{new}}, references of {{old}}: {{moved}}{_STALE}", _TUNE, page=_UPDATE)
NO_FIGURE = Message("shift.no_figure", NOT_JUDGED, "{subject} has no sound figure since {since}", page=_UPDATE)
ONE_SOFTWARE = Message(
    "shift.one_software", NOT_JUDGED, "{nodes:#node} of {subject}, each with one software since {since}", page=_UPDATE
)
NO_FLEET = Message(
    "shift.no_fleet", NOT_JUDGED,
    "{subject} has {nodes:#node}, too few to tell what new software costs from a change of the node; a shift needs {needed}",
    page=_UPDATE,
)  # fmt: skip
TOO_FEW = Message(
    "shift.too_few_nodes", NOT_JUDGED,
    "{nodes:#node} of {subject} with figures both before and after the change of software; a shift needs {needed}", page=_UPDATE,
)  # fmt: skip
