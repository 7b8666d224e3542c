"""A list of nodes is counted before it is expanded."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.base import node_lists
from nearfar.base.errors import NearfarError
from nearfar.slurm.controller import node_names

_RANGES = st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(1, 7)).map(
    lambda drawn: f"{min(drawn[:2])}-{max(drawn[:2])}/{drawn[2]}"
)
_BRACKETS = st.lists(st.one_of(_RANGES, st.integers(0, 99).map(str)), min_size=1, max_size=3).map(
    lambda drawn: f"[{','.join(drawn)}]"
)
_NAMES = st.lists(st.one_of(st.sampled_from(["n", "gpu-", "x"]), _BRACKETS), min_size=1, max_size=3).map(
    lambda drawn: f"r{'-'.join(drawn)}"
)


@given(st.lists(_NAMES, min_size=1, max_size=3).map(",".join))
def test_the_count_is_never_below_what_the_list_expands_to(nodes: str) -> None:
    counted = node_lists.count(nodes)
    if counted <= node_lists.MOST:
        assert len(node_lists.node_set(nodes)) <= counted
    else:
        with pytest.raises(node_lists.NodeListError, match="at most 100,000"):
            node_lists.node_set(nodes)


@pytest.mark.parametrize(
    "nodes, names",
    [
        ("n1", 1),
        ("n1,n2", 2),
        ("n[1-4,7],m2", 6),
        ("n[001-100]x", 100),
        ("r[1-3]n[1-4],m,k[0-10/5]", 16),
        ("n[1-99999999]", 99_999_999),
        ("r[1-9999]n[1-9999]", 9999 * 9999),
    ],
)
def test_the_count_of_a_list(nodes: str, names: int) -> None:
    assert node_lists.count(nodes) == names


@pytest.mark.parametrize("nodes", ["n[1-99999999]", "m1,r[1-9999]n[1-9999]", f"n[1-{'9' * 5000}]"])
def test_a_list_that_would_fill_the_memory_is_refused_by_its_name(nodes: str) -> None:
    with pytest.raises(NearfarError, match=re.escape(f"'{nodes}': a list of ") + r"[\d,]+ names; at most 100,000"):
        node_names.expand(nodes)


def test_the_longest_list_is_read() -> None:
    assert len(node_names.expand(f"n[1-{node_lists.MOST}]")) == node_lists.MOST


@pytest.mark.parametrize(
    "nodes, right", [("gpu[001-39]", "gpu[001-039]"), ("a,r[1-2]n[7,01-100]x", "a,r[1-2]n[7,001-100]x")]
)
def test_a_range_with_unlike_ends_is_written_right(nodes: str, right: str) -> None:
    with pytest.raises(
        node_lists.NodeListError, match=re.escape(f"write both ends with the same number of digits, {right}")
    ):
        node_lists.node_set(nodes)
