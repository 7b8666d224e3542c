"""What owners of real nodes captured with nccl-tests, beside the expected bus bandwidth: ``nearfar reproduce --collectives``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nearfar.base import plural
from nearfar.collective import (
    TRANSPORT_WORDS,
    CollectiveBeside,
    PublishedCollectives,
    all_beside,
    captures,
    errors,
    size_in_words,
)
from nearfar.report.blocks import Entry, Shown, Table, Text, row, table


def shown(every: Sequence[PublishedCollectives], command: str) -> Shown:
    """The summary of both halves, then every run; ``command`` makes it again."""
    figures = all_beside(every)
    problems = [each for each in figures if each.capture.cause is not None]
    below = sum(each.captured < each.expected.low for each in problems)
    answer = (
        f"{plural(len(every), 'published node')} with {plural(len(figures), 'bus bandwidth')}; "
        "expected from the links, with two fitted factors",
        f"posted as a problem: {len(problems)}, of which {below} are below the expected range",
    )
    note = Text(
        ("counted: from 256 MiB on, or runs of 5 ms and longer; neither problems nor small sizes. The half that the factors were "
         "fitted on was chosen before.",), "muted",
    )  # fmt: skip
    return Shown("Published collectives", answer, (_summary(figures), note, _table(figures)), made=f"`{command}`")


def _summary(figures: Sequence[CollectiveBeside]) -> Table:
    lines = []
    for name, fitted in (("not used for fitting", False), ("used for fitting", True)):
        half = [each for each in figures if each.published.used_for_fit == fitted]
        count, middle, near = errors(half)
        nodes = len({each.published.name for each in half if each.counted})
        lines.append([name, str(count), str(nodes), f"{100 * middle:.1f} %", f"{100 * near:.0f} %"])
    return table(["half", ">n", ">nodes", ">median error", f">within {100 * captures.WITHIN:.0f} %"], lines)


def _table(figures: Sequence[CollectiveBeside]) -> Table:
    lines, last = [], ""
    for each in figures:
        name, found = each.published.name, each.expected
        run = f"{each.capture.collective}{_gpus(each)}{f', {found.nodes} nodes' if found.nodes > 1 else ''}"
        way = f"{found.algorithm} over {TRANSPORT_WORDS[found.transport]}"
        cause = each.capture.cause or ""
        lines.append(
            row(
                Entry("" if name == last else name, tip=each.published.source),
                f"{run} {size_in_words(each.bytes)}",
                f"{found.typical:.1f}",
                f"{found.low:.1f} to {found.high:.1f}",
                f"{each.captured:.1f}",
                f"{each.captured / found.typical:.2f}",
                f"problem: {cause}" if cause else way,
            )
        )
        last = name
    return table(["node", "run", ">expected", ">range", ">captured", ">ratio", ""], lines)


def _gpus(each: CollectiveBeside) -> str:
    return "" if each.capture.gpus is None else f" of {', '.join(f'g{gpu}' for gpu in each.capture.gpus)}"


def as_json(every: Sequence[PublishedCollectives]) -> dict[str, Any]:
    """``nearfar-reproduce-collectives/1``."""
    rows = [
        {
            "node": each.published.name, "used_for_fit": each.published.used_for_fit, "collective": each.capture.collective,
            "nodes": each.capture.nodes, "bytes": each.bytes, "expected": each.expected.typical, "low": each.expected.low,
            "high": each.expected.high, "captured": each.captured, "counted": each.counted, "problem": each.capture.cause,
        }
        for each in all_beside(every)
    ]  # fmt: skip
    return {
        "schema": "nearfar-reproduce-collectives/1",
        "nodes": {each.name: each.source for each in every},
        "rows": rows,
    }
