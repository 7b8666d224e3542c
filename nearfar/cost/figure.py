"""The figure of a run: the time that it took, or what a regular expression finds in its output. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nearfar.base import NearfarError, compiled, statistics

#: Which of several figures of one run counts; without a word for it several are an error.
TAKE: Mapping[str, Callable[[Sequence[float]], float]] = {
    "first": lambda values: values[0], "last": lambda values: values[-1], "least": min, "greatest": max, "sum": sum,
    "median": statistics.median,
}  # fmt: skip
#: Words of an expression that speaks of a time.
_TIMES = frozenset({
    "time", "times", "walltime", "runtime", "second", "seconds", "sec", "secs", "s", "ms", "us", "ns", "latency", "elapsed", "duration",
    "hours",
})  # fmt: skip
#: What a time for each of something begins with: ``s/step``.
_TIME_EACH = ("s/", "sec/", "secs/", "seconds/", "ms/", "us/")
#: A number as programs print it, where the expression has no group of its own.
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_SHOWN = 60


@dataclass(frozen=True)
class Reading:
    """What a run's output gives: a value, or why there is none."""

    value: float | None
    problem: str | None = None


@dataclass(frozen=True)
class FigureOfMerit:
    """How a run's figure is read. ``expression`` None: its time, in seconds. ``take``: a word of ``TAKE``, None where a run has one
    figure."""

    expression: re.Pattern[str] | None
    less_is_better: bool
    take: str | None = None

    @property
    def words(self) -> str:
        """What it is, and which way is better."""
        what = "time of a run, s" if self.expression is None else f"what '{self.expression.pattern}' finds"
        several = f", the {self.take} of a run" if self.take else ""
        return f"{what}{several}; {'less' if self.less_is_better else 'more'} is better"

    def read(self, output: str, seconds: float) -> Reading:
        """The figure of a run with this output, which took so many seconds."""
        if self.expression is None:
            return Reading(seconds)
        matches = [match for match in self.expression.finditer(output) if match[0]]
        if not matches:
            return Reading(None, f"'{self.expression.pattern}' matches nothing in its output")
        texts = [_number_of(match) for match in matches]
        if self.take is None and len(set(texts)) > 1:
            several = ", ".join(str(text) for text in texts[:4])
            return Reading(
                None,
                f"{len(matches)} figures in its output ({several}{', …' if len(matches) > 4 else ''}): choose one, --take last",
            )
        values = []
        for text, match in zip(texts, matches):
            value = _value(text)
            if value is None:
                where = "" if match.re.groups else "; put ( ) around the number"
                return Reading(None, f"'{_short(match[0])}' holds no number above 0{where}")
            values.append(value)
        return Reading(TAKE[self.take](values) if self.take else values[0])


def figure_of_merit(expression: str | None, take: str | None, less_is_better: bool | None) -> FigureOfMerit:
    """The figure that is asked for. ``less_is_better`` None: of a time, and of an expression that speaks of one. Raises ``NearfarError``
    for an expression that is wrong."""
    if expression is None:
        if take is not None:
            raise NearfarError(f"--take {take}: a run has one time; it goes with --fom")
        return FigureOfMerit(None, True if less_is_better is None else less_is_better)
    pattern = compiled(expression, "--fom")
    if pattern.groups > 1:
        raise NearfarError(
            f"--fom: '{expression}' has {pattern.groups} groups: put one pair of ( ) around the number, all other groups as (?: )"
        )
    return FigureOfMerit(pattern, _speaks_of_time(expression) if less_is_better is None else less_is_better, take)


def _speaks_of_time(expression: str) -> bool:
    """Whether what an expression finds is a time by its words: ``Loop time of (\\S+)``, not ``(\\S+) timesteps/s``."""
    parts = re.findall(r"[a-z]+(?:/[a-z]*)?", re.sub(r"\\.", " ", expression.lower()))
    rates = [part for part in parts if "/" in part]
    if rates or "per" in parts:
        return any(part.startswith(_TIME_EACH) for part in rates)
    return not _TIMES.isdisjoint(parts)


def _number_of(match: re.Match[str]) -> str | None:
    if match.re.groups:
        return match[1]
    number = _NUMBER.search(match[0])
    return number[0] if number else None


def _value(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
