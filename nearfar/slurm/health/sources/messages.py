"""What findings and notes about evidence that needs no measuring say. Codes follow NVIDIA's DCGM and NVML."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

from .xids import ACTIONS, APPLICATION, XIDS, verdict

_PAGE = "reference/health.md"
_COUNTERS, _PORTS, _XIDS = f"{_PAGE}#counters", f"{_PAGE}#infiniband", f"{_PAGE}#xids"
_GPU = "GPU[ {gpu} at] {pci}"
_SINCE = "since the last health check"
_LOGGED = "[, {times} times][ ('{line}')][, logged {logged}]"
_OF_PROGRAMS = " (an application error)"
#: What the manual's page of messages shows in short.
SHOWN_ONCE = {_GPU: "GPU …", _LOGGED: "", _OF_PROGRAMS: ""}


def _message(code: str, verdict: str, what: str, next: str = "", hard: bool = False, page: str = _PAGE) -> Message:
    return Message(code, verdict, what, next, hard, page)


def _gpu(code: str, verdict: str, what: str, next: str = "", hard: bool = False, page: str = _PAGE) -> Message:
    return Message(code, verdict, f"{_GPU}: {what}", next, hard, page)


def _port(code: str, verdict: str, what: str, next: str, page: str = _PORTS) -> Message:
    return Message(code, verdict, f"InfiniBand port {{port}}{what}", next, page=page)


def _log(code: str, verdict: str, hard: bool, what: str, next: str, device: str = _GPU) -> Message:
    """A line of the kernel's log: how often it came, what the driver wrote, and when unless just now."""
    return Message(code, verdict, f"{device}: {what}{_LOGGED}", next, hard, _XIDS)


# fmt: off
SOURCE_TIMEOUT = _message("source.timeout", "INDETERMINATE", "the {subject} source did not answer within {limit:g} s",
                          "check whether the driver or a device hangs")
SOURCE_ERROR = _message("source.error", "INDETERMINATE", "the {subject} source failed: {error}", "report this as a defect of nearfar")
COUNTERS_RESET = _message(
    "health.counters_reset", NOT_JUDGED, f"the {{counters}} counters[ of GPU {{gpu}}][ at {{pci}}][ of port {{port}}] were reset {_SINCE} "
    "(driver reload or reset); errors in between are not counted", page=_COUNTERS)

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
                            "reset the GPU, or reboot", hard=True)
ROW_REMAP_FAILED = _gpu("memory.row_remap_failed", "FAIL", "a bad memory row could not be remapped", "have the GPU replaced", hard=True)
ROW_REMAP_PENDING = _gpu("memory.row_remap_pending", "DEGRADED", "a bad memory row or page waits for the next reset to be replaced",
                         "reset the GPU when no job needs it")
ROWS_REMAPPED = _gpu("memory.rows_remapped", "DEGRADED", f"{{rows:#memory row}} remapped after {{cause}} errors {_SINCE}",
                     "reset the GPU when no job needs it")
ROWS_RESET = _gpu("memory.rows_reset", NOT_JUDGED, f"its count of remapped rows decreased {_SINCE}",
                  "check whether the board was replaced", page=_COUNTERS)
SRAM_THRESHOLD = _gpu("memory.sram_threshold", "FAIL", "more SRAM errors than NVIDIA allows", "have the GPU replaced", hard=True)
PAGES_RETIRED = _gpu("memory.pages_retired", "FAIL", "{pages:#memory page} retired (limit: {limit})", "have the GPU replaced", hard=True)

_NVLINK = f"{{errors:#NVLink error}} ({{counter}}) {_SINCE}"
_RESET = "reset the GPU; if it recurs, have the link inspected"
NVLINK_ERRORS = _gpu("nvlink.errors", "DEGRADED", _NVLINK, "inspect the link if the count keeps growing")
NVLINK_BROKEN = _gpu("nvlink.broken", "FAIL", _NVLINK, _RESET, hard=True)
NVLINK_DOWN = _gpu("nvlink.down", "DEGRADED", f"{{count:#NVLink lane}} went down {_SINCE} ({{lanes}})", _RESET)

_PCIE, _SLOT = f"[bridge {{bridge}} above ]{_GPU}: {{errors:#PCIe error}} ({{counter}}) {_SINCE}", "check the slot and the riser"
PCIE_REPLAY = _gpu("pcie.replay_rate", "DEGRADED",
                   f"{{errors:#PCIe replay}} {_SINCE}, {{rate:.0f}} per minute (limit: {{limit:g}})", _SLOT)
PCIE_UNUSUAL = _message("pcie.unusual", "DEGRADED", f"{_PCIE}, {{rate:.0f}} per hour; usual on this node: {{usual:.2g}}",
                        _SLOT, page=_COUNTERS)
PCIE_FATAL = _message("pcie.aer_fatal", "FAIL", _PCIE, "reboot; if it recurs, check the slot, the riser and the board", hard=True)
PCIE_UNCORRECTED = _message("pcie.aer_uncorrected", "DEGRADED", _PCIE, "check the kernel log")

_SHARE, _AIR = f"[, {{share:.0%}} of the time {_SINCE}]", "check fans, airflow and coolant"
THROTTLED_THERMAL = _gpu("clocks.throttled_thermal", "DEGRADED", f"its hardware lowers the clocks because of heat{_SHARE}", _AIR)
THROTTLED_POWER = _gpu("clocks.throttled_power", "DEGRADED", f"an external power brake lowers the clocks{_SHARE}",
                       "check the power supplies")
THROTTLED_HARDWARE = _gpu("clocks.throttled_hardware", "DEGRADED", "its hardware lowers the clocks", "check cooling and power")
THROTTLED_SOFTWARE = _gpu("clocks.throttled_sw_thermal", "DEGRADED", f"the driver lowers the clocks because of heat{_SHARE}", _AIR)

_STATE, _CABLE = " is {state}[ ({physical})]", "check the cable and the switch"
PORT_DOWN = _port("infiniband.port_down", "FAIL", f"{_STATE}, but the system file lists it",
                  "check the cable, the switch and the subnet manager")
PORT_LOST = _port("infiniband.port_lost", "DEGRADED", f"{_STATE}; at an earlier health check it was active", _CABLE)
PORT_RATE = _port("infiniband.rate", "DEGRADED", " runs at {rate}; at an earlier health check it ran at {before}", "check the cable")
LINK_DOWNED = _port("infiniband.link_downed", "DEGRADED", f": its link went down {{times:#time}} {_SINCE}", _CABLE)
PORT_ERRORS = _port(
    "infiniband.errors", "DEGRADED", f": {{errors:#error}} ({{counter}}) {_SINCE}, {{rate:.0f}} per hour; "
    "usual on this node: {usual:.2g}", "check the cable", _COUNTERS)
COUNTER_FULL = _port("infiniband.counter_full", NOT_JUDGED, ": counter {counter} has reached its maximum",
                     "reset it (perfquery -R)", _COUNTERS)

_STATUS = "run systemctl status {subject}"
DAEMON_ABSENT = _message("daemon.absent", "DEGRADED", "{subject} is enabled but does not run", _STATUS)
DAEMON_FAILED = _message("daemon.failed", "DEGRADED", "{subject} ran at an earlier health check but does not run now", _STATUS)
PERSISTENCE_OFF = _gpu("persistence.off", "DEGRADED", "persistence mode was on at an earlier health check and is off now",
                       "check nvidia-persistenced")
_REGISTRATION = "its registration with the NVLink fabric"
FABRIC_INCOMPLETE = _gpu("fabric.incomplete", "FAIL", f"{_REGISTRATION} is {{state}}", "check fabric manager")
FABRIC_FAILED = _gpu("fabric.failed", "FAIL", f"{_REGISTRATION} failed (NVML status {{status}})", "check fabric manager")
FABRIC_DEGRADED = _gpu("fabric.degraded", "DEGRADED", "its NVLink fabric reports {problems}", "check the log of fabric manager")
JOBS_FAILED = _message(
    "jobs.failed", "DEGRADED", "{count:#job} failed here while the driver logged errors ({jobs}), "
    "{total:#such job} of {users:#user} within 24 h", "inspect the node")
