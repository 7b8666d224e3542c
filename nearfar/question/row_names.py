"""Whether any node could have the figure that a reference names: tells a misspelt name from one that this site has no use for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nearfar import cells
from nearfar.base import NearfarError, did_you_mean
from nearfar.cells import CORE_SHARES, DERIVED, GPU_KERNELS, KERNELS, parse_metric_name, split_class
from nearfar.topology import HOST_CLASSES, LOCAL_CLASS, PEER_CLASSES

#: Path classes of the notation; beside them ``NV`` and a number of lanes.
CLASSES = (*HOST_CLASSES, *PEER_CLASSES, LOCAL_CLASS, "local", "all", "mixed")
WAYS = ("h2d", "d2h", "write", "read", "d2d")
_LANES = re.compile(r"NV[0-9]{1,2}")
#: What a row of a class says behind it: the pattern of several flows, the direction or kernel, options, the sum.
_PATTERNS = ("both", cells.ONE_TO_ALL, cells.ALL_TO_ONE, cells.PAIRS, cells.ONE_WAY)
_BEHIND = (
    *_PATTERNS, *WAYS, *KERNELS, *GPU_KERNELS, *CORE_SHARES, "total", "sm", "staged", "pageable", "huge", "threads",
)  # fmt: skip
_TASKS = re.compile(r"x[0-9]{1,2}")


def of_cells(row: str) -> str | None:
    """What of a row's name no figure of cells can have, with the nearest word; None if a node could have it."""
    parts = row.split(".")
    path_class = split_class(parts[0])[0]
    if path_class not in CLASSES and not _LANES.fullmatch(path_class):
        whole = [f"{name}_{derived}" for name in ("on_socket", "off_socket") for derived in DERIVED[:1]]
        return f"'{parts[0]}' is not a path class{_nearest(parts[0], [*CLASSES, 'NV18', *whole])}"
    if len(parts) == 1:
        return "a row is CLASS.FIGURE, such as near.h2d"
    if re.match(r"[ngc]\d", parts[1]):
        try:
            parse_metric_name(row)
        except NearfarError as error:
            return f"'{'.'.join(parts[1:])}' is no cell's name, such as n0_g0: {str(error).partition(': ')[2]}"
        return None
    return next(
        (f"'{w}' is part of no figure{_nearest(w, _BEHIND)}" for w in parts[1:] if not _known_behind(w)), None
    )  # fmt: skip


def _known_behind(word: str) -> bool:
    return word in _BEHIND or word in CLASSES or bool(_TASKS.fullmatch(word) or _LANES.fullmatch(word))


def first_unknown(parts: Iterable[tuple[str, Iterable[str], str]]) -> str | None:
    """The first word that is not among those it may be: each part is a word, the words known, and what they name."""
    return next((f"'{w}' is no {what}{_nearest(w, known)}" for w, known, what in parts if w not in known), None)


def _nearest(word: str, known: Iterable[str]) -> str:
    return did_you_mean(word, list(known))
