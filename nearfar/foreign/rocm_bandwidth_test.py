"""AMD's rocm-bandwidth-test (2.x).

By its source: a row is the source, a column the destination; a bidirectional figure is the sum of both directions, and within one GPU each
byte counts twice. CPU devices are NUMA nodes in their order; the least "Numa Distance" of a GPU is its own NUMA node. GB/s are 1e9 bytes.
"""

from __future__ import annotations

import re

from .output import ForeignFigure, ForeignOutput, LeftOut, SeenGpu, Truncated, command_line, matrix

TOOL = "rocm-bandwidth-test"
SIGN = re.compile(r"^RocmBandwidthTest Version:", re.MULTILINE)
_TITLE = re.compile(
    r"^((Uni|Bi)directional copy (?:peak|average) bandwidth GB/s|Inter-Device (?:Access|Numa Distance)|Data Path Validation)"
)
_DEVICE = re.compile(r"^Device: +(\d+), +(.+?)(?:, +(?:GPU-\w+, +)?([0-9a-fA-F:]+\.\d))?\s*$", re.MULTILINE)


def read(text: str) -> ForeignOutput:
    """The output in a log."""
    devices = {int(found[1]): (found[2].strip(), found[3]) for found in _DEVICE.finditer(text)}
    cpus = [index for index, (_, place) in sorted(devices.items()) if place is None]
    gpus = [index for index, (_, place) in sorted(devices.items()) if place is not None]
    names = {index: f"n{at}" for at, index in enumerate(cpus)} | {index: f"g{at}" for at, index in enumerate(gpus)}
    lines = text.split("\n")
    figures: list[ForeignFigure] = []
    left_out: list[LeftOut] = []
    failed: list[tuple[str, str]] = []
    near: dict[int, int] = {}
    starts = [at for at, line in enumerate(lines) if _TITLE.match(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        title = lines[start].strip()
        block = [line for line in lines[start + 1 : end] if line.strip()]
        if title.startswith("Data Path"):
            failed += [("wrong_data", f"{title}: {line.strip()[:80]}") for line in block if "FAIL" in line.split()]
            continue
        try:
            shown = matrix(block)
        except Truncated as cut:
            left_out.append(LeftOut(title, str(cut)))
            continue
        if "Numa Distance" in title:
            for gpu in gpus:
                away = sorted((distance, cpu) for a, cpu, distance in shown.cells() if a == gpu and cpu in cpus)
                if away and [distance for distance, _ in away].count(away[0][0]) == 1:
                    near[gpu] = cpus.index(away[0][1])
        if "bandwidth" not in title:
            continue
        for a, b, rate in shown.cells():
            one, other = names.get(a, ""), names.get(b, "")
            if "g" not in one + other or not one or not other:
                continue
            if title.startswith("Uni"):
                figures.append(ForeignFigure(((f"{one}:{other}", rate / 2 if one == other else rate),), title))
            elif a < b:
                figures.append(ForeignFigure(((f"{one}:{other}", None), (f"{other}:{one}", None)), title, rate))
    if not figures and not left_out:
        why = (
            "the lines of its devices do not show which are GPUs"
            if starts and not gpus
            else "only the tables of all pairs (-a, -A) are read"
        )
        left_out.append(LeftOut("its copies", why))
    version = re.search(r"RocmBandwidthTest Version: *(\S+)", text)
    launched = re.search(r"Launch Command is: *([^\n(]+)", text)
    seen = tuple(SeenGpu(at, devices[index][0], devices[index][1], near.get(index)) for at, index in enumerate(gpus))
    return ForeignOutput(
        TOOL, version[1] if version else "", tuple(launched[1].split()) if launched else command_line(lines, TOOL), gpus=seen,
        figures=tuple(figures), left_out=tuple(left_out), failed=tuple(failed), numa_nodes=len(cpus),
    )  # fmt: skip
