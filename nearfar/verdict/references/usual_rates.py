"""Whether a rate of a GPU model is usual, in three lines: what healthy ones reach, what this one is, and what is likely to blame."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, SiteFile, did_you_mean, plural, site_files
from nearfar.model import link_limits
from nearfar.model.prediction import link_ceiling
from nearfar.model.typical import load_experience, spread
from nearfar.topology import Link
from nearfar.verdict import thresholds

from . import model_ranges
from .model_ranges import HealthyRange
from .reference import figure

#: What can be asked, in words.
WAYS = {
    "h2d": "host to device", "d2h": "device to host", "write": "one GPU writing to another", "read": "one GPU reading from another",
    "triad": "its own memory (STREAM triad)",
}  # fmt: skip
#: A path carries at least this part of its link's payload ceiling: less is not that link's doing.
_LEAST_OF_LINK = 0.8
#: Above its ceiling by more than this a figure is none.
_ROUNDING = 0.02
_HOST = "pageable memory (cudaMallocHost, or pin it), memory of another NUMA node (numactl), small transfers, other copies meanwhile"
_PEER = "peer access off (copies staged through host memory), PCIe access control (ACS, IOMMU), fewer NVLink lanes"
_CAUSES = {
    "h2d": _HOST, "d2h": f"{_HOST}; a CPU's C-states and power profile", "write": _PEER, "read": _PEER,
    "triad": "a lower memory clock, other processes on the GPU, arrays that are small",
}  # fmt: skip


@dataclass(frozen=True)
class UsualRate:
    """What is known of a ``way`` (of ``WAYS``) of a GPU model, in GB/s."""

    way: str
    model: str
    #: Other models that were meant perhaps.
    others: tuple[str, ...]
    healthy: tuple[HealthyRange, ...]
    #: Its link, None for its memory.
    link: Link | None
    #: What the link, or the memory, carries at most; None: not known.
    ceiling: float | None
    #: What published machines typically carry between host and GPU over such a link; None: not known.
    typical: float | None = None

    @property
    def least(self) -> float | None:
        """What the slowest healthy one reaches."""
        return min((each.low for each in self.healthy), default=None)

    @property
    def most(self) -> float | None:
        """What the fastest healthy one reaches."""
        return max((each.high for each in self.healthy), default=None)

    @property
    def low(self) -> float | None:
        """The least usual rate, by healthy ones of the model, else by what is typical of such a link."""
        if self.least is not None:
            return self.least * (1 - thresholds.MODEL_MARGIN)
        return None if self.typical is None else self.typical * (1 - spread(self.way))

    @property
    def carrier(self) -> str:
        """``PCIe 5.0 x16``, or its memory."""
        return "its memory" if self.link is None else link_limits.link_text(self.link)


def usual(query: str, way: str, directories: Sequence[Path]) -> UsualRate:
    """What is known of the GPU model that ``query`` names. Raises ``NearfarError`` where no file of ``site/gpus/`` is of such a model, or
    it says nothing of that way."""
    model, others, file = _model(query, way, directories)
    expect: Mapping[str, Any] = file.data["expect"]
    rows = {row: ranges for row, ranges in model_ranges.in_file(file).items() if row.partition(".")[2] == way}
    link = Link(**expect["link"]) if way in ("h2d", "d2h") and "link" in expect else None
    if way in ("write", "read") and rows and "nvlink_generation" in expect:
        link = Link("nvlink", expect["nvlink_generation"], int(next(iter(rows)).partition(".")[0].removeprefix("NV")))
    ceiling = None if link is None else link_ceiling(link)
    if way == "triad" and "memory" in file.data:
        ceiling = file.data["memory"]["bandwidth"]
    if not rows and ceiling is None:
        raise NearfarError(
            f"{file.path}: has nothing about {WAYS[way]} for {model}: add figures of healthy ones (docs/references.md)"
        )
    share = None if link is None else load_experience(tuple(directories)).get(f"host.{way}")
    typical = None if share is None or ceiling is None else share.typical * ceiling
    healthy = tuple(each for ranges in rows.values() for each in ranges)
    return UsualRate(way, model, tuple(others), healthy, link, ceiling, typical)


def lines(query: str, way: str, rate: float, directories: Sequence[Path]) -> list[str]:
    """The three lines about a ``rate`` in GB/s, one way alone, of the GPU model that ``query`` names; raises as ``usual``."""
    known = usual(query, way, directories)
    carries = None if known.ceiling is None else f"{known.carrier} carries {figure(known.ceiling, 'GB/s')} GB/s"
    carries = f"{carries} of payload" if carries and known.link is not None else carries
    also = f" (not {', '.join(known.others)})" if known.others else ""
    return [
        f"{known.model}{also}, {WAYS[way]}: {'; '.join(filter(None, [_healthy(known), carries]))}",
        f"{rate:g} GB/s is {_place(rate, known)}",
        f"likely causes: {_causes(rate, known)}",
    ]


def _model(query: str, way: str, directories: Sequence[Path]) -> tuple[str, list[str], SiteFile]:
    """The model that the query names, others that it fits, and its file: of several the one of which most machines are known, first
    those with such a figure."""
    parts = re.findall(r"[a-z0-9]+", query.lower())
    files = [SiteFile(path) for path in site_files("gpus", list(directories)).values()]
    machines = {}
    for file, name in ((each, name) for each in files for name in each.data["gpu_models"]):
        has = re.findall(r"[a-z0-9]+", f"{name} {file.path.stem}".lower())
        has += [
            one + other for one, other in itertools.pairwise(has) if one.isalpha() and other[0].isdigit()
        ]  # RTX4090
        if parts and all(any(word.startswith(part) for word in has) for part in parts):
            entries = file.data.get("healthy", ())
            asked = [each for each in entries if any(row.partition(".")[2] == way for row in each["figures"])]
            machines[name] = (sum(each["n"] for each in asked), sum(each["n"] for each in entries)), file
    if not machines:
        names = [file.path.stem for file in files]
        near = did_you_mean("-".join(parts), [*names, *(name.partition("-")[0] for name in names)], else_all=False)
        known = ", ".join(sorted(names))
        raise NearfarError(f"--gpu {query}: no file of site/gpus/ is of such a model{near} (known: {known})")
    best = max(machines, key=lambda name: machines[name][0])
    own = machines[best][1]
    return best, [name for name, (_, file) in machines.items() if file is not own], own


def _healthy(known: UsualRate) -> str:
    if known.least is None or known.most is None:
        beside = (
            ""
            if known.typical is None
            else f", others with such a link typically reach {figure(known.typical, 'GB/s')} GB/s"
        )
        return f"no figure of healthy ones is known{beside}"
    span = " to ".join(dict.fromkeys((figure(known.least, "GB/s"), figure(known.most, "GB/s"))))
    count = plural(sum(each.machines for each in known.healthy), "machine")
    return f"healthy ones reach {span} GB/s on {count} ({'; '.join(each.words for each in known.healthy)})"


def _place(rate: float, known: UsualRate) -> str:
    least, ceiling = known.least, known.ceiling
    if ceiling is not None and rate > ceiling * (1 + _ROUNDING):
        return f"{rate / ceiling * 100:.0f} % of what {known.carrier} carries: it is not a rate of one copy in one direction"
    whole, of = (
        (least, "the slowest of these") if least is not None else (ceiling or rate, f"what {known.carrier} carries")
    )
    share = f"{rate / whole * 100:.0f} % of {of}"
    if ceiling is not None and rate < link_limits.BROKEN * ceiling:
        unless = ", unless it is far or pageable memory" if known.way in ("h2d", "d2h") else ""
        return f"{share}, and less than half of what {known.carrier} carries: broken{unless}"
    if known.low is None:
        return f"{share}: whether that is usual nobody knows"
    low = f"{figure(known.low, 'GB/s')} GB/s"
    return f"{share}: usual" if rate >= known.low else f"{share}: too little (usual is at least {low})"


def _causes(rate: float, known: UsualRate) -> str:
    ceiling = known.ceiling
    if ceiling is not None and rate > ceiling * (1 + _ROUNDING):
        return "the sum of both directions, a buffer that stays in a cache, or copies that were not awaited"
    if rate >= (known.low or (ceiling or 0.0) * (1 - thresholds.MODEL_MARGIN)):
        return "none: there is nothing to explain"
    return "; ".join(filter(None, [_narrower(rate, known), _CAUSES[known.way]]))


def _narrower(rate: float, known: UsualRate) -> str:
    """The link of fewer lanes, or of an older generation, that carries just such a rate; empty: there is none."""
    link = known.link
    if link is None or link.kind != "pcie" or not link.gen or not link.width:
        return ""
    links = [
        replace(link, gen=gen, width=width)
        for gen in range(link.gen, 0, -1)
        for width in (16, 8, 4)
        if width <= link.width
    ]
    for each in links[1:]:
        most = link_ceiling(each)
        if most is not None and _LEAST_OF_LINK * most <= rate <= most * (1 + _ROUNDING):
            return f"a link that came up as {link_limits.link_text(each)} (nvidia-smi -q -d PCIE, under load)"
    return ""
