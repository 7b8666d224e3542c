"""The rows of one check of one node: the figures of its verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, NearfarError, short_host_name, utc_time
from nearfar.verdict import JudgedMetric, MeasuredGpu, Verdict, verdict_file

_STAMP = ("driver", "cuda", "mps", "kernel")
#: Columns that a figure, and its reference, have under the same name.
_OF_A_FIGURE = ("engine", "quantity", "unit", "n", "ceiling", "verdict", "converged", "verified", "throttled", "contended", "disturbance",
                "intermittent")  # fmt: skip
_OF_A_REFERENCE = ("lowest", "highest", "origin", "stale")


def of_check(folder: Path, observed: Mapping[str, Any], run: str) -> list[dict[str, Any]]:
    """The figures of the check in ``folder``, as rows without ``sequence`` and ``recorded``.

    ``observed`` is the node as ``node.json`` has it, for what programs do not say of it (serial numbers). Empty for
    what is modelled. Raises ``CouldNotJudge`` with the file for what cannot be read, or is of another node.
    """
    path = folder / verdict_file.NAME
    try:
        verdict = verdict_file.read(folder)
    except NearfarError as error:
        raise CouldNotJudge(str(error)) from None
    if verdict is None or verdict.kind != "measured" or not verdict.metrics:
        return []
    if verdict.measurement is None:
        raise CouldNotJudge(f"{path}: has figures, and does not name the document that they come from")
    if verdict.measurement.kind != "measured":
        raise CouldNotJudge(f"{path}: is measured, and its document {verdict.measurement.kind}")
    # They belong to the node whose folder they lie in; domains are left out of the comparison.
    for name in filter(None, (verdict.node, verdict.measurement.hostname)):
        if short_name(name) != short_name(folder.parent.name):
            raise CouldNotJudge(f"{path}: is of node {name}, and lies in the folder of {folder.parent.name}")
    figures = figure_rows(verdict, observed)
    started = time_of(verdict.measurement.started or verdict.time, path)
    source = sha256(path.read_bytes()).hexdigest()[:16]
    return [{**row, "source": source, "started": started, "run": run} for row in figures]


def figure_rows(verdict: Verdict, observed: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The figures of a verdict, as rows that do not say when, and from which files."""
    common = _common(verdict, observed)
    devices = _Devices(() if verdict.measurement is None else verdict.measurement.gpus, observed.get("gpus") or [])
    rows = (_row(metric, devices) for metric in verdict.metrics)
    return [{**common, **row} for row in rows if row is not None]


def short_name(hostname: str) -> str:
    """A node as the history calls it: without its domain."""
    return short_host_name(hostname).lower()


def _common(verdict: Verdict, observed: Mapping[str, Any]) -> dict[str, Any]:
    software = {**(observed.get("software") or {}), **verdict.software}
    measured = verdict.measurement
    # Figures that are MPI's have its version; a library's own name where that is all there is.
    mpi = None if measured is None or measured.mpi is None else software.get("mpi") or measured.mpi or None
    return {
        **{key: getattr(verdict, key) for key in ("system", "partition", "environ", "check")},
        "node": short_name(verdict.node),
        "product": observed.get("product") or (measured and measured.product),
        **{key: _text(software.get(key)) for key in _STAMP},
        "mpi": _text(mpi),
        "program": measured and measured.program,
        "version": measured and measured.version,
        "quick": bool(measured and measured.quick),
    }


def time_of(text: Any, path: Path) -> datetime:
    """A document's UTC time. Raises ``CouldNotJudge`` with its ``path`` for anything else."""
    try:
        return utc_time(str(text))
    except ValueError:
        raise CouldNotJudge(f"{path}: '{text}' is not a time; expected one such as 2026-11-20T09:00:00Z") from None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _row(metric: JudgedMetric, devices: _Devices) -> dict[str, Any] | None:
    """A figure's own columns; None where it is not a number."""
    if metric.value is None or not math.isfinite(metric.value):
        return None
    low, high = metric.interval or (None, None)
    return {
        **devices.columns(metric.gpus),
        **{key: getattr(metric, key) for key in _OF_A_FIGURE},
        **{key: metric.reference and getattr(metric.reference, key) for key in _OF_A_REFERENCE},
        "metric": metric.name,
        "rows": list(metric.rows),
        "cell": metric.subject,
        "flow": None if metric.flow is None else str(metric.flow),
        "class": metric.class_in_name,
        "value": float(metric.value),
        "low": low,
        "high": high,
        "reference": metric.reference and metric.reference.value,
        "looks": len(metric.looks) or None,
        "worse": metric.baseline and metric.baseline.worse,
    }


class _Devices:
    """What the document, and beside it ``node.json``, know of a node's GPUs."""

    def __init__(self, measured: Sequence[MeasuredGpu], observed: list[Mapping[str, Any]]) -> None:
        seen = {gpu.get("pci"): gpu for gpu in observed}
        self._by_index = {
            gpu.index: {
                **seen.get(gpu.pci, {}),
                **{key: value for key, value in vars(gpu).items() if value is not None},
            }
            for gpu in measured
        }
        # Figures without GPUs are judged by the rows of the node's first GPU.
        self._first = next((gpu.name for gpu in measured), next((gpu.get("name") for gpu in observed), None))
        self._columns: dict[tuple[int, ...], dict[str, str | None]] = {}

    def columns(self, indices: tuple[int, ...]) -> Mapping[str, str | None]:
        if indices not in self._columns:
            gpus = [self._by_index.get(index, {}) for index in indices]
            models = dict.fromkeys(str(gpu["name"]) for gpu in gpus if gpu.get("name"))
            self._columns[indices] = {
                "gpus": "+".join(map(str, indices)) or None,
                "gpu_model": ("+".join(models) or None) if indices else self._first,
                "gpu_uuid": _joined(gpus, "uuid"),
                "gpu_serial": _joined(gpus, "serial"),
            }
        return self._columns[indices]


def _joined(gpus: list[dict[str, Any]], key: str) -> str | None:
    return "+".join(str(gpu.get(key) or "?") for gpu in gpus) if any(gpu.get(key) for gpu in gpus) else None
