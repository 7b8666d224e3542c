"""The cases that should run, known from the questions and the site's partitions, against those that did."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from nearfar.base import places
from nearfar.question import ACCEPT, QUICK, Question
from nearfar.site import Partition, System
from nearfar.verdict import Verdict, verdict_file


@dataclass(frozen=True)
class ExpectedCase:
    """One check on one partition and environment. ``node``: a modelled one's type. ``problem``: why it cannot run,
    where that is known beforehand."""

    check: str
    system: str
    partition: str
    environ: str
    modelled: bool
    node: str | None
    where: str
    problem: str | None = None

    @property
    def name(self) -> str:
        """As ReFrame prints it."""
        return f"{self.check} @{self.system}:{self.partition}+{self.environ}"

    def entry(self) -> dict[str, Any]:
        """As it stands in ``run.json``."""
        return {**asdict(self), "name": self.name}


@dataclass(frozen=True)
class RanCase:
    """A case as ReFrame's report has it. ``seconds`` is what the program took of it, ``build_seconds`` what its
    compile stage did."""

    check: str
    system: str
    partition: str
    environ: str
    result: str
    reason: str
    node: str | None
    seconds: float
    build_seconds: float = 0.0


def expected(checks: Iterable[Question], system: System) -> list[ExpectedCase]:
    """The cases that ReFrame should run on a system."""
    return [
        ExpectedCase(
            c.name, system.name, p.name, environ, p.modelled, _node(p), str(check_file(c)), problem(check_file(c))
        )
        for c in checks
        for p in system.partitions.values()
        if c.fits(system.name, p.name, p.features)
        for environ in p.environs
    ]


def check_file(question: Question) -> Path:
    """The file of a check's class. ReFrame searches ``checks/`` alone unless told otherwise, so what takes long stands below it."""
    below = "" if ACCEPT in question.levels else "quick" if QUICK in question.levels else "long"
    return places.CHECKS / below / f"{question.name}.py"


@cache
def problem(file: Path) -> str | None:
    """What is wrong with a check's file, with its line: absent, not Python (ReFrame would end the whole session), or without the
    class that has its name. Else None."""
    try:
        code = compile(file.read_bytes(), file, "exec", dont_inherit=True)
    except OSError as error:
        return f"{file}: {error.strerror}"
    except (SyntaxError, ValueError) as error:
        return f"{file}:{getattr(error, 'lineno', None) or 1}: {getattr(error, 'msg', None) or error}"
    if file.stem in code.co_names:
        return None
    return f"{file}: no class {file.stem}: a check's class has the name of its file and question"


def _node(partition: Partition) -> str | None:
    """The node that a case is about, as verdicts name it; None where only the scheduler knows."""
    if partition.modelled:
        return partition.node_type
    return socket.gethostname() if partition.scheduler == "local" else None


def ran(report: Path) -> list[RanCase]:
    """The cases in ReFrame's report; none where there is no report. Fixtures' cases are among them."""
    try:
        runs = json.loads(report.read_text(encoding="utf-8"))["runs"]
    except (OSError, ValueError, KeyError):
        return []
    # A retry's entry stands for those before it; of a repeated case each has a name of its own.
    last = {
        (entry.get("unique_name") or entry["name"], entry["partition"], entry["environ"]): entry
        for run in runs
        for entry in run["testcases"]
    }
    return [_ran(entry) for entry in last.values()]


def _ran(entry: dict[str, Any]) -> RanCase:
    nodes = entry.get("job_nodelist") or entry.get("nodelist") or []
    return RanCase(
        check=entry["name"].split(" ")[0], system=entry["system"].split(":")[0], partition=entry["partition"],
        environ=entry["environ"], result=entry["result"], reason=(entry.get("fail_reason") or "").strip(),
        node=nodes[0] if nodes else None, seconds=float(entry.get("seconds") or 0.0), build_seconds=float(entry.get("time_compile") or 0.0),
    )  # fmt: skip


def missing(cases: Sequence[ExpectedCase], those_that_ran: Sequence[RanCase]) -> list[ExpectedCase]:
    """The cases that should have run and did not."""
    did = {(r.check, r.system, r.partition, r.environ) for r in those_that_ran if r.result not in ("abort", "aborted")}
    return [case for case in cases if (case.check, case.system, case.partition, case.environ) not in did]


def verdicts(folder: Path) -> list[Verdict]:
    """The verdicts of a run, of every node and check."""
    read_verdicts = map(verdict_file.read, sorted(path.parent for path in folder.glob(f"*/*/{verdict_file.NAME}")))
    return [verdict for verdict in read_verdicts if verdict is not None]


def belongs(result: Verdict | RanCase, case: ExpectedCase) -> bool:
    """Whether a verdict, or a case that ran, is of an expected one."""
    return all(getattr(result, key) == getattr(case, key) for key in ("check", "system", "partition", "environ"))
