"""The parts of the study, each a function of a few plain arguments that gives lines of a table. They run in processes of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from nearfar.site import Policy
from nearfar.verdict import thresholds
from nearfar.verdict.references import ReferenceFile

from . import draining, judging, rules, shares, worlds
from .agreement import Agreement, RealNights, agreement, real_nights
from .columns import columns
from .faults import FLEET_FAULTS, ONSET, bad_nodes, driver_nights, steadily
from .fleets import Fleet, fleet
from .judging import DEGRADED, FAIL, INDETERMINATE, Measured
from .noise import Table, tables
from .rules import Limits
from .twin import Words, judged
from .upgrades import upgraded
from .worlds import World

#: Fleets of each world, and their nodes.
WORLD_FLEETS, WORLD_NODES = 20, 60
#: Files of the trials of faults, each of a tune of its own; nodes that each judges.
FILES, NODES_OF_A_FILE = 20, 20
#: Fleets of each size that get a new driver.
DRIVER_FLEETS = {20: 10, 120: 3, 1000: 1}
#: Nodes of each kind of host, and their nights, on which the twin is held against the real code; by references from so many.
AGREEING, AGREEING_NIGHTS, AGREEING_REFERENCES = 60, 60, (10, 100)
#: A fault begins after ``ONSET`` nights, and sixty more are looked at.
LEAST_NIGHTS = ONSET + 60
#: What a site allows ``act``: drains for speed, caps as they are without a word in the site's file.
POLICY = Policy("simulated")


@dataclass(frozen=True)
class Case:
    """A cell of a table: ``host``, references from ``n`` nodes, nights, the seed, and the name of the world."""

    host: str
    n: int
    nights: int
    seed: int
    world: str = "plain"

    def source(self, *more: object) -> np.random.Generator:
        """Its own draws."""
        words = f"{self.host} {self.n} {self.world} {more}"
        return np.random.default_rng([self.seed, *words.encode()])


@cache
def _tables(host: str, seed: int) -> Mapping[str, Table]:
    return tables(host, np.random.default_rng([seed, *host.encode()]))


def _world(case: Case) -> World:
    return worlds.on(worlds.drawn(case.world, np.random.default_rng([case.seed, *case.world.encode()])), case.host)


def made(case: Case, nodes: int, source: np.random.Generator) -> Fleet:
    """A healthy fleet."""
    return fleet(case.host, nodes, case.nights, _tables(case.host, case.seed), source, _world(case))


def pools(case: Case, files: int, source: np.random.Generator, bad: float = 0.0) -> list[np.ndarray]:
    """What references are made from."""
    left = bad_nodes(case.n, bad)
    own = _tables(case.host, case.seed)
    return [rules.pool(_world(case), case.host, case.n, own, source, left) for _ in range(files)]


def worst(words: np.ndarray) -> np.ndarray:
    """The word on each node-night."""
    return np.asarray(words.max(axis=2))


@dataclass
class Healthy:
    """What became of healthy nodes, of node-nights: ``fails`` and so on without those beside a neighbour, ``misjudged`` those FAILs whose
    figure was within its bound on most nights, ``beside`` the FAILs of these, ``drains`` of all nights (each node once). ``alarms``: a
    lone figure was called worse than its past, of nights with a whole baseline. ``broken``: of the bad nodes beside them those that are
    FAIL on the first night."""

    fails: shares.Share
    misjudged: shares.Share
    degraded: shares.Share
    indeterminate: shares.Share
    beside: shares.Share
    drains: shares.Share
    alarms: shares.Share
    broken: shares.Share

    @classmethod
    def of(cls, seen: Measured, limits: Limits, neighbour: np.ndarray, counted: np.ndarray, made: Words) -> Healthy:
        """Of one fleet; ``counted``, nodes × nights, are the healthy node-nights that are asked for."""
        word, quiet, host = worst(made.words), counted & ~neighbour, seen.host
        fail = np.broadcast_to(limits.fail if limits.fail.ndim > 2 else limits.fail[:, None], seen.values.shape)
        within = np.median(seen.values - fail, axis=1)[:, None] >= 0
        drained = draining.drains(made, host, POLICY).drained
        lone = made.past[:, :, [each.lone for each in columns()]].any(axis=2)
        later = quiet & (np.arange(word.shape[1]) >= thresholds.BASELINE_NIGHTS)
        return cls(
            fails=shares.of_nights(word == FAIL, quiet),
            misjudged=shares.of_nights(worst(np.where(within, made.words, 0)) == FAIL, quiet),
            degraded=shares.of_nights(word == DEGRADED, quiet),
            indeterminate=shares.of_nights(word == INDETERMINATE, quiet),
            beside=shares.of_nights(word == FAIL, counted & neighbour),
            drains=shares.of_firsts(drained, counted),
            alarms=shares.of_firsts(lone, later),
            broken=shares.of_nodes(word[~counted.any(axis=1), 0] == FAIL),
        )

    @classmethod
    def together(cls, found: Sequence[Healthy]) -> Healthy:
        """Of several fleets."""
        names = ("fails", "misjudged", "degraded", "indeterminate", "beside", "drains", "alarms", "broken")
        return cls(**{name: shares.together([getattr(each, name) for each in found]) for name in names})


def healthy(case: Case, nodes: int, fleets: int, bad: float = 0.0) -> Healthy:
    """Healthy nodes of fleets with a tune each; of ``bad`` of the nodes, in the pool and in the fleet, something is broken."""
    found = []
    for number in range(fleets):
        source = case.source(nodes, number, bad)
        drawn = pools(case, 1, source, bad)
        limits = rules.limits([rules.file_of(each) for each in drawn]).of(np.zeros(nodes, dtype=int))
        whole = made(case, nodes, source)
        left = bad_nodes(nodes, bad)
        counted = np.broadcast_to((left == 1).all(axis=1)[:, None], whole.shape[:2])
        seen = judging.measured(whole, left[:, None], source)
        found.append(Healthy.of(seen, limits, whole.neighbour, counted, judged(seen, limits)))
    return Healthy.together(found)


@dataclass
class AfterDriver:
    """What became of healthy nodes in the thirty nights after a new driver came to the fleet. ``told``: on how many nights after the
    first the levels of all copies with the host are known. ``lane``: of the nodes that lost an NVLink lane three nights after they got
    the driver, those that are to be drained within a week."""

    healthy: Healthy
    told: int | None
    lane: shares.Share


def after_driver(case: Case, nodes: int, fleets: int, rolling: bool) -> list[AfterDriver]:
    """Fleets that get a driver that costs ``1 - DRIVER`` of each copy with the host, with references of before."""
    found = []
    for number in range(fleets):
        source = case.source("driver", nodes, number, rolling)
        drawn = pools(case, 1, source)
        file = rules.file_of(drawn[0])
        nights = ONSET + 30
        whole = made(replace(case, nights=nights), nodes, source)
        left = FLEET_FAULTS[f"driver -1.5 % {'rolling' if rolling else 'at once'}"].left(*whole.shape[:2], source)
        left = np.array(np.broadcast_to(left, whole.shape))
        new, broken = driver_nights(nodes, nights, rolling), range(0, nodes, 20)
        for node in broken:
            left[node, new[node] + 3 :] *= steadily("NVLink lane")
        seen = judging.measured(whole, left, source)
        known = upgraded(seen.values, new, file)
        counted = np.zeros(whole.shape[:2], dtype=bool)
        counted[:, ONSET:] = True
        counted[list(broken)] = False
        words = judged(seen, known.limits)
        rows = {each.row for each in columns() if "n0" in each.path.cell and each.path.kind != "stream"}
        told = [night for night, entries in enumerate(known.known) if rows <= entries]
        stands = draining.confirmed(*draining.counted(words.words, words.intermittent, words.fallen), POLICY).any(
            axis=2
        )
        lane = shares.of_nodes(np.array([stands[node, new[node] + 3 : new[node] + 10].any() for node in broken]))
        healthy = Healthy.of(seen, known.limits, whole.neighbour, counted, words)
        found.append(AfterDriver(healthy, told[0] - ONSET if told else None, lane))
    return found


@dataclass
class Found:
    """How many of the nodes with a fault were found by the words that count: on the first night, within five, thirty, sixty; drained
    within thirty; ``noticed``, at least DEGRADED, within five."""

    first: shares.Share
    five: shares.Share
    thirty: shares.Share
    sixty: shares.Share
    drained: shares.Share
    noticed: shares.Share


def faults(case: Case, names: tuple[str, ...], count: int = FILES) -> dict[str, Found]:
    """What becomes of nodes with each fault, from night ``ONSET`` on; of references the tune makes ``count`` files."""
    source = case.source("faults")
    drawn = pools(case, count, source)
    files = np.repeat(np.arange(count), NODES_OF_A_FILE)
    limits = rules.limits([rules.file_of(each) for each in drawn]).of(files)
    whole = made(case, len(files), source)
    return {name: _found(name, whole, limits, source) for name in names}


def _found(name: str, whole: Fleet, limits: Limits, source: np.random.Generator) -> Found:
    fault = FLEET_FAULTS[name]
    left = np.broadcast_to(fault.left(*whole.shape[:2], source), whole.shape)
    seen = judging.measured(whole, left, source)
    all_of = judged(seen, limits)
    lacks = left != 1
    # What was found before the fault, or of figures that it leaves alone, does not count.
    since, there = np.where(lacks, all_of.words, 0)[:, ONSET:], lacks[:, ONSET:].any(axis=2)
    told = np.isin(worst(since), [judging.WORDS.index(word) for word in fault.words]) & there
    noticed = np.isin(worst(since), [DEGRADED, FAIL]) & there
    node, begun = np.arange(len(told)), there.argmax(axis=1)
    counts = draining.counted(all_of.words, all_of.intermittent, all_of.fallen)
    drained = (draining.confirmed(*counts, POLICY) & lacks)[:, ONSET:].any(axis=2)
    drained |= draining.broken_hosts(all_of.words, all_of.fallen, whole.host)[:, ONSET:]
    five, thirty, sixty = (shares.of_nodes(told[:, :nights].any(axis=1)) for nights in (5, 30, 60))
    return Found(
        shares.of_nodes(told[node, begun]), five, thirty, sixty,
        shares.of_nodes(drained[:, :30].any(axis=1)), shares.of_nodes(noticed[:, :5].any(axis=1)),
    )  # fmt: skip


def beside_bad(case: Case, name: str, bad: int, count: int = FILES) -> Found:
    """What becomes of a node with a fault by references of which ``bad`` of the nodes had the same fault."""
    source = case.source("bad", name, bad)
    left = np.ones((case.n, len(columns())))
    left[:bad] = FLEET_FAULTS[name].left(1, ONSET + 1, source)[0, -1]
    own, world = _tables(case.host, case.seed), _world(case)
    drawn = [rules.file_of(rules.pool(world, case.host, case.n, own, source, left)) for _ in range(count)]
    files = np.repeat(np.arange(count), NODES_OF_A_FILE)
    return _found(name, made(case, len(files), source), rules.limits(drawn).of(files), source)


@cache
def _agreeing_file(case: Case, n: int) -> ReferenceFile:
    of_n = replace(case, n=n)
    return rules.file_of(pools(of_n, 1, of_n.source("agreement"))[0])


def real_node(case: Case, number: int) -> RealNights:
    """A node's nights through the real judge: every second one is healthy."""
    names = [name for name, fault in FLEET_FAULTS.items() if not fault.of_fleet]
    shape, source = (AGREEING_NIGHTS, len(columns())), case.source("real", number)
    left = np.ones(shape)
    if number % 2:
        left = np.broadcast_to(FLEET_FAULTS[names[number // 2 % len(names)]].left(1, shape[0], source)[0], shape)
    file = _agreeing_file(case, AGREEING_REFERENCES[number // 2 % 2])
    return real_nights(f"n{number:03}", case.host, left, file, f"{case.seed} {case.host} {number}")


def agreement_of(case: Case, nodes: Sequence[RealNights]) -> Agreement:
    """The twin beside the real judge and ``act`` on ``real_node``s."""
    limits = rules.limits([_agreeing_file(case, n) for n in AGREEING_REFERENCES])
    return agreement(nodes, limits.of(np.arange(len(nodes)) // 2 % 2), case.host)
