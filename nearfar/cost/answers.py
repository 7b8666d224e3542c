"""Whether a program gives the same answer under every scheme. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

#: Answers that a sentence names.
_NAMED = 3


def answer_in(output: str, expression: re.Pattern[str]) -> str | None:
    """What an expression captures of a run's output, all of it; None where it matches nothing."""
    found = [
        "\t".join(filter(None, match.groups())) if match.re.groups else match[0]
        for match in expression.finditer(output)
    ]
    return "\n".join(" ".join(text.split()) for text in found) if found else None


def alike(one: str, other: str, within: float) -> bool:
    """Whether two answers are the same: their words, and their numbers within a part of the greater one."""
    if one == other:
        return True
    words, others = one.split(), other.split()
    return len(words) == len(others) and all(_near(a, b, within) for a, b in zip(words, others))


def _near(one: str, other: str, within: float) -> bool:
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=within)
    except ValueError:
        return False


def difference(answers: Mapping[str, Sequence[str | None]], within: float) -> str | None:
    """How the answers differ, by scheme; None where all are alike, or no run has one."""
    missing = [name for name, found in answers.items() if any(each is None for each in found)]
    if missing:
        return f"no answer in the output of {', '.join(missing)}: --same matches nothing there"
    kinds = {
        name: _kinds([each for each in found if each is not None], within) for name, found in answers.items() if found
    }
    if not kinds:
        return None
    told = "; ".join(f"{name} {' and '.join(found[:_NAMED])}" for name, found in kinds.items())
    if any(len(found) > 1 for found in kinds.values()):
        return f"the answer changes from run to run: {told}"
    first = next(iter(kinds.values()))[0]
    if all(alike(first, found[0], within) for found in kinds.values()):
        return None
    return f"the answer changes with the binding: {told}"


def _kinds(found: Sequence[str], within: float) -> list[str]:
    kinds: list[str] = []
    for each in found:
        if not any(alike(each, kind, within) for kind in kinds):
            kinds.append(each)
    return kinds
