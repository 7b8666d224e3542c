"""Whether what was measured is good: the exit code's reason. Pure."""

from __future__ import annotations

from . import words
from .measured import Measured, SchemeRuns


def good(found: Measured) -> bool | None:
    """True: measured, and no scheme that the bound speaks of costs more than it; False: one does; None: it could not be judged.

    Without a bound it is judged whether there is anything to say: at least one comparison with an interval, and none by doubtful runs.
    """
    if found.interrupted or words.answers(found) or not any(each.values for each in found.schemes):
        return None
    bound, asked = found.plan.at_most, words.judged(found)
    if bound is None:
        known = [found.penalty(each) for each in found.compared if not _doubtful(found, each)]
        return True if any(each is not None and each.interval is not None for each in known) else None
    if not asked:
        # The launcher's own binding may be the reference's: then there is nothing that it could cost.
        return True if any(found.of(name) is found.reference for name in found.plan.judged) else None
    above = [_above(found, each, bound) for each in asked]
    return False if True in above else None if None in above else True


def _above(found: Measured, each: SchemeRuns, bound: float) -> bool | None:
    penalty = found.penalty(each)
    return None if penalty is None or _doubtful(found, each) else penalty.above(bound)


def _doubtful(found: Measured, each: SchemeRuns) -> bool:
    """Whether the program, under this scheme or the reference, was elsewhere than the scheme put it."""
    return any(words.moved(one) is not None for one in (each, found.reference))
