"""The catalogue: which questions there are, and what follows from that."""

from __future__ import annotations

import traceback
from functools import cache
from importlib import import_module

from nearfar.base import CouldNotJudge, NearfarError, did_you_mean

from .question import QUICK, Question

#: Every check, in the order of pages: the file of this name beside this one holds its ``QUESTION``.
NAMES = (
    "topology_check",
    "host_memory_check",
    "gpu_memory_check",
    "memory_kernels_check",
    "gemm_check",
    "burn_check",
    "host_device_check",
    "peer_check",
    "saturation_check",
    "sharing_check",
    "size_sweep_check",
    "latency_check",
    "tail_check",
    "load_balance_check",
    "quick_check",
    "mpi_check",
    "osu_check",
    "nccl_check",
    "binding_check",
    "contention_check",
    "kernel_penalty_check",
    "beside_compute_check",
    "beside_stream_check",
    "thread_split_check",
    "ping_pong_check",
)


@cache
def questions() -> tuple[Question, ...]:
    """Every question, in the order of pages. Raises ``CouldNotJudge`` if one cannot be read: no run may go on without it."""
    if len(set(NAMES)) < len(NAMES):
        raise CouldNotJudge(f"nearfar/question/catalogue.py: NAMES has {max(NAMES, key=NAMES.count)} twice; remove one")
    try:
        return tuple(import_module(f"{__package__}.{name}").QUESTION for name in NAMES)
    except Exception as error:
        place = error if isinstance(error, SyntaxError) else traceback.extract_tb(error.__traceback__)[-1]
        raise CouldNotJudge(f"{place.filename}:{place.lineno}: a question cannot be read: {error}") from error


def check_names() -> list[str]:
    """The names of all checks, sorted."""
    return sorted(NAMES)


def find(name: str) -> Question | None:
    """The question of a check, or of its folder in a run (``host_device_check@repeat2``); None if this version has no such check."""
    return next((question for question in questions() if question.name == name.partition("@")[0]), None)


def named(name: str) -> Question:
    """The question of a check. Raises ``NearfarError`` if there is no such check."""
    question = find(name)
    if question is None:
        raise NearfarError(f"{name}: no such check{did_you_mean(name, check_names())}")
    return question


def asked_at(level: str) -> tuple[Question, ...]:
    """The questions of a level."""
    return tuple(question for question in questions() if level in question.levels)


def askable() -> tuple[Question, ...]:
    """The questions that ``validate`` can be asked for: all except those of a quick run alone."""
    return tuple(question for question in questions() if question.levels != (QUICK,))


def check_rank(name: str) -> tuple[int, str]:
    """Sort key that puts checks, and their folders in a run, in the order of pages. Other names come last."""
    own = name.partition("@")[0]
    return NAMES.index(own) if own in NAMES else len(NAMES), name


def between_nodes(program: str) -> tuple[str, ...]:
    """The checks that measure between two nodes with ``OSU``, or with the pack's ``OWN`` program."""
    return tuple(question.name for question in questions() if question.between_nodes == program)


def covering_health() -> str:
    """The check that examines what the health check examines."""
    return next(question.name for question in questions() if question.covers_health)
