"""Why one more drain is too many."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

_PAGE = "drains.md"

# fmt: off
FLOOR = Message(
    "act.floor", NOT_JUDGED,
    "partition {partition}: {out} of {members} nodes are already out, {others} of them not by nearfar; at least {least} must stay",
    page=_PAGE)
CAP = Message(
    "act.cap", NOT_JUDGED, "no more than {most}[ of the {members} nodes of partition {partition}] drained {when}", page=_PAGE)
OVER = Message(
    "act.over_cap", NOT_JUDGED,
    "{count} nodes[ of partition {partition}] are drained {when}, and its cap is {most}: {subject} (nodes that drain themselves in the "
    "same second do not see each other)", page=_PAGE)
CAP_OF_ONE = Message(
    "act.cap_of_one", NOT_JUDGED, "no more than {most} of the one node of partition {partition} drained {when}", page=_PAGE)
