"""What driver and kernel count, held against the last look and the node's own past: memory, NVLink, PCI Express, clocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nearfar.slurm.health.sources import counters, memory_errors, nvlink, pcie, recovery, throttle
from nearfar.slurm.health.sources.memory_errors import GpuMemory
from nearfar.slurm.health.sources.nvlink import GpuLinks
from nearfar.slurm.health.sources.pcie import PcieErrors
from nearfar.slurm.health.sources.source import Now, Seen
from nearfar.slurm.health.sources.throttle import Clocks
from tests.support.counting_nvml import CountingNvml
from tests.support.fake_nvml import NVMLError

A, B = "0000:06:00.0", "0000:07:00.0"
DAY = 86400.0


def now(at: float = 1000.0, past: Seen | None = None, boot: str = "b", **more: Any) -> Now:
    """A look; ``past``: the one before it, 300 s ago in boot ``b``."""
    kept: dict[str, Any] = {} if past is None else {**(past.past or {}), "boot": "b", "at": at - 300.0}
    return Now(gpus={A: 0, B: 1}, boot=boot, at=at, past=json.loads(json.dumps(kept)), **more)


def found(seen: Seen) -> list[tuple[str, str, bool]]:
    return [(one.subject, one.verdict, one.hard) for one in seen.findings]


def fields(seen: Seen, code: str, pci: str) -> dict[str, Any]:
    """Those of the one finding, which has this code and is of this GPU."""
    (one,) = seen.findings
    assert (one.code, one.fields["pci"], one.fields["gpu"]) == (code, pci, now().gpus[pci])
    return {key: value for key, value in one.fields.items() if key not in ("pci", "gpu")}


def grown(before: int, after: int, **more: Any) -> counters.Growth:
    first = Seen(past=counters.growth(now(), {"x": before}).past)
    return counters.growth(now(past=first, **more), {"x": after})


def test_a_first_look_establishes() -> None:
    assert counters.growth(now(), {"x": 5000}).grown == {}


def test_growth_since_the_last_look() -> None:
    growth = grown(5, 12)
    assert (growth.grown, growth.seconds, growth.per_minute("x")) == ({"x": 7}, 300.0, 7 / 5)


def test_a_new_boot_establishes_anew() -> None:
    assert grown(5, 12, boot="new").grown == {}


def test_a_counter_that_went_back_establishes_anew() -> None:
    growth = grown(5, 3)
    assert (growth.grown, growth.back, growth.past["counters"]) == ({}, ("x",), {"x": 3})


def test_a_counter_that_is_not_there_for_once_is_not_forgotten() -> None:
    first = Seen(past=counters.growth(now(), {"x": 5}).past)
    gone = Seen(past=counters.growth(now(past=first), {}).past)
    assert counters.growth(now(past=gone), {"x": 9}).grown == {"x": 4}


@pytest.mark.parametrize(
    "past", [{"counters": [1]}, {"counters": {"x": "5"}, "rates": {"x": 3}}, {"rates": {"x": [1]}, "at": "soon"}]
)
def test_a_past_that_is_rubbish(past: Mapping[str, Any]) -> None:
    assert counters.growth(replace(now(), past={**past, "boot": "b"}), {"x": 5}).grown == {}


def test_time_that_goes_back_makes_no_rate() -> None:
    """A virtual machine that was set back to an earlier state of the same boot."""
    first = counters.growth(now(), {"x": 5})
    kept = {**first.past, "boot": "b", "at": 9e9, "rates": {"x": [0.0, 2 * DAY]}}
    growth = counters.growth(replace(now(), past=kept), {"x": 500})
    assert (growth.seconds, growth.grown, growth.unusual) == (0.0, {"x": 495}, {})


def looks(increments: list[int]) -> counters.Growth:
    """Looks each hour of a day and a half and more, with these increments at the last of them."""
    value, at, growth = 0, 0.0, counters.growth(now(0.0), {"x": 0})
    for increment in [0] * 36 + increments:
        value, at = value + increment, at + 3600.0
        kept = {**growth.past, "boot": "b", "at": at - 3600.0}
        growth = counters.growth(replace(now(at), past=json.loads(json.dumps(kept))), {"x": value})
    return growth


def test_a_rate_is_unusual_against_its_own_past() -> None:
    assert "x" in looks([50]).unusual
    assert "x" not in looks([9]).unusual, "a few errors are none"
    assert "x" in looks([50, 50]).unusual, "what is unusual becomes no part of what is usual"
    assert "x" not in grown(0, 100000).unusual, "without a day of past nothing is unusual"


def test_what_always_ticks_is_usual() -> None:
    assert "x" not in looks([8] * 40 + [40]).unusual


def memory(*told: GpuMemory, past: Seen | None = None) -> Seen:
    return memory_errors.classify(now(past=past), told)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (GpuMemory(A), []),
        (GpuMemory(A, 0, False, False, 0, 0), []),
        (GpuMemory(A, 3, False, True), [("g0.memory", "FAIL", True), ("g0.memory", "DEGRADED", False)]),
        (GpuMemory(A, 0, True, True), [("g0.memory", "FAIL", True)]),
        (GpuMemory(B, 0, False, True), [("g1.memory", "DEGRADED", False)]),
        (GpuMemory(A, pages=63), []),
        (GpuMemory(A, pages=64), [("g0.pages", "FAIL", True)]),
        (GpuMemory(A, sram_exceeded=True), [("g0.sram", "FAIL", True)]),
    ],
)
def test_memory(told: GpuMemory, expected: list[tuple[str, str, bool]]) -> None:
    assert found(memory(told)) == expected


def test_rows_that_were_replaced_long_ago_accuse_nobody() -> None:
    first = memory(GpuMemory(A, 0, False, False, 2, 5))
    assert found(first) == []
    again = memory(GpuMemory(A, 0, False, False, 2, 6), past=first)
    assert found(again) == [("g0.rows", "DEGRADED", False)]
    assert fields(again, "memory.rows_remapped", A) == {"rows": 1, "cause": "uncorrected"}
    rebooted = memory_errors.classify(now(past=first, boot="new"), [GpuMemory(A, 0, False, False, 2, 6)])
    assert found(rebooted) == [("g0.rows", "DEGRADED", False)], "they outlast a boot"


def test_memory_as_the_driver_answers() -> None:
    nvml = CountingNvml(
        {
            A: {"TotalEccErrors": 2, "RemappedRows": [1, 2, 1, 0]},
            B: {
                "TotalEccErrors": NVMLError(999, "Unknown Error"),
                "RetiredPages": [1, 2, 3],
                "RetiredPagesPendingStatus": 1,
            },
        }
    )
    seen = memory_errors.look(now(nvml=nvml))
    assert found(seen) == [
        ("g0.memory", "FAIL", True),
        ("g0.memory", "DEGRADED", False),
        ("g1.memory", "DEGRADED", False),
    ]
    assert seen.unread == ("memory errors of GPU 1: nvmlDeviceGetTotalEccErrors: Unknown Error",)
    assert memory_errors.look(now()).said == "", "no driver, nothing to say"


def links(*told: GpuLinks, past: Seen | None = None, **more: Any) -> Seen:
    return nvlink.classify(now(past=past, **more), told)


UP = {0: True, 1: True, 2: True}


@pytest.mark.parametrize(
    ("kind", "count", "verdict", "hard"),
    [
        ("flit", 1, "DEGRADED", False),
        ("flit", 30000, "DEGRADED", False),
        ("flit", 30301, "FAIL", True),
        ("replay", 100000, "DEGRADED", False),
        ("recovery", 1, "FAIL", True),
        ("failed", 1, "FAIL", True),
        ("recovered", 1, "DEGRADED", False),
    ],
)
def test_errors_on_nvlink(kind: str, count: int, verdict: str, hard: bool) -> None:
    first = links(GpuLinks(A, UP, {kind: 70}))
    assert found(first) == []
    seen = links(GpuLinks(A, UP, {kind: 70 + count}), past=first)
    assert found(seen) == [("g0.nvlink", verdict, hard)]


def test_a_lane_that_went_down() -> None:
    first = links(GpuLinks(A, {**UP, 3: False}))
    assert found(first) == [] and first.said == "3 lanes up on 1 GPUs"
    down = links(GpuLinks(A, {**UP, 1: False, 3: False}), past=first)
    assert found(down) == [("g0.nvlink", "DEGRADED", False)]
    assert fields(down, "nvlink.down", A) == {"count": 1, "lanes": [1]}
    assert len(found(links(GpuLinks(A, {**UP, 1: False, 3: False}), past=down))) == 1, "it stays down"
    assert found(links(GpuLinks(A, {**UP, 1: False}), past=first, boot="new")) == [], (
        "how many there must be is the site's file's to say"
    )


def test_a_driver_that_was_loaded_anew() -> None:
    seen = links(GpuLinks(A, UP, {"recovery": 0}), past=links(GpuLinks(A, UP, {"recovery": 7})))
    assert found(seen) == [] and [note.code for note in seen.notes] == ["health.counters_reset"]


def test_nvlink_as_the_driver_answers() -> None:
    lanes = {"NvLinkState": {(0,): 1, (1,): 0}, "NvLinkErrorCounter": {(0, 0): 3, (1, 0): 0, (0, 1): 0, (1, 1): 0}}
    nvml = CountingNvml({A: lanes, B: {}})
    first = nvlink.look(now(nvml=nvml))
    assert (first.said, first.unread) == ("1 lane up on 1 GPUs", ())
    lanes["NvLinkErrorCounter"][0, 0] = 4
    seen = nvlink.look(now(past=first, nvml=nvml))
    assert fields(seen, "nvlink.errors", A) == {"errors": 1, "counter": "replay"}
    divided = {"MigMode": [1, 1], "NvLinkState": {(0,): 0, (1,): 0}}
    assert nvlink.look(now(past=first, nvml=CountingNvml({A: divided}))).findings == (), "MIG takes lanes down"


def errors(*told: PcieErrors, past: Seen | None = None, **more: Any) -> Seen:
    return pcie.classify(now(past=past, **more), told)


@pytest.mark.parametrize(("count", "expected"), [(40, []), (41, [("g0.link", "DEGRADED", False)])])
def test_replays_a_minute(count: int, expected: list[tuple[str, str, bool]]) -> None:
    seen = errors(PcieErrors(A, {"replays": 7 + count}), past=errors(PcieErrors(A, {"replays": 7})))
    assert found(seen) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (f"{A} fatal MalfTLP", [("g0.link", "FAIL", True)]),
        (f"{A} fatal DLP", [("g0.link", "DEGRADED", False)]),
        (f"{A} fatal SDES", [("g0.link", "DEGRADED", False)]),
        (f"{A} nonfatal UnsupReq", [("g0.link", "DEGRADED", False)]),
        (f"{A} correctable BadTLP", []),
        ("0000:00:01.0 fatal TLP", [("0000:00:01.0.link", "FAIL", True)]),
    ],
)
def test_errors_that_the_kernel_counts(key: str, expected: list[tuple[str, str, bool]]) -> None:
    first = errors(PcieErrors(A, aer={key: 3}))
    assert found(first) == []
    assert (
        found(
            errors(
                PcieErrors(A, aer={key: 4}),
                PcieErrors(B, aer={key: 4} if B not in key and A not in key else {}),
                past=first,
            )
        )
        == expected
    )


def test_pcie_of_a_tree_of_files(tmp_path: Path) -> None:
    device, bridge = (tmp_path / "sys/bus/pci/devices" / name for name in (A, "0000:00:01.0"))
    device.mkdir(parents=True)
    bridge.mkdir()
    (device / "aer_dev_fatal").write_text("Undefined 0\nDLP 0\nSDES 0\nMalfTLP 0\nTOTAL_ERR_FATAL 0\n")
    (bridge / "aer_dev_correctable").write_text(
        "RxErr 2\nReplay Timer Timeout 0\nrubbish\n\xff 7x\nTOTAL_ERR_COR 2\n", encoding="latin-1"
    )
    (bridge / "aer_dev_nonfatal").mkdir()  # cannot be read
    here = {"root": tmp_path, "uplinks": {A: ("0000:00:01.0",)}}
    first = pcie.look(now(**here))
    assert first.said == "AER of 2 devices" and not first.findings
    (device / "aer_dev_fatal").write_text("MalfTLP 1\nTOTAL_ERR_FATAL 1\n")
    (bridge / "aer_dev_correctable").unlink()
    seen = pcie.look(now(past=first, **here))
    assert found(seen) == [("g0.link", "FAIL", True)]
    assert fields(seen, "pcie.aer_fatal", A) == {"errors": 1, "counter": "fatal MalfTLP"}
    assert pcie.look(now()).said == "", "a machine that shows none of it"


@pytest.mark.parametrize(
    ("bits", "code"),
    [
        (0, ""),
        (0x4, ""),
        (0x20, ""),
        (0x40, "clocks.throttled_thermal"),
        (0x48, "clocks.throttled_thermal"),
        (0x80, "clocks.throttled_power"),
        (0x8, "clocks.throttled_hardware"),
    ],
)
def test_clocks_now(bits: int, code: str) -> None:
    seen = throttle.classify(now(), [Clocks(A, bits)])
    assert [(one.verdict, one.code) for one in seen.findings] == ([("DEGRADED", code)] if code else [])


@pytest.mark.parametrize(
    ("kind", "seconds", "count"), [("heat", 2, 0), ("heat", 4, 1), ("brake", 4, 1), ("warm", 29, 0), ("warm", 31, 1)]
)
def test_clocks_since_the_last_look(kind: str, seconds: float, count: int) -> None:
    first = throttle.classify(now(), [Clocks(A, 0, {kind: 5})])
    seen = throttle.classify(now(past=first), [Clocks(A, 0, {kind: 5 + int(seconds * 1e9)})])
    assert len(seen.findings) == count and not first.findings


def test_clocks_of_an_older_driver() -> None:
    nvml = CountingNvml({A: {"CurrentClocksThrottleReasons": 0x40}})
    assert found(throttle.look(now(nvml=nvml))) == [("g0.clocks", "DEGRADED", False)]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (0, []),
        (1, [("recovery.gpu_reset", "FAIL", True)]),
        (2, [("recovery.node_reboot", "FAIL", True)]),
        (3, [("recovery.drain_p2p", "DEGRADED", False)]),
        (77, [("recovery.other", "DEGRADED", False)]),
    ],
)
def test_what_the_driver_wants(action: int, expected: Any) -> None:
    nvml = CountingNvml({}, {A: {"GET_GPU_RECOVERY_ACTION": action}})
    seen = recovery.look(now(nvml=nvml))
    assert [(one.code, one.verdict, one.hard) for one in seen.findings] == expected


@pytest.mark.parametrize("source", [memory_errors.look, nvlink.look, pcie.look, throttle.look, recovery.look])
def test_a_gpu_that_is_lost_is_asked_once_and_said(source: Callable[[Now], Seen]) -> None:
    lost = NVMLError(15, "GPU is lost")
    nvml = CountingNvml({A: {"HandleByPciBusId": lost}, B: {}})
    seen = source(now(nvml=nvml))
    assert (
        not seen.findings
        and len(seen.unread) == 1
        and "GPU 0: nvmlDeviceGetHandleByPciBusId: GPU is lost" in seen.unread[0]
    )
