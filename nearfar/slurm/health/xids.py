"""A table of the Xids of NVIDIA's driver.

Source of every entry: NVIDIA's Xid catalogue (``CATALOGUE``, read 2026-11-22), whose "resolution bucket (immediate action)" stands
beside it. An Xid that is not in the table, or that the catalogue calls unused, is reported as unknown and drains nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nearfar.base import NOT_JUDGED

CATALOGUE = "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html"
HARD, RESET, LOOK, APPLICATION, NVLINK5, ACTION = "hard", "reset", "look", "application", "nvlink5", "action"
#: What nearfar makes of a kind of Xid.
KINDS = {
    HARD: "FAIL, hard evidence: the hardware failed, or the GPU is unusable until it is reset",
    RESET: "DEGRADED: it may work, but needs a reset or a reboot",
    LOOK: "DEGRADED: worth an inspection; nothing was lost",
    NVLINK5: 'FAIL, hard evidence, if the driver writes "Fatal", else DEGRADED',
    ACTION: "as the recovery action that the driver names",
    APPLICATION: "a note: caused by a program, or by another Xid",
}

#: Xids that are judged more strictly than the catalogue's immediate action, and why.
STRICTER = {94: "the memory stays bad until a reset replaces its row"}
#: What to do, by the catalogue's bucket; empty: it has none.
REMEDIES = {
    "RESET_GPU": "reset the GPU, or reboot; if it recurs, have it replaced",
    "RESTART_BM": "power-cycle the node; if it recurs, check slot, power and riser, or have the GPU replaced",
    "RESTART_VM": "restart the virtual machine",
    "WORKFLOW_XID_48": "reset the GPU, or reboot; if it recurs, have it replaced",
    "WORKFLOW_NVLINK_ERR": "reset the GPUs at both ends, or reboot; if it recurs, have the link inspected",
    "WORKFLOW_NVLINK5_ERR": "reset the GPUs at both ends, or reboot; if it recurs, have the link inspected",
    "CHECK_MECHANICALS": "check the power cables and the seat of the board",
    "RESTART_APP": "restart the application, and reset the GPU once the node is drained",
    "UPDATE_SWFW": "update driver and firmware",
    "CHECK_UVM": "reset the GPU if programs used managed memory",
    "CONTACT_SUPPORT": "ask the vendor if it recurs",
    "IGNORE": "reset the GPU when no job needs it, if it persists",
    "XID_154": "do what the driver asks for in its log line",
    "none": "reset the GPU, or reboot, when no job needs it",
}


@dataclass(frozen=True)
class Xid:
    """One number of the table. ``bucket``: the catalogue's immediate action; ``none``: it gives none."""

    number: int
    kind: str
    bucket: str
    words: str

    @property
    def remedy(self) -> str:
        """What to do about it; nothing about an application's."""
        return "" if self.kind == APPLICATION else REMEDIES[self.bucket]


def _xids(numbers: Iterable[int], kind: str, bucket: str, words: str) -> list[Xid]:
    return [Xid(number, kind, bucket, words) for number in numbers]


_TABLE = (
    *_xids((8, 11, 25, 32, 60, *range(68, 73), *range(75, 78), 80), APPLICATION, "RESTART_APP", "a program error"),
    *_xids((13,), APPLICATION, "RESTART_APP", "an exception in the program's kernel"),
    *_xids((14, 106, 107), APPLICATION, "IGNORE", "an injected error, or a test"),
    *_xids((31,), APPLICATION, "RESTART_APP", "a page fault in the program"),
    *_xids((37, 38, 44, 66, 67, 141, 152, 153), APPLICATION, "IGNORE", "an error without consequence"),
    *_xids((43,), APPLICATION, "IGNORE", "a program's channel was reset"),
    *_xids((45,), APPLICATION, "WORKFLOW_XID_45", "cleanup after a program ended or another Xid"),
    *_xids((46,), RESET, "RESET_GPU", "the GPU stopped"),
    *_xids((48,), HARD, "WORKFLOW_XID_48", "a double-bit ECC error"),
    *_xids((54,), HARD, "CHECK_MECHANICALS", "auxiliary power is not connected"),
    *_xids((62,), HARD, "RESET_GPU", "a GPU microcontroller halted"),
    *_xids((63,), RESET, "IGNORE", "a bad row or page of memory was recorded for replacement"),
    *_xids((64,), HARD, "RESET_GPU", "a bad row or page of memory could not be replaced"),
    *_xids((74,), HARD, "WORKFLOW_NVLINK_ERR", "an NVLink error"),
    *_xids((78,), LOOK, "UPDATE_SWFW", "a virtual GPU did not start"),
    *_xids((79,), HARD, "RESTART_BM", "the GPU has fallen off the bus"),
    *_xids((*range(39, 42), *range(82, 87), 88, 89, *range(96, 106), *range(126, 136), 139), APPLICATION, "RESTART_APP",
           "an exception in a copy or video engine"),
    *_xids((92,), LOOK, "IGNORE", "many single-bit ECC errors"),
    *_xids((93,), LOOK, "IGNORE", "the InfoROM's write limit is reached"),
    *_xids((94,), HARD, "RESTART_APP", "an uncorrectable memory error, contained to one program"),
    *_xids((95,), HARD, "RESET_GPU", "an uncorrectable memory error, not contained"),
    *_xids((109,), RESET, "RESET_GPU", "a context switch timed out"),
    *_xids((110,), HARD, "RESET_GPU", "a security fault"),
    *_xids((119,), HARD, "RESET_GPU", "the GPU system processor (GSP) does not respond"),
    *_xids((120,), HARD, "RESET_GPU", "an error of the GPU system processor (GSP)"),
    *_xids((121,), LOOK, "IGNORE", "corrected errors on the link to the CPU"),
    *_xids((136,), HARD, "RESET_GPU", "an NVLink could not be trained"),
    *_xids((137,), APPLICATION, "IGNORE", "an illegal access over NVLink"),
    *_xids((140,), HARD, "RESET_GPU", "an uncorrectable memory error"),
    *_xids((142,), LOOK, "CONTACT_SUPPORT", "an encoder exception"),
    *_xids((143,), HARD, "RESET_GPU", "the GPU could not be initialised"),
    *_xids(range(144, 151), NVLINK5, "WORKFLOW_NVLINK5_ERR", "an NVLink error"),
    *_xids((151,), RESET, "RESTART_VM", "a key could not be changed"),
    *_xids((154,), ACTION, "XID_154", "the recovery action changed"),
    *_xids((155,), RESET, "RESET_GPU", "an NVLink went down"),
    *_xids((156,), RESET, "RESET_GPU", "a part of the GPU is retired at its next reset"),
    *_xids((157,), LOOK, "IGNORE", "a part of the GPU could not be retired"),
    *_xids((158,), HARD, "RESET_GPU", "a fatal timeout"),
    *_xids((159,), LOOK, "CHECK_UVM", "an error on the link to the CPU"),
    *_xids((160,), LOOK, "IGNORE", "a memory channel is retired"),
    *_xids((161,), LOOK, "IGNORE", "a memory channel could not be retired"),
    *_xids(range(162, 166), LOOK, "none", "power smoothing changed"),
    *_xids((166,), LOOK, "none", "traffic on NVLink before it was encrypted"),
    *_xids((167,), RESET, "none", "a fatal PCIe timeout"),
    *_xids((168,), LOOK, "none", "memory was excluded after errors"),
    *_xids((169,), RESET, "none", "a GPU microcontroller halted"),
    *_xids((170,), LOOK, "none", "an interrupt in confidential computing"),
    *_xids((171,), HARD, "none", "an uncorrectable error in DRAM"),
    *_xids((172,), HARD, "none", "an uncorrectable error in SRAM"),
)  # fmt: skip
#: The table by number.
XIDS = {xid.number: xid for xid in sorted(_TABLE, key=lambda xid: xid.number)}


@dataclass(frozen=True)
class Action:
    """A recovery action that the driver asks for. ``name``: NVML's, in lower case."""

    name: str
    kind: str
    remedy: str


#: By the number of NVML (``NVML_GPU_RECOVERY_ACTION_*``), which Xid 154 has as well; 0: nothing.
ACTIONS = {
    1: Action("gpu_reset", HARD, "reset the GPU"),
    2: Action("node_reboot", HARD, "reboot the node"),
    3: Action("drain_p2p", RESET, "keep jobs that copy between GPUs off the node, and reset the GPU"),
    4: Action("drain_and_reset", HARD, "drain the node and reset the GPU"),
    5: Action("recover_imex_domain", LOOK, "recover the IMEX domain"),
    6: Action("bus_reset", HARD, "reset the GPU's bus, or reboot"),
    7: Action("system_reboot", HARD, "reboot the node"),
}


def verdict(kind: str) -> tuple[str, bool]:
    """The verdict of a kind, and whether it is hard evidence."""
    return {HARD: ("FAIL", True), APPLICATION: (NOT_JUDGED, False)}.get(kind, ("DEGRADED", False))
