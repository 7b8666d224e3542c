"""NVLink: lanes that are down since the last look, and what the driver counts of errors on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nearfar.base import Finding, plural

from . import messages
from .counters import Growth, growth
from .nvml_answers import GpuAnswers, each, unread
from .source import Now, Seen

#: Flit CRC errors a second above which a link is broken: DCGM's ``crc_error_threshold``, as during a run (error_counters.py).
MOST_FLIT_ERRORS = 100.0
#: NVML's counters of a lane (``NVML_NVLINK_ERROR_DL_*``, up to NVLink 4), and what they count. CRC data and ECC data errors tick on
#: healthy links and are left out.
_COUNTERS = {0: "replay", 1: "recovery", 2: "flit"}
#: Fields of NVML that count per lane, from NVLink 5 on.
_PER_LANE = {
    "NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS": "failed",
    "NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS": "recovered",
}
#: The kinds of both, as messages name them.
_NAMES = {
    "replay": "replay",
    "recovery": "recovery",
    "flit": "CRC flit",
    "failed": "failed recovery",
    "recovered": "recovery",
}
#: Lanes of which any GPU has fewer.
MOST_LANES = 36


@dataclass(frozen=True)
class GpuLinks:
    """NVLink of one GPU: whether each lane that it has is up, and counts by kind (``flit``, ``replay``, ``recovery``; from
    NVLink 5 ``failed`` and ``recovered``)."""

    pci: str
    lanes: Mapping[int, bool] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


def look(now: Now) -> Seen:
    """Ask the driver, and say what has changed since the last look."""
    gpus = list(each(now))
    return classify(now, [_read(gpu) for gpu in gpus], unread(now, gpus, "NVLink"))


def classify(now: Now, told: Iterable[GpuLinks], not_read: tuple[str, ...] = ()) -> Seen:
    """Recoveries and more than 100 flit errors a second are FAIL, as during a run; other growth, and a lane that was up at the last
    look, DEGRADED: how many lanes there have to be is the site's file to say."""
    told = list(told)
    grown = growth(now, {f"{one.pci} {kind}": count for one in told for kind, count in one.counts.items()})
    up_before = now.past.get("up") if now.same_boot else None
    found, notes = [], []
    for one in told:
        found += _errors(now, one, grown)
        before = up_before.get(one.pci, []) if isinstance(up_before, dict) else []
        down = [lane for lane in before if one.lanes.get(lane) is False]
        if down:
            found.append(now.finding(messages.NVLINK_DOWN, one.pci, "nvlink", count=len(down), lanes=down))
        if grown.went_back(one.pci):
            notes.append(now.finding(messages.COUNTERS_RESET, one.pci, "nvlink", counters="NVLink"))
    up = {one.pci: [lane for lane, state in one.lanes.items() if state] for one in told if one.lanes}
    # A lane that went down stays the last look's until a new boot, or it is up again.
    kept = {
        pci: sorted({*lanes, *(up_before.get(pci, []) if isinstance(up_before, dict) else [])})
        for pci, lanes in up.items()
    }
    count = sum(map(len, up.values()))
    return Seen(
        f"{plural(count, 'lane')} up on {len(up)} GPUs" if up else "",
        tuple(found),
        tuple(notes),
        not_read,
        {**grown.past, "up": kept},
    )


def _errors(now: Now, one: GpuLinks, grown: Growth) -> list[Finding]:
    found = []
    for kind in one.counts:
        count = grown.grown.get(f"{one.pci} {kind}", 0)
        if not count:
            continue
        broken = kind in ("recovery", "failed") or (
            kind == "flit" and grown.seconds > 0 and count / grown.seconds > MOST_FLIT_ERRORS
        )
        message = messages.NVLINK_BROKEN if broken else messages.NVLINK_ERRORS
        found.append(now.finding(message, one.pci, "nvlink", errors=count, counter=_NAMES[kind]))
    return found


def _read(gpu: GpuAnswers) -> GpuLinks:
    mig = gpu.ask("nvmlDeviceGetMigMode")
    if mig and mig[0]:  # the driver takes lanes down while a GPU is divided
        return GpuLinks(gpu.pci)
    lanes = {}
    for lane in range(min(getattr(gpu.nvml, "NVML_NVLINK_MAX_LINKS", 18), MOST_LANES)):
        state = gpu.ask("nvmlDeviceGetNvLinkState", lane)
        if state is not None:
            lanes[lane] = bool(state)
    counts: dict[str, int] = {}
    for number, kind in _COUNTERS.items():
        for lane in lanes:
            value = gpu.ask("nvmlDeviceGetNvLinkErrorCounter", lane, number)
            if value is None:
                break  # what one lane does not have, none has
            counts[kind] = counts.get(kind, 0) + int(value)
    for (name, _), value in gpu.fields([(name, lane) for name in _PER_LANE for lane in lanes]).items():
        kind = _PER_LANE[name]
        counts[kind] = counts.get(kind, 0) + value
    return GpuLinks(gpu.pci, lanes, counts)
