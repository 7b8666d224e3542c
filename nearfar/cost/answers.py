"""Whether a program gives the same answer under every scheme. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

#: Answers that a sentence names.
_NAMED = 3


def answer_in(output: str, expression: re.Pattern[str]) -> str | None:
    """What an expression captures of a run's output, all of it; None where it matches nothing."""
    matches = [
        "\t".join(filter(None, match.groups())) if match.re.groups else match[0]
        for match in expression.finditer(output)
    ]
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
    distinct = {
        name: _kinds([text for text in given if text is not None], within) for name, given in answers.items() if given
    }
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
