"""Load balance: what each rank does of an iteration under each binding, as bars on one scale, and the efficiencies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from nearfar.mpi import load_balance
from nearfar.report.blocks import Chart
from nearfar.report.charts import element, markup, text
from nearfar.report.figures import number

WIDTH, LEFT, RIGHT = 620, 64, 64
_BAR, _STEP, _TOP = 16, 24, 4
#: The parts of an iteration in their order, with what a page calls them; all in ms.
PARTS = {
    "to_device": "to the device",
    "compute": "kernel",
    "to_host": "to the host",
    "other": "else",
    "waiting": "waiting for the other ranks",
}
_TITLES = {"default": "As launched", "gpu": "Bound beside the GPUs", "wrong": "Bound to the farthest NUMA nodes"}


def balances(document: Mapping[str, Any]) -> list[Chart]:
    """A drawing for each binding that was measured; all bars on the scale of the longest iteration."""
    known = load_balance.results(document)
    ranks = {word: _ranks(word, known) for word in load_balance.BINDINGS if (word, "waiting") in known}
    most = max((sum(parts.values()) for each in ranks.values() for parts in each.values()), default=0.0)
    marks = [Markup('<i class="{}"></i> {}').format(part, words) for part, words in PARTS.items()]
    found: list[Chart] = []
    for word in ranks if most > 0 else ():
        useful, bars = known[word, "useful"], _bars(ranks[word], most)
        host = " (host memory in place of GPUs)" if str(useful["quantity"]).startswith(load_balance.FAMILIES[1]) else ""
        words = _efficiencies(word, known)
        found.append(Chart(bars, f"{_TITLES[word]}{host}", words, tuple(marks), _places(useful), "balance-legend"))
    return found


def _median(part: dict[str, Any]) -> float:
    return float(part["rate"]["median"])


def _ranks(binding: str, known: dict[tuple[str, str], dict[str, Any]]) -> dict[str, dict[str, float]]:
    """ms of each part of an iteration, by rank."""
    found: dict[str, dict[str, float]] = {}
    for what in ("to_device", "compute", "to_host", "useful", "waiting"):
        for part in known[binding, what]["flows"]:
            found.setdefault(str(part["flow"]), {})[what] = _median(part)
    for parts in found.values():
        steps = parts["to_device"] + parts["compute"] + parts["to_host"]
        parts["other"] = max(0.0, parts.pop("useful") - steps)
    return found


def _efficiencies(binding: str, known: dict[tuple[str, str], dict[str, Any]]) -> str:
    names = ("load_balance", "communication_efficiency", "parallel_efficiency")
    parts = [(name.replace("_", " "), known[binding, name]["flows"][0]) for name in names if (binding, name) in known]
    shown = [f"{name} {100 * _median(part):.0f} %" for name, part in parts]
    time = known.get((binding, "run_time"))
    return ", ".join([*shown, f"{number(_median(time['flows'][0]))} ms an iteration"] if time else shown)


def _places(result: dict[str, Any]) -> tuple[str, ...]:
    """``rank 0: CPUs 0-31, memory of NUMA node 0``: the bindings in effect."""
    return tuple(
        f"{str(part['flow']).replace('rank', 'rank ')}: CPUs {part.get('cpus', 'not reported')}, memory of NUMA node "
        f"{', '.join(map(str, part.get('memory_nodes') or ['not reported']))}"
        for part in result["flows"]
    )


def _bars(ranks: dict[str, dict[str, float]], most: float) -> Markup:
    height = _TOP + _STEP * len(ranks)
    root = element("svg", class_="balance", viewBox=f"0 0 {WIDTH} {height}", width=WIDTH, height=height, role="img")
    root.append(element("title", "What each rank does of an iteration"))
    for row, (rank, parts) in enumerate(ranks.items()):
        y = _TOP + row * _STEP
        root.append(text(0, y + _BAR - 4, rank.replace("rank", "rank "), "tick"))
        x = float(LEFT)
        for part, words in PARTS.items():
            width = parts[part] / most * (WIDTH - LEFT - RIGHT)
            bar = element("rect", x=x, y=y, width=width, height=_BAR, class_=part)
            bar.append(element("title", f"{words}: {number(parts[part])} ms"))
            root.append(bar)
            x += width
        root.append(text(x + 6, y + _BAR - 4, f"{number(sum(parts.values()))} ms", "tick"))
    return markup(root)
