"""What the health check's findings and notes say. Codes follow NVIDIA's DCGM and NVML."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

from .xids import ACTIONS, APPLICATION, XIDS, verdict

_PAGE, _FILE = "reference/health.md", "reference/system-file.md"
_XIDS = f"{_PAGE}#xids"
_GPU = "GPU[ {gpu} at] {pci}"
_SINCE = "since the last health check"
_LOGGED = "[, {times} times][ ('{line}')][, logged {logged}]"
_OF_PROGRAMS = " (an application error)"
#: What the manual's page of messages shows in short.
SHOWN_ONCE = {_GPU: "GPU …", _LOGGED: "", _OF_PROGRAMS: ""}


def _gpu(code: str, verdict: str, what: str, next: str, hard: bool = False) -> Message:
    return Message(code, verdict, f"{_GPU}: {what}", next, hard, _PAGE)


def _log(code: str, verdict: str, hard: bool, what: str, next: str, device: str = _GPU) -> Message:
    """A line of the kernel's log: how often it came, what the driver wrote, and when unless just now."""
    return Message(code, verdict, f"{device}: {what}{_LOGGED}", next, hard, _XIDS)


# fmt: off
SOURCE_TIMEOUT = Message("source.timeout", "INDETERMINATE", "the {subject} source did not answer within {limit:g} s: it hung",
                         "check the kernel log", page=_PAGE)
SOURCE_CUT_SHORT = Message("source.cut_short", "INDETERMINATE",
                           "the {subject} source did not answer within {limit:g} s: the node is overloaded",
                           "check what else runs on the node", page=_PAGE)
SOURCE_ERROR = Message("source.error", "INDETERMINATE", "the {subject} source failed: {error}",
                       "report this as a defect of nearfar", page=_PAGE)
DRIVER_HUNG = Message("driver.hung", "FAIL", "the driver did not answer in {checks} health checks in a row ({sources} hung)",
                      "check the kernel log, and reboot", hard=True, page=_PAGE)
NODE_UNREADABLE = Message("health.node_unreadable", "INDETERMINATE", "cannot read the node's hardware: {error}")
SITE_UNREADABLE = Message("health.site_unreadable", "INDETERMINATE", "cannot compare the node with its system file: {error}", page=_FILE)
UNKNOWN_NODE = Message("health.unknown_node", "INDETERMINATE", "no system file lists node {node}",
                       "add it to `hosts` in its system file", page=_FILE)
NOT_COMPARED = Message("health.not_compared", "INDETERMINATE", "the node was not compared with its system file: {error}", page=_FILE)
DRIVER_SILENT = Message("driver.silent", "INDETERMINATE", "the {gpus:#GPU} on the bus did not answer the driver[ ({notes})]",
                        "check that the driver is loaded, and the kernel log", page=_PAGE)
PORT_DOWN = Message("infiniband.port_down", "FAIL", "InfiniBand port {port} is {state}, but the system file lists it",
                    "check the cable, the switch and the subnet manager", page=_PAGE)

XID = {
    number: _log(f"xid.{number}", *verdict(xid.kind),
                 f"Xid {number}, {xid.words}{_OF_PROGRAMS if xid.kind == APPLICATION else ''}", xid.remedy)
    for number, xid in XIDS.items()
}
XID_OTHER = _log("xid.other", "DEGRADED", False, "Xid {number}, not in nearfar's table", "see NVIDIA's Xid catalogue")
_SXID, _SWITCH = "SXid {number}", "NVSwitch {switch} at {pci}"
SXID_FATAL = _log("sxid.fatal", "FAIL", True, _SXID, "restart fabric manager and reset the GPUs, or reboot", _SWITCH)
SXID_NONFATAL = _log("sxid.nonfatal", "DEGRADED", False, _SXID, "check the log of fabric manager", _SWITCH)
INIT_FAILED = _log("driver.init_failed", "DEGRADED", False, "the driver could not initialise it", "reload the driver, or reboot")
#: By NVML's recovery action, which Xid 154 reports as well.
RECOVERY = {0: _log("recovery.none", NOT_JUDGED, False, "the driver no longer asks for recovery", "")} | {
    number: _log(f"recovery.{each.name}", *verdict(each.kind), "the driver asks for recovery", each.remedy)
    for number, each in ACTIONS.items()
}
RECOVERY_OTHER = _log("recovery.other", "DEGRADED", False, "the driver asks for recovery action {action}",
                      "see nvmlDeviceGetGpuRecoveryAction in NVML's documentation")

MEMORY_UNCORRECTABLE = _gpu("health.memory_uncorrectable", "FAIL", "{errors:#uncorrectable memory error} since its last reset",
                            "reset the GPU, and retest the node", hard=True)
ROW_REMAP_FAILED = _gpu("memory.row_remap_failed", "FAIL", "a bad memory row could not be remapped", "have the GPU replaced", hard=True)
ROW_REMAP_PENDING = _gpu("memory.row_remap_pending", "DEGRADED", "a bad memory row or page waits for the next reset to be replaced",
                         "reset the GPU when no job needs it")
SRAM_THRESHOLD = _gpu("memory.sram_threshold", "FAIL", "more SRAM errors than NVIDIA allows", "have the GPU replaced", hard=True)
PAGES_RETIRED = _gpu("memory.pages_retired", "FAIL", "{pages:#memory page} retired (limit: {limit})", "have the GPU replaced", hard=True)
_RESET = "reset the GPU; if it recurs, have the link inspected"
NVLINK_BROKEN = _gpu("nvlink.broken", "FAIL", f"{{errors:#NVLink error}} ({{counter}}) {_SINCE}", _RESET, hard=True)
NVLINK_DOWN = _gpu("nvlink.down", "DEGRADED", f"{{count:#NVLink lane}} went down {_SINCE} ({{lanes}})", _RESET)
_REGISTRATION = "its registration with the NVLink fabric"
FABRIC_INCOMPLETE = _gpu("fabric.incomplete", "FAIL", f"{_REGISTRATION} is {{state}}", "check fabric manager")
FABRIC_FAILED = _gpu("fabric.failed", "FAIL", f"{_REGISTRATION} failed (NVML status {{status}})", "check fabric manager")
