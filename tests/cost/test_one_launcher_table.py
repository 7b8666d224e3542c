"""A launcher is one row: OSU's detection, ``cost``, the wrapper of each rank and the scripts of ``bind`` take it from the table."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nearfar import cost
from nearfar.binding import LAUNCHERS, Layout, launchers, place, render
from nearfar.mpi import RankPlan, death
from nearfar.mpi.osu import installed
from nearfar.topology import inventory

#: Starts ranks that it numbers in variables of its own.
PRETEND = """#!/bin/bash
if [[ $1 == --version ]]; then echo 'pretend 3.1'; exit; fi
[[ $1 == --unbound=2 ]] || exit 9
shift
for rank in 0 1; do PRETEND_RANK=$rank "$@" & done
wait
"""


@pytest.fixture
def pretend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A launcher on the PATH, and its row in the table."""
    path = tmp_path / "bin" / "pretend"
    path.parent.mkdir()
    path.write_text(PRETEND)
    path.chmod(0o755)
    row = launchers.LauncherRow(
        programs=("pretend",), version=r"^pretend ([\d.]+)", job="PRETEND_JOB", rank=("PRETEND_RANK",), local_rank=("PRETEND_LOCAL",),
        unbound=lambda mpi, ranks, nodes: [f"--unbound={ranks}"], death=r"pretend: (?P<rank>\d+) (?P<word>died)",
    )  # fmt: skip
    monkeypatch.setitem(LAUNCHERS, "pretend", row)
    monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
    for name in launchers.rank_variables():
        monkeypatch.delenv(name, raising=False)
    return path


def test_a_row_is_all_that_a_launcher_needs(pretend: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert installed.identify(str(pretend)) == ("pretend", "3.1")
    monkeypatch.setenv("PRETEND_JOB", "1")
    assert str(pretend) in [*installed._launchers("", "openmpi", os.environ)]
    starter = cost.launcher("pretend", Path("true"), 2, (), oversubscribe=False)
    assert starter.words == "pretend 3.1"
    cpu = min(os.sched_getaffinity(0))
    scheme = cost.Scheme("right", 2, (RankPlan(cpus=(cpu,)),) * 2)
    ended = cost.Runner(["true"], starter, tmp_path).probe(scheme, 20.0)
    assert [binding.cpus for binding in ended.bindings] == [(cpu,)] * 2, ended
    died = death("pretend: 1 died", {})
    assert died is not None and died.rank == 1
    node = inventory.observe()
    script = render("numactl", node, place(node, Layout(numa_nodes=(node.numa_nodes[0].index,), threads_per_rank=1)))
    assert "${PRETEND_LOCAL-}" in script
