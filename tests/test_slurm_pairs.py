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


def swept(slurm: PrivateSlurm, place: Path, **fakes: str) -> tuple[dict[str, Any], str]:
    """A sweep with pairs over six nodes; its report and what it said."""
    variables = sweeping.site(place, slurm)
    sweeping.stand_in_jobs(
        place / "site",
        f'export PYTHONPATH={CHECKOUT}\nexec {sys.executable} {fake_node_run.__file__} {{{{ results }}}} {{{{ sweep }}}} {{{{ pack }}}} '
        '"$1" "$2"\n',
    )  # fmt: skip
    exported = [f"--sbatch=--export={','.join(['ALL', *(f'{k}={v}' for k, v in fakes.items())])}"]
    words = [
        "sweep",
        "--partition=all",
        "--mpi-pairs",
        f"--results={place}/results",
        "--name=s",
        "--settle=5",
        *exported,
    ]
    done = slurm.run([sys.executable, "-m", "nearfar", "slurm", *words], **variables)
    found: dict[str, Any] = json.loads((place / "results/s/sweep-report.json").read_text())
    assert done.returncode == found["exit_code"], done.stderr
    return found, done.stdout + done.stderr


def test_only_who_is_slow_with_a_good_partner_is_blamed(slurm: PrivateSlurm, tmp_path: Path) -> None:
    """n4 is slow with everybody; n5 and n6 only with each other: what lies between them is named, and neither blamed."""
    found, said = swept(slurm, tmp_path, FAKE_SLOW="n4", FAKE_SLOW_PAIR="n5+n6")
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
