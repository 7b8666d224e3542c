"""What explains a node's figures beside its verdicts: its capacities, and the parts that are degraded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise
from typing import Any

from nearfar.model.prediction import implied_capacities
from nearfar.report.figures import number
from nearfar.topology import Node, shared_uplinks
from nearfar.verdict import RunDirectory

from .capacities import Capacities, capacities
from .faults import Faults, faults
from .merged_document import merged


@dataclass(frozen=True)
class Answer:
    """What explains a node's slow figures in a sentence, and the cells that parts it names explain (none: it names no part).
    ``lone``: one cell is slow, and one part explains it, or none does. ``parts`` are those that are named, as ``n0.memory``; ``now``: GB/s
    that their capacities carry."""

    sentence: str
    cells: frozenset[str] = frozenset()
    lone: bool = False
    parts: tuple[str, ...] = ()
    now: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Explained:
    """Of one node; None where there is nothing to explain."""

    capacities: Capacities | None = None
    faults: Faults | None = None

    def as_json(self) -> dict[str, Any]:
        """``calibration`` and ``diagnosis`` of ``report.json``."""
        found: dict[str, Any] = {}
        if self.capacities is not None:
            found["calibration"] = self.capacities.found or {"note": self.capacities.note}
        if self.faults is not None:
            found["diagnosis"] = {**(self.faults.found or {}), "sentence": self.faults.sentence}
        return found

    @property
    def answer(self) -> Answer | None:
        """What explains the slow figures; None where none is slow."""
        return _answer(self.as_json()["diagnosis"]) if self.faults else None


def explain(run: RunDirectory) -> dict[str, Explained]:
    """Each node's, by its folder."""
    found = {}
    for node in run.nodes:
        document, made_up = cache(partial(merged, node)), node.modelled and bool(run.raw.get("degraded"))
        found[node.folder.name] = Explained(capacities(node, document), faults(node, document, made_up))
    return found


def answers(report: Mapping[str, Any]) -> dict[str, Answer]:
    """The answer on each node that has slow figures, by its folder, out of what ``report.json`` says."""
    nodes = (node for node in report.get("nodes") or [] if isinstance(node, dict) and "diagnosis" in node)
    return {str(node["folder"]): _answer(node["diagnosis"]) for node in nodes}


def _answer(said: Mapping[str, Any]) -> Answer:
    """Out of ``diagnosis`` of ``report.json``."""
    sets, slow = said.get("sets") or (), said.get("slow") or []
    subjects = {each["subject"] for each in said.get("findings") or ()}
    lone = len(slow) == 1 >= len(sets) and subjects <= {slow[0]["cell"]}
    cells = (str(each["cell"]) for each in slow if lone or (sets and each["explained"]))
    blames = [blame for each in sets for blame in each]
    now = {name: rate for blame in blames for name, rate in blame["capacities"].items()}
    return Answer(str(said["sentence"]), frozenset(cells), lone, tuple(str(blame["part"]) for blame in blames), now)


def shared_rates(node: Node, explained: Explained) -> dict[str, str]:
    """GB/s of each link that several devices share, by ``switch:`` and the PCI bridge to its devices and from them (``↓ ≥ 24.6 ↑ ≥
    25.1``), by ``p0-p1`` between two packages: as this run saw them, else what the links allow. What nothing is known of is left out."""
    bounds = {
        name: f"≤ {number(each.best)}" for name, each in implied_capacities(node).items() if each.best is not None
    }
    seen = explained.capacities.known if explained.capacities else {}
    degraded = explained.answer.now if explained.answer else {}
    known = {**bounds, **seen, **{name: number(now) for name, now in degraded.items()}}
    ways = {
        f"switch:{bridge}": {f"switch:{bridge}.down": "↓", f"switch:{bridge}.up": "↑"}
        for bridge in shared_uplinks(node)
    }
    packages = [package.index for package in node.packages]
    ways |= {f"p{a}-p{b}": {f"p{a}-p{b}": "→", f"p{b}-p{a}": "←"} for a, b in pairwise(sorted(packages))}
    rates = {
        link: " ".join(f"{sign} {known[name]}".replace(" ", "\u00a0") for name, sign in own.items() if name in known)
        for link, own in ways.items()
    }
    return {link: words for link, words in rates.items() if words}
