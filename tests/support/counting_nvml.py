"""A stand-in for ``pynvml`` that answers from tables: functions and field values by GPU, errors where the tables say so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.support.fake_nvml import NVMLError

FIELDS = {
    name: number
    for number, name in enumerate(
        (
            "GET_GPU_RECOVERY_ACTION",
            "PCIE_COUNT_CORRECTABLE_ERRORS",
            "CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN",
        ),
        1,
    )
}


class CountingNvml:
    """``answers``: by bus id, function (without ``nvmlDeviceGet``) -> answer, or the error's number as an ``NVMLError``; what is not
    there is not supported. ``fields``: by bus id, name -> value."""

    NVMLError = NVMLError
    NVML_ERROR_NOT_SUPPORTED = 3
    NVML_ERROR_NO_PERMISSION = 4
    NVML_ERROR_GPU_IS_LOST = 15
    NVML_ERROR_RESET_REQUIRED = 16
    NVML_ERROR_UNKNOWN = 999
    NVML_NVLINK_MAX_LINKS = 4

    def __init__(self, answers: dict[str, dict[str, Any]], fields: dict[str, dict[str, int]] | None = None) -> None:
        self.answers = answers
        self.values = fields or {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("NVML_FI_DEV_") and name.removeprefix("NVML_FI_DEV_") in FIELDS:
            return FIELDS[name.removeprefix("NVML_FI_DEV_")]
        if not name.startswith("nvmlDeviceGet"):
            raise AttributeError(name)
        return lambda handle, *rest: self._answer(handle, name.removeprefix("nvmlDeviceGet"), rest)

    def nvmlDeviceGetHandleByPciBusId(self, pci: str) -> str:
        self._answer(pci, "HandleByPciBusId", ()) if "HandleByPciBusId" in self.answers.get(pci, {}) else None
        return pci

    def nvmlDeviceGetFieldValues(self, pci: str, wanted: list[tuple[int, int]]) -> list[Any]:
        names = {number: name for name, number in FIELDS.items()}
        return [
            SimpleNamespace(
                fieldId=number, scopeId=scope, nvmlReturn=0 if (value := self.values.get(pci, {}).get(names[number])) is not None else 3,
                valueType=3, value=SimpleNamespace(ullVal=value or 0),
            )
            for number, scope in wanted
        ]  # fmt: skip

    def _answer(self, pci: str, function: str, rest: tuple[Any, ...]) -> Any:
        answer = self.answers.get(pci, {}).get(function, NVMLError(3, "Not Supported"))
        if isinstance(answer, dict):  # by what it is asked for: a lane, a lane's counter
            answer = answer.get(rest, NVMLError(3, "Not Supported"))
        if isinstance(answer, NVMLError):
            raise answer
        return answer
