"""Rates over time, read from traces and from measurement documents, for `benchmarks/estimator_study.py`.

Three shapes of file are read: measurement documents of version 2 (each result has its visits), collections of visits one after the
other (lists such as `idle`, each entry with its cells and their samples), and series of single copies with their times (`series`).
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

#: Seconds of a sample made of the copies of a series.
SAMPLE = 0.0105
#: Fewer samples are no visit.
LEAST_SAMPLES = 2

Visit = tuple[float, list[float]]


class Unreadable(Exception):
    """A file that is none of the shapes; the text says which place is wrong."""


@dataclass(frozen=True)
class Trace:
    """What one rate did: `visits` of (seconds, samples in GB/s), or a series without gaps, whose `times` and `samples` run along.

    `runs` holds the visits of each document apart, where the visits come from documents.
    """

    name: str
    visits: tuple[Visit, ...] = ()
    times: tuple[float, ...] = ()
    samples: tuple[float, ...] = ()
    runs: tuple[tuple[Visit, ...], ...] = ()

    def everything(self) -> list[float]:
        """All samples."""
        return list(self.samples) or [rate for _, samples in self.visits for rate in samples]


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable(f"{where} is no object")
    return value


def _visit(raw: Any, where: str, base: float = 0.0) -> Visit:
    samples = _object(raw, where).get("samples")
    at = raw.get("at", 0.0)
    if not isinstance(samples, list) or not all(isinstance(s, int | float) and s > 0 for s in samples):
        raise Unreadable(f"{where}/samples is no list of positive numbers")
    if not isinstance(at, int | float):
        raise Unreadable(f"{where}/at is no number of seconds")
    return base + float(at), [float(s) for s in samples]


def _seconds(text: Any, where: str) -> float:
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
    except ValueError:
        raise Unreadable(f"{where} is no time: {text!r}") from None


def _cut(result: dict[str, Any], samples: Any, where: str, base: float) -> Iterator[Visit]:
    """The samples of a result, visit by visit: they stand one after the other, each visit says how many are its own."""
    if not isinstance(samples, list):
        raise Unreadable(f"{where}: its rate has no samples")
    done = 0
    for i, visit in enumerate(result["visits"]):
        n = _object(visit, f"{where}/visits/{i}").get("n")
        if not isinstance(n, int) or n < 0:
            raise Unreadable(f"{where}/visits/{i}/n is no number of samples")
        yield _visit({"at": visit.get("at"), "samples": samples[done : done + n]}, f"{where}/visits/{i}", base)
        done += n
    if done != len(samples):
        raise Unreadable(f"{where}: {len(samples)} samples, but its visits have {done}")


def _of_document(raw: dict[str, Any]) -> dict[str, tuple[Visit, ...]]:
    """The visits of each lone rate and of each total of competing flows in GB/s, by name, with its size where there are several."""
    found: dict[str, tuple[Visit, ...]] = {}
    base = _seconds(raw.get("started"), "/started")
    results = [_object(result, f"/results/{i}") for i, result in enumerate(raw.get("results", []))]
    asked = Counter((result.get("quantity"), result.get("cell")) for result in results)
    for i, result in enumerate(results):
        flows, total = result.get("flows", []), result.get("total")
        rate = total if len(flows) > 1 else (flows[0].get("rate") if flows else None)
        if not isinstance(rate, dict) or rate.get("unit") != "GB/s" or not isinstance(result.get("visits"), list):
            continue
        kept = tuple(v for v in _cut(result, rate.get("samples"), f"/results/{i}", base) if len(v[1]) >= LEAST_SAMPLES)
        keys = ("quantity", "cell") + (("bytes",) if asked[result.get("quantity"), result.get("cell")] > 1 else ())
        if kept:
            found[" ".join(str(result[key]) for key in keys if key in result)] = kept
    return found


def _of_visits(raw: dict[str, Any], part: str, stem: str) -> list[Trace]:
    """The rates in GB/s of a list of visits; `idle` is not said in their names."""
    cells: dict[str, list[Visit]] = {}
    for i, entry in enumerate(raw[part]):
        base = _seconds(_object(entry, f"/{part}/{i}").get("started"), f"/{part}/{i}/started")
        for cell, rate in _object(entry.get("cells"), f"/{part}/{i}/cells").items():
            visit = _visit(rate, f"/{part}/{i}/cells/{cell}", base)
            if len(visit[1]) >= LEAST_SAMPLES and rate.get("unit", "GB/s") == "GB/s":
                cells.setdefault(cell, []).append(visit)
    where = stem if part == "idle" else f"{stem} {part}"
    return [Trace(f"{where} {cell}", tuple(visits)) for cell, visits in cells.items()]


def _parts(raw: dict[str, Any]) -> list[str]:
    """The keys of lists of visits."""
    return [k for k, v in raw.items() if isinstance(v, list) and v and isinstance(v[0], dict) and "cells" in v[0]]


def _windows(flows: list[tuple[list[float], list[float]]], size: float) -> tuple[list[float], list[float]]:
    """The sum of the flows in windows of SAMPLE seconds: each copy's bytes are spread evenly over its time."""
    bounds = [([m / 1e3 for m in ms], rates) for ms, rates in flows]
    first, last = max(t[0] for t, _ in bounds), min(t[-1] for t, _ in bounds)
    count = int((last - first) / SAMPLE) - 1
    times = [first + i * SAMPLE for i in range(count)]
    sums = [0.0] * count
    for starts, rates in bounds:
        for i, begin in enumerate(times):
            end, at, moved, covered = begin + SAMPLE, max(0, bisect_left(starts, begin) - 1), 0.0, 0.0
            while at < len(rates) and starts[at] < end:
                took = size / (rates[at] * 1e9)
                inside = min(end, starts[at] + took) - max(begin, starts[at])
                if inside > 0:
                    moved, covered = moved + inside * rates[at], covered + inside
                at += 1
            sums[i] += moved / covered if covered > 0 else fmean(rates)
    return times, sums


def _copies(raw: Any, where: str) -> tuple[list[float], list[float]]:
    """Milliseconds since the start and GB/s of each copy of a flow."""
    ms, rates = (_object(raw, where).get(key) for key in ("ms", "GBps"))
    if not isinstance(ms, list) or not isinstance(rates, list) or len(ms) != len(rates) or len(ms) < 2:
        raise Unreadable(f"{where}: `ms` and `GBps` are no lists of as many copies, at least two")
    return ms, rates


def _of_series(raw: dict[str, Any], stem: str) -> list[Trace]:
    size, found = float(raw.get("bytes_of_a_copy", 2**28)), []
    for name, flows in _object(raw["series"], "/series").items():
        where = f"/series/{name}"
        copies = [_copies(flow, f"{where}/{key}") for key, flow in _object(flows, where).items()]
        if not copies:
            raise Unreadable(f"{where} has no flow")
        if len(copies) > 1:
            times, samples = _windows(copies, size)
        else:
            ms, rates = copies[0]
            each = max(1, round(SAMPLE * fmean(rates) * 1e9 / size))
            at = range(0, len(rates) - each + 1, each)
            times = [ms[i] / 1e3 for i in at]
            samples = [each / sum(1 / r for r in rates[i : i + each]) for i in at]
        found.append(Trace(f"{stem} {name}", times=tuple(times), samples=tuple(samples)))
    return found


def read(paths: list[Path]) -> list[Trace]:
    """The traces of the files; documents that hold the same rate are runs of it, in order of time. Throws Unreadable."""
    found: list[Trace] = []
    documents: list[tuple[float, dict[str, tuple[Visit, ...]]]] = []
    for path in paths:
        try:
            raw = _object(json.loads(path.read_text(encoding="utf-8")), "the file")
            if str(raw.get("schema", "")).startswith("nearfar-measurement/"):
                rates = _of_document(raw)
                if not rates:
                    raise Unreadable("no rate has visits")
                documents.append((_seconds(raw.get("started"), "/started"), rates))
            elif "series" in raw:
                found += _of_series(raw, path.stem)
            elif parts := _parts(raw):
                found += [trace for part in parts for trace in _of_visits(raw, part, path.stem)]
            else:
                raise Unreadable(
                    "neither a measurement document nor a trace (`series`, or lists of visits with `cells`)"
                )
        except (OSError, ValueError, TypeError, ZeroDivisionError, AttributeError, Unreadable) as error:
            raise Unreadable(f"{path}: {error}") from None
    documents.sort(key=lambda each: each[0])
    for name in dict.fromkeys(name for _, rates in documents for name in rates):
        runs = tuple(rates[name] for _, rates in documents if name in rates)
        found.append(Trace(name, tuple(visit for run in runs for visit in run), runs=runs))
    return found
