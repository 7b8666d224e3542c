"""Figures of healthy GPUs of a model, as somebody published or measured them (``site/gpus/``)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.base import SiteFile, site_files
from nearfar.cells import GPU_KERNELS, KERNELS
from nearfar.model import link_limits
from nearfar.model.prediction import link_ceiling
from nearfar.topology import LOCAL_CLASS, Link
from nearfar.verdict import thresholds

#: Where the nominal rate of a model's memory stands among its ranges; no row is called so.
MEMORY = "memory"
#: The rows that are a property of a GPU's model: a copy engine alone on its own link, both directions between two GPUs, and a
#: STREAM kernel of a GPU alone on its own memory, in GB/s; matrix products of a GPU at the size that ``gemm_check`` asks for, in GFLOP/s.
_KERNELS = "|".join((*KERNELS, *GPU_KERNELS))
_COMPUTE = re.compile(rf"{LOCAL_CLASS}\.(sgemm|dgemm|bf16gemm)_today_rate")
_ROW = re.compile(
    rf"(near|sole)\.(h2d|d2h)|NV[1-9][0-9]*\.(write|read|both\.total)|{LOCAL_CLASS}\.({_KERNELS})|{_COMPUTE.pattern}"
)


@dataclass(frozen=True)
class HealthyRange:
    """The least and the greatest figure, in the unit of the row, of ``machines`` machines that nobody holds for broken. ``link`` is the
    link to the host that they had (None: it has no part in the figure)."""

    low: float
    high: float
    machines: int
    words: str
    link: Link | None


#: Ranges by GPU model, then row.
ModelRanges = Mapping[str, Mapping[str, Sequence[HealthyRange]]]


def read(directories: Sequence[Path]) -> ModelRanges:
    """The ranges of all GPU models; a site's own directories come first, row by row.

    Raises ``SiteFileError`` for a range without a source, with ends in the wrong order, or above what its link can carry.
    """
    found: dict[str, dict[str, Sequence[HealthyRange]]] = {}
    for path in site_files("gpus", list(directories)).values():
        file = SiteFile(path)
        file.check("gpu-1")
        rows = in_file(file)
        memory = file.data.get("memory")
        if memory is not None:
            rows[MEMORY] = [HealthyRange(memory["bandwidth"], memory["bandwidth"], 0, memory["source"], None)]
        for model in file.data["gpu_models"]:
            for row, ranges in rows.items():
                found.setdefault(model, {}).setdefault(row, ranges)
    return found


def spreads(directories: Sequence[Path]) -> dict[str, Mapping[str, float]]:
    """What is known of the standard deviation from host to host, by GPU model and kind of figure, as a part of a figure."""
    found: dict[str, Mapping[str, float]] = {}
    for path in site_files("gpus", list(directories)).values():
        file = SiteFile(path)
        for model in file.data["gpu_models"]:
            found.setdefault(model, file.data.get("spread", {}))
    return found


def in_file(file: SiteFile) -> dict[str, list[HealthyRange]]:
    """The ranges of one file that holds to its schema, by row."""
    found: dict[str, list[HealthyRange]] = {}
    for place, entry in enumerate(file.data.get("healthy", ())):
        for row, (low, high) in entry["figures"].items():
            steps = ("healthy", place, "figures", row)
            if not _ROW.fullmatch(row):
                hosts, pairs = "near or sole with .h2d or .d2h", "NVn with .write, .read or .both.total"
                known = f"{hosts}, {pairs}, {LOCAL_CLASS} with .triad … or .sgemm_today_rate"
                raise file.error(f"'{row}' is not a property of a GPU model; rows are {known}", *steps)
            if not (math.isfinite(low) and math.isfinite(high)):
                raise file.error(f"{row}: low and high are finite numbers, found {low}, {high}", *steps)
            if low > high:
                raise file.error(f"{row}: [low, high]: {low:g} is above {high:g}", *steps)
            path_class = row.partition(".")[0]
            link, most, words = _limit(file, row, steps)
            if high > most * (1 + thresholds.CEILING_ROUNDING):
                carries = (
                    f"above what {words} carries, {most:.1f} GB/s{'' if path_class == LOCAL_CLASS else ' of payload'}"
                )
                raise file.error(f"{row}: {high:g} GB/s is {carries}", *steps)
            kind = "" if entry["machine"] == "not recorded" else f"{entry['machine']}, "
            about = f"{kind}{entry['command'].split()[0].rstrip(':')}, {entry['date']}: {entry['source']}"
            found.setdefault(row, []).append(HealthyRange(low, high, entry["n"], about, link))
    return found


def _limit(file: SiteFile, row: str, steps: Sequence[str | int]) -> tuple[Link | None, float, str]:
    """The link to the host of a row (None: between GPUs, within one), what its links or its memory carry (GB/s; of what a GPU computes no
    limit is known) and their name."""
    path_class, _, figure = row.partition(".")
    if _COMPUTE.fullmatch(row):
        return None, math.inf, ""
    if path_class == LOCAL_CLASS:
        if "memory" not in file.data:
            raise file.error(f"{row}: its upper limit is unknown: give the model's memory", *steps)
        return None, file.data["memory"]["bandwidth"], "the memory, by its nominal rate,"
    expect: Mapping[str, Any] = file.data["expect"]
    host = path_class in link_limits.OWN_LINK_CLASSES
    link = Link(**expect["link"]) if host and "link" in expect else None
    lanes = None
    if not host and "nvlink_generation" in expect:
        lanes = Link("nvlink", expect["nvlink_generation"], int(path_class.removeprefix("NV")))
    known = link or lanes
    most = None if known is None else link_ceiling(known)
    if known is None or most is None:
        missing = "link" if host else "nvlink_generation"
        raise file.error(f"{row}: its upper limit is unknown: give the model's {missing} under expect", *steps)
    many = 2 if figure == "both.total" else 1
    return link, most * many, f"{'' if many == 1 else '2 × '}{link_limits.link_text(known)}"


def is_model_row(row: str) -> bool:
    """Whether a row is a property of a GPU's model."""
    return _ROW.fullmatch(row) is not None


def carries(file: SiteFile, row: str) -> float:
    """What the links of a row carry of payload, or the memory, GB/s; infinite for what a GPU computes. ``file`` is one that ``in_file``
    reads."""
    return _limit(file, row, ())[1]


def find(
    ranges: ModelRanges, model: str | None, rows: Sequence[str], link: Link | None
) -> tuple[list[HealthyRange], float] | None:
    """The ranges that speak of a figure of a GPU ``model`` with one of ``rows``, and their margin; None where there are none,
    or they are of another link to the host."""
    known, own = ranges.get(model or "", {}), link and (link.kind, link.gen, link.width)
    for row in rows:
        path_class, dot, figure = row.partition(".")
        other = {"near": "sole", "sole": "near"}.get(path_class, path_class)
        for name, margin in ((row, thresholds.MODEL_MARGIN), (f"{other}{dot}{figure}", thresholds.OTHER_KIND_MARGIN)):
            every = known.get(name, ())
            mine = [r for r in every if r.link is None or (r.link.kind, r.link.gen, r.link.width) == own]
            if mine:
                return mine, margin
    return None
