"""What a case leaves in its stage directory for its job, so that it can measure doubtful figures again; and what comes of it.

The job runs on the node, the judge may not: the bounds travel as a file, and the job reads nothing of the site.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar import measurement, question
from nearfar.base import MADE_UP, CouldNotJudge, NearfarError, json_or_none, text_or_empty, utc_text, write_atomically
from nearfar.measurement import AnyMetric, Document
from nearfar.topology import Node, node_from_document, node_to_document
from nearfar.verdict.references import Reference

from . import figure_verdict, thresholds
from .looks import LaterLook, measured_again

#: In the stage directory: what the job needs to know, and how it went.
PLAN, ACCOUNT = "look-plan.json", "looks.json"
_ORDINALS = ("second", "third")


@dataclass(frozen=True)
class LookPlan:
    """What the job needs: the check, the expected node, the references of its figures by name, the file of the cells (None: the
    program is asked again whole), the file that the program writes its document to (None: standard output), seconds that it may
    take (``limit``, and ``cell_limit`` for each cell), and seconds before each look."""

    check: str
    node: Node
    references: Mapping[str, Reference]
    cells: str | None
    document: str | None
    limit: float
    cell_limit: float
    spacing: float = thresholds.SPACING

    def seconds(self, cells: int) -> float:
        """How long the looks at so many cells may take, all together."""
        return thresholds.MEASURED_AGAIN * (self.spacing + self.limit + self.cell_limit * cells)

    def write(self, stage: Path) -> None:
        """Leave it in the stage directory, and nothing there of an earlier job's looks."""
        for left in (stage / ACCOUNT, *files(stage)):
            left.unlink(missing_ok=True)
        references = {name: vars(reference) for name, reference in self.references.items()}
        raw = {**vars(self), "node": node_to_document(self.node), "references": references}
        write_atomically(stage / PLAN, json.dumps(raw))


def read(path: Path) -> LookPlan:
    """The plan in a file. Raises ``CouldNotJudge`` for one that is not whole."""
    raw = json_or_none(path)
    try:
        references = {name: Reference(**each) for name, each in raw["references"].items()}
        return LookPlan(**{**raw, "node": node_from_document(raw["node"]), "references": references})
    except (*MADE_UP, NearfarError):
        raise CouldNotJudge(f"{path}: missing, or not what a case leaves there; nothing is measured again") from None


def in_doubt(plan: LookPlan, text: str) -> list[AnyMetric]:
    """The figures to measure again; none where there is no document, or half of one, of which the check says what it says."""
    document = _document(text, None)
    if isinstance(document, str):
        return []
    figures = _figures(plan, document)
    findings = (figure_verdict.of_figure(m, plan.references.get(m.name), None, False, plan.node) for m in figures)
    return [metric for metric, finding in zip(figures, findings) if measured_again(finding)]


def _figures(plan: LookPlan, document: Document) -> list[AnyMetric]:
    return list(question.named(plan.check).figures(document, plan.node))


def look_file(number: int) -> str:
    """The document of a later look, from 1."""
    return f"look-{number}.json"


def files(stage: Path) -> list[Path]:
    """The documents of the later looks that left one, in order."""
    return [path for number in range(1, thresholds.MEASURED_AGAIN + 1) if (path := stage / look_file(number)).is_file()]


def write_account(stage: Path, figures: Sequence[str], looks: Sequence[Mapping[str, Any]]) -> None:
    """What is measured again, and how each look went: ``time``, ``seconds``, ``problem``."""
    write_atomically(stage / ACCOUNT, json.dumps({"figures": list(figures), "looks": list(looks)}))


def seconds(stage: Path) -> float:
    """How long the program ran in later looks."""
    return math.fsum(seconds for _, seconds, _ in _account(stage)[1])


def later_looks(stage: Path, plan: LookPlan, first: Document | None) -> list[LaterLook]:
    """What the job measured again after the ``first`` document, in order; looks that were due and are lacking say so."""
    names, made = _account(stage)
    asked = frozenset(plan.references if names is None else names)
    how = "was not made" if names is None else "was interrupted"
    due = [*made, *[(utc_text(), 0.0, how)] * thresholds.MEASURED_AGAIN][: thresholds.MEASURED_AGAIN]
    looks = []
    for number, (time, _, problem) in enumerate(due, 1):
        document = problem or _document(text_or_empty(stage / look_file(number)), first)
        if isinstance(document, str):
            looks.append(LaterLook(asked, time, problem=f"the {_ORDINALS[number - 1]} measurement {document}"))
        else:
            looks.append(LaterLook(asked, time, document, {metric.name: metric for metric in _figures(plan, document)}))
    return looks


def _document(text: str, first: Document | None) -> Document | str:
    """The document of a measurement of what the ``first`` one was measured on, or why it is none."""
    try:
        document = measurement.loads(text)
    except NearfarError:
        return "left no document"
    if document.raw.get("interrupted"):
        return "was interrupted"
    if document.aggressors:
        return "was made beside an aggressor"
    if first is None or (document.kind, document.node.hostname) == (first.kind, first.node.hostname):
        return document
    return f"left a document that is {document.kind}, of {document.node.hostname}"


def _account(stage: Path) -> tuple[list[str] | None, list[tuple[str, float, str | None]]]:
    """The figures to measure again, and of each look its time, its seconds and its problem; None and nothing where the job left no
    account, or none that can be read."""
    account = json_or_none(stage / ACCOUNT)
    try:
        looks = [(str(each["time"]), float(each["seconds"]), each["problem"]) for each in account["looks"]]
        return list(map(str, account["figures"])), looks
    except MADE_UP:
        return None, []
