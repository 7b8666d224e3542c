"""What the driver counts of the GPUs' memory: uncorrected errors, rows and pages that were or are to be replaced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nearfar.base import Finding

from . import messages
from .counters import Growth, growth
from .nvml_answers import GpuAnswers, each, unread
from .source import Now, Seen

#: Retired pages of a GPU above which it is to be replaced: DCGM's ``DCGM_LIMIT_MAX_RETIRED_PAGES`` (dcgm_gpu_hardware_limits.h).
MOST_PAGES = 63


@dataclass(frozen=True)
class GpuMemory:
    """Of one GPU by its bus id; None: the driver did not say.

    ``uncorrected``: errors since the driver was loaded or the GPU reset. ``failed``: a bad row could not be replaced; ``waits``: a
    row or page will be at the next reset. ``rows_corrected``, ``rows_uncorrected``: rows replaced in its lifetime after errors of
    that kind; ``pages``: pages retired (GPUs before Ampere). ``sram_exceeded``: errors in SRAM beyond what NVIDIA allows.
    """

    pci: str
    uncorrected: int | None = None
    failed: bool | None = None
    waits: bool | None = None
    rows_corrected: int | None = None
    rows_uncorrected: int | None = None
    pages: int | None = None
    sram_exceeded: bool | None = None


def look(now: Now) -> Seen:
    """Ask the driver, and say what it counts."""
    gpus = list(each(now))
    return classify(now, [_read(gpu) for gpu in gpus], unread(now, gpus, "memory errors"))


def classify(now: Now, told: Iterable[GpuMemory], not_read: tuple[str, ...] = ()) -> Seen:
    """Uncorrected errors, a row that could not be replaced and what is worn out are FAIL; what waits for a reset, and rows that were
    replaced since the last look, DEGRADED."""
    told = list(told)
    counters = {f"{one.pci} {kind}": count for one in told for kind, count in _lifetime(one) if count is not None}
    grown = growth(now, counters, lifetime=True)
    found, notes = [], []
    for one in told:
        found += _findings(now, one, grown)
        if grown.went_back(one.pci):
            notes.append(now.finding(messages.ROWS_RESET, one.pci, "rows"))
    answered = sum(one.uncorrected is not None or one.failed is not None for one in told)
    return Seen(
        f"{answered} GPUs count memory errors" if answered else "", tuple(found), tuple(notes), not_read, grown.past
    )


def _findings(now: Now, one: GpuMemory, grown: Growth) -> list[Finding]:
    found = []
    if one.uncorrected:
        found.append(now.finding(messages.MEMORY_UNCORRECTABLE, one.pci, "memory", errors=one.uncorrected))
    if one.failed:
        found.append(now.finding(messages.ROW_REMAP_FAILED, one.pci, "memory"))
    elif one.waits:
        found.append(now.finding(messages.ROW_REMAP_PENDING, one.pci, "memory"))
    if one.sram_exceeded:
        found.append(now.finding(messages.SRAM_THRESHOLD, one.pci, "sram"))
    if one.pages is not None and one.pages > MOST_PAGES:
        found.append(now.finding(messages.PAGES_RETIRED, one.pci, "pages", pages=one.pages, limit=MOST_PAGES))
    for cause in ("uncorrected", "corrected"):
        if rows := grown.grown.get(f"{one.pci} {cause} rows"):
            found.append(now.finding(messages.ROWS_REMAPPED, one.pci, "rows", rows=rows, cause=cause))
    return found


def _lifetime(one: GpuMemory) -> tuple[tuple[str, int | None], ...]:
    return ("corrected rows", one.rows_corrected), ("uncorrected rows", one.rows_uncorrected), ("pages", one.pages)


def _read(gpu: GpuAnswers) -> GpuMemory:
    nvml = gpu.nvml
    uncorrected = gpu.ask(
        "nvmlDeviceGetTotalEccErrors",
        getattr(nvml, "NVML_MEMORY_ERROR_TYPE_UNCORRECTED", 1),
        getattr(nvml, "NVML_VOLATILE_ECC", 0),
    )
    rows = gpu.ask("nvmlDeviceGetRemappedRows")  # corrected, uncorrected, waits, failed
    pages = None
    waits = None if rows is None else bool(rows[2])
    if rows is None:  # before Ampere pages were retired in place of rows
        causes = (
            getattr(nvml, f"NVML_PAGE_RETIREMENT_CAUSE_{name}", None)
            for name in ("MULTIPLE_SINGLE_BIT_ECC_ERRORS", "DOUBLE_BIT_ECC_ERROR")
        )
        lists = [gpu.ask("nvmlDeviceGetRetiredPages", cause) for cause in causes if cause is not None]
        pages = sum(len(one) for one in lists if one is not None) if any(one is not None for one in lists) else None
        pending = gpu.ask("nvmlDeviceGetRetiredPagesPendingStatus")
        waits = None if pending is None else bool(pending)
    sram = gpu.filled("nvmlDeviceGetSramEccErrorStatus", "c_nvmlEccSramErrorStatus_v1_t", "nvmlEccSramErrorStatus_v1")
    return GpuMemory(
        gpu.pci,
        None if uncorrected is None else int(uncorrected),
        None if rows is None else bool(rows[3]),
        waits,
        None if rows is None else int(rows[0]),
        None if rows is None else int(rows[1]),
        pages,
        None if sram is None else bool(sram.bThresholdExceeded),
    )
