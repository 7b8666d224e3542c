"""What the driver counts of a GPU's memory: errors that could not be corrected, rows that could not be replaced."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class GpuMemory:
    """Of one GPU by its bus id; None: the driver did not say. ``uncorrected``: errors since its last reset.

    ``replacement_failed``: a bad row could not be replaced; ``replacement_waits``: one will be at the next reset.
    """

    pci: str
    uncorrected: int | None = None
    replacement_failed: bool | None = None
    replacement_waits: bool | None = None


def read_gpu_memory(known: Iterable[str], nvml: Any = None) -> list[GpuMemory]:
    """Ask the driver about the GPUs at some bus ids; nothing where there is no driver. ``nvml`` stands in for ``pynvml``."""
    if nvml is None:
        try:
            nvml = importlib.import_module("pynvml")
        except ImportError:
            return []
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return []
    try:
        return [_read(nvml, pci) for pci in known]
    finally:
        with contextlib.suppress(nvml.NVMLError):
            nvml.nvmlShutdown()


def _read(nvml: Any, pci: str) -> GpuMemory:
    try:
        handle = nvml.nvmlDeviceGetHandleByPciBusId(pci)
    except nvml.NVMLError:
        return GpuMemory(pci)
    errors = rows = None
    with contextlib.suppress(nvml.NVMLError, AttributeError):
        errors = int(
            nvml.nvmlDeviceGetTotalEccErrors(handle, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC)
        )
    with contextlib.suppress(nvml.NVMLError, AttributeError):
        rows = nvml.nvmlDeviceGetRemappedRows(handle)  # corrected, uncorrected, waits, failed
    return GpuMemory(pci, errors, None if rows is None else bool(rows[3]), None if rows is None else bool(rows[2]))
