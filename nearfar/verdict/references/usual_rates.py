"""Whether a rate of a GPU model is usual, in three lines: what healthy ones reach, what this one is, and what is likely to blame."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, SiteFile, did_you_mean, site_files
from nearfar.model import link_limits
from nearfar.model.prediction import link_ceiling
from nearfar.topology import Link
from nearfar.verdict import thresholds

from . import model_ranges
from .model_ranges import HealthyRange
from .reference import figure

#: What can be asked, in words.
WAYS = {
    "h2d": "host to device",
    "d2h": "device to host",
    "write": "one GPU writing to another",
    "read": "one GPU reading from another",
}
#: A path carries at least this part of its link's payload ceiling: less is not that link's doing.
_LEAST_OF_LINK = 0.8
#: Above its ceiling by more than this a figure is none.
_ROUNDING = 0.02
_MEMORY = "pageable memory (cudaMallocHost, or pin it), memory of another NUMA node (numactl), small transfers, other copies meanwhile"
_CAUSES = {
    "h2d": _MEMORY, "d2h": f"{_MEMORY}; a CPU's C-states and power profile",
    "write": "peer access off (copies staged through host memory), PCIe access control (ACS, IOMMU), fewer NVLink lanes",
    "read": "peer access off (copies staged through host memory), PCIe access control (ACS, IOMMU), fewer NVLink lanes",
}  # fmt: skip


def lines(query: str, way: str, rate: float, directories: Sequence[Path]) -> list[str]:
    """The three lines about a ``rate`` (GB/s, one way alone, as ``WAYS`` has them) of the GPU model that ``query`` names.

    Raises ``NearfarError`` where no file of ``site/gpus/`` is of such a model, or none says anything of that way.
    """
    model, others, file = _model(query, way, directories)
    expect: Mapping[str, Any] = file.data["expect"]
    rows = {row: ranges for row, ranges in model_ranges.in_file(file).items() if row.partition(".")[2] == way}
    link = Link(**expect["link"]) if way in ("h2d", "d2h") and "link" in expect else None
    if link is None and rows and "nvlink_generation" in expect:
        link = Link("nvlink", expect["nvlink_generation"], int(next(iter(rows)).partition(".")[0].removeprefix("NV")))
    ceiling = None if link is None else link_ceiling(link, way if way in ("h2d", "d2h") else "p2p")
    if not rows and ceiling is None:
        raise NearfarError(
            f"{file.path}: says nothing of {WAYS[way]} for {model}: add figures of healthy ones (docs/method/priors.md)"
        )
    known = [each for ranges in rows.values() for each in ranges]
    carries = (
        ""
        if link is None or ceiling is None
        else f"{link_limits.link_text(link)} carries {figure(ceiling, 'GB/s')} GB/s of payload"
    )
    also = f" (not {', '.join(others)})" if others else ""
    return [
        f"{model}{also}, {WAYS[way]}: {'; '.join(filter(None, [_healthy(known), carries]))}",
        f"{rate:g} GB/s is {_place(rate, known, ceiling)}",
        f"likely causes: {_causes(way, rate, known, link, ceiling)}",
    ]


def _model(query: str, way: str, directories: Sequence[Path]) -> tuple[str, list[str], SiteFile]:
    """The model that the query names, others that it fits, and its file: of several the one of which most machines are known."""
    parts = re.findall(r"[a-z0-9]+", query.lower())
    files = [SiteFile(path) for path in site_files("gpus", list(directories)).values()]
    machines = {}
    for file, name in ((each, name) for each in files for name in each.data["gpu_models"]):
        has = re.findall(r"[a-z0-9]+", f"{name} {file.path.stem}".lower())
        has += [one + other for one, other in itertools.pairwise(has)]  # RTX4090
        if parts and all(any(word.startswith(part) for word in has) for part in parts):
            entries = [
                each
                for each in file.data.get("healthy", ())
                if any(row.partition(".")[2] == way for row in each["figures"])
            ]
            machines[name] = sum(each["n"] for each in entries), file
    if not machines:
        names = sorted(name for file in files for name in file.data["gpu_models"])
        raise NearfarError(f"--gpu {query}: no file of site/gpus/ is of such a model{did_you_mean(query, names)}")
    best = max(machines, key=lambda name: machines[name][0])
    own = machines[best][1]
    return best, [name for name, (_, file) in machines.items() if file is not own], own


def _healthy(known: Sequence[HealthyRange]) -> str:
    """What healthy GPUs reach, and who says so."""
    if not known:
        return "no figure of healthy ones is known"
    low, high, count = (
        min(each.low for each in known),
        max(each.high for each in known),
        sum(each.machines for each in known),
    )
    span = " to ".join(dict.fromkeys((figure(low, "GB/s"), figure(high, "GB/s"))))
    return f"healthy ones reach {span} GB/s on {count} machine{'s' * (count != 1)} ({'; '.join(each.words for each in known)})"


def _place(rate: float, known: Sequence[HealthyRange], ceiling: float | None) -> str:
    if ceiling is not None and rate > ceiling * (1 + _ROUNDING):
        return f"{rate / ceiling * 100:.0f} % of what the link carries: it is no rate of one copy in one direction"
    share = f"{rate / min(each.low for each in known) * 100:.0f} % of the slowest of these" if known else ""
    share = share or f"{rate / (ceiling or rate) * 100:.0f} % of what the link carries"
    if ceiling is not None and rate < link_limits.BROKEN * ceiling:
        return f"{share}, and less than half of what the link carries: broken, unless it is far or pageable memory"
    if not known:
        return f"{share}: whether that is usual nobody knows"
    low = min(each.low for each in known) * (1 - thresholds.MODEL_MARGIN)
    return f"{share}: usual" if rate >= low else f"{share}: too little (usual is at least {figure(low, 'GB/s')} GB/s)"


def _causes(way: str, rate: float, known: Sequence[HealthyRange], link: Link | None, ceiling: float | None) -> str:
    if ceiling is not None and rate > ceiling * (1 + _ROUNDING):
        return "the sum of both directions, a buffer that stays in a cache, or copies that were not awaited"
    usual = min((each.low for each in known), default=ceiling or 0.0) * (1 - thresholds.MODEL_MARGIN)
    if rate >= usual:
        return "none: there is nothing to explain"
    smaller = _narrower(way, rate, link)
    return f"{smaller}; {_CAUSES[way]}" if smaller else _CAUSES[way]


def _narrower(way: str, rate: float, link: Link | None) -> str:
    """The link of fewer lanes, or of an older generation, that carries just such a rate; empty: there is none."""
    if link is None or link.kind != "pcie" or not link.gen or not link.width:
        return ""
    links = [
        replace(link, gen=gen, width=width)
        for gen in range(link.gen, 0, -1)
        for width in (16, 8, 4)
        if width <= link.width
    ]
    for each in links[1:]:
        most = link_ceiling(each, way)
        if most is not None and _LEAST_OF_LINK * most <= rate <= most * (1 + _ROUNDING):
            return f"a link that came up as {link_limits.link_text(each)} (nvidia-smi -q -d PCIE, under load)"
    return ""
