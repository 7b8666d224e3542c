"""Pinning schemes: how they are read, where they put ranks, and what was published of them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from nearfar.base import NearfarError, site_directories
from nearfar.binding import Layout, evidence, explain, parse_numa_nodes, place
from nearfar.model.prediction import load_node_type

KEENELAND = load_node_type("keeneland", site_directories())


@pytest.mark.parametrize(
    "text, ranks",
    [
        ("0,1,free", (0, 1, None)),
        ("0-1-free", (0, 1, None)),
        ("0-1-1", (0, 1, 1)),
        ("0-0-1", (0, 0, 1)),
        ("free-1", (None, 1)),
        ("free", (None,)),
        ("1-1", (1, 1)),
        ("1-0", (1, 0)),
        ("0-3", (0, 1, 2, 3)),
        ("0-3,0-0-1,free", (0, 1, 2, 3, 0, 0, 1, None)),
        ("2", (2,)),
    ],
)
def test_a_list_is_read_as_it_stands(text: str, ranks: tuple[int | None, ...]) -> None:
    assert parse_numa_nodes(text) == ranks


@pytest.mark.parametrize("text", ["", "0,,1", "0--1", "-1", "0-", "fre", "0-1-fre", "0 1", "n0"])
def test_what_is_no_list_is_one_clear_line(text: str) -> None:
    with pytest.raises(
        NearfarError, match=r"^--numa-nodes .*: expected numbers and ranges, .* or a scheme such as 0-1-1"
    ):
        parse_numa_nodes(text)


def test_ranks_of_gpus_sit_where_the_scheme_says() -> None:
    ranks = place(KEENELAND.node, Layout(numa_nodes=(0, 0, 1), gpus=(0, 1, 2)))
    assert [(p.gpu, p.numa_node, p.path) for p in ranks] == [(0, 0, "near"), (1, 0, "off_socket"), (2, 1, "near")]
    assert "That is off_socket from g1 for rank 1." in explain(
        KEENELAND.node, Layout(numa_nodes=(0, 0, 1), gpus=(0, 1, 2)), ranks
    )


def test_a_free_rank_has_every_core_and_the_others_keep_theirs() -> None:
    first, second, free = place(KEENELAND.node, Layout(numa_nodes=(0, 1, None), gpus=(0, 1, 2)))
    assert (first.numa_node, second.numa_node, free.numa_node, free.free) == (0, 1, None, True)
    assert free.cpus == tuple(range(12)) and free.memory_nodes == (0, 1) and free.threads == 4
    assert len(first.cpus) == len(second.cpus) == 4, "twelve cores of three ranks"
    assert not any(p.shared for p in (first, second, free)), "whom nothing binds takes no core from the others"


def test_a_free_rank_of_a_cpuset_has_what_is_allowed() -> None:
    node = replace(KEENELAND.node, allowed_cpus=(0, 1, 2))
    assert place(node, Layout(numa_nodes=(1, None)))[1].cpus == (0, 1, 2)


@pytest.mark.parametrize(
    "scheme, says",
    [
        ((0, 1, 1), "against this: HPL, .* 0-1-1 was the worst beside 0-1-free and 0-0-1; 21 % .*The source's reasons"),
        ((0, 0, 1), "against this: HPL, .* 0-0-1 was neither best nor worst beside 0-1-free and 0-1-1; [^.]*\\.$"),
        ((0, 1, None), "for this: HPL, .* 0-1-free was the best beside 0-0-1 and 0-1-1; [^.]*\\.$"),
    ],
)
def test_what_was_published_of_a_scheme_is_said(scheme: tuple[int | None, ...], says: str) -> None:
    ranks = place(KEENELAND.node, Layout(numa_nodes=scheme))
    (sentence,) = evidence(KEENELAND, ranks)
    assert re.search(says, sentence), sentence


def test_what_it_proposes_by_itself_is_the_scheme_that_was_worst() -> None:
    (sentence,) = evidence(KEENELAND, place(KEENELAND.node, Layout()))
    assert "0-1-1 was the worst" in sentence


def test_of_other_schemes_and_nodes_nothing_is_claimed() -> None:
    assert evidence(KEENELAND, place(KEENELAND.node, Layout(numa_nodes=(0, 1)))) == []
    assert evidence(KEENELAND, place(KEENELAND.node, Layout(near="split"))) == [], "its MPI threads are elsewhere"
    summit = load_node_type("summit", site_directories())
    assert evidence(summit, place(summit.node, Layout())) == []
