"""Products at full load on all GPUs at the same time (``nearfar-kernels --sustain``): the rate of each GPU, and what its clocks, its heat
and its results were, second by second."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from nearfar.base import Finding
from nearfar.measurement import (
    HARDWARE_THROTTLES,
    SUSTAINED_RATE,
    Conditions,
    Document,
    GpuState,
    Rate,
    Result,
    SampleStatistics,
    SubjectMetric,
    shared,
)
from nearfar.topology import LOCAL_CLASS

from . import messages

QUANTITY = SUSTAINED_RATE
#: The item of the finding that is the answer.
PRODUCTS = "products"
#: The power limit, where a product at full load normally runs.
POWER_CAP = "sw_power_cap"
#: How much less the last third of the seconds may compute than the first third, as a part of it.
FALL = 0.03


@dataclass(frozen=True)
class SustainedRun:
    """One GPU under load. ``seconds``: what is known of each, as the document has them."""

    gpu: int
    #: Its PCI address; empty where it is not known.
    pci: str
    kernel: str
    rate: Rate
    result: Result
    seconds: tuple[Mapping[str, Any], ...]

    @property
    def state(self) -> GpuState:
        """Every throttle reason, and the median clock after the warm-up."""
        in_figure = self.seconds[-self.rate.n :]
        clocks = [float(each["sm_clock_mhz"]) for each in in_figure if each.get("sm_clock_mhz") is not None]
        return GpuState(
            throttle=tuple(dict.fromkeys(str(reason) for each in self.seconds for reason in each.get("throttle") or ())),
            clock=median(clocks) if clocks else None,
        )  # fmt: skip

    @property
    def products(self) -> int:
        """How many products there were."""
        return sum(int(each.get("products") or 0) for each in self.seconds)

    def most(self, key: str) -> float | None:
        """The most of all seconds, the warm-up's too."""
        return max((float(each[key]) for each in self.seconds if each.get(key) is not None), default=None)

    @property
    def fall(self) -> float | None:
        """How much less the last third of the seconds in the figure computed than the first third; None of few seconds."""
        third = self.rate.n // 3
        if third < 2 or len(self.rate.samples) != self.rate.n:
            return None
        return 1 - fmean(self.rate.samples[-third:]) / fmean(self.rate.samples[:third])


def runs(document: Document) -> list[SustainedRun]:
    """Every GPU of a document that was under load, in its order."""
    found = []
    for result, raw in zip(document.results, document.raw["results"]):
        subject = re.fullmatch(r"g(\d+)", result.subject)
        if result.quantity != QUANTITY or result.rate is None or subject is None:
            continue
        gpu, seconds = document.node.gpu(int(subject[1])), tuple(raw.get("series") or ())
        pci = "" if gpu is None else gpu.pci
        found.append(SustainedRun(int(subject[1]), pci, str(raw.get("kernel")), result.rate, result, seconds))
    return found


def figures(document: Document) -> list[SubjectMetric]:
    """The rate of each GPU: ``device_local.g0.bf16gemm_sustained_rate``."""
    return [_figure(run) for run in runs(document)]


def _figure(run: SustainedRun) -> SubjectMetric:
    asked = f"{run.kernel}_sustained_rate"
    name = f"{LOCAL_CLASS}.g{run.gpu}.{asked}"
    return SubjectMetric(
        name=name, subject=run.result.subject, words=f"{run.kernel} on GPU {run.gpu}, all GPUs at full load", path_class=LOCAL_CLASS,
        **{**shared(SampleStatistics, run.rate), **shared(Conditions, run.result)}, value=run.rate.value, interval=run.rate.value_interval,
        quantity=QUANTITY, rows=(name, f"{LOCAL_CLASS}.{asked}"), question=asked, gpus=(run.gpu,), state=run.state,
    )  # fmt: skip


def findings(document: Document | None) -> list[Finding]:
    """Whether all products were right, then the GPUs whose clocks were held down by more than the power limit, or whose rate fell."""
    loaded = [] if document is None else runs(document)
    if not loaded:
        return []
    found = [each for run in loaded for each in _of_gpu(run)]
    if not all(run.result.verified for run in loaded):
        return found
    products, seconds = sum(run.products for run in loaded), max(len(run.seconds) for run in loaded)
    return [messages.ALL_RIGHT.finding(PRODUCTS, products=products, gpus=len(loaded), seconds=seconds), *found]


def _of_gpu(run: SustainedRun) -> list[Finding]:
    about: dict[str, Any] = {"gpu": run.gpu, "pci": run.pci}
    about |= {key: run.most(f"{key}_c") for key in ("temperature", "memory_temperature")}
    found = []
    for message, reasons in (
        (messages.HELD_DOWN, run.state.held_down),
        (messages.HELD_BY_SETTING, [r for r in run.state.throttle if r not in (*HARDWARE_THROTTLES, POWER_CAP)]),
    ):
        held = [at for at, each in enumerate(run.seconds, 1) if {*reasons} & {*(each.get("throttle") or ())}]
        if held:
            when: dict[str, Any] = {"causes": list(reasons), "first": held[0], "seconds": len(held)}
            found.append(message.finding(f"g{run.gpu}.clocks", **about, **when))
    last_third = run.seconds[-max(run.rate.n // 3, 1) :]
    capped = any(POWER_CAP in (each.get("throttle") or ()) for each in last_third)
    if run.fall is not None and run.fall > FALL and not capped:
        found.append(messages.FALLING.finding(f"g{run.gpu}.rate", **about, fall=run.fall))
    return found
