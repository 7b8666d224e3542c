"""Clocks that the hardware holds down: for heat, for power, by a brake from outside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from . import messages
from .counters import growth
from .nvml_answers import GpuAnswers, each, unread
from .source import Now, Seen

#: Bits of NVML's clocks event reasons, and what they mean.
_NOW = {0x40: messages.THROTTLED_THERMAL, 0x80: messages.THROTTLED_POWER, 0x08: messages.THROTTLED_HARDWARE}
#: Fields that count the nanoseconds of it, what they mean, and the share of the time since the last look that is too much.
_COUNTED = {
    "CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN": ("heat", messages.THROTTLED_THERMAL, 0.01),
    "CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN": ("brake", messages.THROTTLED_POWER, 0.01),
    "CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN": ("warm", messages.THROTTLED_SOFTWARE, 0.1),
}
_SHARES = {kind: (message, share) for kind, message, share in _COUNTED.values()}


@dataclass(frozen=True)
class Clocks:
    """Why one GPU's clocks are held down now (NVML's bits; None: not told), and nanoseconds by kind since the driver was loaded."""

    pci: str
    reasons: int | None = None
    held: Mapping[str, int] = field(default_factory=dict)


def look(now: Now) -> Seen:
    """Ask the driver, and say what the hardware does now and did since the last look."""
    gpus = list(each(now))
    return classify(now, [_read(gpu) for gpu in gpus], unread(now, gpus, "why clocks are held down"))


def classify(now: Now, told: Iterable[Clocks], not_read: tuple[str, ...] = ()) -> Seen:
    """DEGRADED while the hardware holds clocks down, and where it did for more than 1 % of the time since the last look (the driver
    for heat: 10 %)."""
    told = list(told)
    grown = growth(now, {f"{one.pci} {kind}": nanoseconds for one in told for kind, nanoseconds in one.held.items()})
    found = []
    for one in told:
        message = next((message for bit, message in _NOW.items() if (one.reasons or 0) & bit), None)
        if message is not None:
            found.append(now.finding(message, one.pci, "clocks"))
            continue
        for kind in one.held:
            held, (message, most) = grown.grown.get(f"{one.pci} {kind}", 0) / 1e9, _SHARES[kind]
            if grown.seconds > 0 and held / grown.seconds > most:
                found.append(now.finding(message, one.pci, "clocks", share=min(held / grown.seconds, 1.0)))
                break
    answered = sum(one.reasons is not None for one in told)
    return Seen(
        f"{answered} GPUs say why their clocks are held down" if answered else "",
        tuple(found),
        unread=not_read,
        past=grown.past,
    )


def _read(gpu: GpuAnswers) -> Clocks:
    reasons = gpu.ask("nvmlDeviceGetCurrentClocksEventReasons")
    if reasons is None:  # its name before R535
        reasons = gpu.ask("nvmlDeviceGetCurrentClocksThrottleReasons")
    held = {_COUNTED[name][0]: value for (name, _), value in gpu.fields([(name, 0) for name in _COUNTED]).items()}
    return Clocks(gpu.pci, None if reasons is None else int(reasons), held)
