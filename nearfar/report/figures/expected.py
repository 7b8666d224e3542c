"""What a line of figures says of what they should be: bounds and where they are from; of modelled figures what was published."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nearfar.base import NOT_JUDGED

from .check_figures import Figure
from .wording import origin, percent, plural, span

NO_REFERENCE = f"{NOT_JUDGED}: no reference"
#: Other figures judge the same facts.
NOT_HERE = f"{NOT_JUDGED} here"


def best_case_of(found: Iterable[Figure]) -> str:
    """``at best`` or ``nominal`` where some of ``found`` is known only so, the weaker of the two; else empty."""
    return max((f.best_case for f in found), key=("", "at best", "nominal").index, default="")


@dataclass(frozen=True)
class BestCase:
    """Where a line of figures (``shown``) says ``at best``: once, behind all, where all of them are; else behind each that is."""

    shown: Sequence[Figure]

    @property
    def of_all(self) -> str:
        """``at best`` or ``nominal`` where every figure of the line is."""
        words = {f.best_case for f in self.shown}
        return words.pop() if len(words) == 1 else ""

    def span(self, found: Sequence[Figure]) -> str:
        """The least and the greatest value: ``55.3``, and ``55.3–58.4 at best`` where others of the line are known better."""
        values = span((f.value for f in found if f.value is not None), found[0].unit if found else "GB/s")
        return values if self.of_all else f"{values} {best_case_of(found)}".rstrip()

    def then(self, words: str) -> str:
        """What stands in brackets behind the line: ``words``, after ``at best;`` where that holds for all."""
        return "; ".join(filter(None, [self.of_all, words]))


def expected_of(found: list[Figure]) -> str:
    """The bounds of figures and where they are from; of modelled ones how they differ from what was published."""
    known = [f for f in found if f.reference]
    if not known:
        return NOT_HERE if found and all(f.judged_elsewhere for f in found) else NO_REFERENCE
    modelled = [f for f in known if f.published_beside]
    if modelled:
        return _beside_published(modelled)
    origins = "/".join(dict.fromkeys(", ".join(origin(f.reference)) for f in known if f.reference))
    for sign, bounds in (("≥", [f.at_least for f in known]), ("≤", [f.at_most for f in known])):
        ends = [bound for bound in bounds if bound is not None]
        if ends:
            return f"expected {sign} {span(ends, known[0].unit)}, {origins}"
    return origins


def _beside_published(found: list[Figure]) -> str:
    """How modelled figures differ from what was published; those that the model was made from are left out."""
    own = [f for f in found if f.basis in ("input", "assumed")]
    words = [f"{plural(len(own), 'input')} of the model left out"] if own else []
    for how in ("predicted", "at best", "nominal"):
        shares = [f.share - 1 for f in found if f.basis == how and f.share is not None]
        if shares:
            words.insert(
                0,
                f"{how}: {percent(min(shares))}{f' to {percent(max(shares))}' if len(shares) > 1 else ''} from published",
            )
    return "; ".join(words) or "published"
