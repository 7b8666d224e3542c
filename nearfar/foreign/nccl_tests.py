"""NVIDIA's nccl-tests, and rccl-tests, which print the same, with NCCL's own log among their lines where it was on."""

from __future__ import annotations

import re

from nearfar import nccl
from nearfar.question import of_other_tools

from .output import ForeignOutput, LeftOut, SeenGpu, command_line

TOOL = "nccl-tests"
SIGN = nccl.SIGN


_WITH_NVLS = re.compile(r"\b[HB][1-9]?\d0+|\bG[HB]\d+")


def read(text: str) -> ForeignOutput:
    """Every table in a log; of several nodes the GPUs are the first's."""
    tables, log = nccl.read_tables(text), nccl.read_log(text)
    first = next((table for table in tables if table.ranks and not table.unlisted), tables[0])
    hosts = {host for table in tables for host in table.hosts}
    ranks = [] if first.unlisted else [rank for rank in first.ranks if rank.host == first.hosts[0]]
    gpus = {rank.device: SeenGpu(rank.device, rank.name, rank.pci) for rank in ranks}
    library = first.library or next(iter(log.versions), "")
    output = ForeignOutput(
        TOOL, first.version, command_line(text.split("\n"), f"{first.collective}_perf"), hosts.pop() if len(hosts) == 1 else None,
        tuple(gpus.values()), every_gpu=False, software={"nccl": library} if library else {}, nccl=nccl.nccl_block(log, first),
    )  # fmt: skip
    for table in tables:
        name = table.collective
        count = 0 if table.unlisted else len(table.ranks) or log.ranks or 0
        case = nccl.NcclCase(name, count, max(1, len(table.hosts)), _multicast(table, log))
        if table.unlisted:
            output.left_out.append(LeftOut(name, table.unlisted, of_other_tools.NCCL, kept=True))
        for row in table.rows:
            output.add(f"{name}, out of place", (str(case), row.busbw), bytes=row.bytes, quantity=nccl.BUSBW)
        if table.wrong:
            output.failed.append(("wrong_data", f"{name}: {table.wrong} values out of bounds"))
        if table.failure:
            output.failed.append(("error", f"{name}: {table.cut_short}"))
        elif table.cut_short:
            output.left_out.append(LeftOut(f"the rest of {name}", table.cut_short, of_other_tools.NCCL, unread=True))
    return output


def _multicast(table: nccl.NcclTable, log: nccl.NcclLog) -> bool | None:
    """Whether NVLink's multicast was used; None where neither log, version nor GPUs say that it was not."""
    if table.collective not in nccl.WITH_MULTICAST or not all(_WITH_NVLS.search(rank.name) for rank in table.ranks):
        return False
    version = [int(part) for part in (table.library or next(iter(log.versions), "")).split(".") if part]
    off = log.nvls is False or log.variables.get("NCCL_NVLS_ENABLE") == "0" or (version and version < [2, 17])
    return True if log.multicast else False if off or log.choices else None
