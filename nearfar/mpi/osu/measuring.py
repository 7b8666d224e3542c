"""Measuring cases: OSU found, its ranks placed and started, its tables read.

OSU repeats each size a fixed number of times, which on a busy core is minutes. A short trial tells what one repetition of each size costs.
Where OSU's own repetitions fit into the budget they stay.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, NearfarError
from nearfar.binding import LAUNCHERS, Mpi
from nearfar.mpi import as_root
from nearfar.topology import Node

from . import fabric, installed, launch, table
from .benchmarks import BENCHMARKS, LARGEST, Benchmark
from .installed import OsuSupport
from .launch import LauncherRun, Starter
from .measured_cases import LEAST_RUNS, MeasuredCase, document
from .rank_places import Rank, layout
from .subjects import MpiCase
from .table import BadTable, InvalidData, OsuTable


@dataclass(frozen=True)
class Options:
    """How to measure. ``runs``: of each benchmark, in rounds over all cases, so that a drift of the machine hits right and
    wrong placements alike; two that agree end it, unless there are to be enough for an interval. ``limit``: seconds for
    one run. ``budget``: what one run should take at most; where OSU's repetitions take longer, there are fewer (0: never).
    ``iterations``: of each size (None: OSU's own choice, within the budget).
    ``device_buffers_asked``: device buffers that cannot be had are an obstacle, not a fact. ``hosts``: the job's nodes."""

    runs: int = 3
    limit: float = 120.0
    budget: float = 3.0
    iterations: int | None = None
    device_buffers_asked: bool = False
    hosts: tuple[str, ...] = ("localhost",)


def measure(node: Node, cases: Sequence[MpiCase], options: Options, command: Sequence[str]) -> dict[str, Any]:
    """The measurement document of all cases, as JSON objects; where it is interrupted, ``Interrupted`` has what was measured."""
    session = _Session(node, options)
    started = time.time()
    ready = [prepared for case in cases if (prepared := session.prepared(case)) is not None]
    try:
        _rounds(session, ready, options)
    except KeyboardInterrupt:
        raise Interrupted(session.document(session.broken_off(ready), started, command)) from None
    return session.document(ready, started, command)


def _rounds(session: _Session, ready: list[MeasuredCase], options: Options) -> None:
    for number in range(options.runs + 1):
        for case in list(ready):
            if number and options.runs < LEAST_RUNS and case.agreed:
                continue
            what = f"run {number} of {options.runs}" if number else "validation" if case.support.validates else "trial"
            print(f"{case.case}: {what}", file=sys.stderr, flush=True)
            if not session.run(case, trial=number == 0):
                ready.remove(case)


class Interrupted(KeyboardInterrupt):
    """Measuring was broken off: ``document`` has every case that was measured at least once, the others are skipped."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__()
        self.document = document


class _NotPossible(Exception):
    """Why a case cannot be measured, with the document's code."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class _Session:
    """OSU and the MPI of this machine, and what could not be measured with them."""

    def __init__(self, node: Node, options: Options) -> None:
        self.node, self.options = node, options
        self.mpi: Mpi | None = None
        self.obstacle: str | None = None
        self.supports: dict[str, OsuSupport] = {}
        self.skipped: list[dict[str, str]] = []
        self.failed: list[dict[str, str]] = []

    def prepared(self, case: MpiCase) -> MeasuredCase | None:
        """The case with its program and places, or None, and then it is among the skipped."""
        try:
            return self._prepare(case)
        except _NotPossible as why:
            self.skipped.append({"cell": str(case), "reason": str(why), "code": why.code})
            return None

    def broken_off(self, ready: Sequence[MeasuredCase]) -> list[MeasuredCase]:
        """Those that have a figure when measuring is interrupted; the others are among the skipped."""
        for case in ready:
            if not case.tables:
                self.skipped.append({"cell": str(case.case), "reason": "interrupted", "code": "interrupted"})
        return [case for case in ready if case.tables]

    def _prepare(self, case: MpiCase) -> MeasuredCase:
        benchmark = BENCHMARKS[case.benchmark]
        program = installed.find(case.benchmark, benchmark.folder)
        if program is None:
            raise _NotPossible("missing_library", self._missing(case))
        try:
            ranks = layout(self.node, case)
        except NearfarError as error:
            raise _NotPossible("not_allowed", str(error)) from None
        if case.nic is not None and len(self.options.hosts) < 2:
            raise _NotPossible("not_allowed", "the job has one node: there is no second one to talk to")
        able = self._support(program, benchmark, ranks)
        if able is None or self.mpi is None:
            raise _NotPossible("missing_library", self.obstacle or "no MPI")
        why = installed.without_devices(self.mpi, able) if case.on_devices else None
        if why is not None:
            raise _NotPossible("missing_library" if self.options.device_buffers_asked else "unsupported", why)
        return MeasuredCase(case, program, able, ranks)

    def _missing(self, case: MpiCase) -> str:
        if installed.find("osu_latency", "pt2pt") is None:
            return installed.complaint()
        return f"OSU Micro-Benchmarks: there is an osu_latency, and no {case.benchmark}; {installed.INSTALL}"

    def _support(self, program: Path, benchmark: Benchmark, ranks: Sequence[Rank]) -> OsuSupport | None:
        """What a benchmark can do; None where no rank can be started, and ``obstacle`` says why."""
        if self.obstacle is None and benchmark.name not in self.supports:
            try:
                self.mpi = self.mpi or _started_with(program)
                first = [replace(ranks[0], rank=0, gpu=None)]
                run = self._starter().run([str(program), "-h"], first)
                if run.failure is not None:
                    raise CouldNotJudge(f"{self.mpi.launcher}: {run.failure}")
                self.supports[benchmark.name] = installed.read_help(run.finished.stdout)
            except CouldNotJudge as error:
                self.obstacle = str(error)
        return self.supports.get(benchmark.name)

    def _starter(self) -> Starter:
        assert self.mpi is not None
        return Starter(self.mpi, self.options.hosts, self.options.limit)

    def run(self, measured: MeasuredCase, trial: bool) -> bool:
        """One run of a case; False where it failed, and then it is among the failed. A trial validates, if OSU can, and
        says how often the other runs may repeat."""
        case, benchmark = measured.case, BENCHMARKS[measured.case.benchmark]
        extra = fabric.forcing(case.nic) if case.nic is not None else {}
        extra |= fabric.STAGED if case.staged else {}
        command = [str(measured.program), *self._arguments(measured, benchmark, trial)]
        before = fabric.sent()
        run = self._starter().run(command, measured.ranks, extra)
        if case.nic is not None:
            measured.nics = fabric.which(run.finished.stdout + run.finished.stderr, before, fabric.sent())
        least = benchmark.least if measured.support.ranges else None
        trouble = self._trouble(measured, run, benchmark, least, trial)
        if trouble is not None:
            code, reason = trouble
            self.failed.append({"cell": str(case), "reason": reason + self._hint(reason), "code": code})
        return trouble is None

    def _hint(self, reason: str) -> str:
        alone = re.search(r"requires (exactly|at least) two processes", reason)
        remedy = LAUNCHERS[self.mpi.kind].lone_ranks if alone is not None and self.mpi is not None else ""
        return remedy and f"; {remedy}"

    def _arguments(self, measured: MeasuredCase, benchmark: Benchmark, trial: bool) -> list[str]:
        argv = measured.support.sizes(benchmark.least, LARGEST)
        iterations = self.options.iterations or measured.iterations
        if trial:
            argv += measured.support.trial(benchmark.reduces)
        elif iterations is not None:
            argv += ["-i", str(iterations), "-x", str(max(1, iterations // 10))]
        if measured.case.on_devices:
            argv += ["-d", "cuda", *(measured.case.buffers if benchmark.folder == "pt2pt" else ())]
        return argv

    def _trouble(
        self, measured: MeasuredCase, run: LauncherRun, benchmark: Benchmark, least: int | None, trial: bool
    ) -> tuple[str, str] | None:
        """Code and reason of what is wrong with a run; else its table is kept."""
        try:
            shown = table.parse(run.finished.stdout)
            first = min(shown.rows, default=benchmark.least) if least is None else least
            if shown.failed:
                table.check(shown, benchmark, first)
        except InvalidData as error:
            return "wrong_data", str(error)
        except BadTable as error:
            return "error", run.failure or str(error)
        if run.failure is not None:
            return "error", run.failure
        wrong = launch.misplaced(measured.ranks, run.ranks)
        if wrong is not None:
            return "placement", wrong
        try:
            table.check(shown, benchmark, first)
            _check_buffers(shown, measured.case)
        except BadTable as error:
            return "error", str(error)
        if measured.case.nic is not None:
            unproven = fabric.not_forced(measured.case.nic, measured.nics)
            if unproven is not None:
                return "placement", unproven
        measured.accounts = run.ranks
        if trial:
            measured.validated = shown.validated
            if self.options.iterations is None and self.options.budget > 0:
                measured.iterations = fitting(benchmark, shown, self.options.budget)
        else:
            measured.tables.append(shown)
            measured.waited = max([measured.waited, *(rank.waited or 0.0 for rank in run.ranks)])
        return None

    def document(self, ready: Sequence[MeasuredCase], started: float, command: Sequence[str]) -> dict[str, Any]:
        """The document of what was measured until now."""
        return document(self.node, self.mpi, ready, self.skipped, self.failed, started, command)


def _started_with(program: Path) -> Mpi:
    """A program's MPI; where it takes the pack's word to start as root, that is said."""
    mpi = installed.mpi_of(program)
    if as_root.is_needed(mpi):
        as_root.say()
    return mpi


def _check_buffers(shown: OsuTable, case: MpiCase) -> None:
    if case.on_devices and BENCHMARKS[case.benchmark].says_cuda and "CUDA" not in (shown.accelerator or ""):
        raise BadTable(f"{case}: the benchmark measured host memory, not the GPUs'")
    if shown.buffers is not None and tuple(re.sub("^M", "", buffer) for buffer in shown.buffers) != case.buffers:
        raise BadTable(f"{case}: the benchmark's buffers were {'-'.join(shown.buffers)}")


#: Messages up to this size are repeated more often, bytes.
SMALL = 8192
#: Fewer repetitions of a size than these say nothing.
FEWEST = 20
#: OSU warms up with about a tenth of its repetitions.
_WARM = 1.1
#: Messages of one repetition of the bandwidth benchmarks.
_WINDOW = 64


def seconds(benchmark: Benchmark, trial: OsuTable, iterations: int | None = None) -> float:
    """What a run takes, by a trial's figures: with so many repetitions of each size, or (None) with OSU's own."""
    small, large = benchmark.repeats if iterations is None else (iterations, iterations)
    by_size = _each(benchmark, trial)
    return _WARM * sum(once * (small if size <= SMALL else large) for size, once in by_size.items())


def fitting(benchmark: Benchmark, trial: OsuTable, budget: float) -> int | None:
    """Repetitions of each size for a run of ``budget`` seconds; None where OSU's own fit into it."""
    if seconds(benchmark, trial) <= budget:
        return None
    return max(FEWEST, int(budget / seconds(benchmark, trial, 1)))


def _each(benchmark: Benchmark, trial: OsuTable) -> dict[int, float]:
    """Seconds of one repetition by size in bytes, at the most: a trial's few messages at once hide less than a whole window."""
    quantity, unit = benchmark.quantities[0], benchmark.columns[0][2]
    figures = table.values(trial, benchmark, quantity)
    if unit == "us":
        ways = 2 if benchmark.folder == "pt2pt" else 1  # a latency is half of a round trip
        return {size: ways * value * 1e-6 for size, value in figures.items()}
    moved = _WINDOW * (trial.pairs or 1) * (2 if benchmark.name == "osu_bibw" else 1)
    return {size: moved * size / (value * 1e9) for size, value in figures.items()}
