"""AMD's rocm-bandwidth-test (2.x).

By its source: a row is the source, a column the destination; a bidirectional figure is the sum of both directions, and within one GPU each
byte counts twice. CPU devices are NUMA nodes in their order; the least "Numa Distance" of a GPU is its own NUMA node. GB/s are 1e9 bytes.
"""

from __future__ import annotations

import re

from .output import ForeignOutput, LeftOut, SeenGpu, Truncated, command_line, matrix, sections

TOOL = "rocm-bandwidth-test"
SIGN = re.compile(r"^RocmBandwidthTest Version:", re.MULTILINE)
_TITLE = re.compile(
    r"^((Uni|Bi)directional copy (?:peak|average) bandwidth GB/s|Inter-Device (?:Access|Numa Distance)|Data Path Validation)",
    re.MULTILINE,
)
_DEVICE = re.compile(r"^Device: +(\d+), +(.+?)(?:, +(?:GPU-\w+, +)?([0-9a-fA-F:]+\.\d))?\s*$", re.MULTILINE)


def read(text: str) -> ForeignOutput:
    """The output in a log."""
    devices = {int(found[1]): (found[2].strip(), found[3]) for found in _DEVICE.finditer(text)}
    cpus = [index for index, (_, place) in sorted(devices.items()) if place is None]
    gpus = [index for index, (_, place) in sorted(devices.items()) if place is not None]
    names = {index: f"n{at}" for at, index in enumerate(cpus)} | {index: f"g{at}" for at, index in enumerate(gpus)}
    version = re.search(r"RocmBandwidthTest Version: *(\S+)", text)
    launched = re.search(r"Launch Command is: *([^\n(]+)", text)
    command = tuple(launched[1].split()) if launched else command_line(text.split("\n"), TOOL)
    output = ForeignOutput(TOOL, version[1] if version else "", command, numa_nodes=len(cpus))
    near: dict[int, int] = {}
    titles = list(sections(text, _TITLE))
    for heading, rest in titles:
        line, _, rest = rest.partition("\n")
        title, block = f"{heading[0]}{line}".strip(), [line for line in rest.split("\n") if line.strip()]
        if title.startswith("Data Path"):
            failed = (line.strip()[:80] for line in block if "FAIL" in line.split())
            output.failed += [("wrong_data", f"{title}: {line}") for line in failed]
            continue
        try:
            shown = matrix(block)
        except Truncated as cut:
            output.left_out.append(LeftOut(title, str(cut), unread=True))
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
                output.add(title, (f"{one}:{other}", rate / 2 if one == other else rate))
            elif a < b:
                output.add(title, (f"{one}:{other}", None), (f"{other}:{one}", None), total=rate)
    if not output.figures and not output.left_out:
        unknown = titles and not gpus
        why = (
            "the lines of its devices do not show which are GPUs"
            if unknown
            else "only the tables of all pairs (-a, -A) are read"
        )
        output.left_out.append(LeftOut("its copies", why))
    output.gpus = tuple(SeenGpu(at, *devices[index], near.get(index)) for at, index in enumerate(gpus))
    return output
