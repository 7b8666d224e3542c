"""PCI Express: replays that the driver counts, and errors that the kernel counts (AER) on each GPU and the bridges above it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base import Finding

from . import messages
from .counters import Growth, growth
from .nvml_answers import GpuAnswers, each, unread
from .source import Now, Seen

#: Replays a minute above which a link is bad: DCGM's ``DCGM_LIMIT_MAX_PCIREPLAY_RATE`` (dcgm_gpu_hardware_limits.h).
MOST_REPLAYS = 8.0
#: The kernel's files of a device (Documentation/ABI/testing/sysfs-bus-pci-devices-aer), by the class of their errors.
_AER = {"correctable": "aer_dev_correctable", "nonfatal": "aer_dev_nonfatal", "fatal": "aer_dev_fatal"}
#: Fatal errors that a reset of the device below can make as well: its link went down by surprise, or in the middle of a packet.
_OF_A_RESET = ("SDES", "DLP")
#: Fields of NVML that count the same where the kernel does not show AER (virtual machines).
_FIELDS = {
    "PCIE_COUNT_CORRECTABLE_ERRORS": "correctable",
    "PCIE_COUNT_NON_FATAL_ERROR": "nonfatal",
    "PCIE_COUNT_FATAL_ERROR": "fatal",
}


@dataclass(frozen=True)
class PcieErrors:
    """Of one GPU: ``counts`` by kind as the driver has them (``replays``, ``correctable`` …), and ``aer`` by device (the GPU or a
    bridge above it), class and error as the kernel has them (``0000:16:01.0 fatal DLP``)."""

    pci: str
    counts: Mapping[str, int] = field(default_factory=dict)
    aer: Mapping[str, int] = field(default_factory=dict)


def look(now: Now) -> Seen:
    """Read both, and say what has grown since the last look."""
    gpus = {gpu.pci: gpu for gpu in each(now)}
    told = [PcieErrors(pci, _driver(gpus.get(pci)), _kernel(now, pci)) for pci in now.gpus]
    return classify(now, told, unread(now, gpus.values(), "PCIe replays"))


def classify(now: Now, told: Iterable[PcieErrors], not_read: tuple[str, ...] = ()) -> Seen:
    """A fatal error other than one that a reset makes is FAIL; other uncorrected ones, more than 8 replays a minute, and correctable
    ones that are unusual for this node, DEGRADED."""
    told = list(told)
    counters = {f"{one.pci} {kind}": count for one in told for kind, count in one.counts.items()}
    counters |= {f"aer {key}": count for one in told for key, count in one.aer.items()}
    grown = growth(now, counters)
    found, notes, seen = [], [], set()
    for one in told:
        found += _replays(now, one, grown)
        for key in one.aer:
            if key not in seen:  # a bridge stands above several GPUs
                seen.add(key)
                found += _aer(now, one, key, grown)
        if grown.went_back(one.pci):
            notes.append(now.finding(messages.COUNTERS_RESET, one.pci, "link", counters="PCIe"))
    if grown.went_back("aer"):
        notes.append(messages.COUNTERS_RESET.finding("pcie", counters="kernel's PCIe error"))
    said = [
        f"{sum('replays' in one.counts for one in told)} GPUs count replays" if any(one.counts for one in told) else "",
        f"AER of {len({key.split()[0] for one in told for key in one.aer})} devices"
        if any(one.aer for one in told)
        else "",
    ]
    return Seen(", ".join(filter(None, said)), tuple(found), tuple(notes), not_read, grown.past)


def _replays(now: Now, one: PcieErrors, grown: Growth) -> list[Finding]:
    found = []
    key = f"{one.pci} replays"
    rate = grown.per_minute(key)
    if rate > MOST_REPLAYS:
        replays = {"errors": grown.grown[key], "rate": rate, "limit": MOST_REPLAYS}
        found.append(now.finding(messages.PCIE_REPLAY, one.pci, "link", **replays))
    elif key in grown.unusual:
        found.append(now.finding(messages.PCIE_UNUSUAL, one.pci, "link", counter="replays", **grown.unusually(key)))
    if one.aer:  # the kernel counts the rest, and says which device
        return found
    for kind in ("fatal", "nonfatal"):
        if count := grown.grown.get(f"{one.pci} {kind}"):
            found.append(now.finding(messages.PCIE_UNCORRECTED, one.pci, "link", errors=count, counter=kind))
    key = f"{one.pci} correctable"
    if key in grown.unusual:
        found.append(now.finding(messages.PCIE_UNUSUAL, one.pci, "link", counter="correctable", **grown.unusually(key)))
    return found


def _aer(now: Now, one: PcieErrors, key: str, grown: Growth) -> list[Finding]:
    device, kind, error = key.split(" ", 2)
    counter = f"aer {key}"
    count = grown.grown.get(counter, 0)
    unusual = counter in grown.unusual
    if not count or (kind == "correctable" and not unusual):
        return []
    fields = {"counter": f"{kind} {error}", **(grown.unusually(counter) if unusual else {"errors": count})}
    if kind == "correctable":
        message = messages.PCIE_UNUSUAL
    else:
        message = messages.PCIE_FATAL if kind == "fatal" and error not in _OF_A_RESET else messages.PCIE_UNCORRECTED
    if device in now.gpus:
        return [now.finding(message, one.pci, "link", **fields)]
    return [message.finding(f"{device}.link", bridge=device, **now.gpu(one.pci), **fields)]


def _driver(gpu: GpuAnswers | None) -> dict[str, int]:
    if gpu is None:
        return {}
    counts = {_FIELDS[name]: value for (name, _), value in gpu.fields([(name, 0) for name in _FIELDS]).items()}
    replays = gpu.ask("nvmlDeviceGetPcieReplayCounter")
    return counts if replays is None else {"replays": int(replays), **counts}


def _kernel(now: Now, pci: str) -> dict[str, int]:
    found = {}
    for device in (pci, *now.uplinks.get(pci, ())):
        for kind, file in _AER.items():
            for error, count in _errors(now.root / "sys/bus/pci/devices" / device / file).items():
                found[f"{device} {kind} {error}"] = count
    return found


def _errors(path: Path) -> dict[str, int]:
    """The errors of one of the kernel's files by name, without the total; none where it is not there or has vanished."""
    try:
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        name, _, count = line.strip().rpartition(" ")
        if name and count.isdecimal() and not name.startswith("TOTAL_"):
            found[name.strip().replace(" ", "_")] = int(count)
    return found
