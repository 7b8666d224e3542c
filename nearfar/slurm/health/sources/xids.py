"""A table of the Xids of NVIDIA's driver.

Source of every entry: NVIDIA's Xid catalogue (https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html, read
2026-11-22), whose "resolution bucket (immediate action)" stands beside it; names as there and in ``nverror.h`` of
github.com/NVIDIA/open-gpu-kernel-modules, without ``ROBUST_CHANNEL_``. ``kind`` is this pack's reading of it:

* ``HARD``: the hardware failed, or the GPU is unusable until it is reset: hard evidence.
* ``RESET``: it may work, but needs a reset or a reboot.
* ``LOOK``: worth an inspection; nothing was lost.
* ``APPLICATION``: caused by a program, or by another Xid.
* ``NVLINK5``: ``HARD`` where the driver's own line says "Fatal", else ``LOOK``.
* ``ACTION``: the line itself names the recovery action.

An Xid that is not in the table, or that the catalogue calls unused, is reported as unknown and drains nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nearfar.base import NOT_JUDGED

HARD, RESET, LOOK, APPLICATION, NVLINK5, ACTION = "hard", "reset", "look", "application", "nvlink5", "action"

#: What to do, by the catalogue's bucket; empty: it has none.
REMEDIES = {
    "RESET_GPU": "reset the GPU, or reboot; if it recurs, have it replaced",
    "RESTART_BM": "power-cycle the node; if it recurs, check slot, power and riser, or have the GPU replaced",
    "RESTART_VM": "restart the virtual machine",
    "WORKFLOW_XID_48": "reset the GPU, or reboot; if it recurs, have it replaced",
    "WORKFLOW_NVLINK_ERR": "reset the GPUs at both ends, or reboot; if it recurs, have the link inspected",
    "WORKFLOW_NVLINK5_ERR": "reset the GPUs at both ends, or reboot; if it recurs, have the link inspected",
    "CHECK_MECHANICALS": "check the power cables and the seat of the board",
    "RESTART_APP": "reset the GPU when no job needs it",
    "UPDATE_SWFW": "update driver and firmware",
    "CHECK_UVM": "reset the GPU if programs used managed memory",
    "CONTACT_SUPPORT": "ask the vendor if it recurs",
    "IGNORE": "reset the GPU when no job needs it, if it persists",
    "XID_154": "do what the driver's line asks for",
    "none": "reset the GPU, or reboot, when no job needs it",
}


@dataclass(frozen=True)
class Xid:
    """One number of the table. ``bucket``: the catalogue's immediate action; ``none``: it gives none."""

    number: int
    name: str
    kind: str
    bucket: str
    words: str

    @property
    def remedy(self) -> str:
        """What to do about it; nothing about an application's."""
        return "" if self.kind == APPLICATION else REMEDIES.get(self.bucket, "")


def _xids(numbers: Iterable[int], name: str, kind: str, bucket: str, words: str) -> list[Xid]:
    return [Xid(number, name, kind, bucket, words) for number in numbers]


_TABLE = (
    *_xids((8,), "FIFO_ERROR_IDLE_TIMEOUT", APPLICATION, "RESTART_APP", "a channel stopped"),
    *_xids((11,), "GR_ERROR_MISSING_HW", APPLICATION, "RESTART_APP", "invalid commands"),
    *_xids((13,), "GR_EXCEPTION", APPLICATION, "RESTART_APP", "a fault of the program's kernel"),
    *_xids((14,), "FAKE_ERROR", APPLICATION, "IGNORE", "an injected error"),
    *_xids((25,), "GR_ILLEGAL_NOTIFY", APPLICATION, "RESTART_APP", "invalid commands"),
    *_xids((31,), "FIFO_ERROR_MMU_ERR_FLT", APPLICATION, "RESTART_APP", "a page fault of the program"),
    *_xids((32,), "PBDMA_ERROR", APPLICATION, "RESTART_APP", "invalid commands"),
    *_xids((37,), "FECS_ERR_UNIMP_FIRMWARE_METHOD", APPLICATION, "IGNORE", "an unknown method"),
    *_xids((38,), "FECS_ERR_WATCHDOG_TIMEOUT", APPLICATION, "IGNORE", "a watchdog of the firmware"),
    *_xids(range(39, 42), "CE_ERROR", APPLICATION, "RESTART_APP", "an exception of a copy engine"),
    *_xids((43,), "RESETCHANNEL_VERIF_ERROR", APPLICATION, "IGNORE", "a program's channel was reset"),
    *_xids((44,), "GR_FAULT_DURING_CTXSW", APPLICATION, "IGNORE", "a fault while contexts were switched"),
    *_xids((45,), "PREEMPTIVE_REMOVAL", APPLICATION, "WORKFLOW_XID_45", "a program was ended, or follows another Xid"),
    *_xids((46,), "GPU_TIMEOUT_ERROR", RESET, "RESET_GPU", "the GPU stopped"),
    *_xids((48,), "GPU_ECC_DBE", HARD, "WORKFLOW_XID_48", "a double-bit ECC error"),
    *_xids((54,), "PWR_REDUCED_CLOCKING", HARD, "CHECK_MECHANICALS", "auxiliary power is not connected"),
    *_xids((60,), "SEC2_ERROR", APPLICATION, "RESTART_APP", "an exception of a video engine"),
    *_xids((62,), "PMU_HALT_ERROR", HARD, "RESET_GPU", "a micro-controller of the GPU halted"),
    *_xids(
        (63,),
        "INFOROM_DRAM_RETIREMENT_EVENT",
        RESET,
        "IGNORE",
        "a bad row or page of memory was recorded for replacement",
    ),
    *_xids(
        (64,), "INFOROM_DRAM_RETIREMENT_FAILURE", HARD, "RESET_GPU", "a bad row or page of memory could not be replaced"
    ),
    *_xids((66,), "FECS_ERR_REG_ACCESS_VIOLATION", APPLICATION, "IGNORE", "an illegal access by the driver"),
    *_xids((67,), "FECS_ERR_VERIF_VIOLATION", APPLICATION, "IGNORE", "an illegal access by the driver"),
    *_xids((68,), "NVDEC0_ERROR", APPLICATION, "RESTART_APP", "an exception of a decoder"),
    *_xids((69,), "GR_CLASS_ERROR", APPLICATION, "RESTART_APP", "invalid commands"),
    *_xids(range(70, 73), "CE_ERROR", APPLICATION, "RESTART_APP", "an exception of a copy engine"),
    *_xids((74,), "NVLINK_ERROR", HARD, "WORKFLOW_NVLINK_ERR", "an NVLink error"),
    *_xids(range(75, 78), "CE_ERROR", APPLICATION, "RESTART_APP", "an exception of a copy engine"),
    *_xids((78,), "VGPU_START_ERROR", LOOK, "UPDATE_SWFW", "a virtual GPU did not start"),
    *_xids((79,), "GPU_HAS_FALLEN_OFF_THE_BUS", HARD, "RESTART_BM", "the GPU has fallen off the bus"),
    *_xids((80,), "PBDMA_PUSHBUFFER_CRC_MISMATCH", APPLICATION, "RESTART_APP", "commands that were corrupted"),
    *_xids((82,), "NVJPG0_ERROR", APPLICATION, "RESTART_APP", "an exception of a decoder"),
    *_xids(range(83, 85), "NVDEC_ERROR", APPLICATION, "RESTART_APP", "an exception of a decoder"),
    *_xids((85,), "CE9_ERROR", APPLICATION, "RESTART_APP", "an exception of a copy engine"),
    *_xids((86,), "OFA0_ERROR", APPLICATION, "RESTART_APP", "an exception of the optical flow engine"),
    *_xids(range(88, 90), "NVDEC_ERROR", APPLICATION, "RESTART_APP", "an exception of a decoder"),
    *_xids((92,), "EXCESSIVE_SBE_INTERRUPTS", LOOK, "IGNORE", "many single-bit ECC errors"),
    *_xids((93,), "INFOROM_ERASE_LIMIT_EXCEEDED", LOOK, "IGNORE", "the InfoROM's limit of writes is reached"),
    *_xids((94,), "CONTAINED_ERROR", HARD, "RESTART_APP", "an uncorrectable memory error, contained to one program"),
    *_xids((95,), "UNCONTAINED_ERROR", HARD, "RESET_GPU", "an uncorrectable memory error, not contained"),
    *_xids(range(96, 99), "NVDEC_ERROR", APPLICATION, "RESTART_APP", "an exception of a decoder"),
    *_xids(range(99, 106), "NVJPG_ERROR", APPLICATION, "RESTART_APP", "an exception of a decoder"),
    *_xids(range(106, 108), "SMBPBI_TEST_MESSAGE", APPLICATION, "IGNORE", "a test message"),
    *_xids((109,), "CTXSW_TIMEOUT_ERROR", RESET, "RESET_GPU", "contexts could not be switched"),
    *_xids((110,), "SEC_FAULT_ERROR", HARD, "RESET_GPU", "a security fault"),
    *_xids((119,), "GSP_RPC_TIMEOUT", HARD, "RESET_GPU", "the GPU's system processor does not answer"),
    *_xids((120,), "GSP_ERROR", HARD, "RESET_GPU", "an error of the GPU's system processor"),
    *_xids((121,), "C2C_ERROR", LOOK, "IGNORE", "corrected errors of the link to the CPU"),
    *_xids(range(126, 136), "CE_ERROR", APPLICATION, "RESTART_APP", "an exception of a copy engine"),
    *_xids((136,), "ALI_TRAINING_FAIL", HARD, "RESET_GPU", "an NVLink could not be trained"),
    *_xids((137,), "NVLINK_PRIV_ERR", APPLICATION, "IGNORE", "an illegal access over NVLink"),
    *_xids((139,), "OFA1_ERROR", APPLICATION, "RESTART_APP", "an exception of the optical flow engine"),
    *_xids((140,), "UNRECOVERABLE_ECC_ERROR_ESCAPE", HARD, "RESET_GPU", "an uncorrectable memory error"),
    *_xids((141,), "FAST_PATH_ERROR", APPLICATION, "IGNORE", "an error of CUDA's fast path"),
    *_xids((142,), "NVENC3_ERROR", LOOK, "CONTACT_SUPPORT", "an exception of an encoder"),
    *_xids((143,), "GPU_INIT_ERROR", HARD, "RESET_GPU", "the GPU could not be initialised"),
    *_xids((144,), "NVLINK_SAW_ERROR", NVLINK5, "WORKFLOW_NVLINK5_ERR", "an NVLink error"),
    *_xids((145,), "NVLINK_RLW_ERROR", NVLINK5, "WORKFLOW_NVLINK5_ERR", "an NVLink error"),
    *_xids((146,), "NVLINK_TLW_ERROR", NVLINK5, "WORKFLOW_NVLINK5_ERR", "an NVLink error"),
    *_xids((147,), "NVLINK_TREX_ERROR", NVLINK5, "WORKFLOW_NVLINK5_ERR", "an NVLink error"),
    *_xids((148,), "NVLINK_NVLPW_CTRL_ERROR", NVLINK5, "WORKFLOW_NVLINK5_ERR", "an NVLink error"),
    *_xids((149,), "NVLINK_NETIR_ERROR", NVLINK5, "WORKFLOW_NVLINK5_ERR", "an NVLink error"),
    *_xids((150,), "NVLINK_MSE_ERROR", NVLINK5, "WORKFLOW_NVLINK5_ERR", "an NVLink error"),
    *_xids((151,), "KEY_ROTATION_ERROR", RESET, "RESTART_VM", "a key could not be changed"),
    *_xids(range(152, 154), "DLA_ERROR", APPLICATION, "IGNORE", "an error of a DLA"),
    *_xids((154,), "GPU_RECOVERY_ACTION_CHANGED", ACTION, "XID_154", "the recovery action changed"),
    *_xids((155,), "NVLINK_SW_DEFINED_ERROR", RESET, "RESET_GPU", "an NVLink was taken down"),
    *_xids((156,), "RESOURCE_RETIREMENT_EVENT", RESET, "RESET_GPU", "a part of the GPU is retired at its next reset"),
    *_xids((157,), "RESOURCE_RETIREMENT_FAILURE", LOOK, "IGNORE", "a part of the GPU could not be retired"),
    *_xids((158,), "GPU_FATAL_TIMEOUT", HARD, "RESET_GPU", "a fatal timeout"),
    *_xids((159,), "CHI_NON_DATA_ERROR", LOOK, "CHECK_UVM", "an error of the link to the CPU"),
    *_xids((160,), "CHANNEL_RETIREMENT_EVENT", LOOK, "IGNORE", "a memory channel is retired"),
    *_xids((161,), "CHANNEL_RETIREMENT_FAILURE", LOOK, "IGNORE", "a memory channel could not be retired"),
    *_xids(range(162, 166), "PSHC", LOOK, "none", "power smoothing changed"),
    *_xids((166,), "NVLINK_SECURE_CRYPTO_ERR", LOOK, "none", "traffic before NVLink was encrypted"),
    *_xids((167,), "PCIE_FATAL_TIMEOUT", RESET, "none", "a fatal timeout of PCIe"),
    *_xids((168,), "REDUCED_GPU_MEMORY_CAPACITY", LOOK, "none", "memory is left out after errors"),
    *_xids((169,), "SEC2_HALT_ERROR", RESET, "none", "a micro-controller of the GPU halted"),
    *_xids((170,), "NVLINK_SECURE_OTHER", LOOK, "none", "an interrupt in confidential computing"),
    *_xids((171,), "UNCORRECTABLE_DRAM_ERROR", HARD, "none", "an uncorrectable error in DRAM"),
    *_xids((172,), "UNCORRECTABLE_SRAM_ERROR", HARD, "none", "an uncorrectable error in SRAM"),
)
#: The table by number.
XIDS = {xid.number: xid for xid in _TABLE}


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
    3: Action("drain_p2p", RESET, "keep jobs off copies between GPUs, and reset the GPU"),
    4: Action("drain_and_reset", HARD, "drain the node and reset the GPU"),
    5: Action("recover_imex_domain", LOOK, "recover the IMEX domain"),
    6: Action("bus_reset", HARD, "reset the GPU's bus, or reboot"),
    7: Action("system_reboot", HARD, "reboot the node"),
}


def verdict(kind: str) -> tuple[str, bool]:
    """The verdict of a kind, and whether it is hard evidence."""
    return {HARD: ("FAIL", True), APPLICATION: (NOT_JUDGED, False)}.get(kind, ("DEGRADED", False))
