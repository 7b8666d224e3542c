"""The wrappers on a real kernel with several NUMA nodes: CPUs and memory of each rank, and what is refused."""

from __future__ import annotations

import shutil

import pytest

from .conftest import Outcomes
from .wrappers import CPUS, MEMORY, PROGRAMS, ask, narrowed

pytestmark = pytest.mark.guest


@pytest.fixture
def outcomes(request: pytest.FixtureRequest) -> Outcomes:
    for name in PROGRAMS:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
    booted: Outcomes = request.getfixturevalue("two_nodes")
    return booted


@pytest.mark.parametrize("form", ["numactl", "taskset"])
@pytest.mark.parametrize("rank, cpu, memory", [(0, "0x4", "0x00000002"), (1, "0x1", "0x00000001")])
def test_each_rank_beside_its_gpu(outcomes: Outcomes, form: str, rank: int, cpu: str, memory: str) -> None:
    assert outcomes[ask(form, rank, CPUS)] == (0, f"{cpu}\n")
    if form == "numactl":
        assert outcomes[ask(form, rank, MEMORY)] == (0, f"{memory} (bind)\n")


def test_a_launcher_that_has_bound_already_is_overruled(outcomes: Outcomes) -> None:
    assert outcomes[narrowed(0)] == (0, "0x4\n")


def test_the_layout_of_another_node_is_refused(outcomes: Outcomes) -> None:
    code, said = outcomes[ask("elsewhere", 0, CPUS)]
    assert code == 2 and "numactl cannot bind local rank 0 to CPUs 4 and memory 2" in said, said
