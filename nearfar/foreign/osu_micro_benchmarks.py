"""OSU Micro-Benchmarks: kept, as their output does not say where the ranks ran. MB/s are 1e6 bytes."""

from __future__ import annotations

import re

from nearfar.base import CouldNotJudge
from nearfar.mpi.osu import BENCHMARKS, table
from nearfar.question import of_other_tools

from .output import ForeignFigure, ForeignOutput, LeftOut, Truncated, command_line

TOOL = "OSU Micro-Benchmarks"
SIGN = re.compile(r"^# OSU MPI", re.MULTILINE)
_WHY = "it does not record where its ranks ran; nearfar osu measures each placement"


def read(text: str) -> ForeignOutput:
    """All tables in a log."""
    starts = [found.start() for found in SIGN.finditer(text)]
    figures: list[ForeignFigure] = []
    left_out: list[LeftOut] = []
    failed: list[tuple[str, str]] = []
    version = ""
    for start, end in zip(starts, [*starts[1:], len(text)]):
        title = text[start : text.find("\n", start)].removeprefix("# ").strip()
        try:
            shown = table.parse(text[start:end])
        except CouldNotJudge as error:
            left_out.append(LeftOut(title, str(error), of_other_tools.MPI_OSU))
            continue
        version = shown.version
        benchmark = next((each for each in BENCHMARKS.values() if each.title == shown.title), None)
        if benchmark is None:
            left_out.append(LeftOut(title, "nearfar has no such figure", of_other_tools.MPI_OSU))
            continue
        if shown.failed:
            failed.append(("wrong_data", f"{title}: validation failed at {shown.failed[0]} bytes"))
        buffers = "-".join(shown.buffers) if shown.buffers else shown.accelerator or "H-H"
        subject = f"{benchmark.name}/{buffers}/table{len(left_out) + 1}"
        for quantity, unit in ((quantity, unit) for _, quantity, unit, _ in benchmark.columns):
            values = table.values(shown, benchmark, quantity)
            figures += [
                ForeignFigure(((subject, value),), title, bytes=size, quantity=quantity, unit=unit)
                for size, value in values.items()
            ]
        if shown.rows:
            size = max(shown.rows) if "Bandwidth" in shown.title else min(shown.rows)
            value, unit = table.values(shown, benchmark, benchmark.quantities[0])[size], benchmark.columns[0][2]
            left_out.append(
                LeftOut(f"{subject} ({value:g} {unit} at {size} bytes)", _WHY, of_other_tools.MPI_OSU, kept=True)
            )
    if not figures and not left_out:
        raise Truncated("OSU's heading has no table behind it")
    command = next(filter(None, (command_line(text.split("\n"), name) for name in BENCHMARKS)), ())
    return ForeignOutput(TOOL, version, command, figures=tuple(figures), left_out=tuple(left_out), failed=tuple(failed))
