"""Whether what was measured is good: the exit code's reason. Pure."""

from __future__ import annotations

from . import words
from .measured import Measured, SchemeRuns


def good(measured: Measured) -> bool | None:
    """True: measured, and no scheme that the bound speaks of costs more than it; False: one does; None: it could not be judged.

    Without a bound it is judged whether there is anything to say: at least one comparison with an interval, and none by doubtful runs.
    """
    if measured.interrupted or words.answers(measured) or not any(penalty.values for penalty in measured.schemes):
        return None
    bound, asked = measured.plan.at_most, words.judged(measured)
    if bound is None:
        known = [measured.penalty(penalty) for penalty in measured.compared if not _doubtful(measured, penalty)]
        return True if any(penalty is not None and penalty.interval is not None for penalty in known) else None
    if not asked:
        # The launcher's own binding may be the reference's: then there is nothing that it could cost.
        return True if any(measured.of(name) is measured.reference for name in measured.plan.judged) else None
    penalties = (None if _doubtful(measured, scheme) else measured.penalty(scheme) for scheme in asked)
    above = [None if penalty is None else penalty.above(bound) for penalty in penalties]
    return False if True in above else None if None in above else True


def _doubtful(measured: Measured, scheme: SchemeRuns) -> bool:
    """Whether the program, under this scheme or the reference, was elsewhere than the scheme put it."""
    return any(words.moved(checked) is not None for checked in (scheme, measured.reference))
