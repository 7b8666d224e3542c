"""Prometheus' text format, and a file of it in the directory that node_exporter's textfile collector reads."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nearfar.base import CouldNotJudge, write_atomically

from .catalogue import METRICS

if TYPE_CHECKING:
    from prometheus_client.core import Metric

#: Where commands write their file, unless an option says so.
VARIABLE = "NEARFAR_METRICS"
_ELSEWHERE = "name another directory"
#: A label's value is cut here.
_LONGEST = 200
#: Seconds after which what an interrupted writer has left is removed.
_LEFT = 3600.0


class MetricsPage:
    """The samples of one file. A sample is a gauge of ``METRICS`` with labels and a value in the unit that its name ends in."""

    def __init__(self) -> None:
        self._samples: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}

    def add(self, name: str, value: float | None, **labels: object) -> None:
        """Add a sample; None and what is not a finite number is left out, and so is an empty label. The first of two with the same labels
        stays: node_exporter refuses a whole file for the second. Raises ``KeyError`` for a metric or a label that ``METRICS`` has not."""
        metric = METRICS[name]
        for label in labels:
            if label not in metric.labels:
                raise KeyError(f"{name}: no label {label}")
        if value is None or not math.isfinite(value):
            return
        known = ((label, str(labels[label])) for label in metric.labels if labels.get(label) is not None)
        shown = ((label, text.encode("utf-8", "replace").decode()[:_LONGEST]) for label, text in known)
        series = tuple((label, text) for label, text in shown if text)
        self._samples.setdefault(name, {}).setdefault(series, float(value))

    def one_of(self, name: str, states: tuple[str, ...], now: str, **labels: object) -> None:
        """A sample for each state, 1 for the present one and 0 for all others. The label is called as the metric's last."""
        label = METRICS[name].labels[-1]
        for state in dict.fromkeys((*states, now)):
            self.add(name, float(state == now), **labels, **{label: state})

    def collect(self) -> Iterator[Metric]:
        """Each metric with its samples, in the order of ``METRICS``, as ``prometheus_client`` takes them."""
        # It takes a twentieth of a second to import, which only those pay who write a file.
        from prometheus_client.core import GaugeMetricFamily

        for name in (name for name in METRICS if name in self._samples):
            family = GaugeMetricFamily(name, METRICS[name].help)
            for series, value in self._samples[name].items():
                family.add_sample(name, dict(series), value)
            yield family

    def text(self) -> str:
        """The file's text."""
        from prometheus_client import generate_latest

        return generate_latest(self).decode()

    def write(self, folder: Path, name: str) -> Path:
        """Write ``folder/name`` at once, readable for all. Raises ``CouldNotJudge`` with the remedy where that is impossible.

        The directory is not made: node_exporter reads one that is there. What interrupted writers have left an hour ago is removed.
        """
        if not folder.is_dir():
            raise CouldNotJudge(f"{folder}: no such directory; make it, as node_exporter reads it, or {_ELSEWHERE}")
        place = folder / name
        write_atomically(place, self.text().encode(), _ELSEWHERE, mode=0o644)
        for path in folder.glob(f".{name}.*"):
            with suppress(OSError):
                if time.time() - path.lstat().st_mtime > _LEFT:
                    path.unlink()
        return place


def directory(given: Path | None) -> Path | None:
    """The directory that an option names, else that of ``NEARFAR_METRICS``; None where neither does."""
    word = os.environ.get(VARIABLE)
    return given if given is not None else Path(word) if word else None
