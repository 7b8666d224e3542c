"""What the health check says of itself and of the site's files; the evidence has a table of its own in ``sources``."""

from __future__ import annotations

from nearfar.base import Message

_PAGE, _FILE = "reference/health.md", "reference/system-file.md"

# fmt: off
TIMEOUT = Message("health.timeout", "INDETERMINATE", "the health check did not end within {limit:g} s: it hung while {step}",
                  "check the kernel log", page=_PAGE)
ERROR = Message("health.error", "INDETERMINATE", "the health check failed: {error}", "report this as a defect of nearfar", page=_PAGE)
NODE_UNREADABLE = Message("health.node_unreadable", "INDETERMINATE", "cannot read the node's hardware: {error}")
SITE_UNREADABLE = Message("health.site_unreadable", "INDETERMINATE", "cannot compare the node with its system file: {error}", page=_FILE)
UNKNOWN_NODE = Message("health.unknown_node", "INDETERMINATE", "no system file lists node {node}",
                       "add it to `hosts` in its system file", page=_FILE)
NOT_COMPARED = Message("health.not_compared", "INDETERMINATE", "the node was not compared with its system file: {error}", page=_FILE)
DRIVER_SILENT = Message("driver.silent", "INDETERMINATE", "the {gpus:#GPU} on the bus did not answer the driver[ ({notes})]",
                        "check that the driver is loaded, and the kernel log", page=_PAGE)
OTHER_BOARD = Message("gpu.other_board", "DEGRADED",
                      "GPU {gpu} at {pci} is not the board of {run}, whose verdict does not apply to it",
                      "measure the node again", page=_PAGE)
