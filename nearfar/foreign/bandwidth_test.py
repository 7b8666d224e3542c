"""NVIDIA's bandwidthTest (CUDA samples).

By its source: one copy engine, alone; a GPU's own memory counts what is read and what is written. MB/s (before 10.1) are 2**20 bytes, GB/s
1e9. It says nothing of the CPU that it ran on: the command that a log shows (``numactl``) does, or whoever imports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nearfar.question import of_other_tools

from .output import SOME_HOST, ForeignOutput, LeftOut, SeenGpu, command_line

TOOL = "bandwidthTest"
SIGN = re.compile(
    r"\[?CUDA Bandwidth Test\] - Starting|^bandwidthTest-(?:H2D|D2H|D2D)|^(?:Host|Device) to (?:Host|Device) Bandwidth, \d+ Device",
    re.MULTILINE,
)
_STARTING = re.compile(r"^.*CUDA Bandwidth Test\] - Starting.*$", re.MULTILINE)
_KIND = re.compile(r"(Host to Device|Device to Host|Device to Device) Bandwidth, (\d+) Device")
_CSV = re.compile(
    r"bandwidthTest-(H2D|D2H|D2D)(-Paged)?.*, Bandwidth = ([\d.]+) ([GM])B/s,.* Size = (\d+) bytes, NumDevsUsed = (\d+)"
)
_FLOWS = {
    "Host to Device": f"{SOME_HOST}:g{{}}",
    "Device to Host": f"g{{}}:{SOME_HOST}",
    "Device to Device": "g{0}:g{0}",
}
_SHORT = {"H2D": "Host to Device", "D2H": "Device to Host", "D2D": "Device to Device"}
_BOUND = re.compile(r"(?:-m|--membind|-N|--cpunodebind|--preferred)[= ]?(\d+)(?!\S)")
_UNITS = {"G": 1.0, "M": 2**20 / 1e9}
#: Bytes; two buffers of fewer are in the L2 cache of newer GPUs: 32 MB by default, 4374 GB/s of an RTX 6000 Ada, whose memory has 960.
_CACHED = 128e6
_IN_CACHE = "what it copies may stay in the GPU's L2 cache"


def read(text: str) -> ForeignOutput:
    """All its outputs in a log, one after the other."""
    starts = [found.start() for found in _STARTING.finditer(text)] or [0]
    output = ForeignOutput(
        TOOL, every_gpu=False, failed=[("error", "Result = FAIL")] if "Result = FAIL" in text else []
    )
    seen: dict[int, SeenGpu] = {}
    for at, (start, end) in enumerate(zip(starts, [*starts[1:], len(text)])):
        before = text[starts[at - 1] if at else 0 : start].split("\n")
        command = command_line(reversed(before), TOOL)
        output.command = output.command or command
        gpus = [SeenGpu(int(n), name.strip()) for n, name in re.findall(r"(?m)^Device (\d+): (.+)$", text[start:end])]
        seen |= {gpu.index: gpu for gpu in gpus}
        bound = _BOUND.search(" ".join(command))
        missing = {found[1] for found in _KIND.finditer(text[start:end])}
        for kind, devices, pageable, size, rate in _rates(text[start:end].split("\n")):
            missing.discard(kind)
            if devices > 1:
                why = "it is the sum of GPUs measured one after the other"
                output.leave_out(LeftOut(f"{kind}, {devices} devices", why))
                continue
            flow = _FLOWS[kind].format(gpus[0].index if gpus else 0)
            flow = flow.replace(SOME_HOST, f"n{bound[1]}") if bound else flow
            local = kind == "Device to Device"
            if local and size < _CACHED:
                output.leave_out(LeftOut(kind, _IN_CACHE, of_other_tools.GPU_MEMORY))
                continue
            flow, rate = (flow, rate / 2) if local else (flow + "/pageable" * pageable, rate)
            output.add(kind, (flow, rate), bytes=size)
        for kind in sorted(missing):
            output.leave_out(LeftOut(kind, "the output is cut short", unread=True))
    output.gpus = tuple(seen.values())
    return output


def _rates(lines: Sequence[str]) -> Iterator[tuple[str, int, bool, int, float]]:
    """Kind, number of devices, whether memory was pageable, bytes and GB/s of each figure of a run."""
    kind, devices, pageable, unit = "", 1, False, 1.0
    for line in lines:
        if found := _KIND.match(line):
            kind, devices = found[1], int(found[2])
        elif found := re.match(r"(PINNED|PAGEABLE) Memory Transfers", line):
            pageable = found[1] == "PAGEABLE"
        elif found := re.search(r"Bandwidth\(([GM])B/s\)", line):
            unit = _UNITS[found[1]]
        elif found := _CSV.search(line):
            yield _SHORT[found[1]], int(found[6]), bool(found[2]), int(found[5]), float(found[3]) * _UNITS[found[4]]
        elif (found := re.fullmatch(r"(\d+)\s+(\d+\.\d)\s*", line)) and kind:
            yield kind, devices, pageable, int(found[1]), float(found[2]) * unit
