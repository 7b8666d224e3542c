"""NVIDIA's p2pBandwidthLatencyTest (CUDA samples 10.1 to 13).

By its source: the row's GPU copies, a write from the row to the column, a read the other way. Without peer access copies are staged through
host memory, as with P2P=Disabled. Bidirectional matrices are the sum of both directions, each written by its source. The diagonal is a copy
within one GPU's memory, and counts what is read and what is written. GB/s are 1e9 bytes.

Staged copies block the thread that queues them, and its kernel holds the streams for 10 million clocks at most: one direction runs alone
until the other's copies are queued (7 of 30 ms on H200s), so their bidirectional figure is not of both at once.
"""

from __future__ import annotations

import re

from nearfar.question import of_other_tools

from .output import ForeignOutput, LeftOut, SeenGpu, Truncated, command_line, matrix, other_unit, sections

TOOL = "p2pBandwidthLatencyTest"
SIGN = re.compile(
    r"^\[P2P \(Peer-to-Peer\) GPU Bandwidth Latency Test\]|^\s*(?:Uni|Bi)directional P2P=\w+ Bandwidth", re.MULTILINE
)
_TITLE = re.compile(
    r"^(P2P Connectivity Matrix|(?:(Uni|Bi)directional )?P2P=(\w+) (Bandwidth|Latency).*Matrix.*)\s*?$", re.MULTILINE
)
_DEVICE = re.compile(
    r"^Device: (\d+), (.+), pciBusID: (\w+), pciDeviceID: (\w+), pciDomainID: ?(\w+)\s*$", re.MULTILINE
)
_LATENCY = LeftOut(
    "its latency matrices",
    "it queues copies one behind the other; nearfar times each by itself",
    of_other_tools.LATENCY,
)
_DIAGONAL = LeftOut(
    "the diagonal of its bidirectional matrices", "two copies at once within one GPU", of_other_tools.GPU_MEMORY
)
_STAGED_BOTH = LeftOut(
    "copies through host memory, both ways",
    "one direction's begin while the other's are still being queued",
    of_other_tools.PEER,
)
#: The part of its figure that healthy GPUs may lack, for each GB/s: five copies of 160 MB take 2 ms at 400 GB/s, and up to 0.2 ms more.
#: nvbandwidth gives 397 GB/s to eight H100 that have 365 to 377 in 22 pairs and 392 to 394 in the others; other eight have 363 to 377 in 53
#: (both published). Of two H200 (396) the first pair has 360, the other 393 (20 runs, two machines).
COLD = 1.5e-4
_OLD = "this version does not print whether its copies read or write"


def read(text: str) -> ForeignOutput:
    """The output in a log."""
    output = ForeignOutput(TOOL, command=command_line(text.split("\n"), TOOL))
    output.gpus = tuple(
        SeenGpu(int(found[1]), found[2].strip(), f"{found[5]:0>4}:{found[3]:0>2}:{found[4]:0>2}.0")
        for found in _DEVICE.finditer(text)
    )
    kernel = "/sm" if "--sm_copy" in output.command else ""
    unreachable: set[tuple[int, int]] = set()
    for title, block in sections(text, _TITLE):
        if title[4] == "Latency":
            output.leave_out(_LATENCY)
            continue
        name = title[1].strip()
        if unit := other_unit(name):
            output.left_out.append(LeftOut(name, unit))
            continue
        try:
            shown = matrix(block.split("\n"))
        except Truncated as cut:
            output.left_out.append(LeftOut(name, str(cut), unread=True))
            continue
        if title[4] is None:
            numbers = {(int(row), int(column)) for row in shown.rows for column in shown.columns}
            unreachable = numbers - {(row, column) for row, column, _ in shown.cells()}
            continue
        enabled, both = title[3] == "Enabled", title[2] == "Bi"
        if both:
            output.leave_out(_DIAGONAL)
        elif enabled and "P2P Writes" not in name and "P2P Reads" not in name:
            output.left_out.append(LeftOut(name, _OLD, of_other_tools.PEER))
            continue
        for a, b, rate in shown.cells():
            way = "/staged" if not enabled or (a, b) in unreachable else kernel
            if a == b:
                # It counts each byte twice. Its own P2P setting has no part in it.
                if not both and not enabled:
                    output.add(name, (f"g{a}:g{a}", rate / 2))
            elif both and way == "/staged":
                output.leave_out(_STAGED_BOTH)
            elif both:
                output.add(name, (f"g{a}:g{b}{way}", None), (f"g{b}:g{a}{way}", None), total=rate)
            else:
                read = "P2P Reads" in name and not way.startswith("/staged")
                output.add(name, (f"g{b}:g{a}@g{a}{way}" if read else f"g{a}:g{b}{way}", rate))
    return output
