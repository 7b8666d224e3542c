"""``nearfar compare``: two runs, or two sets of runs: what changed, and what of it is more than chance."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from nearfar import compare
from nearfar.base import (
    EXIT_COULD_NOT_JUDGE,
    EXIT_FAILED,
    EXIT_GOOD,
    NearfarError,
    plural,
    short_host_name,
    write_atomically,
)
from nearfar.report.blocks import shown_lines, shown_page
from nearfar.topology import SETTINGS, Node, node_from_document, spread_settings, written_settings
from nearfar.verdict import run_directory, verdict_file

from .command_line import percent, run_directories

_EPILOG = """examples:
  nearfar compare reports/local/20261120T090000 reports/local/20261122T090000
  nearfar compare local/20261120T090000 latest               # names below reports/
  nearfar compare --before 'redwood/20261120*' --after 'redwood/20261122*'
  nearfar compare --at-most 5% BEFORE AFTER                  # exit code 1 if anything got worse by more
  nearfar compare --page driver-590.html BEFORE AFTER        # one file to send to a vendor
  nearfar compare --settings 'redwood/*' n41.json            # only the settings that differ between nodes

exit codes: 0 compared (with --at-most: nothing got worse by more), 1 a figure got worse by more than --at-most,
2 wrong use, 3 nothing could be compared, or every figure is undecided
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Compare two runs, or two sets of runs: before and after a new driver, a setting or a repair. Lists the figures\n"
        "that changed significantly, with a 5 % chance of any false alarm over all figures together\n"
        "(benchmarks/studies/compare.md). Measures nothing, and judges nothing again."
    )
    parser.epilog = _EPILOG
    parser.add_argument(
        "runs", nargs="*", metavar="RUN", help="two run directories, before and after, or node directories in them"
    )
    parser.add_argument(
        "--settings", action="store_true",
        help="list only settings that differ between nodes; takes runs, and files written by nearfar detect --json",
    )  # fmt: skip
    parser.add_argument("--before", nargs="+", metavar="RUN", help="several runs in place of the first RUN")
    parser.add_argument("--after", nargs="+", metavar="RUN", help="several runs in place of the second RUN")
    parser.add_argument(
        "--at-most", type=percent, metavar="N%", help="exit code 1 if a figure got significantly worse by more"
    )
    parser.add_argument("--all", action="store_true", help="show all figures, not only significant changes")
    parser.add_argument("--json", action="store_true", help="print the comparison as one JSON document")
    parser.add_argument(
        "--page", type=Path, metavar="FILE.html", help="write the comparison as one self-contained page"
    )


def run(args: argparse.Namespace) -> int:
    """Compare, show, and say by the exit code whether it is worse than allowed."""
    if args.settings:
        if args.before or args.after or args.at_most is not None or args.all or args.json or args.page:
            raise NearfarError("--settings goes with runs and files of nodes alone; leave the other options out")
        print("\n".join(_settings(args.runs)))
        return EXIT_GOOD
    before, after = _sides(args)
    for folder in (*before, *after):
        if (folder / "reframe-report.json").exists() and not (folder / "run.json").exists():
            raise NearfarError(f"{folder}: made by ReFrame itself, without run.json; nearfar report {folder} writes it")
    compared = compare.compare(before, after)
    found = compare.shown(compared, args.all, args.at_most)
    if args.page is not None:
        write_atomically(args.page, shown_page(found), "name another file with --page")
    print(compare.document.text(compared, args.at_most) if args.json else "\n".join(shown_lines(found)))
    if args.page is not None and not args.json:
        print(args.page)
    if not compared.tested:
        return EXIT_COULD_NOT_JUDGE
    return EXIT_FAILED if args.at_most is not None and compared.beyond(args.at_most) else EXIT_GOOD


def _sides(args: argparse.Namespace) -> tuple[list[Path], list[Path]]:
    """The run directories of both sides."""
    if args.before is None and args.after is None:
        if len(args.runs) != 2:
            named = "1 run is" if len(args.runs) == 1 else f"{len(args.runs)} runs are"
            raise NearfarError(f"{named} named: name two, or sets of them with --before RUN … --after RUN …")
        return run_directories(args.runs[0]), run_directories(args.runs[1])
    if args.runs or args.before is None or args.after is None:
        raise NearfarError("--before RUN … and --after RUN … go together, without other runs beside them")
    return _all(args.before), _all(args.after)


def _all(names: Sequence[str]) -> list[Path]:
    return [folder for name in names for folder in run_directories(name)]


def _settings(names: Sequence[str]) -> list[str]:
    """What differs between the nodes' settings, in lines; of a node that is named twice the last counts."""
    nodes: dict[str, Node] = {}
    for name in names:
        if Path(name).is_file():
            node = node_from_document(verdict_file.load_object(Path(name)))
            nodes[short_host_name(node.hostname)] = node
            continue
        for folder in run_directories(name):
            measured = (each for each in run_directory.read(folder).nodes if not each.modelled)
            nodes.update((short_host_name(each.name), each.node) for each in measured if each.node is not None)
    if len(nodes) < 2:
        raise NearfarError(
            f"{plural(len(nodes), 'node')} named: name the runs, or files of nearfar detect --json, of two nodes or more"
        )
    lines = []
    written = {name: written_settings(node) for name, node in nodes.items()}
    spreads = spread_settings(written)
    for spread in spreads:
        lines += [spread.sentence, f"    can explain: {', '.join(spread.setting.explains)}"]
    read = {key for own in written.values() for key in own}
    differing = {spread.setting.key for spread in spreads}
    for words, keys in (("the same on all", read - differing), ("not read on any", {s.key for s in SETTINGS} - read)):
        lines += [f"{words}: {', '.join(setting.title for setting in SETTINGS if setting.key in keys)}"] if keys else []
    return lines
