"""What an imported run adds to the knowledge of a GPU model: an entry for ``healthy`` of a file of ``site/gpus/``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from nearfar.base import day_text, passes
from nearfar.measurement import COMPUTE_UNITS
from nearfar.verdict import JudgedMetric, run_directory
from nearfar.verdict.references import is_model_row

from .result_file import KitResult

#: In the run directory.
NAME = "healthy.yaml"


def write(folder: Path, result: KitResult, node: str) -> Path | None:
    """Write the entry of a run whose figures all passed, with the least and the greatest of each row that is a property of the GPU's model;
    returns the file, None where there is none to write: GPUs of several models, something failed, or no such figure."""
    by_row = ranges(folder)
    models = sorted({gpu.name for gpu in result.node.gpus if gpu.name})
    if not by_row or len(models) != 1:
        return None
    machine = {True: "virtual machine", False: "bare metal", None: "not recorded"}[result.virtual_machine]
    entry = {
        "figures": {row: [round(low, 2), round(high, 2)] for row, (low, high) in by_row.items()},
        "n": 1, "machine": machine, "product": f"{len(result.node.gpus)} × {models[0]}" + (f", {result.product}" if result.product else ""),
        "source": "measured with nearfar", "command": f"kit/run of nearfar {result.raw['kit']}", "date": day_text(result.started),
    }  # fmt: skip
    text = yaml.safe_dump([entry], sort_keys=False, allow_unicode=True, default_flow_style=None, width=1000)
    path = folder / NAME
    lines = f"# An entry for `healthy` of the file of site/gpus/ about {models[0]}, from {node}: docs/extend.md explains when to add it.\n"
    path.write_text(lines + text, encoding="utf-8")
    return path


def ranges(folder: Path) -> Mapping[str, tuple[float, float]]:
    """The least and the greatest figure of each row, in its unit; nothing where any figure of the run did not pass."""
    verdicts = [check.verdict for node in run_directory.read(folder).nodes for check in node.checks if check.verdict]
    figures = [metric for verdict in verdicts for metric in verdict.metrics]
    if not all(passes(verdict.verdict) for verdict in verdicts):
        return {}
    values: dict[str, list[float]] = {}
    for metric in figures:
        row = next((row for row in metric.rows if is_model_row(row)), None)
        if row is not None and _counts(metric):
            values.setdefault(row, []).append(float(metric.value or 0.0))
    return {row: (min(samples), max(samples)) for row, samples in sorted(values.items())}


def _counts(metric: JudgedMetric) -> bool:
    lone = metric.flow is None and not metric.derived and metric.unit in ("GB/s", *COMPUTE_UNITS)
    return lone and bool(metric.value) and bool(metric.verified) and not metric.throttled and not metric.contended
