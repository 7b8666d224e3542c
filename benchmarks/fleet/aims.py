"""Which aims the study meets: the worst value of each beside what is aimed at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import shares
from .shares import Share

#: The parts of the study by kind of host, each with its results by key, as ``fleet_study`` has them.
Results = Mapping[str, Mapping[str, Mapping[tuple[Any, ...], Any]]]
_YEAR = 365.0
_FOUND_AT_ONCE = ("NVLink lane", "half of PCIe", "memory channel")


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
        bound = worst.bounds[0 if self.least else 1]
        met = sign * worst.part * self.per <= sign * self.limit
        sure = sign * bound * self.per <= sign * self.limit
        word = "met" if sure else "met, not beyond doubt" if met else "**not met**"
        return [self.words, f"{worst.least()} %" if self.least else worst.most(self.per), where, word]


def table(results: Results) -> str:
    """All aims."""
    heads = ["aim", "worst", "where", ""]
    rows = [each.line() for each in _aims(results)]
    lines: list[Sequence[object]] = [heads, ["---"] * 4, *rows]
    return "\n".join(["**Aims**", "", *(f"| {' | '.join(map(str, row))} |" for row in lines)])


def _aims(results: Results) -> Iterator[Aim]:
    healthy = _healthy(results, "healthy")
    drivers = {
        f"{host}, {how}, n = {n}": [one.healthy for one in found]
        for host, parts in results.items()
        for (how, nodes, n), found in parts["driver"].items()
        if n >= 5 and nodes == max(each[1] for each in parts["driver"])
    }
    for name, found in (("", healthy), ("after an upgrade: ", drivers)):
        yield Aim(f"{name}FAIL ≤ 1 of 1,000 healthy node-nights, n ≥ 5", 1000, 1, _of(found, "fails"))
        yield Aim(f"{name}DEGRADED ≤ 10", 1000, 10, _of(found, "degraded"))
        yield Aim(f"{name}INDETERMINATE ≤ 5", 1000, 5, _of(found, "indeterminate"))
        yield Aim(f"{name}wrong drains ≤ 0.05", 1000, 0.05, _of(found, "drains"))
    whole = {
        where: shares.together([share for each in those for share in (each.fails, each.beside)])
        for where, those in healthy.items()
    }
    yield Aim("FAIL ≤ 1, nights beside a neighbour counted too", 1000, 1, whole)
    near = {
        f"{host}, n = {n}": each for host, parts in results.items() for (n,), each in parts["near"].items() if n >= 10
    }
    yield Aim("≥ 90 % of lone rows keep a FAIL limit within 4 %, n ≥ 10", 100, 90, near, least=True)
    for name in _FOUND_AT_ONCE:
        yield Aim(
            f"{name}: ≥ 99 % FAIL on the first night, n ≥ 10", 100, 99, _fault(results, name, "first", 10), least=True
        )
    engine = _fault(results, "copy engine -3 %", "five", 100)
    yield Aim("copy engine −3 %: ≥ 95 % FAIL within five nights, n ≥ 100", 100, 95, engine, least=True)
    drained = _fault(results, "lane, one night in five", "drained", 10)
    yield Aim("lane on one night in five: ≥ 95 % drained within thirty, n ≥ 10", 100, 95, drained, least=True)
    drift = _fault(results, "drift 0.1 %/week", "sixty", 3)
    yield Aim("drift of 0.1 %/week: found within sixty nights", 100, 95, drift, least=True)
    yield Aim("false alarms of own past ≤ 1 of 100 node-years", 100 * _YEAR, 1, _of(healthy, "alarms"))


def _healthy(results: Results, part: str) -> dict[str, Sequence[Any]]:
    """The largest fleets, of n ≥ 5."""
    return {
        f"{host}, n = {n}": [found]
        for host, parts in results.items()
        for (nodes, n), found in parts[part].items()
        if n >= 5 and nodes == max(each[0] for each in parts[part])
    }


def _of(found: Mapping[str, Sequence[Any]], name: str) -> dict[str, Share]:
    return {where: shares.together([getattr(each, name) for each in those]) for where, those in found.items()}


def _fault(results: Results, name: str, when: str, least: int) -> dict[str, Share]:
    return {
        f"{host}, n = {n}": getattr(found[name], when)
        for host, parts in results.items()
        for (n,), found in parts["faults"].items()
        if n >= least
    }
