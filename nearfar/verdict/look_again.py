"""Run a program under supervision, and again for the figures that lie beyond their bounds or did not settle beside them.

What ReFrame's job starts on the node: ``python -m nearfar.verdict.look_again look-plan.json --limit 60 --wait 60 -- nearfar-copy …``.
All behind the plan is as for ``nearfar.base.supervise``, and so is what it leaves; beside it stand ``looks.json`` and the documents
of the looks. Where every figure is clearly within its bounds nothing is run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nearfar.base import listed, node_lock, process, supervise, text_or_empty, utc_text, write_atomically
from nearfar.cells import Cell
from nearfar.measurement import MADE_OF_OTHERS, AnyMetric, SubjectMetric, subject_key

from . import look_plan, thresholds

_report = partial(print, file=sys.stderr, flush=True)


def look_again(path: Path, command: Sequence[str], stdout: str) -> None:
    """Measure again what a program's document shows beyond its bounds, or too uncertain to tell; ``path`` is the plan's."""
    plan, stage = look_plan.read(path), path.parent
    doubted = look_plan.in_doubt(plan, stdout if plan.document is None else text_or_empty(stage / plan.document))
    if not doubted:
        return
    figures, looks = [metric.name for metric in doubted], list[Mapping[str, Any]]()
    look_plan.write_account(stage, figures, looks)
    # What stands in the command line in the place of the first cells and document.
    what, limit, instead = plan.check, plan.limit, dict[str, str]()
    if plan.cells is not None:
        cells, chosen = _cells(doubted, Path(plan.cells)), stage.absolute() / "look-cells.txt"
        write_atomically(chosen, "".join(f"{cell}\n" for cell in cells))
        what, limit, instead[plan.cells] = listed(cells), limit + plan.cell_limit * len(cells), str(chosen)
    for number in range(1, thresholds.MEASURED_AGAIN + 1):
        _report(f"nearfar: measuring {what} again ({number} of {thresholds.MEASURED_AGAIN}, in {plan.spacing:g} s)")
        time.sleep(plan.spacing)
        file = look_plan.look_file(number)
        instead[f"--json={plan.document}"] = f"--json={file}"
        own = [instead.get(word, word) for word in command]
        looks.append(_look(own, limit, stage / file if plan.document is None else None))
        look_plan.write_account(stage, figures, looks)


def _cells(doubted: Sequence[AnyMetric], file: Path) -> list[object]:
    """The cells (or other subjects) of the check's file to measure again: those of the figures, and all that a figure may be made of."""
    asked = map(subject_key, file.read_text(encoding="utf-8").split())

    def load(cell: Cell) -> object:
        """What the cells have in common that a figure is made of: GPUs and directions, not memory, tasks, or the way between GPUs."""
        return sorted((flow.kind, flow.direction or "", flow.gpus) for flow in cell.flows)

    own = {metric.subject if isinstance(metric, SubjectMetric) else metric.cell for metric in doubted}
    derived = (metric for metric in doubted if metric.quantity in MADE_OF_OTHERS)
    loads = [load(metric.cell) for metric in derived if not isinstance(metric, SubjectMetric)]
    return [cell for cell in asked if cell in own or (isinstance(cell, Cell) and load(cell) in loads)]


def _look(command: Sequence[str], limit: float, file: Path | None) -> dict[str, Any]:
    """How a look went; ``file`` gets what the program prints."""
    began = time.time()
    done = process.run(command, limit, grace=supervise.GRACE, on_stderr=_report)
    problem = None
    if done.timed_out:
        problem = f"did not end within {limit:g} s"
    elif done.returncode < 0:
        problem = f"was ended by signal {-done.returncode}"
    elif file is not None:
        write_atomically(file, done.stdout)
    return {"time": utc_text(began), "seconds": round(done.seconds, 4), "problem": problem}


def main(arguments: Sequence[str]) -> int:
    """``PLAN`` and the arguments of ``nearfar.base.supervise``; or, where another run measured first, ``PLAN --first DOCUMENT --wait
    SECONDS -- PROGRAM [ARGUMENT…]``."""
    afterwards = partial(look_again, Path(arguments[0]))
    if arguments[1] != "--first":
        return supervise.main(arguments[1:], afterwards)
    at = arguments.index("--")

    def after_another() -> int:
        with node_lock.held(float(arguments[at - 1])):
            afterwards(arguments[at + 1 :], Path(arguments[2]).read_text(encoding="utf-8"))
        return 0

    return supervise.interruptible(after_another)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
