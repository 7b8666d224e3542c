"""What a diagnosis finds that no part is to blame for."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

_PAGE = "references.md#a-whole-direction"

#: By direction: what all paths of it lost alike.
COMMON = {
    "h2d": Message("common.h2d", NOT_JUDGED, "all host-to-device paths {change} compared with healthy ones (all {gpus} GPUs)", page=_PAGE),
    "d2h": Message("common.d2h", NOT_JUDGED, "all device-to-host paths {change} compared with healthy ones (all {gpus} GPUs)", page=_PAGE),
}  # fmt: skip
