"""Runs shown to people and to machines: the page, ``report.json``, JUnit XML, and a screen for a terminal.

Everything here reads what a run left; nothing here judges again.

Needs: base, topology, measurement, model.diagnosis, nccl, question, verdict.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from nearfar.base import write_atomically
from nearfar.report.blocks import prepare, terminal_width
from nearfar.report.explanations import Answer, answers, explain
from nearfar.verdict import RunDirectory
from nearfar.verdict import run_directory as rundir

from . import documents, headline, page, terminal
from .dossiers import boards, dossier, passed, ruled_out
from .headline import check_line, title

_REPORT = "report.json"


def build(run_directory: Path) -> Path:
    """Write ``index.html``, ``report.json`` and ``junit.xml`` of a run, each whole or not at all; returns the page's path.

    Raises ``NearfarError`` that names the file which is missing, cut short, or written by a newer nearfar.
    """
    run = rundir.read(run_directory)
    explained = explain(run)
    write_atomically(run_directory / _REPORT, json.dumps(documents.digest(run, explained), indent=1) + "\n")
    write_atomically(run_directory / "junit.xml", documents.junit(run))
    index = run_directory / "index.html"
    write_atomically(index, page.render(run, explained).encode("utf-8", "replace"))
    return index


def summary(run_directory: Path, colour: bool | None = None, every: bool = False) -> str:
    """The run for a terminal: its verdict, the worst reasons, the figures that did not pass (``every``: all), the page, what to type next.

    ``colour``: with ANSI codes; None: where standard output is a terminal and ``NO_COLOR`` is not set. It is as wide as the terminal;
    where standard output is none no line is broken.
    """
    width = terminal_width()
    if colour is None:
        colour = width is not None and not os.environ.get("NO_COLOR")
    return terminal.summarise(rundir.read(run_directory), colour, told_answers(run_directory), width, every)


def lead(run: RunDirectory) -> str:
    """The run in a sentence, as its page begins."""
    explained = told_answers(run.folder)
    return headline.lead(run, headline.reasons(run, explained), explained)


def told_answers(run_directory: Path) -> dict[str, Answer]:
    """What ``build`` found out about slow figures, by the nodes' folders: looking for it takes longer than all else of a summary."""
    try:
        return answers(json.loads((run_directory / _REPORT).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
