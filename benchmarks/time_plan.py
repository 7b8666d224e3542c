#!/usr/bin/env python3
"""How long ./validate takes on a node, planned from the number of its cells.

Each check asks for cells; a cell is visited so many times, and a visit takes so long. Set-up grows with the GPUs. The figures were
read off documents of real runs (two H200s, 2026-11-28; set-up of one, two and four); what no machine at hand could
show is marked as a guess.

    benchmarks/time_plan.py                        eight GPUs of tests/data, with one, two and four NUMA nodes
    benchmarks/time_plan.py --xml FILE             the node of an hwloc file
    benchmarks/time_plan.py --alone                everything of each GPU, each pair alone
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nearfar import question
from nearfar.cells import Cell, Flow, many_gpus
from nearfar.topology import Node, parse_hwloc_xml, peer_class

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "topologies"

#: Seconds of one visit: medians.
LONE, HOST_WINDOW, PEER_WINDOW, MANY_WINDOW = 0.042, 0.098, 0.070, 0.138
STAGED, STREAM, SHARED = 0.079, 0.101, 0.111
#: All sizes of a cell; all three latencies of a cell; a visit's transfers of a tail.
SIZES, LATENCIES = {"host": 0.362, "peer": 0.132}, {"host": 0.081, "peer": 0.032}
TAILS = {"host": 0.069, "peer": 0.019}
#: A window of four pairs: a guess from windows of two pairs.
COMPANY = 0.10
#: Visits to a cell on a quiet host.
VISITS = {"host": 3, "peer": 2, "many": 3, "staged": 3, "stream": 5, "shared": 3, "sizes": 2, "latency": 5, "tail": 5}
#: Set-up and end of a process: itself, for each GPU of the node, for each GPU of its cells, and for the tasks on each.
PROCESS, EACH_GPU, CONTEXT, TASKS = 0.25, 0.15, 0.09, 0.45
#: Seconds of ReFrame and the pack for all checks; of the ranks of `nearfar-kernels saxpy` beside each GPU's set-up.
PACK, SAXPY = 3.5, 1.5
#: The rates of three matrix products at today's size. GPUs are taken to be side by side.
GEMM = 1.6
#: The ranks of mpi_check, and three figures of a pair in nine windows each.
MPI_START, MPI_PAIR = 1.4, 1.4


@dataclass
class Part:
    """A check's cells of one kind: how many, visits, and seconds in all."""

    check: str
    kind: str
    cells: int
    visits: int
    seconds: float


def kind_of(cell: Cell) -> str:
    """What a cell's time depends on."""
    flow = cell.flows[0]
    if flow.kind == "stream":
        return "stream"
    if any(f.tasks > 1 for f in cell.flows):
        return "shared"
    if any(f.staged for f in cell.flows):
        return "staged"
    if flow.kind == "peer":
        return "peer" if cell.lone else "peers"
    return "host" if cell.lone else "both" if len(cell.flows) == 2 and len(set(flow.gpus)) == 1 else "many"


def company(cells: list[Cell], node: Node) -> list[list[Cell]]:
    """The sets that nearfar-copy measures together: disjoint pairs with NVLink, three or more; the first of each kind alone."""
    sets: list[list[Cell]] = []
    for cell in cells:
        fits = (s for s in sets if all(_together(cell.flows[0], other.flows[0], node) for other in s))
        joined = next(fits, None)
        sets.append([cell]) if joined is None else joined.append(cell)
    kinds: set[tuple[str, bool]] = set()
    parts: list[list[Cell]] = []
    for found in sets:
        together = []
        for cell in found:
            flow = cell.flows[0]
            kind = peer_class(node, *flow.gpus), flow.driver is None
            if len(found) < 3 or kind not in kinds:
                parts.append([cell])
                kinds.add(kind)
            else:
                together.append(cell)
        parts += [together] if together else []
    return parts


def _together(one: Flow, other: Flow, node: Node) -> bool:
    joined = all(peer_class(node, *flow.gpus).startswith("NV") for flow in (one, other))
    return joined and not set(one.gpus) & set(other.gpus) and (one.driver is None) == (other.driver is None)


def rates(asked: question.Question, cells: list[Cell], node: Node, alone: bool) -> Iterator[Part]:
    """The parts of a check of nearfar-copy."""
    check, once = asked.name, "--rounds" in asked.options
    kinds: dict[str, list[Cell]] = {}
    for cell in cells:
        kinds.setdefault(kind_of(cell), []).append(cell)
    for kind, found in kinds.items():
        if kind == "peer":
            sets = [[cell] for cell in found] if alone else company(found, node)
            visits = VISITS["peer"]
            yield Part(
                check,
                "pairs, one way",
                len(found),
                visits,
                visits * sum(LONE if len(s) == 1 else COMPANY for s in sets),
            )
            continue
        each = {"host": LONE, "both": HOST_WINDOW, "peers": PEER_WINDOW, "staged": STAGED, "stream": STREAM,
                "shared": SHARED, "many": MANY_WINDOW}[kind]  # fmt: skip
        visits = 1 if once else VISITS["peer" if kind == "peers" else "host" if kind == "both" else kind]
        yield Part(check, kind, len(found), visits, visits * len(found) * each)


def plan(node: Node, alone: bool) -> Iterator[Part]:
    """Every check that ./validate asks of a node whose partition has everything."""
    gpus = len(node.gpus)
    before: set[tuple[str, Cell]] = set()  # what the one run of nearfar-copy measures already
    for asked in question.asked_at(question.ACCEPT):
        if asked.acceptance_only:
            continue
        if asked.name == "load_balance_check":
            yield Part(asked.name, "ranks", gpus, 1, SAXPY + (EACH_GPU + CONTEXT) * gpus)
            continue
        if asked.program == "nearfar-kernels":
            yield Part(asked.name, "products", gpus, 1, PROCESS + (EACH_GPU + CONTEXT) * gpus + GEMM)
            continue
        if asked.name == "mpi_check":
            pairs = len({str(subject).split("/")[0] for subject in asked.cells(node)[0]})
            yield Part(asked.name, "pairs of NUMA nodes", pairs, 9, MPI_START + MPI_PAIR * pairs)
            continue
        cells = [cell for cell in asked.cells(node)[0] if isinstance(cell, Cell)]
        if not cells:
            continue
        aspect = asked.aspect
        flows = [flow for cell in cells for flow in cell.flows]
        used, shared = ({gpu for flow in flows if flow.tasks >= tasks for gpu in flow.gpus} for tasks in (1, 2))
        if not before:
            yield Part(
                asked.name, "set-up", len(used), 1, PROCESS + (EACH_GPU * gpus + CONTEXT * len(used) if used else 0)
            )
        if shared:
            yield Part(asked.name, "tasks", len(shared), 1, TASKS * len(shared))
        cells = [cell for cell in cells if (aspect, cell) not in before]
        before |= {(aspect, cell) for cell in cells}
        if aspect in ("sizes", "latency", "tail"):
            each = {"sizes": SIZES, "latency": LATENCIES, "tail": TAILS}[aspect]
            for kind in ("host", "peer"):
                count = sum(kind_of(cell) == kind for cell in cells)
                yield Part(asked.name, f"{kind}s", count, VISITS[aspect], VISITS[aspect] * count * each[kind])
        else:
            yield from rates(asked, cells, node, alone)


def show(name: str, node: Node, alone: bool) -> None:
    """A line for each part, each check, and all."""
    parts = list(plan(node, alone))
    print(f"{name}: {len(node.gpus)} GPUs, {len(node.host_numa_nodes)} NUMA nodes")
    for check in dict.fromkeys(part.check for part in parts):
        own = [part for part in parts if part.check == check]
        print(f"  {check:20} {sum(part.seconds for part in own):6.1f} s")
        for part in own:
            print(f"      {part.kind:24} {part.cells:4} x {part.visits}  {part.seconds:6.1f} s")
    print(f"  {'ReFrame and the pack':20} {PACK:6.1f} s")
    print(f"  {'./validate':20} {sum(part.seconds for part in parts) + PACK:6.1f} s")


def main() -> int:
    """Show the plan of each node."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xml", type=Path, action="append", help="hwloc XML of a node (repeatable)")
    parser.add_argument("--alone", action="store_true", help="everything of each GPU, each pair alone")
    options = parser.parse_args()
    if options.alone:
        many_gpus.FEW_GPUS = sys.maxsize
    for path in options.xml or sorted(DATA.glob("constructed-eight-gpus-*.xml")):
        show(path.stem, parse_hwloc_xml(path.read_text()), options.alone)
    return 0


if __name__ == "__main__":
    sys.exit(main())
