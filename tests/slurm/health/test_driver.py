"""What the driver counts of each GPU: memory, NVLink, the fabric, what it asks for."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import pytest

from nearfar.slurm.health import driver
from nearfar.slurm.health.driver import GpuAnswered
from nearfar.slurm.health.source import Now, Seen
from nearfar.topology import Gpu, inventory
from tests.support.counting_nvml import CountingNvml
from tests.support.fake_nvml import NVMLError

A, B = "0000:06:00.0", "0000:07:00.0"
UP = {0: True, 1: True, 2: True}


def now(past: Seen | None = None, boot: str = "b") -> Now:
    """A check; ``past``: the one before it, 300 s ago in boot ``b``."""
    kept: dict[str, Any] = {} if past is None else {**past.past, "boot": "b", "at": 700.0}
    return Now({A: 0, B: 1}, boot, 1000.0, json.loads(json.dumps(kept)))


def judged(*gpus: GpuAnswered, past: Seen | None = None, boot: str = "b") -> Seen:
    return driver.classify(now(past, boot), gpus)


def found(seen: Seen) -> list[tuple[str, str, bool]]:
    return [(one.subject, one.verdict, one.hard) for one in seen.findings]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (GpuAnswered(A), []),
        (GpuAnswered(A, 0), []),
        (GpuAnswered(A, 3, row_waits=True), [("g0.memory", "FAIL", True), ("g0.memory", "DEGRADED", False)]),
        (GpuAnswered(A, row_failed=True, row_waits=True), [("g0.memory", "FAIL", True)]),
        (GpuAnswered(B, row_waits=True), [("g1.memory", "DEGRADED", False)]),
        (GpuAnswered(A, pages=63), []),
        (GpuAnswered(A, pages=64), [("g0.pages", "FAIL", True)]),
        (GpuAnswered(A, sram_exceeded=True), [("g0.sram", "FAIL", True)]),
        (GpuAnswered(A, fabric=(3, 0)), []),
        (GpuAnswered(A, fabric=(1, 0)), [("g0.fabric", "FAIL", False)]),
        (GpuAnswered(A, fabric=(3, 999)), [("g0.fabric", "FAIL", False)]),
        (GpuAnswered(A, action=0), []),
        (GpuAnswered(A, action=1), [("g0.recovery", "FAIL", True)]),
        (GpuAnswered(A, action=3), [("g0.recovery", "DEGRADED", False)]),
        (GpuAnswered(A, action=77), [("g0.recovery", "DEGRADED", False)]),
    ],
)
def test_one_gpu(state: GpuAnswered, expected: list[tuple[str, str, bool]]) -> None:
    assert found(judged(state)) == expected


@pytest.mark.parametrize(
    ("kind", "count", "broken"),
    [("CRC flit", 30000, False), ("CRC flit", 30001, True), ("recovery", 1, True), ("failed recovery", 1, True), ("recovery", 0, False)],
)  # fmt: skip
def test_errors_on_nvlink(kind: str, count: int, broken: bool) -> None:
    first = judged(GpuAnswered(A, lanes=UP, errors={kind: 70}))
    assert found(first) == [], "a first check establishes"
    after = GpuAnswered(A, lanes=UP, errors={kind: 70 + count})
    assert found(judged(after, past=first)) == ([("g0.nvlink", "FAIL", True)] if broken else [])
    assert found(judged(after, past=first, boot="new")) == []
    assert found(judged(GpuAnswered(A, lanes=UP, errors={kind: 3}), past=first)) == [], "a driver that was loaded anew"


def test_a_lane_that_went_down() -> None:
    first = judged(GpuAnswered(A, lanes={**UP, 3: False}))
    assert found(first) == []
    down = judged(GpuAnswered(A, lanes={**UP, 1: False, 3: False}), past=first)
    assert found(down) == [("g0.nvlink", "DEGRADED", False)]
    assert (down.findings[0].code, down.findings[0].fields["lanes"]) == ("nvlink.down", [1])
    assert len(found(judged(GpuAnswered(A, lanes={**UP, 1: False, 3: False}), past=down))) == 1, "it stays down"
    assert found(judged(GpuAnswered(A, lanes={**UP, 1: False}), past=first, boot="new")) == [], (
        "the site's file says how many"
    )


def read(monkeypatch: pytest.MonkeyPatch, nvml: CountingNvml) -> tuple[GpuAnswered, ...]:
    monkeypatch.setattr(driver, "open_nvml", lambda: nvml)
    monkeypatch.setattr(inventory, "gpus_without_hwloc", lambda *_: (Gpu(0, A), Gpu(1, B)))
    return driver.read(Path("/"))


def test_as_the_driver_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    lanes = {"NvLinkState": {(0,): 1, (1,): 0}, "NvLinkErrorCounter": {(0, 1): 3, (1, 1): 4, (0, 2): 5, (1, 2): 0}}
    older = {"RetiredPages": [1, 2], "RetiredPagesPendingStatus": 1, "TotalEccErrors": NVMLError(999, "Unknown Error")}
    nvml = CountingNvml(
        {A: {"TotalEccErrors": 2, "RemappedRows": [1, 2, 1, 0], **lanes}, B: older}, {A: {"GET_GPU_RECOVERY_ACTION": 1}}
    )
    vars(nvml)["NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR"] = 1
    first, second = read(monkeypatch, nvml)
    assert first == GpuAnswered(
        A, 2, row_waits=True, lanes={0: True, 1: False}, errors={"recovery": 7, "CRC flit": 5}, action=1
    )
    assert second == GpuAnswered(B, None, row_waits=True, pages=2, failed="nvmlDeviceGetTotalEccErrors: Unknown Error")
    assert judged(first, second).unread == ("GPU 1: nvmlDeviceGetTotalEccErrors: Unknown Error",)


def test_mig_takes_lanes_down(monkeypatch: pytest.MonkeyPatch) -> None:
    divided = {"MigMode": [1, 1], "NvLinkState": {(0,): 0, (1,): 0}}
    assert read(monkeypatch, CountingNvml({A: divided}))[0].lanes == {}


def test_a_gpu_that_is_lost_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = read(monkeypatch, CountingNvml({A: {"HandleByPciBusId": NVMLError(15, "GPU is lost")}}))[0]
    assert lost == GpuAnswered(A, failed="nvmlDeviceGetHandleByPciBusId: GPU is lost")


def test_the_nvlink_fabric(monkeypatch: pytest.MonkeyPatch) -> None:
    class Info(ctypes.Structure):
        _fields_ = [(name, ctypes.c_uint) for name in ("version", "status", "state", "healthMask")]

    def fill(gpu: str, reference: Any) -> int:
        reference._obj.state = 2
        return 0

    nvml = CountingNvml({A: {}})
    vars(nvml).update(c_nvmlGpuFabricInfo_v2_t=Info, nvmlGpuFabricInfo_v2=7, nvmlDeviceGetGpuFabricInfoV=fill)
    assert read(monkeypatch, nvml)[0].fabric == (0, 0), "a GPU without a lane that is up needs no fabric"
    nvml.answers[A]["NvLinkState"] = {(3,): 1}
    assert read(monkeypatch, nvml)[0].fabric == (2, 0)
