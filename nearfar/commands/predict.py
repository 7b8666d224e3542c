"""``nearfar predict``: what cells should carry on a node type, and what limits them; a table or a modelled document."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from nearfar.base import EXIT_GOOD, NearfarError, SiteFile, columns, plural, site_directories, site_files
from nearfar.cells import Cell, Flow, Skip, host_device_matrix, parse, parse_lines
from nearfar.collective import (
    COLLECTIVES,
    NETWORKS,
    TRANSPORT_WORDS,
    TRANSPORTS,
    Fabric,
    expected,
    parse_nics,
    size_in_bytes,
    size_in_words,
)
from nearfar.measurement import dump
from nearfar.model import published_nodes
from nearfar.model.diagnosis import degraded_by
from nearfar.model.prediction import (
    Capacity,
    NodeType,
    Prediction,
    degraded,
    load_node_type,
    modelled_document,
    not_known,
    of_topology,
    predict,
)
from nearfar.model.typical import Experience, TypicalRate, load_experience, typical_rate
from nearfar.site import expectations
from nearfar.topology import stored_node

#: The largest number of nodes that a collective is asked of.
_MOST_NODES = 100_000

_EPILOG = """\
examples:
  nearfar predict --node summit n0:g0+n0:g1+n0:g2+n1:g3+n1:g4+n1:g5
  nearfar predict --node keeneland                          the whole host-device matrix
  nearfar predict --node h200-x4-vm g1:g0+g2:g0+g3:g0       three GPUs write to one
  nearfar predict --node summit g0:n0 --degrade g0.d2h=0.5  what a fault would look like
  nearfar predict --node summit --degrade g2.link=0.5       everything that a fault of this part slows down
  nearfar predict --node unseen.xml n0:g0 g0:g1             what healthy nodes reach on such links, of a node that is not here
  nearfar predict --node summit --cells cells.txt --json --noise 0.005 --seed 1
  nearfar predict --node h200-x4-vm --collective all_reduce --bytes 1G   bus bandwidth that nccl-tests should print
  nearfar predict --node h200-x4-vm --collective all_reduce --nodes 2 --nics 8x400
  nearfar predict --node h200-x4-vm --collective all_reduce --transport shm   if NCCL falls back to host memory

Rates are in GB/s (1e9 bytes per second) and hold for large transfers; small sizes are not predicted. A mark shows how certain a rate is:
  ≤          an upper bound: an unknown capacity may lower it
  nominal    the ceiling of the limiting link is uncertain too
  input      a figure of the node type itself
  assumed    limited by a capacity of kind: assumed, or taken from a similar part
A modelled document has the same marks as "basis". "typical", with its range, is what healthy nodes of site/published-nodes/ reach.
benchmarks/studies/prediction.md states the rules.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Print the rate that each flow should reach on a node type, and what limits it. Measures nothing."
    )
    parser.epilog = _EPILOG
    parser.add_argument(
        "--node", required=True, metavar="TYPE",
        help="the node type, a file of site/nodes/; or a node of site/published-nodes/, or hwloc XML (lstopo --of xml)",
    )  # fmt: skip
    parser.add_argument(
        "cell", nargs="*", metavar="CELL", help="cells, such as n0:g0+n0:g1 (default: every NUMA node with every GPU)"
    )
    parser.add_argument(
        "--cells", metavar="FILE", help="read more cells from this file, one per line (-: standard input)"
    )
    parser.add_argument("--json", action="store_true", help="print the measurement document, marked as modelled")
    parser.add_argument(
        "--degrade",
        action="append",
        default=[],
        metavar="PART=FACTOR",
        help="multiply a capacity, or all known ones of a part (g2.link, p0-p1.link, g0-g1.link), by a factor above 0 and "
        "up to 1; may be repeated; the last one for a capacity counts",
    )
    parser.add_argument(
        "--noise",
        type=float,
        default=0.0,
        metavar="SIGMA",
        help="with --json: add noise with this standard deviation (of the rates' logarithm)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the noise: the same seed gives the same figures"
    )
    of = parser.add_argument_group("collectives of NCCL")
    of.add_argument(
        "--collective",
        metavar="NAME",
        help=f"predict the bus bandwidth of this collective, named as in nccl-tests: {', '.join(COLLECTIVES)}",
    )
    of.add_argument("--gpus", metavar="LIST", help="the GPUs of each node that take part, e.g. 0,1,2,3 (default: all)")
    of.add_argument("--bytes", metavar="SIZE", help="the size of the data, e.g. 1G or 256M (default: large)")
    of.add_argument(
        "--transport",
        choices=TRANSPORTS,
        help="what NCCL uses within a node: NVLink, PCIe peers or host memory (default: its choice on a healthy node)",
    )
    of.add_argument("--nodes", type=int, metavar="N", help="number of such nodes (default: 1)")
    of.add_argument("--nics", metavar="NxGBITS", help="with --nodes: NICs per node and Gbit/s of each, e.g. 8x400")
    of.add_argument("--network", choices=NETWORKS, help="with --nics: the network (default: infiniband)")


def run(args: argparse.Namespace) -> int:
    """Print what the cells should carry."""
    _refuse(args)
    if args.collective is not None:
        return _collective(args)
    if args.noise and not args.json:
        raise NearfarError("--noise needs --json")
    node_type = _node_type(args.node)
    factors = degraded_by(args.degrade, node_type)
    cells = [parse(text) for text in args.cell] + (parse_lines(args.cells) if args.cells else [])
    skips: list[Skip] = []
    if not cells and not args.cells:
        cells, skips = host_device_matrix(node_type.node)
    if args.json:
        sys.stdout.write(dump(modelled_document(node_type, cells, factors, args.noise, args.seed, skips)))
    else:
        known = load_experience(tuple(site_directories()))
        _print_table(cells, degraded(node_type, factors), known, whole=not args.cell and not args.cells)
    return EXIT_GOOD


def _node_type(name: str) -> NodeType:
    """A node type of the site; else a published node, or the node of hwloc XML, of which the topology alone is known."""
    directories = site_directories()
    if name.endswith(".xml"):
        node = expectations.filled(stored_node(Path(name)), expectations.gpu_models(directories))
        return of_topology(Path(name).stem, node, directories)
    published = published_nodes.node_files(directories).get(name)
    if published is None or name in site_files("nodes", directories):
        return load_node_type(name, directories)
    # Its file takes no capacities.
    return replace(published_nodes.from_file(SiteFile(published), directories).node_type, file=None)


def _print_table(cells: Sequence[Cell], node_type: NodeType, known: Experience, whole: bool) -> None:
    """``whole``: nobody named cells."""
    rows: list[tuple[str, str, str, str]] = []
    unknown: dict[str, Capacity] = {}
    for cell in dict.fromkeys(cells):
        prediction = predict(cell, node_type)
        unknown.update({capacity.name: capacity for capacity in prediction.unknown})
        typical = typical_rate(cell, node_type, known) if prediction.unknown else None
        for place, (flow, rate, limits) in enumerate(_rows(cell, prediction)):
            rows.append((flow, rate, _typical(typical) if place == 0 else "", limits))
    print(f"{node_type.name} (modelled): {node_type.description}")
    if not rows:
        print("no cells" if node_type.node.gpus else "no cells: the node type has no GPUs")
        return
    table = [("flow", "GB/s", "typical", "limited by"), *rows]
    shown = [0, 1, 2, 3] if any(row[2] for row in rows) else [0, 1, 3]
    print("\n".join(columns([tuple(row[place] for place in shown) for row in table], right=[1])))
    for line in not_known(unknown.values(), node_type, whole):
        print(line)


def _typical(typical: TypicalRate | None) -> str:
    """``53.4 (48.1 to 58.7)``."""
    return "" if typical is None else f"{typical.typical:.1f} ({typical.least:.1f} to {typical.greatest:.1f})"


def _rows(cell: Cell, prediction: Prediction) -> list[tuple[str, str, str]]:
    best = f" {prediction.basis}" if prediction.basis in ("nominal", "input", "assumed") else ""
    most = "≤ " if prediction.basis in ("upper bound", "nominal") else ""

    def row(label: str, rate: float | None, limits: Sequence[str], known: str = best) -> tuple[str, str, str]:
        return label, "unknown" if rate is None else f"{most}{rate:.2f}{known}", ", ".join(limits)

    def entry(flow: Flow, indent: str) -> tuple[str, str, str]:
        rate = prediction.flows[flow]
        tasks = f", {flow.tasks} × {rate / flow.tasks:.2f}" if flow.tasks > 1 and rate is not None else ""
        # Of the flows of a cell that was measured the sum is known.
        known = "" if indent and prediction.basis == "input" else best
        return row(f"{indent}{flow}{tasks}", rate, prediction.limits[flow], known)

    if cell.lone:
        return [entry(cell.flows[0], "")]
    return [row(str(cell), prediction.total, ()), *(entry(flow, "  ") for flow in cell.flows)]


def _refuse(args: argparse.Namespace) -> None:
    """Raise for options that belong to a collective, or to cells, and stand beside the other."""
    options = {
        "--gpus": args.gpus,
        "--bytes": args.bytes,
        "--transport": args.transport,
        "--nodes": args.nodes,
        "--nics": args.nics,
        "--network": args.network,
    }
    if args.collective is None:
        for option in (option for option, value in options.items() if value is not None):
            raise NearfarError(f"{option} goes with --collective")
    elif args.cell or args.cells or args.noise:
        raise NearfarError("--collective is predicted alone: leave out cells and --noise")
    elif args.nodes is not None and not 1 <= args.nodes <= _MOST_NODES:
        raise NearfarError(f"--nodes {args.nodes}: give a number from 1 to {_MOST_NODES}")
    elif (args.nodes or 1) == 1:
        for option in ("--nics", "--network"):
            if options[option] is not None:
                raise NearfarError(f"{option} goes with --nodes: give two or more")


def _collective(args: argparse.Namespace) -> int:
    """Print the bus bandwidth of a collective, and what limits it."""
    node_type = _node_type(args.node)
    if args.gpus is not None and re.fullmatch(r"[0-9]{1,4}(,[0-9]{1,4})*", args.gpus) is None:
        raise NearfarError(f"--gpus {args.gpus}: give numbers of GPUs, e.g. 0,1,2,3")
    nics, gbits = (0, 0.0) if args.nics is None else parse_nics(args.nics)
    if (args.nodes or 1) > 1 and args.nics is None:
        raise NearfarError(f"--nodes {args.nodes}: describe the NICs between them with --nics, e.g. --nics 8x400")
    found = expected(
        degraded(node_type, degraded_by(args.degrade, node_type)),
        args.collective,
        None if args.gpus is None else [int(gpu) for gpu in args.gpus.split(",")],
        None if args.bytes is None else size_in_bytes(args.bytes),
        1 if args.nodes is None else args.nodes,
        fabric=Fabric(nics, gbits / 8, args.network or "infiniband") if nics else None,
        transport=args.transport,
    )
    if args.json:
        print(
            json.dumps({"schema": "nearfar-expected-collective/1", "node": node_type.name, **asdict(found)}, indent=1)
        )
        return EXIT_GOOD
    ranks = f"{plural(len(found.gpus), 'GPU')}{'' if found.nodes == 1 else f' of each of {found.nodes} nodes'}"
    size = "any large size" if found.bytes is None else size_in_words(found.bytes)
    over = dict.fromkeys(TRANSPORT_WORDS[way] for way in (args.transport, found.transport) if way is not None)
    print(f"{node_type.name} (modelled): {node_type.description}")
    print(f"{found.collective}, {ranks}, {size}: {found.typical:.4g} GB/s bus bandwidth")
    print(
        f"range: {found.low:.4g} to {found.high:.4g} GB/s; {found.algorithm} over {' and '.join(over)}, limited by {found.limit}"
    )
    return EXIT_GOOD
