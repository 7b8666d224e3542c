"""``nearfar calibrate``: a node's capacities from measured cells, and every other cell beside what these predict."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence

from nearfar.base import EXIT_GOOD, CouldNotJudge, NearfarError, columns, listed, say, site_directories
from nearfar.measurement import DOCUMENTS_HELP, Document, merge, named_documents
from nearfar.model.calibration import (
    Calibration,
    Comparison,
    as_json,
    beside_others,
    calibrate,
    estimate_text,
    measured_cells,
    node_type_of,
)
from nearfar.model.prediction import NodeType, check_endpoints, load_node_type

from .command_line import print_json

_EPILOG = """\
examples:
  nearfar calibrate reports/latest/gpu007
  nearfar calibrate --node summit copy.json stream.json
  nearfar calibrate copy.json stream.json --yaml >> site/nodes/mine.yaml
  nearfar calibrate copy.json --json

The capacities come from single flows, STREAM, both directions of a pair, and one saturating cell for each shared capacity. All other
cells are compared with the prediction from these. Contradictory figures are refused. Rates are in GB/s (1e9 bytes per second).
benchmarks/studies/calibration.md states the rules.

exit codes: 0 calibrated, 2 wrong use or no such file, 3 the documents cannot be read, contradict themselves or have no single flow
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Compute the capacities of a node's links and memories from measurements, and check them on all other cells."
    )
    parser.epilog = _EPILOG
    parser.add_argument("document", nargs="+", metavar="DOCUMENT", help=DOCUMENTS_HELP)
    parser.add_argument(
        "--node",
        metavar="TYPE",
        help="the node type, for its topology (default: as the documents describe it)",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print everything as JSON")
    how.add_argument("--yaml", action="store_true", help="print the capacities as lines for a node file")


def run(args: argparse.Namespace) -> int:
    """Print the capacities and the comparison."""
    documents = named_documents(args.document)
    refuse_loaded(documents)
    refuse_foreign_cells(documents)
    document = merge(documents)
    note_left_out(document)
    calibration = calibrate(node_type_for(args.node, document), measured_cells(document, alone=True))
    if args.json:
        print_json(as_json(calibration, document.kind, document.source))
    elif args.yaml:
        print("\n".join(_yaml(calibration, document)))
    else:
        print("\n".join(_text(calibration, document)))
    return EXIT_GOOD


def refuse_loaded(documents: Sequence[Document]) -> None:
    """Refuse what was measured while the program itself kept other paths busy: no figure of a healthy node."""
    for document in documents:
        if document.aggressors:
            problem = f"was measured while {', '.join(document.aggressors)} ran in the background (--aggressor)"
            raise NearfarError(f"{document.source}: {problem}: measure it again without")


def refuse_foreign_cells(documents: Sequence[Document]) -> None:
    """Refuse a document with a figure of what its own node does not have."""
    for document in documents:
        for cell in {result.cell: None for result in document.results if result.cell is not None}:
            try:
                check_endpoints(document.node, cell, "the document's own node")
            except NearfarError as error:
                raise CouldNotJudge(f"{document.source}: {error}") from None


def note_left_out(document: Document) -> None:
    """Say on standard error which figures do not count, so that the output stays as it is."""
    damaged = dict.fromkeys(str(r.cell) for r in document.results if r.cell is not None and r.verified is False)
    for cells, why in (
        ([str(cell) for cell in beside_others(document)], "measured beside other flows, in a quick run"),
        (list(damaged), "the data did not arrive intact"),
    ):
        if cells:
            say(f"left out: {listed(cells)}: {why}")


def node_type_for(name: str | None, document: Document) -> NodeType:
    """The node type of that name; without one that of a modelled document, and of a measured one its own node, no capacity
    of which is known."""
    if name is not None:
        return load_node_type(name, site_directories())
    modelled = document.raw.get("node_type")
    if document.kind == "modelled" and isinstance(modelled, str):
        try:
            return load_node_type(modelled, site_directories())
        except NearfarError as error:
            raise NearfarError(f"{document.source}: {error}; --node names another") from None
    return node_type_of(document.node, document.node.hostname)


def _text(calibration: Calibration, document: Document) -> Iterator[str]:
    modelled = " (modelled)" if document.kind == "modelled" else ""
    yield f"{document.source}{modelled}: capacities of {calibration.node_type.name}, GB/s"
    rows = []
    for estimate in calibration.estimates.values():
        value = f"{estimate.value:.2f}" if estimate.value is not None else f"≥ {estimate.low:.2f}"
        rows.append((estimate.name, value, estimate_text(estimate)))
    yield from _indented(rows)
    for name, capacity in calibration.node_type.capacities.items():
        if capacity.value is not None and (capacity.read_weight, capacity.write_weight) != (1.0, 1.0):
            yield f"{name}: a byte read weighs {capacity.read_weight:.3f}, a byte written {capacity.write_weight:.3f}"
        if capacity.value is not None and capacity.read_share != 1.0:
            explanation = "once it is full, a read beside a write of its own GPU has"
            yield f"{name}: {explanation} {capacity.read_share:.2f} of what other flows have"
        if capacity.value is not None and capacity.mixed_weight != 1.0:
            yield f"{name}: while GPUs both read and write it, a byte weighs {capacity.mixed_weight:.3f} of that"
    for calibrates, title in ((True, "cells that calibrate: residuals"), (False, "all other cells: predictions")):
        shown = [row for row in calibration.comparisons if row.calibrates == calibrates]
        several = [row for row in shown if not calibrates or not row.measured.cell.lone]
        if several:
            yield ""
            yield f"{title} (measured, predicted, deviation, how unequally the flows share, limited by)"
            yield from _indented([_row(row) for row in several])
        if calibrates and len(several) < len(shown):
            worst = max((abs(row.deviation or 0.0) for row in shown if row.measured.cell.lone), default=0.0)
            yield f"{len(shown) - len(several)} single flows: residuals up to {worst:.2%}"
    yield from _agreement([row for row in calibration.comparisons if not row.calibrates])
    for cell in calibration.unexplained:
        yield f"not explained: {cell}: some flow is held back by nothing known on its way"


def _agreement(predictions: Sequence[Comparison]) -> Iterator[str]:
    """How many totals are near; those that are only the best case apart."""
    firm = [row.deviation for row in predictions if row.deviation is not None and not row.hangs_on]
    best = [row.deviation for row in predictions if row.deviation is not None and row.hangs_on]
    if firm:
        within = sum(abs(deviation) <= 0.10 for deviation in firm)
        yield f"{within} of {len(firm)} totals within 10 %, the worst {max(firm, key=abs):+.1%}"
    if best:
        yield f"{len(best)} {'more only' if firm else 'totals, all'} as upper bounds: some capacity was never saturated"


def _row(row: Comparison) -> tuple[str, ...]:
    cell = str(row.measured.cell)
    if row.predicted is None or row.deviation is None or row.shares is None:
        return cell, f"{row.measured.total:.2f}", "unknown", "", "", ""
    limits = ", ".join(row.limited_by)
    if row.hangs_on:
        limits += f" upper bound: {', '.join(row.hangs_on)} never saturated"
    low, high = row.shares
    shares = f"{low:.2f} to {high:.2f}" if len(row.predicted) > 1 else ""
    return cell, f"{row.measured.total:.2f}", f"{sum(row.predicted):.2f}", f"{row.deviation:+.1%}", shares, limits


def _indented(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    return (f"  {line}" for line in columns(rows))


def _yaml(calibration: Calibration, document: Document) -> Iterator[str]:
    """The sections ``capacities``, ``caps`` and ``stream``."""
    source = json.dumps(f"nearfar calibrate: {document.source}, {document.raw['started']}", ensure_ascii=False)
    node_type = calibration.node_type
    yield "capacities:"
    for name, capacity in node_type.capacities.items():
        if capacity.value is None:
            if not any(known == name or known.startswith(f"{name},") for known in calibration.estimates):
                continue  # nothing measured crosses it
            yield f"  {name}: {{value: null, reason: {json.dumps(capacity.source, ensure_ascii=False)}}}"
            continue
        weights = ""
        if not math.isclose(capacity.read_weight, 1) or not math.isclose(capacity.write_weight, 1):
            weights = f"read_weight: {capacity.read_weight:.4f}, write_weight: {capacity.write_weight:.4f}, "
        if not math.isclose(capacity.read_share, 1):
            weights += f"read_share: {capacity.read_share:.4f}, "
        if not math.isclose(capacity.mixed_weight, 1):
            weights += f"mixed_weight: {capacity.mixed_weight:.4f}, "
        yield f"  {name}: {{value: {capacity.value:.4f}, kind: derived, {weights}source: {source}}}"
    if node_type.caps:
        yield "caps:"
        for cell, cap in node_type.caps.items():
            yield f"  {cell}: {{value: {cap.value:.4f}, kind: derived, source: {source}}}"
    if node_type.stream:
        yield "stream:"
        for (cores, memory), kernels in node_type.stream.items():
            rates = ", ".join(f"{kernel}: {rate:.4f}" for kernel, rate in kernels.items())
            yield f"  c{cores}:n{memory}: {{{rates}, source: {source}}}"
