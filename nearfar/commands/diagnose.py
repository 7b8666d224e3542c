"""``nearfar diagnose``: which degraded part explains what is slow."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nearfar.calibration import measured_cells
from nearfar.cells import pretty
from nearfar.commands.calibrate import node_type_for
from nearfar.diagnosis import Blame, Diagnosis, diagnose
from nearfar.errors import EXIT_FAILED, EXIT_GOOD, NearfarError
from nearfar.measurement import Document, load, merge

_EPILOG = """\
examples:
  nearfar diagnose --node summit now.json --healthy last-month.json
  nearfar diagnose reports/latest/NODE/*/document.json      siblings: the same figures of the node's other GPUs
  nearfar diagnose --node summit now.json --json
  nearfar predict --node summit --json > well.json          a fault to try it on:
  nearfar predict --node summit --json --degrade g2.d2h=0.5 --noise 0.005 > ill.json
  nearfar diagnose --node summit ill.json --healthy well.json

A part is what breaks as one: g2.link (both directions of a GPU's link), g2.h2d or g2.d2h (one direction), n0.memory,
p0-p1.link (between packages), a PCI bridge's uplink, g0-g1.link or g0.nvlink (between GPUs). docs/diagnosis.md has more.

exit codes: 0 nothing is slow, 1 a part is degraded or something slow is not explained, 2 wrong use, 3 it could not be judged
"""
_ORIGINS = {
    "run": "the healthy run",
    "siblings": "siblings in the same run (what slows all of them alike stays unseen)",
    "prediction": "the node type's prediction, taken as right within 3 %",
}
#: So many cells are listed of those that nothing explains.
_LISTED = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("document", nargs="+", metavar="DOCUMENT", help="measurement documents of one node (JSON)")
    parser.add_argument("--node", metavar="TYPE", help="the node type; without it the documents' own node")
    parser.add_argument(
        "--healthy",
        nargs="+",
        default=[],
        metavar="DOCUMENT",
        help="the same cells of the node, or of some of its type, in good state, once or in several runs; without it "
        "siblings and the node type",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the diagnosis."""
    document = merge([load(Path(name)) for name in args.document])
    healthy = [load(Path(name)) for name in args.healthy]
    for one in healthy:
        if document.kind == "measured" and one.kind == "modelled":
            raise NearfarError(f"{one.source}: is modelled: a measured run is compared with a measured one")
    node_type = node_type_for(args.node, document)
    diagnosis = diagnose(node_type, measured_cells(document), [cell for one in healthy for cell in measured_cells(one)])
    if args.json:
        print(json.dumps(_as_json(diagnosis, document, node_type.name), indent=1, ensure_ascii=False))
    else:
        print("\n".join(_text(diagnosis, document)))
    return EXIT_FAILED if diagnosis.degraded else EXIT_GOOD


def _text(diagnosis: Diagnosis, document: Document) -> Iterator[str]:
    modelled = " (modelled)" if document.kind == "modelled" else ""
    origins = "; ".join(f"{count} with {_ORIGINS[origin]}" for origin, count in diagnosis.origins.items())
    yield f"{document.source}{modelled}: {_cells(diagnosis.compared)} compared: {origins}"
    if diagnosis.left_out:
        yield f"{_cells(len(diagnosis.left_out))} left out: nothing says what they carry on a healthy node"
    explained = len(diagnosis.bad) - len(diagnosis.unexplained)
    if not diagnosis.degraded:
        yield "nothing is slow"
        return
    if not diagnosis.sets:
        yield f"no single part explains this, nor two: {_cells(len(diagnosis.bad))} slow"
    else:
        yield from _set(diagnosis.sets[0])
        slow = len(diagnosis.bad)
        yield f"  explains {explained} of {_cells(slow)} that {'is' if slow == 1 else 'are'} slow"
        for rival in diagnosis.sets[1:]:
            yield "or, as likely (these cells do not tell them apart):"
            yield from _set(rival)
    for one in diagnosis.unexplained[:_LISTED]:
        yield f"not explained: {pretty(one.cell)} at {one.ratio:.0%} of healthy"
    if len(diagnosis.unexplained) > _LISTED:
        yield f"and {len(diagnosis.unexplained) - _LISTED} more"


def _set(blames: tuple[Blame, ...]) -> Iterator[str]:
    for blame in blames:
        now = ", ".join(
            f"{name} {value:.1f} GB/s{' (healthy: not known)' if name in blame.unknown else ''}"
            for name, value in blame.now.items()
        )
        factor = f"{blame.factor:.3f} ({blame.low:.3f} to {blame.high:.3f})"
        yield f"{blame.part.name} is degraded to {factor} of healthy: {blame.part.words}; now {now}"


def _cells(count: int) -> str:
    return f"{count} cell{'' if count == 1 else 's'}"


def _as_json(diagnosis: Diagnosis, document: Document, node_type: str) -> dict[str, Any]:
    return {
        "schema": "nearfar-diagnosis/1",
        "kind": document.kind,
        "node_type": node_type,
        "source": document.source,
        "compared": diagnosis.compared,
        "healthy_from": dict(diagnosis.origins),
        "left_out": [str(cell) for cell in diagnosis.left_out],
        "sets": [
            [
                {
                    "part": blame.part.name,
                    "words": blame.part.words,
                    "factor": blame.factor,
                    "interval": [blame.low, blame.high],
                    "capacities": dict(blame.now),
                    "healthy_unknown": list(blame.unknown),
                }
                for blame in blames
            ]
            for blames in diagnosis.sets
        ],
        "slow": [{"cell": str(one.cell), "ratio": one.ratio, "explained": one.explained} for one in diagnosis.bad],
    }
