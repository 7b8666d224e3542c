"""What a raw measurement document says of itself, and of the GPUs and engines behind a figure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from nearfar.measurement import GpuState

from .verdict_types import MeasuredGpu, MeasurementInfo

#: Reasons for held-down clocks that are a setting, not heat or power.
_SETTINGS = ("applications_clocks", "sync_boost")


def info(raw: Mapping[str, Any]) -> MeasurementInfo:
    """The document in short."""
    node, program, mpi = raw.get("node") or {}, raw.get("program") or {}, raw.get("mpi")
    return MeasurementInfo(
        kind=str(raw.get("kind")), hostname=_text(node.get("hostname")), product=_text(node.get("product")),
        node_type=_text(raw.get("node_type")), program=_text(program.get("name")), version=_text(program.get("version")),
        quick=bool(program.get("quick")), started=_text(raw.get("started")), seconds=raw.get("seconds"),
        mpi=str(mpi.get("library") or "") if mpi else None,
        gpus=tuple(
            MeasuredGpu(gpu["index"], *(_text(gpu.get(key)) for key in ("pci", "name", "uuid", "serial")))
            for gpu in node.get("gpus") or []
        ),
    )  # fmt: skip


def software(raw: Mapping[str, Any]) -> dict[str, str]:
    """Versions by name, those that the program knew."""
    known = (raw.get("node") or {}).get("software") or {}
    return {str(name): str(version) for name, version in known.items() if version is not None}


def held_down(raw: Mapping[str, Any]) -> frozenset[int]:
    """The GPUs whose clocks were held down by heat or power."""
    loads = raw.get("gpus_under_load") or []
    return frozenset(each["index"] for each in loads if any(why not in _SETTINGS for why in each.get("throttle") or []))


def throttled(gpus: tuple[int, ...], held: frozenset[int]) -> bool:
    """Whether a figure of these GPUs (of none: of the whole node) is of such clocks."""
    return not held.isdisjoint(gpus) if gpus else bool(held)


def held_words(state: GpuState | None) -> str:
    """What held the clocks of a figure's GPU while it was measured, the power limit too, as the end of a sentence; empty: nothing."""
    if state is None or not state.throttle:
        return ""
    clock = "" if state.clock is None else f", at {state.clock:.0f} MHz"
    return f"; its clocks were reduced meanwhile ({', '.join(state.throttle)}{clock})"


@lru_cache(maxsize=10_000)
def gpus_of(subject: str) -> tuple[int, ...]:
    """The GPUs that a cell, a flow or another subject names, in its order."""
    return tuple(dict.fromkeys(int(number) for number in re.findall(r"\bg(\d+)\b", subject)))


def engine_of(quantity: str, subject: str) -> str:
    """What moved the bytes: copy engines (``ce``), a kernel (``sm``), the cores, or an MPI library."""
    if quantity.startswith(("mpi.", "contention.", "saxpy.")):
        return "mpi"
    if not gpus_of(subject):
        return "cpu"
    return (
        "sm"
        if "/sm" in subject or quantity.startswith(("stream", "latency.chase", "latency.launch", "kernel."))
        else "ce"
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
