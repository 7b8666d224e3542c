"""What NVIDIA's driver says of each GPU that decides a verdict: memory errors, NVLink, the fabric, what it asks for."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar.base import Finding

from . import messages
from .source import Now, Seen

#: Retired pages of a GPU above which it is to be replaced: DCGM's ``DCGM_LIMIT_MAX_RETIRED_PAGES`` (dcgm_gpu_hardware_limits.h).
MOST_PAGES = 63
#: Flit CRC errors a second above which a link is broken: DCGM's ``crc_error_threshold``, as during a run (document_findings.py).
MOST_FLIT_ERRORS = 100.0
#: NVML's counters of a lane up to NVLink 4 (``NVML_NVLINK_ERROR_DL_*``) that can make a link broken.
_COUNTERS = {1: "recovery", 2: "CRC flit"}
#: The field of NVML that counts them per lane from NVLink 5 on.
_FAILED = "NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS"
#: NVML's states of a GPU's registration with its NVLink fabric that no program can use it in, and the one that is complete.
_FABRIC = {1: "not started", 2: "in progress"}
_REGISTERED = 3
#: Answers that say "this GPU or driver does not have it", by their names in NVML.
_HAS_NOT = ("NVML_ERROR_NOT_SUPPORTED", "NVML_ERROR_FUNCTION_NOT_FOUND", "NVML_ERROR_ARGUMENT_VERSION_MISMATCH",
            "NVML_ERROR_DEPRECATED", "NVML_ERROR_INVALID_ARGUMENT", "NVML_ERROR_NOT_FOUND", "NVML_ERROR_NO_DATA")  # fmt: skip


@dataclass(frozen=True)
class GpuAnswered:
    """One GPU as the driver answers for it; None: it did not say."""

    pci: str
    #: Uncorrected memory errors since the driver was loaded or the GPU reset.
    uncorrected: int | None = None
    #: A bad row could not be replaced.
    row_failed: bool = False
    #: A row or page will be replaced at the next reset.
    row_waits: bool = False
    #: Pages retired in its lifetime (GPUs before Ampere).
    pages: int = 0
    #: More errors in SRAM than NVIDIA allows.
    sram_exceeded: bool = False
    #: Whether each NVLink lane is up.
    lanes: Mapping[int, bool] = field(default_factory=dict)
    #: NVLink errors by kind, since the driver was loaded.
    errors: Mapping[str, int] = field(default_factory=dict)
    #: NVML's state and status (0: well) of its registration with the NVLink fabric.
    fabric: tuple[int, int] = (0, 0)
    #: NVML's recovery action; 0: none.
    action: int | None = None
    #: Why something could not be read.
    failed: str = ""


def open_nvml() -> Any:
    """NVML, initialised; None where no driver answers. It is not shut down: the process ends after its questions."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return None
    with suppress(nvml.NVMLError):
        nvml.nvmlInit()
        return nvml
    return None


def read(root: Path) -> tuple[GpuAnswered, ...]:
    """Ask the driver about each GPU that the kernel, or where that shows none the driver, lists."""
    from nearfar.topology import inventory

    nvml = open_nvml()
    if nvml is None:
        return ()
    return tuple(_read(_GpuAnswers(nvml, gpu.pci)) for gpu in inventory.gpus_without_hwloc(nvml, root))


def classify(now: Now, gpus: Iterable[GpuAnswered]) -> Seen:
    """What the answers mean. How many lanes there have to be is the site's file to say: one that goes down is DEGRADED. A GPU that is
    not registered with its fabric is FAIL and not hard: a restart of fabric manager may be all that it needs."""
    gpus = list(gpus)
    before = now.past if now.same_boot else {}
    seconds = max(0.0, now.at - float(before.get("at") or 0.0))
    up_before, errors_before = before.get("up") or {}, before.get("errors") or {}
    found: list[Finding] = []
    for gpu in gpus:
        found += [now.finding(message, gpu.pci, part, **fields) for message, part, fields in _memory(gpu)]
        for kind, count in gpu.errors.items():
            grown = count - errors_before.get(gpu.pci, {}).get(kind, count)
            if grown > (MOST_FLIT_ERRORS * seconds if kind == "CRC flit" else 0):
                found.append(now.finding(messages.NVLINK_BROKEN, gpu.pci, "nvlink", errors=grown, counter=kind))
        down = [lane for lane in up_before.get(gpu.pci, []) if gpu.lanes.get(lane) is False]
        if down:
            found.append(now.finding(messages.NVLINK_DOWN, gpu.pci, "nvlink", count=len(down), lanes=down))
        state, status = gpu.fabric
        if state in _FABRIC:
            found.append(now.finding(messages.FABRIC_INCOMPLETE, gpu.pci, "fabric", state=_FABRIC[state]))
        elif state == _REGISTERED and status:
            found.append(now.finding(messages.FABRIC_FAILED, gpu.pci, "fabric", status=status))
        if gpu.action:
            message = messages.RECOVERY.get(gpu.action, messages.RECOVERY_OTHER)
            found.append(now.finding(message, gpu.pci, "recovery", action=gpu.action))
    # A lane that went down counts as up until a new boot.
    up = {
        gpu.pci: sorted({lane for lane, is_up in gpu.lanes.items() if is_up} | {*up_before.get(gpu.pci, ())})
        for gpu in gpus if gpu.lanes
    }  # fmt: skip
    return Seen(
        f"{len(gpus)} GPUs answered" if gpus else "",
        tuple(found),
        unread=tuple(f"GPU {now.gpus.get(gpu.pci, gpu.pci)}: {gpu.failed}" for gpu in gpus if gpu.failed),
        past={"up": up, "errors": {gpu.pci: dict(gpu.errors) for gpu in gpus}},
    )


def _memory(gpu: GpuAnswered) -> Iterable[tuple[Any, str, dict[str, Any]]]:
    if gpu.uncorrected:
        yield messages.MEMORY_UNCORRECTABLE, "memory", {"errors": gpu.uncorrected}
    if gpu.row_failed:
        yield messages.ROW_REMAP_FAILED, "memory", {}
    elif gpu.row_waits:
        yield messages.ROW_REMAP_PENDING, "memory", {}
    if gpu.sram_exceeded:
        yield messages.SRAM_THRESHOLD, "sram", {}
    if gpu.pages > MOST_PAGES:
        yield messages.PAGES_RETIRED, "pages", {"pages": gpu.pages, "limit": MOST_PAGES}


class _GpuAnswers:
    """Questions about one GPU of which each may go unanswered by itself. What it does not have is None; the first that failed
    otherwise is in ``failed``. After an answer that it is lost it is asked no more."""

    def __init__(self, nvml: Any, pci: str) -> None:
        self.nvml, self.pci, self.failed = nvml, pci, ""
        self._lost = False
        self._handle = self._call("nvmlDeviceGetHandleByPciBusId", pci)

    def ask(self, function: str, *arguments: Any) -> Any:
        """A function's answer for this GPU; None where there is none."""
        return None if self._handle is None else self._call(function, self._handle, *arguments)

    def fields(self, name: str, scopes: Sequence[int] = (0,)) -> list[int]:
        """The values of a field (without ``NVML_FI_DEV_``), of those scopes that have one."""
        number = getattr(self.nvml, f"NVML_FI_DEV_{name}", None)
        pairs = [(number, scope) for scope in scopes if number]
        values = self.ask("nvmlDeviceGetFieldValues", pairs) if pairs else ()
        # The member of the union that the type names: double, unsigned int, unsigned long, two of 64 bit, int.
        members = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal")
        return [int(getattr(v.value, members[int(v.valueType)])) for v in values or () if v.nvmlReturn == 0]

    def filled(self, function: str, structure: str, version: str) -> Any:
        """A structure (its type's name in ``pynvml``) as a function fills it; None where there is no answer."""
        kind, number = getattr(self.nvml, structure, None), getattr(self.nvml, version, None)
        if kind is None or number is None:
            return None
        made = kind()
        made.version = number
        return None if self.ask(function, ctypes.byref(made)) is None else made

    def _call(self, function: str, *arguments: Any) -> Any:
        nvml = self.nvml
        call = getattr(nvml, function, None)
        if call is None or self._lost:
            return None
        try:
            return call(*arguments)
        except nvml.NVMLError as error:
            if error.value not in [getattr(nvml, name, None) for name in _HAS_NOT]:
                self.failed = self.failed or f"{function}: {error}"
            self._lost = error.value in (nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_RESET_REQUIRED)
            return None


def _read(gpu: _GpuAnswers) -> GpuAnswered:
    nvml = gpu.nvml
    mig = gpu.ask("nvmlDeviceGetMigMode")
    lanes = {}
    if not (mig and mig[0]):  # the driver takes lanes down while a GPU is divided
        for lane in range(getattr(nvml, "NVML_NVLINK_MAX_LINKS", 18)):
            if (state := gpu.ask("nvmlDeviceGetNvLinkState", lane)) is not None:
                lanes[lane] = bool(state)
    errors = {"failed recovery": gpu.fields(_FAILED, list(lanes))}
    for number, kind in _COUNTERS.items():
        errors[kind] = [gpu.ask("nvmlDeviceGetNvLinkErrorCounter", lane, number) for lane in lanes]
    fabric = gpu.filled("nvmlDeviceGetGpuFabricInfoV", "c_nvmlGpuFabricInfo_v2_t", "nvmlGpuFabricInfo_v2")
    sram = gpu.filled("nvmlDeviceGetSramEccErrorStatus", "c_nvmlEccSramErrorStatus_v1_t", "nvmlEccSramErrorStatus_v1")
    which = getattr(nvml, "NVML_MEMORY_ERROR_TYPE_UNCORRECTED", 1), getattr(nvml, "NVML_VOLATILE_ECC", 0)
    uncorrected = gpu.ask("nvmlDeviceGetTotalEccErrors", *which)
    rows = gpu.ask("nvmlDeviceGetRemappedRows")  # corrected, uncorrected, waits, failed
    pages: list[Any] = []
    waits = rows[2] if rows else None
    if not rows:  # before Ampere pages were retired in place of rows
        for cause in ("MULTIPLE_SINGLE_BIT_ECC_ERRORS", "DOUBLE_BIT_ECC_ERROR"):
            code = getattr(nvml, f"NVML_PAGE_RETIREMENT_CAUSE_{cause}", None)
            pages += (gpu.ask("nvmlDeviceGetRetiredPages", code) if code is not None else None) or ()
        waits = gpu.ask("nvmlDeviceGetRetiredPagesPendingStatus")
    # A GPU without a lane that is up (one of a host, in a virtual machine) needs no fabric.
    joined = fabric is not None and any(lanes.values())
    return GpuAnswered(
        gpu.pci, uncorrected, bool(rows and rows[3]), bool(waits), len(pages), bool(sram and sram.bThresholdExceeded), lanes,
        {kind: sum(filter(None, counts)) for kind, counts in errors.items() if any(count is not None for count in counts)},
        (int(fabric.state), int(fabric.status)) if joined else (0, 0), next(iter(gpu.fields("GET_GPU_RECOVERY_ACTION")), None),
        gpu.failed,
    )  # fmt: skip
