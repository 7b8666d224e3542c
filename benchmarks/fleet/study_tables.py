"""The study's tables, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import shares
from .agreement import Agreement
from .judging import WORDS
from .trials import AfterDriver, Found, Healthy


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]], host: str) -> str:
    """A table with its title; the noise of own hosts is assumed."""
    assumed = ", `assumed`" if host == "own" else ""
    lines = [f"| {' | '.join(map(str, row))} |" for row in [heads, ["---"] * len(heads), *rows]]
    return "\n".join([f"**{title}: {host} hosts{assumed}**", "", *lines, ""])


def worlds(found: Mapping[tuple[str, int], Healthy], host: str) -> str:
    """By world: FAIL, DEGRADED and wrong drains of 1,000 node-nights for each n, and FAIL of the nights with load that nobody saw."""
    sizes = sorted({n for _, n in found})
    heads = [
        "world",
        *(f"{word}, n = {n}" for word in ("FAIL", "DEGRADED", "drains") for n in sizes),
        "FAIL under load, %",
    ]
    rows: list[list[object]] = []
    for name in dict.fromkeys(name for name, _ in found):
        own = [found[name, n] for n in sizes]
        shown = [
            f"{1000 * share.part:.2g}"
            for word in ("fails", "degraded", "drains")
            for share in (getattr(o, word) for o in own)
        ]
        beside = shares.together([each.beside for each in own])
        rows.append([name, *shown, f"{100 * beside.part:.0f}" if beside.trials else ""])
    return table("Healthy nodes in worlds that the rules were not fitted to, of 1,000 node-nights", heads, rows, host)


def beside_bad(found: Mapping[tuple[str, int, int], Found], host: str) -> str:
    """By fault, bad nodes and n."""
    rows = [
        [name, f"{bad} of {n}", each.first.least(), f"{100 - 100 * each.noticed.part:.1f}"]
        for (name, bad, n), each in sorted(found.items())
    ]
    heads = ["fault", "bad nodes in the pool", "FAIL on the first night, %", "passes for five nights, %"]
    return table("A fault that nodes of the pool have too", heads, rows, host)


def faults(found: Mapping[int, Mapping[str, Found]], host: str) -> str:
    """By n and fault; per cent of the nodes."""
    heads = [
        "fault",
        "n",
        "nodes",
        "first night",
        "within 5",
        "within 30",
        "within 60",
        "drained within 30",
        "DEGRADED within 5",
    ]
    rows = [
        [
            name, n, each.first.trials, each.first.least(), each.five.least(), each.thirty.least(), each.sixty.least(),
            each.drained.least(), each.noticed.least(),
        ]
        for name in next(iter(found.values()))
        for n, of_fault in sorted(found.items())
        for each in [of_fault[name]]
    ]  # fmt: skip
    return table("Faults", heads, rows, host)


def drivers(found: Mapping[tuple[str, int, int], Sequence[AfterDriver]], host: str) -> str:
    """By how it came, nodes of a fleet and n."""
    heads = [
        "driver",
        "fleet",
        "n",
        "node-nights",
        "FAIL, of 1,000",
        "DEGRADED",
        "INDETERMINATE",
        "wrong drains, of 1,000",
    ]
    heads += [
        "fleets in which the shift is known",
        "after nights (median)",
        "lane lost three nights after: drained in a week, %",
    ]
    rows = []
    for (how, nodes, n), each in sorted(found.items()):
        own = Healthy.together([one.healthy for one in each])
        told = sorted(one.told for one in each if one.told is not None)
        row = [
            how,
            nodes,
            n,
            own.fails.trials,
            own.fails.most(1000),
            own.degraded.most(1000),
            own.indeterminate.most(1000),
        ]
        row += [own.drains.most(1000), f"{len(told)} of {len(each)}", told[len(told) // 2] if told else "never"]
        lane = shares.together([one.lane for one in each])
        rows.append([*row, lane.least()])
    return table("After a driver that costs 1.5 %, thirty nights", heads, rows, host)


def agreements(found: Agreement, host: str) -> str:
    """The twin beside the real code."""
    rows: list[list[object]] = [
        ["word on a node-night", found.nights, found.same_word, f"{100 * found.same_word / found.nights:.2f}"],
        ["word on a figure", found.figures, found.same, f"{100 * found.same / found.figures:.3f}"],
        [
            f"drain ({found.drains} node-nights with one)",
            found.nights,
            found.same_drain,
            f"{100 * found.same_drain / found.nights:.2f}",
        ],
    ]
    words = ", ".join(f"{count} {word}" for word, count in zip(WORDS, found.words))
    whole = table("The twin beside the real judge and act", ["what", "of", "alike", "%"], rows, host)
    return f"{whole}\nThe judge's words: {words}.\n"
