"""What findings about the health of a node say."""

from __future__ import annotations

from nearfar.base import Message

DRIVER_SILENT = Message(
    "driver.silent", "INDETERMINATE", "the {gpus:#GPU} on the bus did not answer the driver[: {notes}]"
)  # fmt: skip
OTHER_BOARD = Message(
    "gpu.other_board", "DEGRADED",
    "since {run}: GPU {gpu} at {pci} is another one; that run's verdict does not speak of it",
)  # fmt: skip
NODE_NOT_READ = Message("health.node_not_read", "INDETERMINATE", "{error}")
SITE_UNKNOWN = Message(
    "health.no_site", "INDETERMINATE", "no system's file names this node", "add it to that file's `hosts`"
)  # fmt: skip
SITE_NOT_COMPARED = Message("health.not_compared", "INDETERMINATE", "not compared: {cause}")
SITE_NOT_READ = Message("health.site_not_read", "INDETERMINATE", "{error}")
