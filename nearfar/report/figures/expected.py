"""What a line of figures says of what they should be: bounds and where they are from; of modelled figures what was published."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED

from .check_figures import Figure
from .wording import origin, percent, plural, span

NO_REFERENCE = f"{NOT_JUDGED}: no reference"


def expected_of(found: list[Figure]) -> str:
    """The bounds of figures and where they are from; of modelled ones how they differ from what was published."""
    known = [f for f in found if f.reference]
    if not known:
        best = sorted({f.best_case for f in found if f.best_case})
        return "; ".join([*best, NO_REFERENCE])
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
