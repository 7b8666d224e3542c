"""The catalogue: every question, in the order of pages, and what follows from it."""

from __future__ import annotations

from nearfar.base import NearfarError, did_you_mean

from . import (
    beside_compute_check,
    beside_stream_check,
    binding_check,
    contention_check,
    gemm_check,
    gpu_memory_check,
    host_device_check,
    host_memory_check,
    kernel_penalty_check,
    latency_check,
    load_balance_check,
    memory_kernels_check,
    mpi_check,
    osu_check,
    peer_check,
    ping_pong_check,
    quick_check,
    saturation_check,
    sharing_check,
    size_sweep_check,
    tail_check,
    thread_split_check,
    topology_check,
)
from .question import QUICK, Question

#: Every question, in the order of pages.
QUESTIONS: tuple[Question, ...] = tuple(
    module.QUESTION
    for module in (
        topology_check,
        host_memory_check,
        gpu_memory_check,
        memory_kernels_check,
        gemm_check,
        host_device_check,
        peer_check,
        saturation_check,
        sharing_check,
        size_sweep_check,
        latency_check,
        tail_check,
        load_balance_check,
        quick_check,
        mpi_check,
        osu_check,
        binding_check,
        contention_check,
        kernel_penalty_check,
        beside_compute_check,
        beside_stream_check,
        thread_split_check,
        ping_pong_check,
    )
)
_PLACES = {question.name: place for place, question in enumerate(QUESTIONS)}


def check_names() -> list[str]:
    """The names of all checks, sorted."""
    return sorted(_PLACES)


def find(name: str) -> Question | None:
    """The question of a check, or of its folder in a run (``host_device_check@repeat2``); None if this version has no such check."""
    place = _PLACES.get(name.partition("@")[0])
    return None if place is None else QUESTIONS[place]


def named(name: str) -> Question:
    """The question of a check. Raises ``NearfarError`` if there is no such check."""
    if name not in _PLACES:
        raise NearfarError(f"{name}: no such check{did_you_mean(name, check_names())}")
    return QUESTIONS[_PLACES[name]]


def asked_at(level: str) -> tuple[Question, ...]:
    """The questions of a level."""
    return tuple(question for question in QUESTIONS if level in question.levels)


def askable() -> tuple[Question, ...]:
    """The questions that ``validate`` can be asked for: all except those of a quick run alone."""
    return tuple(question for question in QUESTIONS if question.levels != (QUICK,))


def check_rank(name: str) -> tuple[int, str]:
    """Sort key that puts checks, and their folders in a run, in the order of pages. Checks of other versions come last, by name."""
    return _PLACES.get(name.partition("@")[0], len(_PLACES)), name
