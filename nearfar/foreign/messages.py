"""What findings about imported output of other tools say."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

LEFT_OUT = Message("foreign.left_out", NOT_JUDGED, "{tool}: {what}: left out ({why})", page="use.md")
UNREAD = Message(
    "foreign.unread", "INDETERMINATE", "{tool}: no figures of {what} ({why}); import a complete output", page="use.md"
)
KEPT = Message("foreign.kept", NOT_JUDGED, "{tool}: {what}: kept, not judged ({why})", page="use.md")
ASSUMED = Message("foreign.assumed", NOT_JUDGED, "{subject}: {what}", page="use.md")
