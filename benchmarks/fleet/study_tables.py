"""The study's tables, as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import shares
from .agreement import Agreement
from .judging import WORDS
from .trials import AfterDriver, Found, Healthy

_YEAR = 365.0


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]], host: str) -> str:
    """A table with its title; the noise of own hosts is assumed."""
    assumed = ", `assumed`" if host == "own" else ""
    lines = [f"| {' | '.join(map(str, row))} |" for row in [heads, ["---"] * len(heads), *rows]]
    return "\n".join([f"**{title}: {host} hosts{assumed}**", "", *lines, ""])


def healthy(title: str, found: Mapping[tuple[int, int], Healthy], host: str) -> str:
    """By (nodes of a fleet, n). Beside bad nodes nothing is said of drains: these take the cap of each day."""
    bad = any(each.broken.trials for each in found.values())
    heads = ["fleet", "n", "node-nights", "FAIL, of 1,000", "DEGRADED", "INDETERMINATE"]
    heads += ["bad nodes: FAIL on the first night, %"] if bad else ["wrong drains, of 1,000"]
    heads += ["alarms of own past, of 100 node-years"]
    heads += ["FAIL beside a neighbour, %"] if host == "shared" else []
    rows = []
    for (nodes, n), each in sorted(found.items()):
        row = [
            nodes,
            n,
            each.fails.trials,
            *(one.most(1000) for one in (each.fails, each.degraded, each.indeterminate)),
        ]
        row += [each.broken.least() if bad else each.drains.most(1000), each.alarms.most(100 * _YEAR)]
        rows.append([*row, each.beside.most(100)] if host == "shared" else row)
    return table(title, heads, rows, host)


def simpler(found: Mapping[tuple[int, int], Healthy], faults: Mapping[int, Mapping[str, Found]], host: str) -> str:
    """The simpler rules on the same figures: FAILs of healthy nodes, and faults found on the first night, by n."""
    named = list(next(iter(faults.values()))) if faults else []
    named = [name for name in named if "drift" not in name]
    rows: list[list[object]] = []
    for n in sorted({n for _, n in found}):
        own = [each for (_, other), each in found.items() if other == n]
        of_fault = faults.get(n, {})
        ours = [shares.together([each.fails for each in own]).most(1000)]
        rows.append(["nearfar", n, *ours, *(of_fault[name].first.percent for name in named if of_fault)])
        for rule in own[0].by_rule:
            fails = shares.together([each.by_rule[rule] for each in own])
            rows.append(
                [rule, n, fails.most(1000), *(of_fault[name].by_rule[rule].percent for name in named if of_fault)]
            )
    return table(
        "Simpler rules beside it: FAIL",
        ["rule", "n", "healthy, of 1,000", *(f"{name}, %" for name in named)],
        rows,
        host,
    )


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
        "off by at most, %",
        "fixed −5 %: FAIL, of 1,000",
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
        rows.append([*row, f"{100 * max(one.off for one in each):.2f}", own.by_rule["fixed −5 %"].most(1000)])
    return table("After a driver that costs 1.5 %, thirty nights", heads, rows, host)


def near(found: Mapping[int, shares.Share], host: str) -> str:
    """By n."""
    rows = [[n, each.trials, each.least()] for n, each in sorted(found.items())]
    return table("Lone rows whose FAIL limit is within 4 % of the value, %", ["n", "rows", "near"], rows, host)


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
