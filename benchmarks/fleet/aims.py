"""Which aims the study meets: the worst value of each beside what is aimed at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import shares
from .shares import Share

#: The parts of the study by kind of host, each with its results by key, as ``fleet_study`` has them.
Results = Mapping[str, Mapping[str, Mapping[tuple[Any, ...], Any]]]
#: Worlds with load that nobody sees, and those of which an aim of its own speaks.
_SWINGS = ("season", "boot modes")


@dataclass(frozen=True)
class Aim:
    """``values`` are shares of trials by where they were found; in units of ``1 / per`` the worst is to be at most (``least``: at least)
    ``limit``."""

    words: str
    per: float
    limit: float
    values: Mapping[str, Share]
    least: bool = False

    def line(self) -> list[object]:
        """A row of the table."""
        sign = -1 if self.least else 1
        known = {where: share for where, share in self.values.items() if share.trials}
        if not known:
            return [self.words, "", "", "not looked at"]
        where, worst = max(known.items(), key=lambda item: sign * item[1].part)
        met = sum(sign * each.part * self.per <= sign * self.limit for each in known.values())
        shown = f"{worst.least()} %" if self.least else worst.most(self.per)
        return [
            self.words,
            shown,
            where,
            "met" if met == len(known) else f"**not met** in {len(known) - met} of {len(known)}",
        ]


def table(results: Results) -> str:
    """All aims."""
    lines: list[Sequence[object]] = [
        ["aim", "worst", "where", ""],
        ["---"] * 4,
        *(each.line() for each in _aims(results)),
    ]
    return "\n".join(["**Aims**", "", *(f"| {' | '.join(map(str, row))} |" for row in lines)])


def _aims(results: Results) -> Iterator[Aim]:
    yield Aim("FAIL ≤ 0.5 of 1,000 healthy node-nights, outside unseen load", 1000, 0.5, _worlds(results, "fails"))
    yield Aim("same, of figures within their bound on most nights", 1000, 0.5, _worlds(results, "misjudged"))
    yield Aim(
        "DEGRADED ≤ 10, seasons and boot modes apart", 1000, 10, _worlds(results, "degraded", _SWINGS, inside=False)
    )
    yield Aim("DEGRADED ≤ 10, seasons and boot modes", 1000, 10, _worlds(results, "degraded", _SWINGS))
    yield Aim("wrong drains ≤ 0.1", 1000, 0.1, _worlds(results, "drains"))
    for name, least, aim in (
        ("NVLink lane", 3, 50),
        ("NVLink lane", 10, 95),
        ("memory channel", 3, 95),
        ("half of PCIe", 1, 100),
    ):
        found = _fault(results, name, "first", least)
        yield Aim(f"{name}: ≥ {aim} % FAIL on the first night, n ≥ {least}", 100, aim, found, least=True)
    engine = {
        where: share for where, share in _fault(results, "copy engine -3 %", "noticed", 3).items() if "own" in where
    }
    yield Aim("copy engine −3 %: ≥ 95 % noticed within five nights, n ≥ 3, own hosts", 100, 95, engine, least=True)
    drift = _fault(results, "drift 0.1 %/week", "sixty", 3)
    yield Aim("drift of 0.1 %/week: ≥ 90 % within sixty nights", 100, 90, drift, least=True)
    step = _fault(results, "step -1 %", "sixty", 3)
    yield Aim("step of −1 %: ≥ 95 % within sixty nights", 100, 95, step, least=True)
    lane = {
        f"{host}, {how}, {nodes} nodes, n = {n}": shares.together([one.lane for one in each])
        for host, parts in results.items()
        for (how, nodes, n), each in parts["driver"].items()
    }
    yield Aim("lane lost three nights after a driver: ≥ 90 % drained within a week", 100, 90, lane, least=True)
    bad = {
        f"{host}, {name}, {number} of {n}": Share(
            each.five.trials - each.noticed.events, each.five.trials, each.five.independent
        )
        for host, parts in results.items()
        for (name, number, n), each in parts["bad"].items()
    }
    yield Aim(
        "a fault that one or two of three or five in the pool have, or a pool of two vendors: ≤ 5 % pass", 100, 5, bad
    )


def _worlds(results: Results, word: str, names: Sequence[str] = (), inside: bool = True) -> dict[str, Share]:
    return {
        f"{name}, {host}, n = {n}": getattr(found, word)
        for host, parts in results.items()
        for (name, n), found in parts["worlds"].items()
        if not names or (name in names) == inside
    }


def _fault(results: Results, name: str, when: str, least: int) -> dict[str, Share]:
    return {
        f"{host}, n = {n}": getattr(found[name], when)
        for host, parts in results.items()
        for (n,), found in parts["faults"].items()
        if n >= least
    }
