"""OSU Micro-Benchmarks: kept, as their output does not say where the ranks ran. MB/s are 1e6 bytes."""

from __future__ import annotations

import re

from nearfar.base import CouldNotJudge
from nearfar.mpi.osu import BENCHMARKS, table
from nearfar.question import of_other_tools

from .output import ForeignOutput, LeftOut, Truncated, command_line, sections

TOOL = "OSU Micro-Benchmarks"
SIGN = re.compile(r"^# OSU MPI", re.MULTILINE)
_WHY = "it does not record where its ranks ran; nearfar osu measures each placement"


def read(text: str) -> ForeignOutput:
    """All tables in a log."""
    output = ForeignOutput(TOOL)
    output.command = next(filter(None, (command_line(text.split("\n"), name) for name in BENCHMARKS)), ())
    for sign, rest in sections(text, SIGN):
        title = (sign[0] + rest).partition("\n")[0].removeprefix("# ").strip()
        try:
            shown = table.parse(sign[0] + rest)
        except CouldNotJudge as error:
            output.left_out.append(LeftOut(title, str(error), of_other_tools.MPI_OSU, unread=True))
            continue
        output.version = shown.version
        benchmark = next((each for each in BENCHMARKS.values() if each.title == shown.title), None)
        if benchmark is None:
            output.left_out.append(LeftOut(title, "nearfar has no such figure", of_other_tools.MPI_OSU))
            continue
        if shown.failed:
            output.failed.append(("wrong_data", f"{title}: validation failed at {shown.failed[0]} bytes"))
        buffers = "-".join(shown.buffers) if shown.buffers else shown.accelerator or "H-H"
        subject = f"{benchmark.name}/{buffers}/table{len(output.left_out) + 1}"
        for _, quantity, unit, _ in benchmark.columns:
            for size, value in table.values(shown, benchmark, quantity).items():
                output.add(title, (subject, value), bytes=size, quantity=quantity, unit=unit)
        if shown.rows:
            size = max(shown.rows) if "Bandwidth" in shown.title else min(shown.rows)
            value, unit = table.values(shown, benchmark, benchmark.quantities[0])[size], benchmark.columns[0][2]
            what = f"{subject} ({value:g} {unit} at {size} bytes)"
            output.left_out.append(LeftOut(what, _WHY, of_other_tools.MPI_OSU, kept=True))
    if not output.figures and not output.left_out:
        raise Truncated("OSU's heading has no table behind it")
    return output
