"""Error counters of the GPUs' links that grew while a node was measured, as findings. Pure."""

from __future__ import annotations

from nearfar.base import Finding
from nearfar.measurement import Document, machine_uses

from . import thresholds
from .messages import COUNTED, COUNTER_RESET

_PART = {"pcie": "link", "nvlink": "nvlink"}


def findings(document: Document | None) -> list[Finding]:
    """One for each counter that grew. FAIL above DCGM's limits, and for any NVLink recovery; DEGRADED below them.

    CRC data errors and ECC data errors of NVLink grow on healthy links: they are no finding. Of a counter that went back nobody
    knows what it counted meanwhile: that is said, and judged neither way.
    """
    if document is None or document.kind != "measured":
        return []
    indices = {gpu.pci: gpu.index for gpu in document.node.gpus}
    grown: dict[tuple[str, str], int] = {}
    seconds: dict[tuple[str, str], float] = {}
    back: set[tuple[str, str]] = set()
    for counter in (counter for use in machine_uses(document.raw) for counter in use.counters):
        key = counter.pci, counter.name
        grown[key] = grown.get(key, 0) + counter.grown
        seconds[key] = seconds.get(key, 0.0) + (counter.seconds or 0.0)
        if counter.went_back:
            back.add(key)
    for load in document.raw.get("gpus_under_load") or []:
        # What the driver said of a load counts where the counters of the whole run are not there.
        gpu = document.node.gpu(load["index"])
        if gpu is not None and load.get("replays"):
            grown.setdefault((gpu.pci, "pcie_replays"), load["replays"])
    found = []
    for (pci, name), count in grown.items():
        gpu_name = f"g{indices[pci]}" if pci in indices else pci
        if count and name in COUNTED:
            found.append(_finding(gpu_name, name, count, seconds.get((pci, name), 0.0)))
        elif (pci, name) in back and name in COUNTED:
            found.append(COUNTER_RESET.finding(_item(gpu_name, name), gpu=_whose(gpu_name), counter=name))
    return found


def _item(gpu: str, name: str) -> str:
    return f"{gpu}.{_PART[name.partition('_')[0]]}"


def _whose(gpu: str) -> str:
    return f"GPU {gpu[1:]}" if gpu.startswith("g") else f"the GPU at {gpu}"


def _finding(gpu: str, name: str, count: int, seconds: float) -> Finding:
    broken = {
        "pcie_replays": count > thresholds.MOST_REPLAYS,
        "nvlink_recoveries": True,
        "nvlink_crc_flit_errors": seconds > 0 and count / seconds > thresholds.MOST_FLIT_ERRORS,
    }.get(name, False)
    verdict = "FAIL" if broken else "DEGRADED"
    return COUNTED[name].finding(_item(gpu, name), verdict=verdict, hard=broken, gpu=_whose(gpu), errors=count)
