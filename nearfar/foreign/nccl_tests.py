"""NVIDIA's nccl-tests, and rccl-tests, which print the same: kept, as nearfar does not judge collectives yet."""

from __future__ import annotations

import re

from .output import ForeignFigure, ForeignOutput, LeftOut, SeenGpu, command_line

TOOL = "nccl-tests"
SIGN = re.compile(r"^#\s+size\s+count\b.*\bbusbw\b", re.MULTILINE)
_RANK = re.compile(
    r"^#\s+Rank\s+(\d+) .*\bon\s+(\S+) device\s+(\d+) \[(?:0x)?([0-9a-fA-F:]+)\] (.+?)\s*$", re.MULTILINE
)
_ROW = re.compile(r"^\s*(\d+)\s+\d+\s+[a-z]\w*\s.*$")
_NAMES = r"all_reduce|all_gather|reduce_scatter|alltoallv?|broadcast|reduce|gather|scatter|sendrecv|hypercube"


def read(text: str) -> ForeignOutput:
    """The first table in a log."""
    lines = text.split("\n")
    shown = re.search(rf"Collective test starting: ({_NAMES})_perf|\b({_NAMES})_perf\b", text)
    name = next(filter(None, shown.groups()), "collective") if shown else "collective"
    ranks = {int(found[1]): found for found in _RANK.finditer(text)}
    heading = next(line for line in lines if SIGN.match(line))
    columns = heading.lstrip("# ").split()
    at = columns.index("busbw")
    count = f"{name}/x{len(ranks)}" if ranks else name
    figures: list[ForeignFigure] = []
    for line in lines:
        words = line.split()
        if not _ROW.match(line) or len(words) <= at + 1:
            continue
        try:
            figures.append(
                ForeignFigure(
                    ((count, float(words[at])),), f"{name}, out of place", bytes=int(words[0]), quantity="nccl.busbw"
                )
            )
        except ValueError:
            continue
    best = max((figure for figure in figures), key=lambda figure: figure.bytes or 0, default=None)
    hosts = {found[2] for found in ranks.values()}
    bad = re.search(r"Out of bounds values : ([1-9]\d*) FAILED", text)
    version = re.search(r"nccl-tests version (\S+)", text)
    library = re.search(r"nccl-library=(\d+)|NCCL version (\S+)", text)
    gpus = (
        {int(found[3]): SeenGpu(int(found[3]), found[5], _bus(found[4])) for found in ranks.values()}
        if len(hosts) == 1
        else {}
    )
    what = name if best is None else f"{name} ({best.rates[0][1]:g} GB/s of busbw at {best.bytes} bytes)"
    why = "nearfar does not judge collectives" + (f"; it is of {len(hosts)} hosts" if len(hosts) > 1 else "")
    return ForeignOutput(
        TOOL, version[1] if version else "", command_line(lines, f"{name}_perf"), hosts.pop() if len(hosts) == 1 else None,
        tuple(gpus.values()), False, tuple(figures), (LeftOut(what, why, kept=True),),
        (("wrong_data", f"{name}: {bad[1]} values out of bounds"),) if bad else (),
        {"nccl": next(filter(None, library.groups()))} if library else {},
    )  # fmt: skip


def _bus(text: str) -> str | None:
    """Older versions print the bus number alone (``0x1b``), newer ones ``0000:1b:00``."""
    return text if ":" in text else f"0000:{text:0>2}:00"
