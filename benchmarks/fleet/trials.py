"""The parts of the study, each a function of a few plain arguments that gives lines of a table. They run in processes of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from nearfar.site import Policy

from . import draining, judging, past, rules, shares
from .comparators import COMPARATORS, compared
from .faults import FLEET_FAULTS, ONSET, bad_nodes
from .fleets import Fleet, fleet
from .judging import DEGRADED, FAIL, INDETERMINATE, Measured
from .noise import Table, tables
from .rules import Limits

#: Fleets of each size, so that there are nodes enough.
FLEETS = {20: 50, 120: 10, 1000: 3}
#: Files of the trials of faults, each of a tune of its own; nodes that each judges.
FILES, NODES_OF_A_FILE = 20, 20
#: What a site allows ``act``: drains for speed, caps as they are without a word in the site's file.
POLICY = Policy("simulated")


@dataclass(frozen=True)
class Case:
    """A cell of a table: ``host``, references from ``n`` nodes, nights, how nodes differ, and the seed."""

    host: str
    n: int
    nights: int
    seed: int
    spread: str = "normal"

    def source(self, *more: object) -> np.random.Generator:
        """Its own draws."""
        words = f"{self.host} {self.n} {self.spread} {more}"
        return np.random.default_rng([self.seed, *words.encode()])


@cache
def _tables(host: str, seed: int) -> Mapping[str, Table]:
    return tables(host, np.random.default_rng([seed, *host.encode()]))


def made(case: Case, nodes: int, source: np.random.Generator) -> Fleet:
    """A healthy fleet."""
    return fleet(case.host, nodes, case.nights, _tables(case.host, case.seed), source, case.spread)


def pools(case: Case, files: int, source: np.random.Generator, bad: float = 0.0) -> list[np.ndarray]:
    """What references are made from."""
    left = bad_nodes(case.n, bad)
    return rules.fresh_pools(case.host, case.n, files, _tables(case.host, case.seed), source, case.spread, left)


def all_words(seen: Measured, limits: Limits) -> np.ndarray:
    """The judge's words by references and own past, nodes × nights × columns; ``limits`` has each node's."""
    found = judging.by_references(seen, limits)
    return past.with_past(seen, judging.excused(seen, limits, found))


def worst(words: np.ndarray) -> np.ndarray:
    """The word on each node-night."""
    return np.asarray(words.max(axis=2))


@dataclass
class Healthy:
    """What became of healthy nodes: of node-nights, by what happened, and the same by each of the simpler rules."""

    fleets: int
    nodes: int
    fails: shares.Share
    degraded: shares.Share
    indeterminate: shares.Share
    drains: shares.Share
    by_rule: dict[str, shares.Share]


def healthy(case: Case, nodes: int, fleets: int, bad: float = 0.0) -> Healthy:
    """Healthy nodes of fleets with a tune each; of ``bad`` of the nodes, in the pool and in the fleet, something is broken."""
    found = []
    for number in range(fleets):
        source = case.source(nodes, number, bad)
        drawn = pools(case, 1, source, bad)
        limits = rules.limits([rules.file_of(each) for each in drawn]).of(np.zeros(nodes, dtype=int))
        whole = made(case, nodes, source)
        left = bad_nodes(nodes, bad)
        well = (left == 1).all(axis=1)
        seen = judging.measured(whole, left[:, None], source)
        words = all_words(seen, limits)
        word, counted = worst(words), np.broadcast_to(well[:, None], whole.shape[:2])
        drained = draining.drains(words, POLICY).drained & counted
        first = np.zeros_like(drained)
        at = np.nonzero(drained.any(axis=1))[0]
        first[at, drained[at].argmax(axis=1)] = True
        quiet = counted & ~whole.neighbour
        lows = {name: compared(rule, drawn)[0] for name, rule in COMPARATORS.items()}
        found.append(
            (
                shares.of_nights(word == FAIL, counted),
                shares.of_nights(word == DEGRADED, counted),
                shares.of_nights(word == INDETERMINATE, quiet),
                shares.Share(int(first.sum()), int(counted.sum()), float(counted.sum())),
                {name: shares.of_nights((seen.values < low).any(axis=2), counted) for name, low in lows.items()},
            )
        )
    one, two, three, four = (shares.together([each[at] for each in found]) for at in range(4))
    by_rule = {name: shares.together([each[4][name] for each in found]) for name in COMPARATORS}
    return Healthy(fleets, nodes, one, two, three, four, by_rule)


@dataclass
class Found:
    """How many of the nodes with a fault were found: on the first night, within five, within thirty, drained within thirty; and
    healthy ones by the same words in the nights before."""

    first: shares.Share
    five: shares.Share
    thirty: shares.Share
    drained: shares.Share
    seen: shares.Share
    by_rule: dict[str, shares.Share]


def faults(case: Case, names: tuple[str, ...]) -> dict[str, Found]:
    """What becomes of nodes with each fault, from night ``ONSET`` on; of references the tune makes some files."""
    source = case.source("faults")
    drawn = pools(case, FILES, source)
    files = np.repeat(np.arange(FILES), NODES_OF_A_FILE)
    limits = rules.limits([rules.file_of(each) for each in drawn]).of(files)
    whole = made(case, len(files), source)
    lows = {name: compared(rule, drawn)[files][:, None] for name, rule in COMPARATORS.items()}
    return {name: _found(name, whole, limits, lows, source) for name in names}


def _found(
    name: str, whole: Fleet, limits: Limits, lows: Mapping[str, np.ndarray], source: np.random.Generator
) -> Found:
    fault = FLEET_FAULTS[name]
    left = np.broadcast_to(fault.left(*whole.shape[:2], source), whole.shape)
    seen = judging.measured(whole, left, source)
    words = all_words(seen, limits)
    since = words[:, ONSET:]
    there = (left[:, ONSET:] != 1).any(axis=2)
    told = np.isin(worst(since), [judging.WORDS.index(word) for word in fault.words]) & there
    noticed = np.isin(worst(since), [DEGRADED, FAIL]) & there
    begun = there.argmax(axis=1)
    first = told[np.arange(len(told)), begun]
    drained = draining.confirmed(words, POLICY).any(axis=2)[:, ONSET:]
    by_rule = {
        rule: shares.of_nodes((seen.values < low).any(axis=2)[np.arange(len(told)), ONSET + begun])
        for rule, low in lows.items()
    }
    return Found(
        shares.of_nodes(first), shares.of_nodes(told[:, :5].any(axis=1)), shares.of_nodes(told[:, :30].any(axis=1)),
        shares.of_nodes(drained[:, :30].any(axis=1)), shares.of_nodes(noticed[:, :30].any(axis=1)), by_rule,
    )  # fmt: skip


def near(case: Case, files: int) -> shares.Share:
    """How many lone rows keep a FAIL limit near."""
    source = case.source("near")
    held, of = rules.limits([rules.file_of(each) for each in pools(case, files, source)]).near()
    return shares.Share(held, of, of)
