"""What a case leaves in its stage directory for its job, so that it can measure again what lies beyond a bound; and what comes of it.

The job runs on the node, the judge may not: the bounds travel as a file, and the job reads nothing of the site.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar import measurement
from nearfar.base import NearfarError, utc_text, write_atomically
from nearfar.measurement import AnyMetric, Document
from nearfar.topology import Node, node_from_document, node_to_document
from nearfar.verdict.references import Reference

from .looks import LaterLook

#: So many times a figure beyond its bound is measured again.
LATER_LOOKS = 2
#: Seconds before each: what disturbs a machine outlasts the visits of one measurement.
SPACING = 5.0
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
    spacing: float = SPACING

    def seconds(self, cells: int) -> float:
        """How long the looks at so many cells may take, all together."""
        return LATER_LOOKS * (self.spacing + self.limit + self.cell_limit * cells)

    def write(self, stage: Path) -> Path:
        """Leave it in the stage directory; returns the file."""
        references = {name: vars(reference) for name, reference in self.references.items()}
        raw = {**vars(self), "node": node_to_document(self.node), "references": references}
        write_atomically(stage / PLAN, json.dumps(raw))
        return stage / PLAN


def read(path: Path) -> LookPlan:
    """The plan in a file."""
    raw = json.loads(path.read_text(encoding="utf-8"))
    references = {name: Reference(**each) for name, each in raw["references"].items()}
    return LookPlan(**{**raw, "node": node_from_document(raw["node"]), "references": references})


def look_file(number: int) -> str:
    """The document of a later look, from 1."""
    return f"look-{number}.json"


def files(stage: Path) -> list[Path]:
    """The documents of the later looks that left one, in order."""
    return [path for number in range(1, LATER_LOOKS + 1) if (path := stage / look_file(number)).is_file()]


def write_account(stage: Path, figures: Sequence[str], looks: Sequence[Mapping[str, Any]]) -> None:
    """What is measured again, and how each look went: ``time``, ``seconds``, ``problem``."""
    write_atomically(stage / ACCOUNT, json.dumps({"figures": list(figures), "looks": list(looks)}))


def seconds(stage: Path) -> float:
    """How long the program ran in later looks."""
    return float(sum(each["seconds"] for each in _account(stage).get("looks", [])))


def later_looks(stage: Path, figures: Callable[[Document], Sequence[AnyMetric]]) -> list[LaterLook]:
    """What the job measured again, in order; where it was ended meanwhile, the looks that are lacking say so. None where nothing
    lay beyond its bound."""
    account = _account(stage)
    if not account:
        return []
    asked, made = frozenset(account["figures"]), account["looks"]
    found = [_read(stage, number, each, asked, figures) for number, each in enumerate(made, 1)]
    for number in range(len(made), LATER_LOOKS):
        found.append(LaterLook(asked, utc_text(), problem=f"the {_ORDINALS[number]} look was interrupted"))
    return found


def _read(
    stage: Path,
    number: int,
    account: Mapping[str, Any],
    asked: frozenset[str],
    figures: Callable[[Document], Sequence[AnyMetric]],
) -> LaterLook:
    which, time, problem = _ORDINALS[number - 1], account["time"], account["problem"]
    if problem is None:
        try:
            document = measurement.load(stage / look_file(number))
            if not document.raw.get("interrupted"):
                return LaterLook(asked, time, document, {metric.name: metric for metric in figures(document)})
            problem = "was interrupted"
        except NearfarError:
            problem = "left no document"
    return LaterLook(asked, time, problem=f"the {which} look {problem}")


def _account(stage: Path) -> dict[str, Any]:
    try:
        account: dict[str, Any] = json.loads((stage / ACCOUNT).read_text(encoding="utf-8"))
        return account
    except (OSError, ValueError):
        return {}
