"""Questions to the driver of which each may go unanswered by itself."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .source import Now

#: Answers that say "this GPU or driver does not have it", by their names in NVML.
_HAS_NOT = ("NVML_ERROR_NOT_SUPPORTED", "NVML_ERROR_FUNCTION_NOT_FOUND", "NVML_ERROR_ARGUMENT_VERSION_MISMATCH",
            "NVML_ERROR_DEPRECATED", "NVML_ERROR_INVALID_ARGUMENT", "NVML_ERROR_NOT_FOUND", "NVML_ERROR_NO_DATA")  # fmt: skip


class GpuAnswers:
    """One GPU as the driver answers for it. What it does not have is None; what failed otherwise is in ``unread`` as well, and
    after an answer that it is lost it is asked no more."""

    def __init__(self, nvml: Any, pci: str) -> None:
        """``pci`` as ``0000:1b:00.0``."""
        self.nvml = nvml
        self.pci = pci
        self.failed: list[str] = []
        self._lost = False
        self._handle: Any = None
        self._handle = self._call("nvmlDeviceGetHandleByPciBusId", pci)

    @property
    def there(self) -> bool:
        """Whether the driver knows it at all."""
        return self._handle is not None

    def ask(self, function: str, *arguments: Any) -> Any:
        """A function's answer for this GPU; None where there is none."""
        return self._call(function, self._handle, *arguments) if self.there else None

    def fields(self, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Field values by (name without ``NVML_FI_DEV_``, scope), of those that this NVML, driver and GPU have."""
        numbers = {
            (int(number), scope): (name, scope)
            for name, scope in wanted
            if isinstance(number := getattr(self.nvml, f"NVML_FI_DEV_{name}", None), int)
        }
        found: dict[tuple[str, int], int] = {}
        for value in self.ask("nvmlDeviceGetFieldValues", list(numbers)) or () if numbers else ():
            key = numbers.get((int(value.fieldId), int(value.scopeId)))
            if key is not None and value.nvmlReturn == 0:
                found[key] = _field_value(value)
        return found

    def filled(self, function: str, structure: str, version: str) -> Any:
        """A structure (its type's name in ``pynvml``) as a function fills it; None where there is no answer."""
        kind, number = getattr(self.nvml, structure, None), getattr(self.nvml, version, None)
        if kind is None or number is None:
            return None
        made = kind()
        made.version = number
        return None if self.ask(function, ctypes.byref(made)) is None else made

    def _call(self, function: str, *arguments: Any) -> Any:
        call = getattr(self.nvml, function, None)
        if call is None or self._lost:
            return None
        try:
            return call(*arguments)
        except self.nvml.NVMLError as error:
            code = getattr(error, "value", None)
            if code not in [getattr(self.nvml, name, None) for name in _HAS_NOT]:
                self.failed.append(f"{function}: {error}")
            if code in (
                getattr(self.nvml, "NVML_ERROR_GPU_IS_LOST", 15),
                getattr(self.nvml, "NVML_ERROR_RESET_REQUIRED", 16),
            ):
                self._lost = True
            return None


def each(now: Now) -> Iterator[GpuAnswers]:
    """The node's GPUs, where a driver answers."""
    if now.nvml is not None:
        for pci in now.gpus:
            yield GpuAnswers(now.nvml, pci)


def unread(now: Now, gpus: Iterable[GpuAnswers], what: str) -> tuple[str, ...]:
    """A sentence for each GPU of which something could not be read: the first reason stands for all."""
    return tuple(f"{what} of GPU {now.gpus[gpu.pci]}: {gpu.failed[0]}" for gpu in gpus if gpu.failed)


def _field_value(value: Any) -> int:
    """The member of the union that the type names: 0 double, 1 unsigned int, 2 unsigned long, 3 and 4 of 64 bit, 5 int."""
    members = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal"}
    return int(getattr(value.value, members.get(int(value.valueType), "ullVal")))
