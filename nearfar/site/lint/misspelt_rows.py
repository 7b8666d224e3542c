"""Could any node have a figure that a row's name speaks of? Tells a misspelt row from one that this site has no use for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from nearfar.base import NearfarError, did_you_mean
from nearfar.cells import (
    ALL_TO_ONE,
    CORE_SHARES,
    DERIVED,
    GPU_KERNELS,
    KERNELS,
    ONE_TO_ALL,
    ONE_WAY,
    PAIRS,
    parse_metric_name,
    split_class,
)
from nearfar.mpi import BINDINGS, TRAFFICS, numa_pairs
from nearfar.mpi.osu import BENCHMARKS, BESIDE, WITHIN
from nearfar.topology import HOST_CLASSES, LOCAL_CLASS, PEER_CLASSES

#: Path classes of the notation; beside them ``NV`` and a number of lanes.
CLASSES = (*HOST_CLASSES, *PEER_CLASSES, LOCAL_CLASS, "local", "all", "mixed")
WAYS = ("h2d", "d2h", "write", "read", "d2d")
_LANES = re.compile(r"NV[0-9]{1,2}")
#: What a row of a class says behind it: the pattern of several flows, the direction or kernel, options, the sum.
_PATTERNS = ("both", ONE_TO_ALL, ALL_TO_ONE, PAIRS, ONE_WAY)
_BEHIND = (
    *_PATTERNS,
    *WAYS,
    *KERNELS,
    *GPU_KERNELS,
    *CORE_SHARES,
    "total",
    "sm",
    "staged",
    "pageable",
    "huge",
    "threads",
)
_TASKS = re.compile(r"x[0-9]{1,2}")
#: The MPIs that `nearfar osu` tells apart.
MPIS = ("openmpi", "mpich", "intelmpi", "mvapich", "craympich")
_OSU_CLASSES = (*WITHIN, *BESIDE, *(f"{place}_over_{right}" for place, right in (
    (WITHIN[1], WITHIN[0]), (WITHIN[2], WITHIN[0]), ("on_socket", "near"), ("off_socket", "near"))))  # fmt: skip
_BUFFERS = ("H_H", "D_D", "D_H", "H_D")
_LABELS = ("8B", "64KiB", "4MiB", "peak")
_PENALTIES = (
    "mpi.latency_penalty", "mpi.latency_tail_penalty", "mpi.latency_polled_penalty", "mpi.bandwidth_penalty",
    "mpi.bandwidth_polled_penalty", "gpu.bandwidth_penalty", "stream.bandwidth_penalty",
)  # fmt: skip
_ARRANGEMENTS = ("per_task", "all_cores", "pairs", "together", "split")
_SAXPY = (
    "load_balance", "communication_efficiency", "parallel_efficiency", "transfer_imbalance", "run_time", "speedup",
    "h2d", "d2h", "kernel",
)  # fmt: skip


def misspelt(check: str, row: str) -> str | None:
    """What of a row's name no figure of ``check`` can have, with the nearest word; None where a node could have it."""
    words = row.split(".")
    if check == "osu_check":
        return _misspelt_mpi(words)
    if check == "mpi_check":
        return _misspelt_pair(words)
    if check in ("contention_check", "thread_split_check"):
        return _misspelt_contention(words)
    if check == "load_balance_check":
        return _misspelt_saxpy(words)
    return _misspelt_cell(row, words)


def _misspelt_cell(row: str, words: Sequence[str]) -> str | None:
    path_class = split_class(words[0])[0]
    if path_class not in CLASSES and not _LANES.fullmatch(path_class):
        whole = [f"{name}_{derived}" for name in ("on_socket", "off_socket") for derived in DERIVED[:1]]
        return f"'{words[0]}' is not a path class{_nearest(words[0], [*CLASSES, 'NV18', *whole])}"
    if len(words) == 1:
        return "a row is CLASS.FIGURE, such as near.h2d"
    if re.match(r"[ngc]\d", words[1]):
        try:
            parse_metric_name(row)
        except NearfarError as error:
            return f"'{'.'.join(words[1:])}' is no cell's name, such as n0_g0: {str(error).partition(': ')[2]}"
        return None
    return next(
        (f"'{w}' is part of no figure{_nearest(w, _BEHIND)}" for w in words[1:] if not _known_behind(w)), None
    )  # fmt: skip


def _known_behind(word: str) -> bool:
    return word in _BEHIND or word in CLASSES or bool(_TASKS.fullmatch(word) or _LANES.fullmatch(word))


def _misspelt_mpi(words: Sequence[str]) -> str | None:
    at = next((place for place, word in enumerate(words) if word.startswith("osu_")), None)
    if at is None or not 0 < at <= 2 or len(words) < at + 3:
        return "a row is PLACEMENT.BENCHMARK.BUFFERS….SIZE, such as near.osu_bw.D_D.peak"
    parts: list[tuple[str, Iterable[str], str]] = [
        (words[at - 1], _OSU_CLASSES, "placement"), (words[at], BENCHMARKS, "benchmark"),
        (words[at + 1], _BUFFERS, "pair of buffers"),
    ]  # fmt: skip
    if at == 2:
        parts.append((words[0].partition("_")[0], MPIS, "MPI"))
    if not re.fullmatch(r"\d+B", words[-1]):
        parts.append((words[-1], _LABELS, "message size"))
    return _first_unknown(parts)


def _misspelt_pair(words: Sequence[str]) -> str | None:
    rest = [word for word in words if not re.fullmatch(r"n\d+_n\d+", word)]
    if len(rest) not in (2, 3):
        return "a row is PLACEMENT.MESSAGES, such as same_numa_node.pingpong_8B"
    known = [*WITHIN, numa_pairs.UNKNOWN]
    known += [f"{each}_{numa_pairs.OVER}" for each in known if each != numa_pairs.RIGHT]
    parts: list[tuple[str, Iterable[str], str]] = [(rest[0].partition("_")[0], MPIS, "MPI")] if len(rest) == 3 else []
    return _first_unknown([*parts, (rest[-2], known, "placement"), (rest[-1], TRAFFICS, "kind of messages")])


def _misspelt_contention(words: Sequence[str]) -> str | None:
    rest = [word for word in words if not word.isdigit()]
    if len(rest) != 5:
        return "a row is within.ARRANGEMENT.MESSAGES.FIGURE, such as within.per_task.pingpong_8B.mpi.latency_penalty"
    return _first_unknown([
        (rest[0], ("within", "across"), "place"), (rest[1], _ARRANGEMENTS, "arrangement"),
        (rest[2], TRAFFICS, "kind of messages"), (".".join(rest[3:]), _PENALTIES, "figure"),
    ])  # fmt: skip


def _misspelt_saxpy(words: Sequence[str]) -> str | None:
    rest = [word for word in words if word != "host"]
    if len(rest) not in (3, 4) or rest[0] != "saxpy":
        return "a row is saxpy.BINDING.FIGURE, such as saxpy.gpu.load_balance"
    between = ["least", "mean", "greatest", *(f"over_{binding}" for binding in BINDINGS)]
    parts: list[tuple[str, Iterable[str], str]] = [(rest[1], BINDINGS, "binding"), (rest[-1], _SAXPY, "figure")]
    return _first_unknown(parts + ([(rest[2], between, "part of a figure")] if len(rest) == 4 else []))


def _first_unknown(parts: Iterable[tuple[str, Iterable[str], str]]) -> str | None:
    return next((f"'{w}' is no {what}{_nearest(w, known)}" for w, known, what in parts if w not in known), None)


def _nearest(word: str, known: Iterable[str]) -> str:
    return did_you_mean(word, list(known))
