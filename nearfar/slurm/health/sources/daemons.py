"""nvidia-persistenced, fabric manager, and the NVLink fabric as each GPU sees it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import messages
from .nvlink import MOST_LANES
from .nvml_answers import GpuAnswers, each, unread
from .source import Now, Seen

#: Daemon: systemd's unit, where it writes its number, how the kernel names its process.
_DAEMONS = {
    "nvidia-persistenced": (
        "nvidia-persistenced",
        "run/nvidia-persistenced/nvidia-persistenced.pid",
        "nvidia-persiste",
    ),
    "fabric manager": ("nvidia-fabricmanager", "run/nvidia-fabricmanager/nv-fabricmanager.pid", "nv-fabricmanage"),
}
#: Units that a site enables stand as links here.
_ENABLED = "etc/systemd/system"
#: NVML's states of a GPU's registration with the fabric. 0: it has none (PCIe cards, single GPUs).
_STATES = {1: "not started", 2: "in progress"}
_COMPLETED = 3
#: Bits of the fabric's health mask (two each; 1: so, 2: not so, 0: not told), by what they mean.
_HEALTH = {0: "degraded bandwidth", 2: "route recovery", 4: "an unhealthy route", 6: "access timeout recovery"}


@dataclass(frozen=True)
class Daemon:
    """One daemon: whether its unit is enabled, and whether it runs."""

    name: str
    unit: str
    enabled: bool
    runs: bool


@dataclass(frozen=True)
class Fabric:
    """The NVLink fabric as a GPU sees it: state, status (0: well) and health mask as NVML has them; None: it has none, or no lane of
    it is up (one GPU of a host in a virtual machine).
    ``persistence``: whether the driver keeps it initialised while nobody uses it."""

    pci: str
    state: int | None = None
    status: int = 0
    health: int = 0
    persistence: bool | None = None


def look(now: Now) -> Seen:
    """Read processes, units and what the driver says."""
    gpus = list(each(now))
    return classify(now, _daemons(now.root), [_read(gpu) for gpu in gpus], unread(now, gpus, "the fabric's state"))


def classify(now: Now, daemons: Iterable[Daemon], told: Iterable[Fabric], not_read: tuple[str, ...] = ()) -> Seen:
    """A GPU that is not registered with its fabric is FAIL (not hard: a restart may fix it), for no program can use it. A daemon that
    is enabled, or ran earlier in this boot, and does not run, is DEGRADED; so is persistence mode that went off, and a fabric that
    says it is degraded."""
    daemons, told = list(daemons), list(told)
    before = now.past if now.same_boot else {}
    ran, kept = before.get("ran") or [], before.get("persistent") or []
    found = []
    for daemon in daemons:
        if not daemon.runs and (daemon.enabled or daemon.name in ran):
            message = messages.DAEMON_FAILED if daemon.name in ran else messages.DAEMON_ABSENT
            found.append(message.finding(daemon.unit))
    for one in told:
        if one.state in _STATES:
            found.append(now.finding(messages.FABRIC_INCOMPLETE, one.pci, "fabric", state=_STATES[one.state]))
        elif one.state == _COMPLETED and one.status:
            found.append(now.finding(messages.FABRIC_FAILED, one.pci, "fabric", status=one.status))
        elif one.state == _COMPLETED:
            problems = [words for shift, words in _HEALTH.items() if one.health >> shift & 3 == 1]
            if problems:
                found.append(now.finding(messages.FABRIC_DEGRADED, one.pci, "fabric", problems=problems))
        if one.persistence is False and one.pci in kept:
            found.append(now.finding(messages.PERSISTENCE_OFF, one.pci, "persistence"))
    running = [daemon.name for daemon in daemons if daemon.runs]
    registered = sum(one.state == _COMPLETED for one in told)
    said = [*(f"{name} runs" for name in running), f"{registered} GPUs in the fabric" if registered else ""]
    past = {
        "ran": sorted({*running, *ran}),
        "persistent": sorted({*kept, *(one.pci for one in told if one.persistence)}),
    }
    return Seen(", ".join(filter(None, said)), tuple(found), unread=not_read, past=past)


def _daemons(root: Path) -> list[Daemon]:
    found = []
    for name, (unit, number, process) in _DAEMONS.items():
        enabled = any(os.path.lexists(folder / f"{unit}.service") for folder in (root / _ENABLED).glob("*.wants"))
        found.append(Daemon(name, unit, enabled, _runs(root, root / number, process)))
    return found


def _runs(root: Path, number: Path, process: str) -> bool:
    try:
        pid = int(number.read_text(encoding="ascii"))
        return (root / "proc" / str(pid) / "comm").read_text(encoding="utf-8", errors="replace").startswith(process)
    except (OSError, ValueError):
        return False


def _read(gpu: GpuAnswers) -> Fabric:
    info = gpu.filled("nvmlDeviceGetGpuFabricInfoV", "c_nvmlGpuFabricInfo_v2_t", "nvmlGpuFabricInfo_v2")
    mode = gpu.ask("nvmlDeviceGetPersistenceMode")
    persistence = None if mode is None else bool(mode)
    if info is None or not info.state or not _linked(gpu):
        return Fabric(gpu.pci, persistence=persistence)
    return Fabric(gpu.pci, int(info.state), int(info.status), int(info.healthMask), persistence)


def _linked(gpu: GpuAnswers) -> bool:
    """Whether any lane of its NVLink is up."""
    return any(gpu.ask("nvmlDeviceGetNvLinkState", lane) for lane in range(MOST_LANES))
