"""``nearfar bind``: the launch line that puts each rank beside its GPU or NIC."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from nearfar.base import EXIT_GOOD, NearfarError, columns, say, site_directories
from nearfar.binding import (
    FORMS,
    SIDES,
    SNIPPETS,
    Layout,
    Placement,
    evidence,
    explain,
    parse_numa_nodes,
    place,
    render,
    wrong_side,
)
from nearfar.model.prediction import NodeType, load_node_type
from nearfar.site import systems
from nearfar.topology import Node, format_cpu_list, inventory, parse_cpu_list, stored_node

_EPILOG = """\
examples:
  nearfar bind                                        a table: where one rank per GPU belongs on this node, and why
  nearfar bind --node keeneland --for slurm ./app >job.sh
  nearfar bind --for numactl --ranks-per-gpu 2 --threads-per-rank 4 ./app >wrapper.sh
  nearfar bind --near split --for openmpi ./app >run.sh
  nearfar bind --numa-nodes 0,1 --threads-per-rank 1 --for mpich ./osu_latency >run.sh
  nearfar bind --numa-nodes 0-1-free --gpus 0-2 --for openmpi ./xhpl >run.sh

  nearfar bind --node keeneland --for c >bind.c       a C function for a program that binds itself

--for prints a bash script, or with c and python a function. Before the program starts, each rank checks its binding, and ends with
exit code 2 if it differs from the plan. docs/use.md describes the scripts.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = "Place ranks near their GPUs or NICs, and print the launch script that binds them there."
    parser.epilog = _EPILOG
    parser.add_argument(
        "--for",
        dest="form",
        choices=[*FORMS, "all", *SNIPPETS],
        help="the kind of script to print, or of function for a program that binds itself (default: a table with reasons)",
    )
    node = parser.add_mutually_exclusive_group()
    node.add_argument("--node", metavar="TYPE", help="a node type of site/nodes/ (default: this node)")
    node.add_argument("--xml", metavar="FILE", help="a node's stored hwloc XML, or its node.json")
    parser.add_argument("--ranks-per-gpu", type=int, default=1, metavar="N", help="ranks on each GPU (default: 1)")
    parser.add_argument(
        "--threads-per-rank",
        type=int,
        metavar="M",
        help="cores per rank (default: as many as there are near its GPU)",
    )
    parser.add_argument(
        "--near",
        choices=SIDES,
        default="gpu",
        help="where ranks go (default: gpu); split: the MPI thread near the NIC, the others near the GPU",
    )
    parser.add_argument("--gpus", metavar="LIST", help="the GPUs to use, such as 0,2 (default: all visible ones)")
    parser.add_argument(
        "--numa-nodes",
        metavar="LIST",
        help="the NUMA node of each rank, such as 0,0,1 or 0-1-free (free: unbound); --gpus then lists the GPU of each rank, "
        "and without --gpus ranks get none",
    )
    parser.add_argument("--nic", metavar="NAME", help="the NIC for all ranks (default: the nearest to each rank's GPU)")
    parser.add_argument("--oversubscribe", action="store_true", help="let ranks share cores if there are too few")
    parser.add_argument("--json", action="store_true", help="print placements, reasons and scripts as JSON")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="your program and its arguments")


def run(args: argparse.Namespace) -> int:
    """Print the launch line, or the table of places."""
    layout = Layout(
        ranks_per_gpu=args.ranks_per_gpu, threads_per_rank=args.threads_per_rank, near=args.near,
        gpus=None if args.gpus is None else _numbers("--gpus", args.gpus),
        numa_nodes=None if args.numa_nodes is None else parse_numa_nodes(args.numa_nodes),
        nic=args.nic, oversubscribe=args.oversubscribe,
    )  # fmt: skip
    node, node_type = _node(args)
    placements = place(node, layout)
    sentences = explain(node, layout, placements)
    if node_type is not None:
        sentences += (wrong_side(node_type) if node.gpus else []) + evidence(node_type, placements)
    program = args.program[1:] if args.program[:1] == ["--"] else args.program
    if program and args.form is None:
        raise NearfarError(f"{program[0]}: a program belongs to a launch line; put --for FORM before it")
    if program and args.form in SNIPPETS:
        raise NearfarError(f"{program[0]}: --for {args.form} starts nothing: put what it prints into the program")
    forms = list(FORMS) if args.form == "all" else [args.form] if args.form else []
    scripts = {form: render(form, node, placements, sentences, program) for form in forms}
    if args.json:
        print(json.dumps(_document(node, layout, placements, sentences, scripts), indent=2, ensure_ascii=False))
    elif not forms:
        print("\n".join([*_table(placements), "", *sentences]).rstrip())
    elif args.form == "all":
        print("\n".join(f"===== {form} =====\n{script}" for form, script in scripts.items()), end="")
    else:
        print(scripts[args.form], end="")
    return EXIT_GOOD


def _numbers(option: str, text: str) -> tuple[int, ...]:
    """The numbers as they stand: their order is the ranks' order, and one may be there twice."""
    try:
        return tuple(number for part in text.split(",") for number in parse_cpu_list(part or "empty"))
    except NearfarError:
        raise NearfarError(f"{option} {text}: expected numbers and ranges, such as 0,1 or 0-3") from None


def _node(args: argparse.Namespace) -> tuple[Node, NodeType | None]:
    """The node, with the node type that predicts it where there is one."""
    if args.node is not None:
        node_type = load_node_type(args.node, site_directories())
        return node_type.node, node_type
    if args.xml is not None:
        node = stored_node(Path(args.xml))
        for note in node.notes:
            if note != node.gpus_unknown:
                say(f"{args.xml}: {note}")
        return node, None
    node = inventory.observe()
    system = systems.claims(node.hostname, node.product, systems.load_all())
    names = (
        {partition.node_type for partition in system.partitions.values() if partition.node_type} if system else set()
    )
    return node, load_node_type(names.pop(), site_directories()) if len(names) == 1 else None


def _document(
    node: Node, layout: Layout, placements: Sequence[Placement], sentences: Sequence[str], scripts: dict[str, str]
) -> dict[str, object]:
    """``nearfar-binding/1``; CPUs as Linux lists."""
    rows = []
    for placement in placements:
        row = asdict(placement)
        for key in ("cpus", "siblings", "mpi_cpus", "gpu_cpus"):
            row[key] = format_cpu_list(row[key])
        rows.append(row)
    return {
        "schema": "nearfar-binding/1",
        "hostname": node.hostname,
        "layout": asdict(layout),
        "placements": rows,
        "explanation": list(sentences),
        "scripts": scripts,
    }


def _table(placements: Sequence[Placement]) -> list[str]:
    split = any(p.mpi_cpus != p.gpu_cpus for p in placements)
    heads = ["rank", "GPU", "NIC", *(["MPI thread", "GPU threads"] if split else ["CPUs"]), "memory", "path"]
    rows = [heads]
    for p in placements:
        cpus = [p.mpi_cpus, p.gpu_cpus] if split else [p.cpus]
        rows.append(
            [
                str(p.rank),
                "-" if p.gpu is None else f"g{p.gpu}",
                p.nic or "-",
                *map(format_cpu_list, cpus),
                ",".join(f"n{index}" for index in p.memory_nodes),
                ("free" if p.free else p.path or "-") + (", shared" if p.shared else ""),
            ]
        )
    return columns(rows)
