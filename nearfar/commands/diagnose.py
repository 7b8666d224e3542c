"""``nearfar diagnose``: which degraded part explains what is slow."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from nearfar.base import EXIT_COULD_NOT_JUDGE, EXIT_FAILED, EXIT_GOOD, CouldNotJudge, NearfarError, plural
from nearfar.measurement import DOCUMENTS_HELP, Document, merge, named_documents
from nearfar.model.calibration import measured_cells
from nearfar.model.diagnosis import (
    ORIGINS,
    DegradedPart,
    Diagnosis,
    Gaps,
    HealthyRuns,
    as_json,
    diagnose,
    gaps_of,
    healthy_runs,
    nothing_slow,
    undetermined,
)
from nearfar.model.prediction import NodeType

from .calibrate import node_type_for, refuse_foreign_cells, refuse_loaded
from .command_line import print_json

_EPILOG = """\
examples:
  nearfar diagnose --node summit now.json --healthy last-month.json
  nearfar diagnose reports/latest                           compares with the node's other GPUs
  nearfar diagnose reports/latest/gpu007 --healthy reports/redwood/20261101T030000/gpu007
  nearfar diagnose --node summit now.json --json
  nearfar predict --node summit --json > well.json          a fault to try it on:
  nearfar predict --node summit --json --degrade g2.d2h=0.5 --noise 0.005 > ill.json
  nearfar diagnose --node summit ill.json --healthy well.json

The parts: g2.link (both directions of a GPU's link), g2.h2d or g2.d2h (one direction), n0.memory, p0-p1.link (between packages),
a PCI bridge's uplink, g0-g1.link or g0.nvlink (between GPUs). If all GPUs lost up to 10 % alike in one direction, that is reported
by itself and no part is blamed. benchmarks/studies/diagnosis.md has more.

exit codes: 0 nothing is slow, except by a loss common to all GPUs; 1 something is slow, failed (a lost GPU) or arrived damaged;
2 wrong use; 3 it could not be judged (slower than siblings only, and no part explains it), a cell could not be measured, or a
document cannot be read
"""
#: What tells a slow part from a difference by design.
_DECIDES = "name a healthy run with --healthy, or the node type with --node"
#: So many cells are listed of those that nothing explains.
_LISTED = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = "Name the fewest degraded parts that explain the slow figures of a run. Measures nothing."
    parser.epilog = _EPILOG
    parser.add_argument("document", nargs="+", metavar="DOCUMENT", help=DOCUMENTS_HELP)
    parser.add_argument("--node", metavar="TYPE", help="the node type (default: as the documents describe it)")
    parser.add_argument(
        "--healthy",
        nargs="+",
        default=[],
        metavar="DOCUMENT",
        help="one or more runs of this node, or of nodes of its type, in good state (default: compare with siblings and "
        "the node type)",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the diagnosis."""
    documents = named_documents(args.document)
    named = named_documents(args.healthy)
    healthy = [each for each in named if measured_cells(each)]
    if named and not healthy:
        raise CouldNotJudge(f"{named[0].source}: holds no figure of a cell: it cannot describe a healthy node")
    refuse_loaded(healthy)
    refuse_foreign_cells([*documents, *healthy])
    document = merge(documents)
    for run_document in healthy:
        _refuse_unlike(run_document, document)
    node_type = node_type_for(args.node, document)
    runs = healthy_runs(document, healthy)
    gaps = gaps_of(document, runs.cells)
    diagnosis = _diagnosis(node_type, document, runs, gaps)
    if args.json:
        print_json(_json(diagnosis, gaps, document, node_type.name))
    else:
        print("\n".join(_text(diagnosis, gaps, document)))
    if diagnosis.undecided and gaps.exit_code != EXIT_FAILED:
        return EXIT_COULD_NOT_JUDGE
    return EXIT_FAILED if diagnosis.degraded else gaps.exit_code


def _refuse_unlike(healthy: Document, document: Document) -> None:
    """Refuse a healthy run whose figures say nothing about those of the document."""
    if document.kind == "measured" and healthy.kind == "modelled":
        raise NearfarError(f"{healthy.source}: is modelled: a measured run is compared with a measured one")
    for gpu in healthy.node.gpus:
        own = document.node.gpu(gpu.index)
        if own is not None and own.name and gpu.name and own.name != gpu.name:
            difference = f"its g{gpu.index} is {gpu.name}, that of {document.source} {own.name}"
            raise CouldNotJudge(f"{healthy.source}: {difference}: a healthy run has the same GPUs")


def _diagnosis(node_type: NodeType, document: Document, runs: HealthyRuns, gaps: Gaps) -> Diagnosis:
    """The diagnosis; of nothing at all where no figure can be compared and the gaps say why."""
    try:
        return diagnose(node_type, measured_cells(document), runs)
    except CouldNotJudge:
        if gaps.exit_code == EXIT_GOOD:
            raise
    return Diagnosis((), (), 0, {}, tuple(cell.cell for cell in measured_cells(document)))


def _json(diagnosis: Diagnosis, gaps: Gaps, document: Document, node_type: str) -> dict[str, Any]:
    entry = as_json(diagnosis, document.kind, node_type, document.source)
    common = [finding.reason for finding in diagnosis.common]
    short = _undecided(diagnosis) if diagnosis.undecided else _nothing(diagnosis, gaps)
    answer = "; ".join([*gaps.lines, *([*common, short] if short else [entry["sentence"]])])
    return {**entry, "sentence": answer, "aggressors": list(document.aggressors), **gaps.as_json()}


def _text(diagnosis: Diagnosis, gaps: Gaps, document: Document) -> Iterator[str]:
    about = " (modelled)" if document.kind == "modelled" else ""
    if document.aggressors:
        about += f", measured beside {', '.join(document.aggressors)}"
    origins = "".join(f"; {count} with {ORIGINS[origin]}" for origin, count in diagnosis.origins.items())
    yield f"{document.source}{about}: {plural(diagnosis.compared, 'cell')} compared{origins.replace(';', ':', 1)}"
    yield from gaps.lines
    if diagnosis.left_out:
        yield f"{plural(len(diagnosis.left_out), 'cell')} left out: what they carry on a healthy node is unknown"
    yield from (finding.reason for finding in diagnosis.common)
    explained = len(diagnosis.bad) - len(diagnosis.unexplained)
    if not diagnosis.degraded:
        yield _nothing(diagnosis, gaps) or nothing_slow(diagnosis)
        return
    if diagnosis.undecided:
        yield _undecided(diagnosis)
    elif diagnosis.undetermined:
        yield undetermined(diagnosis)
    elif not diagnosis.sets:
        yield f"no single part explains this, nor two: {plural(len(diagnosis.bad), 'cell')} slow"
    else:
        yield from _set(diagnosis.sets[0])
        slow = len(diagnosis.bad)
        yield f"  explains {explained} of {plural(slow, 'cell')} that {'is' if slow == 1 else 'are'} slow"
        for rival in diagnosis.sets[1:]:
            yield "or, as likely (these cells cannot distinguish them):"
            yield from _set(rival)
    for unexplained in diagnosis.unexplained[:_LISTED]:
        yield f"not explained: {unexplained.cell} at {unexplained.ratio:.0%} of healthy"
    if len(diagnosis.unexplained) > _LISTED:
        yield f"and {len(diagnosis.unexplained) - _LISTED} more"


def _undecided(diagnosis: Diagnosis) -> str:
    slow = len(diagnosis.bad)
    falls = f"{plural(slow, 'cell')} {'falls' if slow == 1 else 'fall'} short of siblings and no part explains it"
    if diagnosis.undetermined:
        falls = undetermined(diagnosis)
    return f"{falls}: GPUs may differ by design; {_DECIDES}"


def _nothing(diagnosis: Diagnosis, gaps: Gaps) -> str | None:
    """What nothing slow means beside gaps; None where something is slow, or nothing is lacking."""
    if diagnosis.degraded or not gaps.lines:
        return None
    if not diagnosis.compared:
        return "nothing could be compared"
    return f"{nothing_slow(diagnosis)}{',' if diagnosis.lowest else ''} of what was compared"


def _set(blames: tuple[DegradedPart, ...]) -> Iterator[str]:
    for blame in blames:
        now = ", ".join(f"{name} {value:.1f} of {blame.healthy[name]:.1f} GB/s" for name, value in blame.now.items())
        factor = f"{blame.factor:.3f} ({blame.low:.3f} to {blame.high:.3f})"
        yield f"{blame.part.name} is degraded to {factor} of healthy: {blame.part.description}; now {now}"
