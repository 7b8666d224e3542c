"""The results of a document, gathered by kernel, subject and size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nearfar.measurement import Document, GpuState, Rate, Result

from .names import SIZES, parts_of
from .subjects import KernelSubject, subject


@dataclass(frozen=True)
class KernelRun:
    """One kernel of one subject at one size. ``results`` by what was measured (``in``, ``total``, ``rate`` …); ``bytes`` go in and out in
    one call, with which ``operations`` are done (0: they are not counted). ``smaller``: why the size is less than usual.
    """

    kernel: str
    size: str
    about: KernelSubject
    bytes: int
    operations: float
    on_host: bool = False
    smaller: str = ""
    state: GpuState = field(default_factory=GpuState)
    results: Mapping[str, Result] = field(default_factory=dict)

    def rate(self, what: str) -> Rate | None:
        """What was measured, with its unit; None where it was not."""
        return self.results[what].rate if what in self.results else None

    @property
    def words(self) -> str:
        """``sgemm, the paper's size, GPU 0, operands in NUMA node 1``."""
        size = f"{SIZES.get(self.size, self.size)}{' made smaller' if self.smaller else ''}"
        return f"{'host ' if self.on_host else ''}{self.kernel}, {size}, {self.about.words}"


def runs(document: Document) -> list[KernelRun]:
    """Every kernel of a document, in its order."""
    by_run: dict[tuple[Any, ...], dict[str, Result]] = {}
    raws: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for result, raw in zip(document.results, document.raw["results"]):
        parts, about = parts_of(result.quantity), subject(result.subject)
        if parts is None or about is None:
            continue
        kernel, what, on_host = parts
        key = kernel, on_host, about, str(raw.get("size") or ""), result.bytes
        by_run.setdefault(key, {})[what] = result
        raws.setdefault(key, []).append(raw)
    return [_run(key, results, raws[key]) for key, results in by_run.items()]


def _run(key: tuple[Any, ...], results: dict[str, Result], raws: list[Mapping[str, Any]]) -> KernelRun:
    kernel, on_host, about, size, bytes_ = key
    states = [raw.get("gpu_state") or {} for raw in raws]
    errors = [raw.get("ecc_errors") or {} for raw in raws]
    return KernelRun(
        kernel=kernel, size=size, about=about, bytes=bytes_ or 0, on_host=on_host, results=results,
        operations=max((float(raw.get("operations") or 0) for raw in raws), default=0.0),
        smaller=next((result.smaller for result in results.values() if result.smaller), ""),
        state=_state(states, errors),
    )  # fmt: skip


def _state(states: list[Mapping[str, Any]], errors: list[Mapping[str, Any]]) -> GpuState:
    """Of all that was measured of one kernel: every throttle reason, the first clock, the most errors."""
    return GpuState(
        throttle=tuple(dict.fromkeys(str(reason) for state in states for reason in state.get("throttle") or [])),
        clock=next((float(state["sm_clock_mhz"]) for state in states if state.get("sm_clock_mhz") is not None), None),
        corrected=max((int(entry.get("corrected") or 0) for entry in errors), default=0),
        uncorrected=max((int(entry.get("uncorrected") or 0) for entry in errors), default=0),
    )  # fmt: skip
