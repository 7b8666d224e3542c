"""What is wrong with the files of GPU models: models named twice or not at all, days that cannot be, figures of broken links, and values
that no GPU has."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from typing import Any

from nearfar.base import SiteFile
from nearfar.model import link_limits
from nearfar.model.prediction import lanes_fault, link_fault
from nearfar.verdict import plausibility
from nearfar.verdict.references import model_ranges

from .complaints import ERROR, WARNING, Complaint, at
from .magnitude import beyond
from .reading import ReadFile

#: Data sheets round the rate of a memory by no more than this part of it.
ROUNDED = 0.02
#: NVLink bridges between PCIe cards have no more lanes than this.
BRIDGED_LANES = 12


def complaints(gpus: Mapping[str, ReadFile[Mapping[str, Any]]], today: datetime.date) -> Iterator[Complaint]:
    """What is wrong with the files, in the order in which they are read: of a model in two of them the first one's facts count."""
    first: dict[str, SiteFile] = {}
    for read in gpus.values():
        if read.value is None:
            continue
        for place, model in enumerate(read.value["gpu_models"]):
            yield from _of_model(read.file, place, model, first)
        yield from _impossible(read.file)
        yield from _of_healthy(read.file, today)


def _of_model(file: SiteFile, place: int, model: str, first: dict[str, SiteFile]) -> Iterator[Complaint]:
    steps = ("gpu_models", place)
    if not model.strip():
        yield at(file, ERROR, "names", "gpu_models: an empty name; give it as nvidia-smi -L does", *steps)
        return
    other = first.setdefault(model, file)
    # A site's own directory may say of a model what the checkout says otherwise.
    if other is not file and other.path.parent == file.path.parent:
        yield at(
            file, WARNING, "names", f"{model} stands in {other.path.name} too, whose facts count; keep one", *steps
        )


def _impossible(file: SiteFile) -> Iterator[Complaint]:
    expect, memory = file.data["expect"], file.data.get("memory")
    link = expect.get("link", {})
    fault = link_fault(link)
    if fault:
        yield at(file, ERROR, "impossible", f"link: {fault}", "expect", "link", "width")
    lanes, generation = expect.get("nvlinks", 0), expect.get("nvlink_generation")
    fault = lanes_fault(lanes, generation)
    if fault:
        yield at(file, ERROR, "impossible", f"nvlinks: {fault}", "expect", "nvlinks")
    elif lanes > BRIDGED_LANES and any("pcie" in model.lower() for model in file.data["gpu_models"]):
        fault = f"nvlinks: {lanes}, but bridges between PCIe cards have {BRIDGED_LANES} lanes at most; those of the SXM card?"
        yield at(file, ERROR, "impossible", fault, "expect", "nvlinks")
    implausible = None if memory is None else beyond(memory["bandwidth"], "GB/s", plausibility.GPU_MEMORY)
    if implausible:
        yield at(file, ERROR, "impossible", f"memory: {implausible.message}", "memory", "bandwidth")


def _of_healthy(file: SiteFile, today: datetime.date) -> Iterator[Complaint]:
    for place, entry in enumerate(file.data.get("healthy", ())):
        fault = no_day(str(entry["date"]), today)
        if fault is not None:
            yield at(file, ERROR, "provenance", f"date: {fault}", "healthy", place, "date")
        for row, (low, _) in entry["figures"].items():
            most = model_ranges.carries(file, row)
            if math.isfinite(most) and low < link_limits.BROKEN * most:
                message = (
                    f"{row}: {low:g} GB/s is below half of what its link carries, {most:.1f}: no healthy one is so slow"
                )
                yield at(file, WARNING, "magnitude", message, "healthy", place, "figures", row)


def no_day(text: str, today: datetime.date) -> str | None:
    """Why a text is no day or month that has begun; None where it is one."""
    try:
        day = datetime.date.fromisoformat(text if len(text) > len("2026-11") else f"{text}-01")
    except ValueError:
        return f"{text} is not a day such as {today.isoformat()}, nor a month such as {today:%Y-%m}"
    return f"{text} lies in the future" if day > today + datetime.timedelta(days=1) else None
