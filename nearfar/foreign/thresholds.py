"""Thresholds that a site has already (Azure's node health checks, DCGM's table of SKUs) beside what healthy GPUs reach."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from nearfar.base import CouldNotJudge, NearfarError
from nearfar.verdict.references import usual_rates

from . import cleaning, reading

#: A sick node with so much of a link or a memory should not pass.
_HALF = 0.5


@dataclass(frozen=True)
class SiteThreshold:
    """A figure below which a check of the site's fails a node, in GB/s; ``model``: the GPU model that its file names."""

    where: str
    way: str
    value: float
    model: str | None = None


def lines(path: Path, gpu: str | None, directories: Sequence[Path]) -> tuple[list[str], bool]:
    """A line for each threshold of a file, and whether one is beyond what any healthy node reaches. ``gpu``: the model of files that do not
    name it. Raises ``CouldNotJudge`` for a file that has none."""
    text = cleaning.decoded(reading.content(path))
    found = list(_of_azure(text)) or list(_of_dcgm(path, text))
    if not found:
        raise CouldNotJudge(
            f"{path}: no threshold in it: it is read for check_gpu_bw of Azure's NHC, DCGM's SKUs and custom tests"
        )
    said, unknown, wrong = [], set(), False
    for each in found:
        model = each.model or gpu
        if model is None:
            raise NearfarError(f"{path}: does not name its GPUs: name them with --gpu MODEL")
        try:
            known = usual_rates.usual(model, each.way, directories)
        except NearfarError as error:
            if each.model is None:
                raise NearfarError(f"{path}: {error}") from None
            unknown.add(each.model)
            continue
        level, words = _judged(each.value, known)
        wrong |= level == "error"
        said.append(
            f"{path}:{each.where}: {level}: {usual_rates.WAYS[each.way]}, {each.value:g} GB/s of {known.model}: {words}"
        )
    return [
        *said,
        *([f"{path}: {len(unknown)} models of which no file of site/gpus/ knows anything"] if unknown else []),
    ], wrong


def _judged(value: float, known: usual_rates.UsualRate) -> tuple[str, str]:
    """What a threshold does: whether a healthy node can fail it, whether a sick one can pass."""
    most = known.most if known.most is not None else known.ceiling
    if most is not None and value > most:
        return (
            "error",
            f"no healthy node reaches it ({'the best' if known.most else known.carrier} has {most:.1f} GB/s)",
        )
    if known.least is not None and value > known.least:
        return "warning", f"some healthy nodes fail it (they have {known.least:.1f} GB/s and more)"
    if known.ceiling is not None and value <= _HALF * known.ceiling:
        return "warning", f"a sick node passes that has half of {known.carrier} ({_HALF * known.ceiling:.1f} GB/s)"
    spare = "" if known.least is None else f"; the slowest healthy one has {(known.least / value - 1) * 100:.0f} % more"
    return "fine", f"it fails a node with half of {known.carrier}{spare}"


def _of_azure(text: str) -> Iterator[SiteThreshold]:
    """``check_gpu_bw HOST [PEER]``: nvbandwidth's host to device and back, and reads between GPUs."""
    for at, line in enumerate(text.splitlines(), 1):
        if found := re.match(r"\s*\S+\s*\|\|\s*check_gpu_bw\s+([\d.]+)(?:\s+([\d.]+))?\s*(?:#.*)?$", line):
            yield SiteThreshold(str(at), "h2d", float(found[1]))
            yield SiteThreshold(str(at), "d2h", float(found[1]))
            if found[2]:
                yield SiteThreshold(str(at), "read", float(found[2]))


def _of_dcgm(path: Path, text: str) -> Iterator[SiteThreshold]:
    """``minimum_bandwidth`` of a GPU's memory (MB/s), ``min_bandwidth`` of pinned copies (GB/s), by SKU or of a custom test."""
    try:
        raw = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return
    raw = raw if isinstance(raw, dict) else {}
    entries: list[tuple[str | None, dict[str, Any]]] = [
        (str(each.get("name")), each) for each in _dicts(raw.get("skus"))
    ]
    entries += [(None, test) for each in _dicts(raw.get("custom")) for test in _dicts(list(each.values()))]
    for name, tests in entries:
        where, pcie = name or "custom", _dict(tests.get("pcie"))
        pinned = _dict(_dict(pcie.get("subtests", pcie)).get("h2d_d2h_single_pinned"))
        memory = _dict(tests.get("memory_bandwidth")).get("minimum_bandwidth")
        if isinstance(memory, (int, float)):
            yield SiteThreshold(where, "triad", memory / 1000, name)
        if isinstance(host := pinned.get("min_bandwidth"), (int, float)):
            yield from (SiteThreshold(where, way, float(host), name) for way in ("h2d", "d2h"))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
