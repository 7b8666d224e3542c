"""One run: ReFrame over the checks, the cases that ran against those expected, one verdict, one page, one exit code."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar import history
from nearfar.base import (
    CouldNotJudge,
    NearfarError,
    did_you_mean,
    files,
    node_lock,
    places,
    process,
    say,
    site_directories,
)
from nearfar.model.diagnosis import degraded_by
from nearfar.model.prediction import degraded
from nearfar.question import ACCEPT, QUICK, Question, askable, asked_at, check_names
from nearfar.site import System, drain_policy, identity, lint, systems
from nearfar.topology import inventory
from nearfar.verdict import HISTORY, references

from . import expected_cases, not_asked, spack
from .earlier_seconds import earlier_seconds
from .expected_cases import ExpectedCase
from .progress import RunProgress
from .run_file import account, exit_code

#: Seconds that ReFrame has to cancel its jobs when the run is interrupted.
_GRACE = 8.0


@dataclass(frozen=True)
class Request:
    """What is to be run. ``system`` None: this machine. ``checks`` empty: all. ``quick``: the quick look alone. ``way``:
    how the programs come (``spack``, ``system``; None: as the site's files say); ``wait``: seconds to wait for another run on
    this node (None: as ``node_lock`` has it). ``degrade``: faults of modelled nodes (``g2.h2d=0.5``).
    ``must_judge``: a check, or a run, of which nothing was judged is INDETERMINATE; ``acceptance`` asks for that too, and ends DEGRADED
    with exit code 1 unless ``accept_degraded``. ``force_system``: measure a host that is not of the system."""

    system: str | None = None
    checks: tuple[str, ...] = ()
    report_directory: Path | None = None
    acceptance: bool = False
    accept_degraded: bool = False
    must_judge: bool = False
    verbose: bool = False
    command: tuple[str, ...] = ()
    quick: bool = False
    way: str | None = None
    wait: float | None = None
    degrade: tuple[str, ...] = ()
    force_system: bool = False


def chosen_system(request: Request) -> System:
    """The system of a request: the one that it names, else the one that claims this host, else this machine as it is."""
    _into_environment(request)
    site = systems.site()
    return site.systems[site.here]


def _into_environment(request: Request) -> None:
    """What the site's files are rendered by, here and in ReFrame."""
    if request.system is not None:
        os.environ["NEARFAR_SYSTEM"] = request.system
    if request.way is not None:
        os.environ["NEARFAR_WITH"] = request.way
    if request.wait is not None:
        os.environ[node_lock.WAIT] = f"{request.wait:g}"


def plan(request: Request) -> tuple[System, list[ExpectedCase]]:
    """The system, and the cases that should run on it. Raises ``NearfarError`` for a name that nothing has."""
    _into_environment(request)
    node_lock.wait()
    ready = os.environ.get("NEARFAR_PROGRAMS")
    if ready and not (Path(ready).is_absolute() and Path(ready).is_dir()):
        raise NearfarError(
            f"NEARFAR_PROGRAMS: {ready} is not the absolute path of a directory; correct or unset the variable"
        )
    lint.before_measuring()
    site = systems.site()
    if request.quick and request.checks:
        raise NearfarError("--quick is a check of its own: leave out --check, or --quick")
    checks = _checks(request)
    names = sorted({check.name for check in checks})
    for wanted in request.checks:
        if wanted in check_names() and wanted not in names:
            raise NearfarError(f"--check {wanted}: --quick asks it")
        if wanted not in names:
            raise NearfarError(f"--check {wanted}: no such check{did_you_mean(wanted, names)}")
    system = site.systems[site.here]
    for partition in system.partitions.values():
        # A fault in a node type or in references is the user's, and told before anything is measured.
        node_type = partition.load_node_type(list(site.directories))
        references.for_partition(partition.references, node_type, site.directories)
    chosen = _chosen(request)
    cases = expected_cases.expected(chosen, system)
    for check in chosen:
        if request.checks and not any(case.check == check.name for case in cases):
            raise CouldNotJudge(f"--check {check.name}: {_no_partition(check, system)}")
    if request.quick and chosen and not cases:
        raise CouldNotJudge(f"--quick measures GPUs alone, and no partition of '{system.name}' has any: leave it out")
    if not request.checks and _runs_here(system, cases) and (why := inventory.gpus_not_measured()):
        raise CouldNotJudge(f"{why}; for checks of the host alone name them: --check host_memory_check")
    if not ready and any(system.environments[case.environ].built_here and not case.modelled for case in cases):
        places.in_checkout("setup/build", "nearfar validate without NEARFAR_PROGRAMS=/directory/of/built/programs")
    if request.degrade:
        _refuse_faults(request.degrade, system, cases)
    if (request.acceptance or request.must_judge) and cases and all(case.modelled for case in cases):
        models = ", ".join(sorted({str(case.node) for case in cases}))
        if request.acceptance and request.system:
            raise CouldNotJudge(f"modelled nodes cannot be accepted ({models}); leave out --acceptance")
        problem = "" if request.system else "this machine shows no GPU, so "
        problem += f"it would run on a modelled node alone ({models})"
        raise CouldNotJudge(f"nothing of what is asked for can be measured here: {problem}")
    return system, cases


def _no_partition(check: Question, system: System) -> str:
    """Why none is asked, and what brings it: a feature in the system's file, else a program."""
    has = "; ".join(f"{p.name}: {', '.join(p.features) or 'no feature'}" for p in system.partitions.values())
    wants = " or ".join(f"'{spec}'" for spec in check.systems)
    words = f"no partition of '{system.name}' has what it asks for ({wants}; partitions: {has})"
    have = {feature for partition in system.partitions.values() for feature in partition.features}
    missing = [name for name in not_asked.SAYS if f"+{name}" in check.systems[0].split() and name not in have]
    if missing and system.file is not None:
        words += f"; where the nodes have {not_asked.SAYS[missing[0]]}, add {missing[0]} to a partition's features in {system.file}"
    return f"{words}{'; ' if check.remedy else ''}{check.remedy}"


def _refuse_faults(faults: Sequence[str], system: System, cases: Sequence[ExpectedCase]) -> None:
    """Raise ``NearfarError`` where no case is modelled, or a modelled node has no such part."""
    names = sorted({case.partition for case in cases if case.modelled})
    if not names:
        raise NearfarError(
            f"--degrade {faults[0]}: system '{system.name}' is measured; only a modelled node can be given a fault"
        )
    for name in names:
        node_type = system.partitions[name].load_node_type(site_directories())
        if node_type is not None:
            degraded(node_type, degraded_by(faults, node_type))


def _checks(request: Request) -> Sequence[Question]:
    if request.quick:
        return asked_at(QUICK)
    if request.checks:
        return askable()
    return [
        check for check in askable() if ACCEPT in check.levels and (request.acceptance or not check.acceptance_only)
    ]


def _chosen(request: Request) -> list[Question]:
    return [check for check in _checks(request) if not request.checks or check.name in request.checks]


def unasked(request: Request, system: System) -> list[dict[str, Any]]:
    """What this machine could have been asked but for a program (``not_asked.entries``); nothing where checks were named."""
    return [] if request.checks or request.quick else not_asked.entries(_checks(request), system)


def run(request: Request) -> tuple[int, Path]:
    """Run the checks; returns the exit code and the run directory, whose page is written."""
    system, cases = plan(request)
    wrong_host = _wrong_host(system, cases)
    if wrong_host and not request.force_system:
        raise NearfarError(
            f"{wrong_host}; nothing was measured: run this on one of its nodes, or insist with --force-system"
        )
    if wrong_host:
        say(f"warning: {wrong_host}; it is judged by that system's references, and not kept in its history")
    _install(system, cases)
    # Beside ReFrame's start, which takes longer.
    threading.Thread(target=_announce_build, args=(system, cases), daemon=True).start()
    with contextlib.ExitStack() as stack:
        if _runs_here(system, cases):
            stack.enter_context(node_lock.held(node_lock.wait(), trusted=drain_policy.measuring_users()))
        return _measured(request, system, cases)


def _runs_here(system: System, cases: Sequence[ExpectedCase]) -> set[str]:
    """The partitions that are measured on this machine."""
    return {
        case.partition for case in cases if not case.modelled and system.partitions[case.partition].scheduler == "local"
    }


def _wrong_host(system: System, cases: Sequence[ExpectedCase]) -> str:
    """Why this host is none of the system whose cases it would run; empty where it is, and in a job, of which Slurm says it."""
    here = _runs_here(system, cases)
    if not here or os.environ.get(systems.JOB_PARTITION):
        return ""
    node_types = [system.partitions[name].load_node_type(site_directories()) for name in sorted(here)]
    host = identity.this_host()
    differing = identity.differences(host, system, [known.node for known in node_types if known is not None])
    return (
        f"{host.name} is not a node of system {system.name} ({system.file}): {'; '.join(differing)}"
        if differing
        else ""
    )


def _measured(request: Request, system: System, cases: Sequence[ExpectedCase]) -> tuple[int, Path]:
    started = time.time()
    parent = request.report_directory or places.reports_directory()
    if any(letter.isspace() for letter in str(parent.absolute())):
        remedy = "set NEARFAR_STATE to another" if request.report_directory is None else "name another"
        raise NearfarError(f"{parent}: ReFrame cannot run in a folder with white space; {remedy}")
    if request.report_directory is None:
        folder = files.new_run_directory(system.name, started)
    else:
        folder = files.make_directory(request.report_directory.absolute(), "name another directory with --report-dir")
    if any(folder.iterdir()):
        raise NearfarError(f"--report-dir {folder}: not empty; name a new directory")
    progress = RunProgress(cases, folder, request.verbose, earlier_seconds(system.name))
    try:
        done = _reframe(request, system, folder, progress)
    except KeyboardInterrupt:
        say("interrupted; the programs are ended")
        _finish(request, system, cases, folder, started, "", interrupted=True)
        raise
    return _finish(request, system, cases, folder, started, done.stdout + done.stderr), folder


def build(request: Request) -> list[Path]:
    """Let Spack build what the cases need; returns the folders of the programs. None where the cases need no Spack."""
    return _install(*plan(request))


def _install(system: System, cases: Sequence[ExpectedCase]) -> list[Path]:
    """Let Spack build what the cases' environments want of it, here, where its progress and its errors are seen. ReFrame's own build
    then finds all of it there."""
    if os.environ.get("NEARFAR_PROGRAMS"):
        return []
    places = {(c.partition, c.environ) for c in cases if system.environments[c.environ].spack and not c.modelled}
    folders = []
    for partition, environ in sorted(places):
        program = spack.find()
        made = spack.solve(program, system.environments[environ], system.partitions[partition].features, system.name)
        spack.install(program, made)
        folders.append(made.programs)
    return folders


def _announce_build(system: System, cases: Sequence[ExpectedCase]) -> None:
    """Print that ReFrame's session builds first, where it does: ReFrame itself shows nothing of it."""
    if os.environ.get("NEARFAR_PROGRAMS"):
        return
    environments = [system.environments[case.environ] for case in cases if not case.modelled]
    if not any(each.built_here and "cxx" not in each.reframe for each in environments):
        return
    asked = [sys.executable, str(places.in_checkout("setup/build", "building the programs")), "--is-built"]
    if process.run(asked, 60).returncode == 1:
        say("building the programs (once, a few minutes)")


def _reframe(request: Request, system: System, folder: Path, progress: RunProgress) -> process.Finished:
    command = [
        sys.executable, "-c", "from reframe.frontend.cli import main; main()", "-C", str(places.REFRAME_CONFIG),
        "--system", system.name, "--exec-policy=serial", "--nocolor", "-r",
    ]  # fmt: skip
    # File by file: one that is not Python would stop the whole session.
    for path in map(expected_cases.check_file, _chosen(request)):
        command += [] if expected_cases.problem(path) else ["-c", str(path)]
    environment = {**os.environ, "NEARFAR_RUN_DIR": str(folder), "PYTHONUNBUFFERED": "1"}
    environment["NEARFAR_CHECKS"] = " ".join(check.name for check in _chosen(request))
    if request.acceptance:
        environment["NEARFAR_ACCEPTANCE"] = "1"
    if request.degrade:
        environment["NEARFAR_DEGRADE"] = " ".join(request.degrade)
    if request.must_judge:
        environment["NEARFAR_MUST_JUDGE"] = "1"
    threading.Thread(target=_prepare_the_end, daemon=True).start()
    return process.run(command, None, env=environment, cwd=folder, grace=_GRACE, on_stdout=progress.reframe_said)


def _prepare_the_end() -> None:
    """Load what the page needs while ReFrame starts and nothing is measured yet. Not polars: once it is loaded, an interrupt no longer ends
    the waiting for a child at once."""
    from nearfar import report

    report.prepare()


def _finish(
    request: Request,
    system: System,
    cases: Sequence[ExpectedCase],
    folder: Path,
    started: float,
    output: str,
    interrupted: bool = False,
) -> int:
    """Write ``run.json`` and the page; returns the exit code."""
    about: dict[str, Any] = {
        "system": system.name,
        "command": list(request.command),
        "hostname": socket.gethostname(),
        "interrupted": interrupted,
        "not_asked": unasked(request, system),
        "degraded": list(request.degrade),
        "acceptance": {"accept_degraded": request.accept_degraded} if request.acceptance else None,
        "kernel_log": inventory.told_of_gpus(inventory.gpu_pci_devices()) if _runs_here(system, cases) else None,
    }
    must_judge = request.acceptance or request.must_judge
    verdict = account(folder, cases, about, started, time.time() - started, output, must_judge)
    if not _wrong_host(system, cases):
        remember(folder)
    _report(folder, request, interrupted)
    return exit_code(verdict, about["acceptance"])


def remember(folder: Path) -> None:
    """Keep the figures in the history. One that cannot be read or written costs a line, not the verdict."""
    verdicts = expected_cases.verdicts(folder)
    if all(verdict.kind != "measured" for verdict in verdicts):
        return
    missing = history.no_polars()
    if missing is not None:
        say(f"no history is kept, and nothing compared with the node's past: {missing}")
        return
    findings = (finding for verdict in verdicts for finding in verdict.findings)
    for message in dict.fromkeys(f.reason for f in findings if f.subject == HISTORY):
        say(message)
    try:
        history.record(folder)
    except CouldNotJudge as error:
        say(f"not kept in the history: {error}")


def _report(folder: Path, request: Request, interrupted: bool) -> None:
    from nearfar import report

    report.build(folder)
    # Half a run is kept, and is not what people look for under `latest`.
    if request.report_directory is None and not interrupted:
        files.publish_run(folder)


def headline(folder: Path, every: bool = False) -> str:
    """What a terminal shows at the end; ``every``: with all figures."""
    from nearfar import report

    return report.summary(folder, every=every)
