"""The figure of a run, and whether its answer is the same under every scheme, from its time and its output. Pure."""

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
#: Answers that a sentence names.
_NAMED = 3


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
            several = ", ".join([*map(str, texts[:4]), *(["…"] if len(texts) > 4 else [])])
            return Reading(None, f"{len(matches)} figures in its output ({several}): choose one, --take last")
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
        what = f"'{expression}' has {pattern.groups} groups"
        raise NearfarError(f"--fom: {what}: put one pair of ( ) around the number, all other groups as (?: )")
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


def answer_in(output: str, expression: re.Pattern[str]) -> str | None:
    """What an expression captures of a run's output, all of it; None where it matches nothing."""
    matches = ["\t".join(filter(None, match.groups() or (match[0],))) for match in expression.finditer(output)]
    return "\n".join(" ".join(text.split()) for text in matches) if matches else None


def alike(answer: str, other: str, within: float) -> bool:
    """Whether two answers are the same: their words, and their numbers within a part of the greater one."""
    if answer == other:
        return True
    parts, others = answer.split(), other.split()
    return len(parts) == len(others) and all(_near(a, b, within) for a, b in zip(parts, others))


def _near(number: str, other: str, within: float) -> bool:
    if number == other:
        return True
    try:
        return math.isclose(float(number), float(other), rel_tol=within)
    except ValueError:
        return False


def difference(answers: Mapping[str, Sequence[str | None]], within: float) -> str | None:
    """How the answers differ, by scheme; None where all are alike, or no run has one."""
    missing = [name for name, given in answers.items() if any(text is None for text in given)]
    if missing:
        return f"no answer in the output of {', '.join(missing)}: --same matches nothing there"
    known = {name: [text for text in given if text is not None] for name, given in answers.items()}
    distinct = {name: _kinds(given, within) for name, given in known.items() if given}
    if not distinct:
        return None
    listed = "; ".join(f"{name} {' and '.join(given[:_NAMED])}" for name, given in distinct.items())
    if any(len(given) > 1 for given in distinct.values()):
        return f"the answer changes from run to run: {listed}"
    first = next(iter(distinct.values()))[0]
    if all(alike(first, given[0], within) for given in distinct.values()):
        return None
    return f"the answer changes with the binding: {listed}"


def _kinds(answers: Sequence[str], within: float) -> list[str]:
    distinct: list[str] = []
    for answer in answers:
        if not any(alike(answer, other, within) for other in distinct):
            distinct.append(answer)
    return distinct
