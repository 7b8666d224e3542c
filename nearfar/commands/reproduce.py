"""``nearfar reproduce``: what a paper published, the model's answer and this site's from a run, row by row."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nearfar.base import EXIT_GOOD, NearfarError, columns, site_directories
from nearfar.cells import Cell
from nearfar.reproduce import STATES, Paper, RowBeside, as_json, beside, load_paper, papers
from nearfar.verdict import NodeRun, run_directory

_EPILOG = """examples:
  nearfar reproduce --list                        the papers, and how much of each is asked
  nearfar reproduce joubert2019                   every row: published, modelled, and what asks it
  nearfar reproduce joubert2019 --run reports/latest    this site's column from a run
  nearfar reproduce spafford2011 --json           one JSON object (nearfar-reproduce/1)

Differences are of this site's figure where its node has the paper's GPUs, else of the model's. "input": the model was made from
that figure, which agrees with itself. Papers are the files of site/published/.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Show what a paper published, the model's answer and this site's from a run, row by row. Nothing is measured."
    )
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("paper", nargs="?", metavar="PAPER", help="a file of site/published/")
    parser.add_argument("--list", action="store_true", help="the papers with the number of their rows")
    parser.add_argument(
        "--run", dest="folder", metavar="DIR", type=Path, help="a run directory, for this site's column"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print a paper, or the list of them."""
    if args.list == bool(args.paper):
        raise NearfarError("name one paper, or --list them all")
    if args.list:
        if args.folder is not None:
            raise NearfarError("--run goes with a paper: --list measures nothing")
        _print_list(papers(site_directories()), args.json)
        return EXIT_GOOD
    paper = load_paper(args.paper, site_directories())
    node = None if args.folder is None else _node(args.folder)
    rows = beside(paper, site_directories(), node)
    if args.json:
        found = as_json(paper, rows, None if node is None else node.name)
        sys.stdout.write(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    else:
        _print_paper(paper, rows, node)
    return EXIT_GOOD


def _node(folder: Path) -> NodeRun:
    """The measured node of a run."""
    measured = [node for node in run_directory.read(folder).nodes if not node.modelled]
    if not measured:
        raise NearfarError(f"{folder}: nothing was measured in this run; name the run of a real node")
    if len(measured) > 1:
        names = ", ".join(node.name for node in measured[:3])
        raise NearfarError(f"{folder}: has {len(measured)} nodes ({names} …); name the run of one")
    return measured[0]


def _by_state(counts: Counter[str]) -> dict[str, int]:
    return {state: counts[state] for state in STATES}


def _print_list(known: dict[str, Paper], as_objects: bool) -> None:
    every = {row.id: row for paper in known.values() for row in paper.rows}
    total = Counter(row.state for row in every.values())
    if as_objects:
        listed = {}
        for name, paper in known.items():
            counts = Counter(row.state for row in paper.rows)
            listed[name] = {"title": paper.title, "rows": len(paper.rows), **_by_state(counts)}
        found = {"schema": "nearfar-reproduce-list/1", "papers": listed, "rows": len(every), **_by_state(total)}
        sys.stdout.write(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        return
    table: list[tuple[str, ...]] = [("paper", "rows", *STATES, "title")]
    for name, paper in known.items():
        counts = Counter(row.state for row in paper.rows)
        table.append((name, str(len(paper.rows)), *(str(counts[state]) for state in STATES), paper.title))
    table.append(("each row once", str(len(every)), *(str(total[state]) for state in STATES), ""))
    print("\n".join(columns(table, right=[1, 2, 3, 4])))


def _print_paper(paper: Paper, rows: Sequence[RowBeside], node: NodeRun | None) -> None:
    print(f"{paper.name}: {paper.title}")
    if node is not None:
        print(f"this site: {node.name}")
        if not any(figure.compared for each in rows for figure in each.figures):
            print("its GPUs are not the paper's: its figures stand beside, and are not compared")
    for each in rows:
        row = each.row
        print(f"\n{row.id}. {row.place}: {row.what}")
        if row.values and not each.figures:
            print(f"   published: {', '.join(f'{value:g}' for value in row.values)} {row.unit}")
        if each.figures:
            print("\n".join(f"   {line}" for line in columns(_figures(each, node is not None), right=[1, 2, 3, 4])))
        for words in (f"cannot be: {row.impossible}" if row.impossible else "", _asked(each)):
            if words:
                print(f"   {words}")


def _figures(each: RowBeside, measured: bool) -> list[tuple[str, ...]]:
    table: list[tuple[str, ...]] = [("GB/s", "published", "modelled", "this site", "difference", "the model")]
    for figure in each.figures:
        difference = "–" if figure.difference is None else _percent(figure.difference)
        numbers = [_number(figure.published), _number(figure.modelled), _number(figure.measured)]
        table.append((_short(figure.cell), *numbers, difference, figure.basis))
    return table if measured else [(*line[:3], *line[4:]) for line in table]


def _percent(part: float) -> str:
    text = f"{part * 100:+.1f} %".replace("-", "−")
    return "0.0 %" if text[1:] == "0.0 %" else text


def _short(cell: Cell) -> str:
    text = str(cell)
    return text if len(text) <= 44 else f"{text[:41]}…"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _asked(each: RowBeside) -> str:
    row = each.row
    if not row.command:
        return f"not asked: {row.not_asked}"
    return f"asked by: {row.command}{f' (not: {row.lacks})' if row.lacks else ''}"
