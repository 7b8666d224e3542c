"""MPI between pairs of nodes, in jobs of a real Slurm that a stand-in measures: suspects have a second partner."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nearfar.files import CHECKOUT
from tests import fake_node_run, sweeping
from tests.private_slurm import PrivateSlurm, missing

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def slurm() -> Iterator[PrivateSlurm]:
    absent = missing()
    if absent or os.geteuid() != 0:
        pytest.skip(absent or "only root gives each node a host name of its own")
    with PrivateSlurm(cpus=2, gpus=0, nodes=6) as private:
        yield private


ACT = "act: {checks: {mpi_pairs: drain}}\n"


def swept(slurm: PrivateSlurm, place: Path, *options: str, **fakes: str) -> tuple[dict[str, Any], str, dict[str, str]]:
    """A sweep over six nodes whose partition has what MPI between nodes asks for; its report, what it said, and the variables
    that lead to the site."""
    variables = sweeping.site(place, slurm, "gpu, mpi, two_nodes")
    with (place / "site/systems/mine.yaml").open("a") as stream:
        stream.write(ACT)
    sweeping.stand_in_jobs(
        place / "site",
        f'export PYTHONPATH={CHECKOUT}\nexec {sys.executable} {fake_node_run.__file__} {{{{ results }}}} {{{{ sweep }}}} {{{{ pack }}}} '
        '"$1" "$2"\n',
    )  # fmt: skip
    exported = [f"--sbatch=--export={','.join(['ALL', *(f'{k}={v}' for k, v in fakes.items())])}"]
    words = [
        "sweep",
        "--partition=all",
        *options,
        f"--results={place}/results",
        "--name=s",
        "--settle=5",
        *exported,
    ]
    done = slurm.run([sys.executable, "-m", "nearfar", "slurm", *words], **variables)
    found: dict[str, Any] = json.loads((place / "results/s/sweep-report.json").read_text())
    assert done.returncode == found["exit_code"], done.stderr
    return found, done.stdout + done.stderr, variables


def test_only_who_is_slow_with_a_good_partner_is_blamed(slurm: PrivateSlurm, tmp_path: Path) -> None:
    """n4 is slow with everybody; n5 and n6 only with each other: what lies between them is named, and neither blamed. The
    pack accept brings this by itself."""
    found, said, variables = swept(slurm, tmp_path, FAKE_SLOW="n4", FAKE_SLOW_PAIR="n5+n6")
    nodes = {node["node"]: node for node in found["nodes"]}
    assert {name: node["verdict"] for name, node in nodes.items()} == {
        "n4": "FAIL", **dict.fromkeys(("n1", "n2", "n3", "n5", "n6"), "PASS"),
    }, said  # fmt: skip
    words = "MPI between nodes is too slow or wrong with n3 and n2, and n2 is well with others"
    assert nodes["n4"]["reason"] == words
    assert sorted((pair["round"], *pair["nodes"], pair["verdict"]) for pair in found["pairs"]) == [
        (1, "n1", "n2", "PASS"), (1, "n3", "n4", "FAIL"), (1, "n5", "n6", "FAIL"), (2, "n1", "n3", "PASS"),
        (2, "n1", "n5", "PASS"), (2, "n2", "n4", "FAIL"), (2, "n2", "n6", "PASS"),
    ]  # fmt: skip
    assert "MPI between n5 and n6 alone is too slow or wrong, and both are well with others" in said
    assert all((tmp_path / "results/s" / pair["result"]).is_dir() for pair in found["pairs"])
    assert "MPI between nodes" in (tmp_path / "results/s/index.html").read_text()
    explained = acted(slurm, tmp_path, variables, "--explain", "n4")
    assert "mpi_pairs (speed; at most: drain): latency between nodes: 9.0 us, expected at most 2.0" in explained
    assert words in explained and "would" not in explained and "so        drain: confirmed by run " in explained
    assert "MPI between nodes is well with n1, not with n6" in acted(slurm, tmp_path, variables, "--explain", "n5")
    acted(slurm, tmp_path, variables)
    drained = slurm.run(["sinfo", "-hN", "-t", "drain", "-o", "%N %E"]).stdout.split(" ", 1)
    assert drained[0] == "n4" and drained[1].startswith(
        "nearfar: FAIL mpi_pairs near.osu_latency.H_H.mlx5_0.8B 9>2 us run="
    )
    slurm.run(["scontrol", "update", "nodename=n4", "state=resume"])


def acted(slurm: PrivateSlurm, place: Path, variables: dict[str, str], *options: str) -> str:
    """What `nearfar slurm act` says of the results in ``place``."""
    words = ["act", f"--results={place}/results", f"--state={place}/state", "--system=mine", *options]
    done = slurm.run([sys.executable, "-m", "nearfar", "slurm", *words], **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_left_out_on_request_and_where_no_two_nodes_are_well(slurm: PrivateSlurm, tmp_path: Path) -> None:
    found, said, _ = swept(slurm, tmp_path, "--no-mpi-pairs", "--nodes=n[1-2]")
    assert found["pairs"] == [] and found["notes"] == [] and "MPI" not in said
    found, said, _ = swept(slurm, tmp_path / "one", "--nodes=n1")
    assert found["pairs"] == [] and "MPI between nodes was not measured: one node alone" in said
    assert "one node alone" in (tmp_path / "one/results/s/index.html").read_text()
