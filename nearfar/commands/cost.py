"""``nearfar cost``: a program under binding schemes, and what each of them costs."""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from nearfar import cost
from nearfar.base import (
    EXIT_COULD_NOT_JUDGE,
    EXIT_FAILED,
    EXIT_GOOD,
    NearfarError,
    compiled,
    node_lock,
    site_directories,
    write_atomically,
)
from nearfar.binding import launchers, scheme_names
from nearfar.measurement import dump
from nearfar.mpi import as_root
from nearfar.report.blocks import shown_lines, shown_page
from nearfar.site import applications, drain_policy
from nearfar.topology import Node, inventory

from .command_line import percent, positive, refuse_outside

_EPILOG = """\
examples:
  nearfar cost -- ./app input                                  its wall time under the schemes default, right and wrong
  nearfar cost --ranks 4 --launcher openmpi -- ./app           four ranks under mpirun
  nearfar cost --fom 'Performance: ([0-9.]+)' -- ./app         a figure that it prints, instead of its wall time
  nearfar cost --schemes right,0-1-1,0-0-1,0-1-free -- ./app   three ranks, each on the NUMA node given
  nearfar cost --ranks 4 --at-most 5% -- ./app                 for CI: exit code 1 if the launcher's own binding costs more
  nearfar cost --application hpl                               a program of site/applications/, with its input files

schemes:
{schemes}
  0-1-free           rank 0 on NUMA node 0, rank 1 on node 1, rank 2 unbound
  2x2                near-near, near-far, far-near, far-far

exit codes: 0 measured (with --at-most: it costs no more), 1 it costs more than --at-most, 2 wrong use,
3 it could not be judged: too few runs to decide, a failed program, or no two bindings that differ; 130 interrupted
"""
_PERCENT = functools.partial(percent, most=1000)
_EXIT_CODES = {True: EXIT_GOOD, False: EXIT_FAILED, None: EXIT_COULD_NOT_JUDGE}
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)?")
#: Seconds that all runs may take at most, a month, and ranks of one node.
_LONGEST, _MOST_RANKS = 31 * 86400.0, 4096
_SECONDS = {None: 1, "s": 1, "m": 60, "min": 60, "h": 3600}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Run your program under several bindings, in random order, and print what each binding costs. Compares pairs of\n"
        "runs, and checks the binding of every rank. docs/use.md shows an example."
    )
    parser.epilog = _EPILOG.format(
        schemes="\n".join(f"  {name:<18} {meaning}" for name, meaning in scheme_names.SCHEMES.items())
    )
    parser.set_defaults(command=None)
    what = parser.add_argument_group("what is compared")
    what.add_argument(
        "--application", action=_Application, metavar="NAME",
        help="take command, figure, schemes and ranks from this file of site/applications/; other options and PROGRAM override it",
    )  # fmt: skip
    what.add_argument(
        "--schemes",
        default=",".join(scheme_names.STANDARD),
        metavar="LIST",
        help="the schemes to compare, of those below (default: default,right,wrong)",
    )
    what.add_argument("--against", metavar="SCHEME", help="the scheme to compare with (default: right, else the first)")
    what.add_argument(
        "--ranks", type=positive, metavar="N", help="number of ranks (default: as many as a scheme lists, else 1)"
    )
    what.add_argument(
        "--threads-per-rank", type=positive, metavar="M", help="cores per rank (default: as nearfar bind)"
    )
    gpus = what.add_mutually_exclusive_group()
    gpus.add_argument("--gpus", metavar="LIST", help="the GPUs to use, such as 0,2 (default: all visible ones)")
    gpus.add_argument("--no-gpus", action="store_true", help="the program uses no GPU")
    what.add_argument(
        "--all-gpus", action="store_true", help="show all GPUs to every rank; the program picks one by local rank"
    )
    what.add_argument("--oversubscribe", action="store_true", help="let ranks share cores if there are too few")
    what.add_argument(
        "--launcher",
        choices=["none", *launchers.startable()],
        help="what starts the ranks (default: none for one rank, else the launcher of the program's MPI)",
    )
    what.add_argument(
        "--launcher-options", default="", metavar="WORDS", help="extra options for the launcher, under every scheme"
    )
    figure = parser.add_argument_group("the program's figure")
    figure.add_argument(
        "--fom", metavar="REGEX", help="captures the figure in the output, in ( ) (default: the wall time)"
    )
    figure.add_argument("--read", metavar="FILE", help="a file in its working directory, searched like its output")
    figure.add_argument("--expect", metavar="REGEX", help="a run without this in its output does not count")
    figure.add_argument("--take", choices=sorted(cost.TAKE), help="which figure to take if a run prints several")
    way = figure.add_mutually_exclusive_group()
    way.add_argument("--less-is-better", dest="less", action="store_true", default=None, help="default for a time")
    way.add_argument(
        "--more-is-better", dest="less", action="store_false", help="default for --fom, unless it names a time"
    )
    figure.add_argument("--same", metavar="REGEX", help="captures a result that must be the same under every scheme")
    figure.add_argument(
        "--same-within",
        type=float,
        default=0.0,
        metavar="PART",
        help="let numbers captured by --same differ by this fraction, such as 1e-6",
    )
    where = parser.add_argument_group("where it runs")
    where.add_argument(
        "--inputs", type=Path, metavar="FOLDER", help="start every run in a copy of this folder (default: all run here)"
    )
    where.add_argument(
        "--prepare",
        action="append",
        default=[],
        metavar="COMMAND",
        help="run this once in a copy of --inputs, before all runs; may be repeated",
    )
    where.add_argument("--get", help=argparse.SUPPRESS)
    much = parser.add_argument_group("number of runs, and output")
    much.add_argument("--runs", type=positive, default=20, metavar="N", help="runs per scheme, at most (default: 20)")
    much.add_argument(
        "--budget", type=_seconds, default=900.0, metavar="TIME", help="total time, such as 90s, 20m, 8h (default: 15m)"
    )
    much.add_argument(
        "--warm-up",
        type=int,
        choices=range(11),
        default=1,
        metavar="N",
        help="uncounted runs per scheme at the start (default: 1)",
    )
    much.add_argument(
        "--resolution",
        type=_PERCENT,
        default=0.01,
        metavar="N%",
        help="smaller differences are reported as none (default: 1%%)",
    )
    much.add_argument(
        "--at-most",
        type=_PERCENT,
        metavar="N%",
        help="exit code 1 if the scheme default costs more (if it is not listed: any scheme)",
    )
    much.add_argument("--json", action="store_true", help="print the measurement as one JSON document")
    much.add_argument("--page", type=Path, metavar="FILE.html", help="write one self-contained page")
    much.add_argument("--seed", type=int, default=1, metavar="N", help="seed for the order of the runs (default: 1)")
    much.add_argument("--programs", type=Path, help=argparse.SUPPRESS)
    much.add_argument(
        "program", nargs=argparse.REMAINDER, metavar="PROGRAM", help="your program and its arguments, after --"
    )


class _Application(argparse.Action):
    """Takes the options of an application's file, but for those that stand on the command line."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: Any, name: Any = None
    ) -> None:
        application = applications.load(value, site_directories())
        own = {key: given for key, given in vars(namespace).items() if given != parser.get_default(key)}
        parser.parse_args(_words(application.program), namespace)
        vars(namespace).update(own, command=tuple(application.options["command"]), application=value)


def run(args: argparse.Namespace) -> int:
    """Measure and show."""
    if args.programs is not None:
        return _programs_of_a_site(args.programs)
    node = inventory.observe()
    measured, subject = _measured(args, node)
    if args.page is not None:
        write_atomically(args.page, shown_page(cost.shown(measured, subject)), "name another file with --page")
        print(f"page: {args.page}", file=sys.stderr)
    lines = [] if args.json else shown_lines(cost.shown(measured, subject))
    print(cost.document.text(measured, subject) if args.json else "\n".join(lines))
    if measured.interrupted:
        raise KeyboardInterrupt
    return _EXIT_CODES[measured.good]


def _measured(args: argparse.Namespace, node: Node) -> tuple[cost.Measured, cost.Subject]:
    program = args.program[1:] if args.program[:1] == ["--"] else args.program
    program = program or list(args.command or ())
    path = _program(program, args.get)
    names = scheme_names.named(args.schemes)
    reference = _reference(args.against, names)
    refuse_outside("--ranks", args.ranks, 1, _MOST_RANKS, "ranks")
    ranks = scheme_names.ranks_of(names, args.ranks)
    figure = cost.figure_of_merit(args.fom, args.take, args.less)
    same = None if args.same is None else compiled(args.same, "--same")
    expected = None if args.expect is None else compiled(args.expect, "--expect")
    refuse_outside("--budget", args.budget, 0, _LONGEST, "seconds")
    refuse_outside("--same-within", args.same_within, 0, 1, "as a part of a number")
    if args.runs > cost.MOST_PAIRS:
        raise NearfarError(f"--runs {args.runs}: at most {cost.MOST_PAIRS}")
    starter = cost.launcher(args.launcher, path, ranks, shlex.split(args.launcher_options), args.oversubscribe)
    gpus = () if args.no_gpus else None if args.gpus is None else _numbers(args.gpus)
    job = cost.Job(ranks, args.threads_per_rank, gpus, args.all_gpus, args.oversubscribe, starter.mpi is not None)
    schemes = cost.schemes_on(node, names, job)
    judged = tuple(name for name in names if name != reference)
    plan = cost.Plan(
        figure, reference, ("default",) if "default" in judged else judged, args.at_most, args.runs, args.budget, args.warm_up,
        args.resolution, same, expected, args.same_within, args.seed,
    )  # fmt: skip
    subject = cost.Subject(
        tuple(program), starter.words, starter.name, job.ranks, node.hostname, len(node.host_numa_nodes), len(node.gpus),
        cost.bind_words(node, job),
    )  # fmt: skip
    if starter.allowed_as_root:
        as_root.say()
    shown = _Progress()
    lock = node_lock.held(node_lock.wait(), trusted=drain_policy.measuring_users())
    with lock, tempfile.TemporaryDirectory(prefix="nearfar-cost-") as folder:
        case = cost.made_ready(args.inputs, args.prepare, args.read, Path(folder))
        measured = cost.measure(schemes, cost.Runner(program, starter, Path(folder), case), plan, shown.tell)
    shown.clear()
    return measured, subject


def _programs_of_a_site(path: Path) -> int:
    """Measure each program of a list of JSON objects, as a site's system file has them, and print a measurement document."""
    parser = argparse.ArgumentParser()
    configure(parser)
    node, began = inventory.observe(), time.time()
    results, failed = [], []
    for entry in json.loads(path.read_text(encoding="utf-8")):
        name = entry.pop("name")
        try:
            measured, subject = _measured(parser.parse_args(_words(entry)), node)
        except NearfarError as error:
            failed.append({"cell": f"program/{name}", "code": "error", "reason": str(error)})
            continue
        result = cost.document.result(name, measured, subject)
        if result["flows"]:
            results.append(result)
        else:
            failed.append({"cell": result["cell"], "code": "error", "reason": f"{name}: {result['words']}"})
        if measured.interrupted:
            raise KeyboardInterrupt
    whole = cost.document.whole(node, results, failed, began, ["nearfar", *sys.argv[1:]])
    print(dump(whole), end="")
    return EXIT_FAILED if failed else EXIT_GOOD


def _words(entry: dict[str, Any]) -> list[str]:
    """The command line that an entry stands for: its keys are the options' names."""
    command, argv = entry.pop("command"), []
    for key, value in entry.items():
        if value is False:
            continue
        option = f"--{key.replace('_', '-')}"
        if key == "prepare":
            argv += [f"{option}={item}" for item in value]
        else:
            argv.append(
                option if value is True else f"{option}={','.join(value) if isinstance(value, list) else value}"
            )
    return [*argv, "--", *command]


def _program(argv: list[str], get: str | None) -> Path:
    """Its path; one that is named by a path is named by an absolute one from here on. ``get``: how it is got."""
    if not argv:
        raise NearfarError("no program: nearfar cost [OPTIONS] -- PROGRAM [ARGUMENT …]")
    path = shutil.which(argv[0])
    if path is None:
        how = f"; {get}" if get else ""
        raise NearfarError(f"{argv[0]}: no such program, or it may not be executed{how}")
    if os.sep in argv[0]:
        argv[0] = os.path.abspath(path)
    return Path(path)


def _reference(against: str | None, names: tuple[str, ...]) -> str:
    if against is None:
        return "right" if "right" in names else names[0]
    if against not in names:
        raise NearfarError(f"--against {against}: it is none of the schemes {', '.join(names)}")
    return against


class _Progress:
    """One line that is written over on a terminal; elsewhere a line for each run."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._last = 0.0

    def tell(self, measured: cost.Measured, scheme: str, block: int, seconds: float, left: float | None) -> None:
        line = cost.progress(measured, scheme, block, seconds, left)
        if self._terminal:
            print(f"\r\033[K{line[: shutil.get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)
        elif seconds == 0.0 or time.monotonic() - self._last > 60:
            self._last = time.monotonic()
            print(line, file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _numbers(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+(,\d+)*", text) or len(set(text.split(","))) != text.count(",") + 1:
        raise NearfarError(f"--gpus {text}: expected numbers of GPUs, each once, such as 0,2")
    return tuple(map(int, text.split(",")))


def _seconds(text: str) -> float:
    """``20m`` as 1200.0, as argparse's ``type``."""
    match = _TIME.fullmatch(text.strip())
    if match is None or float(match[1]) <= 0:
        raise argparse.ArgumentTypeError(f"'{text}': a time above 0, as 90s, 20m or 8h")
    return float(match[1]) * _SECONDS[match[2]]
