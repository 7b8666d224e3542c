"""Figures beside their like: how far each is from the others of its class, and which are all alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nearfar.base import NOT_JUDGED, statistics
from nearfar.report.figures import Figure, class_words, number, numbers, unit_words

#: As near to the median of its class, a part of 1, a figure is alike.
ALIKE = 0.02
#: A tint has so many steps; each is so wide, a part of 1, and the first begins where a difference can be seen.
STEPS, STEP, FIRST = 5, 0.02, 0.01
#: A class of fewer has no median to speak of.
_LEAST = 3
_WELL = ("PASS", "MODELLED", NOT_JUDGED)


def distances(found: Iterable[Figure]) -> dict[str, float]:
    """How far each figure is from its like, a part of 1, by anchor; below zero is worse. Its like is the median of its class among
    ``found``; in a class of fewer than three it is the figure's reference. Figures that have neither are left out, and upper bounds."""
    away = {}
    for members in _by_class(found).values():
        values = [figure.value for figure in members if figure.value is not None]
        middle = statistics.median(values) if len(values) >= _LEAST else None
        for figure in members:
            like = middle or figure.expected
            if figure.value is not None and like:
                away[figure.anchor] = (figure.value / like - 1) * (-1 if figure.unit in ("us", "s") else 1)
    return away


def tint(away: float | None) -> str:
    """The class of a place's tint: ``low3``; empty where a figure is not worse than its like, or has none."""
    if away is None or away > -FIRST:
        return ""
    return f"low{min(STEPS, 1 + int((-away - FIRST) / STEP))}"


def alike(found: Mapping[tuple[int, int], Figure], row_words: str | None) -> list[str]:
    """A sentence for each class of at least three figures that are no upper bounds: what those carry that are alike, and how many they are.

    ``found`` is by (row, column); ``row_words`` names a row (``GPU``), None: the rows alone say nothing (pairs).
    """
    keys = {figure.anchor: key for key, figure in found.items()}
    said = []
    for (path_class, _), members in _by_class(found.values()).items():
        away = distances(members)
        good = [f for f in members if f.shown in _WELL and abs(away.get(f.anchor, 1.0)) <= ALIKE]
        if len(members) < _LEAST or len(good) < _LEAST:
            continue
        middle = statistics.median([f.value for f in good if f.value is not None])
        carry = " ".join(filter(None, [number(middle, good[0].unit), unit_words(good[0].unit)]))
        odd = {keys[f.anchor][0] for f in members if f not in good}
        whole, name = {keys[f.anchor][0] for f in good} - odd, class_words(path_class)
        if row_words is None or not whole:
            said.append(f"{name}: {carry}, {f'{len(good)} of {len(members)}' if odd else f'all {len(members)}'} alike")
        elif not odd:
            said.append(f"{row_words} {numbers(whole)} {name}: {carry}, all alike")
        else:
            said.append(f"{row_words} {numbers(whole)} {name}: {carry}, alike; {numbers(odd)} not")
    return said


def _by_class(found: Iterable[Figure]) -> dict[tuple[str, str], list[Figure]]:
    """By class of path and question: another kernel, or fewer cores, is not its like. Upper bounds are like nothing."""
    classes: dict[tuple[str, str], list[Figure]] = {}
    for figure in (each for each in found if not each.best_case):
        classes.setdefault((figure.path_class, figure.question), []).append(figure)
    return classes
