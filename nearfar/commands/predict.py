"""``nearfar predict``: what cells should carry on a node type, and what limits them; a table or a modelled document."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from nearfar.base import EXIT_GOOD, NearfarError, columns, site_directories
from nearfar.cells import Cell, Flow, Skip, host_device_matrix, parse, parse_lines
from nearfar.measurement import dump
from nearfar.model.diagnosis import degraded_by
from nearfar.model.prediction import (
    Capacity,
    NodeType,
    Prediction,
    degraded,
    load_node_type,
    modelled_document,
    not_known,
    predict,
)
from nearfar.model.typical import Experience, TypicalRate, load_experience, typical_rate

_EPILOG = """\
examples:
  nearfar predict --node summit n0:g0+n0:g1+n0:g2+n1:g3+n1:g4+n1:g5
  nearfar predict --node keeneland                          the whole host-device matrix
  nearfar predict --node h200-x4-vm g1:g0+g2:g0+g3:g0       three GPUs write to one
  nearfar predict --node summit g0:n0 --degrade g0.d2h=0.5  what a fault would look like
  nearfar predict --node summit --degrade g2.link=0.5       of a part that nearfar diagnose names: all that it takes along
  nearfar predict --node summit --cells cells.txt --json --noise 0.005 --seed 1

Rates are GB/s (1e9 bytes per second), those of large transfers: nothing is predicted by size. A rate that depends on a capacity
nobody knows is marked "at best", or "nominal" where the ceiling of a link that limits it is itself not certain; "input" marks the
node type's own figures, "assumed" what is taken from a part of the same kind in the node, or limited by a capacity of kind: assumed. A
modelled document says the same as "basis". Where capacities are unknown, "typical" is what healthy nodes of site/published-nodes/ let
expect, with its range. Node types are the files of site/nodes/;
docs/method/prediction.md states the rules.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Say what cells should carry on a node type, flow by flow, and what limits them. Nothing is measured."
    )
    parser.epilog = _EPILOG
    parser.add_argument("--node", required=True, metavar="TYPE", help="the node type, a file of site/nodes/")
    parser.add_argument("cell", nargs="*", metavar="CELL", help="cells; without any the host-device matrix")
    parser.add_argument("--cells", metavar="FILE", help="more cells, one a line (-: standard input)")
    parser.add_argument("--json", action="store_true", help="print the measurement document, marked as modelled")
    parser.add_argument(
        "--degrade",
        action="append",
        default=[],
        metavar="PART=FACTOR",
        help="multiply a capacity, or all known ones of a part (g2.link, p0-p1.link, g0-g1.link), by a factor of more than 0 and "
        "at most 1; may be repeated, and of a capacity the last counts",
    )
    parser.add_argument(
        "--noise", type=float, default=0.0, metavar="SIGMA", help="standard deviation of the rates' logarithm (--json)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the noise: the same seed gives the same figures"
    )


def run(args: argparse.Namespace) -> int:
    """Print what the cells should carry."""
    if args.noise and not args.json:
        raise NearfarError("--noise needs --json")
    node_type = load_node_type(args.node, site_directories())
    factors = degraded_by(args.degrade, node_type)
    cells = [parse(text) for text in args.cell] + (parse_lines(args.cells) if args.cells else [])
    skips: list[Skip] = []
    if not cells and not args.cells:
        cells, skips = host_device_matrix(node_type.node)
    if args.json:
        sys.stdout.write(dump(modelled_document(node_type, cells, factors, args.noise, args.seed, skips)))
    else:
        _print_table(cells, degraded(node_type, factors), load_experience(tuple(site_directories())))
    return EXIT_GOOD


def _print_table(cells: Sequence[Cell], node_type: NodeType, known: Experience) -> None:
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
    for line in not_known(unknown.values(), node_type):
        print(line)


def _typical(typical: TypicalRate | None) -> str:
    """``53.4 (48.1 to 58.7)``."""
    return "" if typical is None else f"{typical.typical:.1f} ({typical.least:.1f} to {typical.greatest:.1f})"


def _rows(cell: Cell, prediction: Prediction) -> list[tuple[str, str, str]]:
    best = f" {prediction.basis}" if prediction.basis in ("at best", "nominal", "input", "assumed") else ""

    def row(label: str, rate: float | None, limits: Sequence[str], known: str = best) -> tuple[str, str, str]:
        return label, "unknown" if rate is None else f"{rate:.2f}{known}", ", ".join(limits)

    def entry(flow: Flow, indent: str) -> tuple[str, str, str]:
        rate = prediction.flows[flow]
        tasks = f", {flow.tasks} × {rate / flow.tasks:.2f}" if flow.tasks > 1 and rate is not None else ""
        # Of the flows of a cell that was measured the sum is known.
        known = "" if indent and prediction.basis == "input" else best
        return row(f"{indent}{flow}{tasks}", rate, prediction.limits[flow], known)

    if cell.lone:
        return [entry(cell.flows[0], "")]
    return [row(str(cell), prediction.total, ()), *(entry(flow, "  ") for flow in cell.flows)]
