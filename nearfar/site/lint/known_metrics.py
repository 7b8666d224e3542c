"""Which rows may speak of a check's figures on a node, without measuring; and which of no node's: a misspelt name, told from one that this
site has no use for. The names are those of the figures that the question has; there is no second grammar of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from nearfar.base import NearfarError, did_you_mean, grouped, site_directories, site_files
from nearfar.cells import parse_metric_name, split_class
from nearfar.measurement import AnyMetric, SubjectMetric
from nearfar.model.prediction import load_node_type
from nearfar.question import find, named
from nearfar.topology import HOST_CLASSES, LOCAL_CLASS, PEER_CLASSES, Node
from nearfar.verdict.references import row_keys

#: A row's name -> the figures that it may speak of.
Rows = dict[str, list[AnyMetric]]
#: Path classes that a node may have; beside them ``NV`` and a number of lanes.
CLASSES = (*HOST_CLASSES, *PEER_CLASSES, LOCAL_CLASS, "local", "all", "mixed")
#: Features that change what a question asks.
_FEATURES = frozenset(("two_nodes", "cuda_mpi"))
#: A number that may be another on another node: at the end of ``n0_g1`` or ``x4``, in ``8KiB``, and not in ``h2d``.
_NUMBER = re.compile(r"\d+(?=$|_|[KMG]?i?B$)")
_NIC = re.compile(r"[a-z]+#(_#)?")


@dataclass(frozen=True)
class FigureWords:
    """The words of which a question's figures are made."""

    #: As they stand in the names, to propose one.
    words: frozenset[str]
    #: Their shapes, and those of the first word of a name.
    shapes: frozenset[str]
    first: frozenset[str]
    #: The fewest words of a name.
    fewest: int
    example: str
    of_cells: bool
    #: Whether NICs are named, which are called as each site likes.
    of_nics: bool


def rows(check: str, node: Node, features: frozenset[str]) -> Rows | None:
    """Every row that may speak of a figure of ``check`` on this node; None if there is no such check."""
    question = find(check)
    if question is None:
        return None
    return grouped((key, metric) for metric in question.known_figures(node, features) for key in row_keys(metric))


def misspelt(check: str, row: str) -> str | None:
    """What of a reference's name no figure of a check is called on any node, with the nearest word; None: a node could have it."""
    known = figure_words(check, tuple(site_directories()))
    words = row.split(".")
    if known is None:
        return None
    such = f" (such as {known.example})"
    for place, word in enumerate(words):
        if known.of_cells and place and re.match(r"[ngc]\d", word):
            return _of_cell(row)
        shapes = known.shapes if place else known.first
        if _shape(word) not in shapes and not (known.of_nics and place and _NIC.fullmatch(_shape(word))):
            nearest = did_you_mean(word, sorted(known.words), else_all=False)
            return f"'{word}' {'is part of' if place else 'begins'} no figure{nearest or such}"
    return None if len(words) >= known.fewest else f"'{row}' is not the full name of a figure{such}"


def _of_cell(row: str) -> str | None:
    try:
        parse_metric_name(row)
    except NearfarError as error:
        return f"'{row.partition('.')[2]}' is not the name of a cell, such as n0_g0: {str(error).partition(': ')[2]}"
    return None


def _shape(word: str) -> str:
    """The word with ``#`` for its numbers, and ``CLASS`` for a path class, whichever it is."""
    path_class, derived = split_class(word)
    if path_class in CLASSES or re.fullmatch(r"NV[0-9]{1,2}", path_class):
        return f"CLASS_{derived}"
    return _NUMBER.sub("#", word)


@cache
def figure_words(check: str, directories: tuple[Path, ...]) -> FigureWords | None:
    """The words of a check's figures on all node types that can be read; None where it has no figure."""
    question, nodes = named(check), _nodes(directories)
    metrics = [metric for node in nodes for metric in question.known_figures(node, _FEATURES)]
    names = [key.split(".") for metric in metrics for key in row_keys(metric)]
    if not names:
        return None
    parts = frozenset(part for name in names for part in name)
    example = min((".".join(name) for name in names), key=lambda name: ("unknown" in name, len(name), name))
    return FigureWords(
        parts | {*CLASSES}, frozenset(map(_shape, parts)),
        frozenset(_shape(name[0]) for name in names), min(map(len, names)), example,
        any(not isinstance(metric, SubjectMetric) for metric in metrics),
        any(nic.name in parts for node in nodes for nic in node.nics),
    )  # fmt: skip


def _nodes(directories: Sequence[Path]) -> list[Node]:
    nodes = []
    for name in site_files("nodes", list(directories)):
        try:
            nodes.append(load_node_type(name, list(directories)).node)
        except NearfarError:  # which lint reports by itself
            continue
    return nodes
