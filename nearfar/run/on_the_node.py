"""What a check asks of a node that no file describes: found out by its job, on the node, before its program starts.

``python -m nearfar.run.on_the_node REQUEST -- PROGRAM [ARGUMENT…]`` observes the node, writes the cells, plans what is measured again, and
goes on as the supervisor of the program. The judge reads what was observed and comes to the same cells.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nearfar.base import node_lock, supervise, write_atomically
from nearfar.question import Question, named
from nearfar.site import expectations
from nearfar.topology import Node, inventory, node_to_document
from nearfar.verdict import LookPlan, case_files, look_plan, references, thresholds
from nearfar.verdict.references import Reference

#: In the stage directory: what the job needs to know, and what the program is asked.
REQUEST, CELLS = "request.json", "cells.txt"


@dataclass(frozen=True)
class JobRequest:
    """The check and its partition, and the seconds that the program may take (``limit``, and ``cell_limit`` for each cell)."""

    check: str
    system: str
    features: Sequence[str]
    expect: Mapping[str, Any]
    references: str | None
    host: str | None
    directories: Sequence[str]
    limit: float
    cell_limit: float
    spacing: float = thresholds.SPACING
    looks_again: bool = True

    def write(self, stage: Path) -> Path:
        """Leave it in the stage directory; returns the file."""
        write_atomically(stage / REQUEST, json.dumps(asdict(self)))
        return stage / REQUEST


def bounded(resolved: Mapping[str, Reference | None]) -> dict[str, Reference]:
    """The references that there are; none where none of them has a bound, so that nothing can lie beyond it."""
    there = {name: reference for name, reference in resolved.items() if reference is not None}
    return there if any((each.lowest, each.highest) != (None, None) for each in there.values()) else {}


def main(arguments: Sequence[str]) -> None:
    """Observe, ask, and become the program's supervisor."""
    path = Path(arguments[0])
    request, stage = JobRequest(**json.loads(path.read_text(encoding="utf-8"))), path.parent
    observed = inventory.observe()
    write_atomically(stage / case_files.NODE, json.dumps(node_to_document(observed)))
    question, node = named(request.check), expectations.overlaid(observed, request.expect)
    asked, _ = question.cells(node)
    if not asked or question.unanswerable(node):
        return
    cells = stage / CELLS
    write_atomically(cells, "".join(f"{cell}\n" for cell in asked))
    gpus = ",".join(gpu.pci for gpu in node.gpus)
    limit = request.limit + request.cell_limit * len(asked) + supervise.LAST_RESORT
    command = [
        "--limit",
        f"{limit:g}",
        "--wait",
        f"{node_lock.wait():g}",
        *arguments[1:],
        *(["--gpus", gpus] if gpus else []),
    ]
    supervisor = ["nearfar.base.supervise"]
    bounds = _bounds(request, question, node, observed) if request.looks_again else {}
    if bounds:
        plan = LookPlan(
            question.name, node, bounds, str(cells), None, request.limit, request.cell_limit, request.spacing
        )
        plan.write(stage)
        supervisor = ["nearfar.verdict.look_again", look_plan.PLAN]
    os.execv(sys.executable, [sys.executable, "-m", *supervisor, *command])


def _bounds(request: JobRequest, question: Question, node: Node, observed: Node) -> dict[str, Reference]:
    directories = [Path(directory) for directory in request.directories]
    files = references.for_partition(request.references, None, directories)
    ranges = references.model_ranges.read(directories)
    host = request.host or ("shared" if observed.virtual_machine else "own")
    figures = question.known_figures(node, request.features)
    resolved = references.of_question(question, figures, files, node, host, ranges=ranges, system=request.system)
    return bounded(resolved)


if __name__ == "__main__":
    main(sys.argv[1:])
