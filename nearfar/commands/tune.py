"""``nearfar tune``: references from a site's own healthy runs, as a diff that a person reviews."""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from nearfar import cli, history
from nearfar.base import (
    EXIT_COULD_NOT_JUDGE,
    EXIT_GOOD,
    CouldNotJudge,
    NearfarError,
    did_you_mean,
    file_lock,
    grouped,
    minute_text,
    parse_since,
    plural,
    site_directories,
    site_files,
    write_atomically,
)
from nearfar.history import History, RowFilter, pl
from nearfar.history.tuning import ChosenSamples, Proposal, TuneOptions, proposal, reference_text, samples
from nearfar.history.tuning import text as shown
from nearfar.model.prediction import NodeType
from nearfar.site import Partition, System, lint, systems
from nearfar.verdict import references

from .command_line import print_json

_EPILOG = """\
examples:
  nearfar tune --system redwood --since 30d               propose references, as a diff of site/references/redwood.yaml
  nearfar tune --system redwood --since 30d --apply       write them to that file
  nearfar tune --system redwood --nodes 'gpu[001-032]' --runs '202611*'
  nearfar tune --system redwood --allow-looser --json

The figures come from the history (nearfar history), pooled by GPU model, node type, path class and software. Each reference gets a
FAIL and a DEGRADED limit, set so that a healthy node rarely exceeds any of them. The limits depend on the spread between hosts,
boards and runs, and on the number of hosts. docs/references.md explains which figures are used or refused, and how the limits follow.
The diff goes to standard output, messages to standard error.

The result is checked like nearfar lint does; if there is an error, nothing is written.

exit codes: 0 proposed (or nothing to change), 2 wrong use, an error of lint or no polars, 3 too little data to tune anything
"""
#: Seconds to wait for another tune of the same file.
_PATIENCE = 60.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Make references from your own runs, with their origin. Shows a diff of the reference file."
    parser.epilog = _EPILOG
    parser.add_argument("--system", required=True, metavar="NAME", help="the system to tune")
    parser.add_argument(
        "--runs", nargs="+", metavar="RUN", help="use only these runs: names as in reports/NAME/, or patterns"
    )
    parser.add_argument(
        "--since", metavar="DATE", help="use runs since this day (2026-11-01), or of the last 24h, 30d, 12w"
    )
    parser.add_argument("--nodes", metavar="LIST", help="use only these nodes: gpu001,gpu[004-032]")
    parser.add_argument("--apply", action="store_true", help="write the file")
    parser.add_argument(
        "--allow-looser", action="store_true", help="also accept looser limits and worse values than today's"
    )
    parser.add_argument("--json", action="store_true", help="print the proposal as JSON")


def run(args: argparse.Namespace) -> int:
    """Propose, show, and with ``--apply`` write."""
    history.need_polars("no reference can be tuned, because no history can be read")
    directories = site_directories()
    store = History(history.readable(), _say, history.trusted(history.directory()))
    system = _system(args.system, directories, store)
    files = _files(system)
    question = _question(args, store)
    known = _known_runs(store, question)
    runs = None if args.runs is None else _runs(args.runs, known)
    how = TuneOptions(args.allow_looser, _command(args))
    now = datetime.now(timezone.utc)
    proposals: list[tuple[Proposal, ChosenSamples]] = []
    with contextlib.ExitStack() as held:
        for name, partitions in sorted(files.items()):
            today, into = _places(name, directories)
            types = {partition.name: partition.node_type or "" for partition in partitions}
            if args.apply:
                held.enter_context(_alone(into))
            chosen = samples.choose(store, question, runs, types, now, references.model_ranges.spreads(directories))
            if chosen is None or not chosen.pools:
                _nothing(name, chosen, partitions, store.directory, len(files))
                continue
            proposals.append((_proposal(today, into, chosen, partitions, directories, how), chosen))
        new = {made.today.into: made.text for made, _ in proposals if made.tuned and made.diff}
        _look_at(new, system, directories, args.apply)
        for path, text in new.items() if args.apply else ():
            write_atomically(path, text)
    _show(args, proposals)
    return EXIT_GOOD if any(made.tuned for made, _ in proposals) else EXIT_COULD_NOT_JUDGE


def _look_at(new: Mapping[Path, str], system: System, directories: Sequence[Path], apply: bool) -> None:
    """What lint says of the site with the new files: told, and where they are to be written an error is one."""
    if not new:
        return
    complaints = lint.with_references(new, system, directories)
    lint.tell_warnings(complaints)
    errors = [str(complaint) for complaint in complaints if complaint.level == lint.ERROR]
    if not errors:
        return
    advice = (
        f"with these references the site has {plural(len(errors), 'error')}: fix the files by hand, then tune again"
    )
    if apply:
        raise NearfarError("\nnearfar: ".join([*errors, f"nothing is written: {advice}"]))
    for line in (*errors, advice):
        _say(line)


def _show(args: argparse.Namespace, proposals: Sequence[tuple[Proposal, ChosenSamples]]) -> None:
    if not args.json:
        for made, chosen in proposals:
            shown.show(made, chosen, args.apply, _say)
        return
    entries = [shown.as_json(made, chosen, args.apply) for made, chosen in proposals]
    document = {"schema": "nearfar-tune/1", "system": args.system, "files": entries}
    print_json(document)


def _command(args: argparse.Namespace) -> list[str]:
    """What the provenance says that was typed."""
    argv = ["nearfar", "tune", "--system", args.system]
    for option, values in (("--runs", args.runs), ("--since", [args.since]), ("--nodes", [args.nodes])):
        argv += [option, *values] if values and values[0] is not None else []
    return argv + (["--allow-looser"] if args.allow_looser else [])


def _say(message: str) -> None:
    print(f"nearfar: {cli.pasteable(message)}", file=sys.stderr, flush=True)


def _files(system: System) -> dict[str, list[Partition]]:
    """The names of the reference files of a system's real partitions."""
    if system.name == "local":
        return {"local": list(system.partitions.values())}
    real = (partition for partition in system.partitions.values() if not partition.modelled)
    by_name = grouped((partition.references or system.name, partition) for partition in real)
    if not by_name:
        raise NearfarError(
            f"--system {system.name}: all its partitions are modelled, and nothing modelled tunes a reference"
        )
    return by_name


def _system(name: str, directories: Sequence[Path], store: History) -> System:
    """The system of a file; of a site's own ReFrame configuration what the history has."""
    known = systems.load_all(list(directories))
    if name == "local":
        return systems.local_system(False, {})
    if name not in known and name in store.systems():
        names = store.rows(RowFilter(name), ["partition"])["partition"].unique()
        return System(name, {each: Partition(each, references=name) for each in sorted(names)})
    if name not in known:
        raise NearfarError(f"--system {name}: no system file of that name{did_you_mean(name, ['local', *known])}")
    return known[name]


def _question(args: argparse.Namespace, store: History) -> RowFilter:
    if args.system not in store.systems():
        known = ", ".join(store.systems()) or "none"
        raise CouldNotJudge(f"{store.directory}: no run of {args.system} (runs of: {known}); {_measure(args.system)}")
    since = None if args.since is None else parse_since(args.since, datetime.now(timezone.utc))
    nodes = None if args.nodes is None else systems.expand(args.nodes, "--nodes")
    missing = sorted(set(nodes or ()) - set(store.nodes(args.system)))
    if missing:
        raise NearfarError(
            f"--nodes: no history of {', '.join(missing[:5])}{did_you_mean(missing[0], store.nodes(args.system))}"
        )
    return RowFilter(args.system, nodes, since=since)


def _measure(system: str | None) -> str:
    """What brings a run, as a command to paste."""
    named = "" if system == "local" else f" --system {system}"
    return f"measure first, on each node: ./validate{named}"


def _known_runs(store: History, question: RowFilter) -> list[str]:
    """The runs that there are of what is asked for, the last at the end. Raises ``CouldNotJudge`` where there are none."""

    def runs(asked: RowFilter) -> pl.DataFrame:
        return store.aggregated(asked, ["run"], pl.col("started").max()).sort("started", "run")

    names = runs(question)
    if not names.is_empty():
        return list(names["run"])
    asked = f"no run of {question.system}"
    asked += "" if question.nodes is None else " on these nodes"
    asked += "" if question.since is None else f" since {minute_text(question.since)} UTC"
    before = runs(RowFilter(question.system, question.nodes))
    if before.is_empty():
        raise CouldNotJudge(f"{store.directory}: {asked} that can be read and trusted; {_measure(question.system)}")
    last = before["started"][-1]
    raise CouldNotJudge(
        f"{store.directory}: {asked}: the last of {plural(len(before), 'run')} was {minute_text(last)}; "
        f"give an earlier --since, or {_measure(question.system)}"
    )


def _runs(patterns: Sequence[str], known: list[str]) -> list[str]:
    """The runs that the patterns name."""
    chosen: dict[str, None] = {}
    for pattern in patterns:
        own = fnmatch.filter(known, Path(pattern).name)
        if not own:
            raise NearfarError(
                f"--runs {pattern}: no such run in the history{did_you_mean(Path(pattern).name, known[-20:])}"
            )
        chosen.update(dict.fromkeys(own))
    return list(chosen)


def _places(name: str, directories: Sequence[Path]) -> tuple[Path, Path]:
    """The reference file of that name that counts today, and where the new one goes: into the site's first directory,
    so that the files of the checkout stay as they are where a site has its own."""
    into = directories[0] / "references" / f"{name}.yaml"
    return site_files("references", list(directories)).get(name, into), into


def _alone(path: Path) -> contextlib.AbstractContextManager[None]:
    """One tune of a file at a time: a second waits, and proposes from what the first has written."""
    return file_lock(path.with_name(f".{path.name}.lock"), limit=_PATIENCE)


def _proposal(
    today: Path,
    into: Path,
    chosen: ChosenSamples,
    partitions: Sequence[Partition],
    directories: Sequence[Path],
    how: TuneOptions,
) -> Proposal:
    node_types: dict[str, NodeType] = {}
    for partition in partitions:
        node_type = partition.load_node_type(list(directories))
        if node_type is not None:
            node_types[node_type.name] = node_type
    published = [
        file for name in node_types for file in references.find(None, name, directories) if file.origin == "published"
    ]
    return proposal.propose(chosen, reference_text.read(today, into), published, list(node_types.values()), how)


def _nothing(
    name: str, chosen: ChosenSamples | None, partitions: Sequence[Partition], directory: Path, files: int
) -> None:
    """Why nothing is left that a file could be tuned from; an error where it is the only one."""
    message = f"{directory}: no figure that {name}.yaml could be tuned from"
    if chosen is None:
        names = ", ".join(partition.name for partition in partitions)
        message += (
            f": the runs chosen have none of its partitions ({names}); choose other runs, or run nearfar validate there"
        )
    else:
        runs = plural(len(chosen.runs), "run")
        message += f": {runs}, none usable, because all was left out: {shown.left_out(chosen.left_out)}; "
        message += "choose other runs, or measure again"
    if files == 1:
        raise CouldNotJudge(message)
    _say(message)
