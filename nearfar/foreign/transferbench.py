"""AMD's TransferBench: the preset ``p2p``, and tests of a single transfer.

Newer versions draw the tables of tests with lines, or with spaces alone (``SHOW_BORDERS=0``).

By its source: the source's device copies (``SRC+EXE``), or the destination's (``EXE+DST``); ``GFX`` is a kernel, ``DMA`` a copy engine. Of
both directions at once each is timed by itself, ``<->`` is their sum. GB/s are 1e9 bytes; within one GPU each byte counts once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nearfar.question import of_other_tools

from .output import ForeignOutput, LeftOut, SeenGpu, command_line, number

TOOL = "TransferBench"
SIGN = re.compile(r"^TransferBench v|^\s*(?:Uni|Bi)directional copy peak bandwidth GB/s \[", re.MULTILINE)
_TITLE = re.compile(r"^((Uni|Bi)directional) copy peak bandwidth GB/s.*\(GPU-Executor: (GFX|DMA)\)")
_ROW = re.compile(r"^([CG])PU (\d+) +(<->|->|<-)[, ]+(.*)$")
_TRANSFER = re.compile(
    r"Transfer \d+[\s|,]+([\d.]+) GB/s[\s|,].*?(\d+) bytes[\s|,]+"
    r"\(?([A-Z])(\d+)\s*->\s*(CPU|GPU|DMA|[CGD])\s*(\d+)[^-]*->\s*([A-Z])(\d+)\)?\s*$"
)
_CPU_COPIES = LeftOut(
    "what CPU cores copy to or from GPUs", "nearfar's copies are made by the GPUs", of_other_tools.HOST_DEVICE
)
_LINES = str.maketrans("│┃║─━═┌┐└┘├┤┬┴┼", "|||---+++++++++")
_OTHER_PRESETS = LeftOut("its other tables", "of the presets p2p alone is read")
_OTHER_TRANSFERS = LeftOut(
    "tests of other transfers", "they have several sources or targets, or none, or the line is cut short"
)
_EACH_ALONE = LeftOut("tests of several transfers", "each is timed by itself; nearfar times all in one window")


def read(text: str) -> ForeignOutput:
    """The output in a log."""
    text = text.translate(_LINES)
    lines = text.split("\n")
    version = re.search(r"TransferBench v([\d.]+)", text)
    numa_nodes = re.search(r"(\d+) configured CPU NUMA node", text)
    output = ForeignOutput(TOOL, version[1] if version else "", command_line(lines, TOOL))
    output.numa_nodes = int(numa_nodes[1]) if numa_nodes else 0
    title, columns, reads = None, [], False
    each_way = re.search(r"Bytes Per Direction[ ,]+(\d+)", text)
    tests: list[list[re.Match[str] | None]] = [[]]
    for line in lines:
        title = _TITLE.match(line) or title
        if re.match(r"^Test \d+:", line):
            tests.append([])
        elif "\\" in line and "DST" in line and "PU " in line:
            columns, reads = re.findall(r"([CG])PU (\d+)", line), "EXE+DST" in line
        elif re.match(r"Transfer \d+[\s|,]", line):
            tests[-1].append(_TRANSFER.match(line))
        elif title and (found := _ROW.match(line.replace("|", " ").strip())):
            _row(title, found, columns, reads, int(each_way[1]) if each_way else None, output)
    for test in tests:
        if test == [None]:
            output.leave_out(_OTHER_TRANSFERS)
        elif len(test) == 1 and test[0] is not None:
            rate, size, kind, source, executor, driver, other, sink = test[0].groups()
            ends = (_kind(kind), int(source)), (_kind(other), int(sink))
            flow = _flow(*ends, executor[0], int(driver), executor[0] == "G")
            if flow is None:
                output.leave_out(_CPU_COPIES)
            elif "g" in flow:
                output.add("a transfer", (flow, float(rate)), bytes=int(size))
        elif test:
            output.leave_out(_EACH_ALONE)
    if not output.figures and not output.left_out:
        output.left_out.append(_OTHER_PRESETS)
    places = re.findall(
        r"(?m)^\s*GPU (\d+) \|.*?\b([0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d)\s*\|\s*\d+\s*\|\s*(-?\d+)", text
    )
    named = re.findall(r"(?m)^\s*GPU (\d+) \| ([A-Z][^|\n]+?)\s*$", text)
    gpus = [SeenGpu(int(at), None, place, int(numa) if int(numa) >= 0 else None) for at, place, numa in places]
    output.gpus = tuple(gpus or [SeenGpu(int(at), name) for at, name in dict(named).items()])
    return output


def _row(
    title: re.Match[str], row: re.Match[str], columns: Sequence[tuple[str, str]], reads: bool, size: int | None,
    output: ForeignOutput,
) -> None:  # fmt: skip
    both, kernel = title[2] == "Bi", title[3] == "GFX"
    values = re.split(r"[,\s]+", row[4].strip(" ,"))
    if len(values) != len(columns) or not all(re.fullmatch(r"N/A|\d+\.\d\d", word) for word in values):
        output.left_out.append(LeftOut(f"{title[1]}, {row[1]}PU {row[2]}", "the row is cut short", unread=True))
        return
    if both and row[3] != "<->":
        return
    for (kind, index), word in zip(columns, values):
        one, other = (row[1].lower().replace("c", "n"), int(row[2])), (kind.lower().replace("c", "n"), int(index))
        rate = number(word)
        if not rate or (one[0], other[0]) == ("n", "n"):
            continue
        ways = [(one, other)] if not both else [(one, other), (other, one)]
        flows = [_flow(a, b, (b if reads else a)[0].upper(), (b if reads else a)[1], kernel) for a, b in ways]
        if None in flows or (both and one == other):
            output.leave_out(_CPU_COPIES)
        elif not both or one < other:
            rates = ((flow or "", None if both else rate) for flow in flows)
            output.add(f"{title[1]}, GPU-Executor {title[3]}", *rates, total=rate, bytes=size)


def _flow(source: tuple[str, int], sink: tuple[str, int], executor: str, driver: int, kernel: bool) -> str | None:
    """The flow that a GPU's kernel or engine makes; None where a CPU does."""
    if executor in "CN":
        return None
    ends = f"{source[0]}{source[1]}:{sink[0]}{sink[1]}"
    read = f"@g{driver}" if source[0] == sink[0] == "g" and driver == sink[1] != source[1] else ""
    return f"{ends}{read}{'/sm' if kernel else ''}"


def _kind(letter: str) -> str:
    """``g`` for memory of a GPU (``G``, ``F``), ``n`` for host memory."""
    return "g" if letter in "GF" else "n"
