"""MPI between pairs of nodes, in jobs of a real Slurm that a stand-in measures: suspects have a second partner."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKOUT
from tests.support import fake_node_run, sweeping
from tests.support.private_slurm import PrivateSlurm, needed

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def slurm() -> Iterator[PrivateSlurm]:
    needed(root=True)
    with PrivateSlurm(cpus=2, gpus=0, nodes=6) as private:
        yield private


def swept(
    slurm: PrivateSlurm, place: Path, *options: str, real_pairs: bool = False, **fakes: str
) -> tuple[dict[str, Any], str]:
    """A sweep over six nodes whose partition has what MPI between nodes asks for; its report, and what it said."""
    variables = sweeping.site(place, slurm, "gpu, mpi, two_nodes")
    fake = place / "bin/nearfar-contention"
    fake.write_text(FAKE_PROGRAM)
    fake.chmod(0o755)
    real = (CHECKOUT / "site/templates/slurm/job.sh.j2").read_text().partition("\n")[2] if real_pairs else ":"
    sweeping.stand_in_jobs(
        place / "site",
        f'if [[ "{real_pairs} $1" = "True "*+* ]]; then\n{real}\nfi\n'
        f'export PYTHONPATH={CHECKOUT}\nexec {sys.executable} {fake_node_run.__file__} {{{{ results }}}} {{{{ sweep }}}} {{{{ level }}}} '
        '"$1" "$2"\n',
    )  # fmt: skip
    exported = [f"--sbatch=--export={','.join(['ALL', *(f'{k}={v}' for k, v in fakes.items())])}"]
    words = [
        "sweep",
        "--partition=all",
        *options,
        f"--results={place}/results",
        "--name=s",
        "--result-wait=5",
        *exported,
    ]
    done = slurm.run([sys.executable, "-m", "nearfar", "slurm", *words], **variables)
    found: dict[str, Any] = json.loads((place / "results/s/sweep-report.json").read_text())
    assert done.returncode == found["exit_code"], done.stderr
    return found, done.stdout + done.stderr


def test_only_who_is_slow_with_a_good_partner_is_blamed(slurm: PrivateSlurm, tmp_path: Path) -> None:
    """n4 is slow with everybody; n5 and n6 only with each other: what lies between them is named, and neither blamed."""
    found, said = swept(slurm, tmp_path, "--mpi-pairs", FAKE_SLOW="n4", FAKE_SLOW_PAIR="n5+n6")
    nodes = {node["node"]: node for node in found["nodes"]}
    assert {name: node["verdict"] for name, node in nodes.items()} == {
        "n4": "FAIL", **dict.fromkeys(("n1", "n2", "n3", "n5", "n6"), "PASS"),
    }, said  # fmt: skip
    words = "MPI between nodes is too slow or wrong with n3 and n2, and n2 is well with other partners"
    assert nodes["n4"]["reason"] == f"{words}: latency between nodes: 9.0 us, expected at most 2.0"
    assert sorted((pair["node"], pair["verdict"]) for pair in found["pairs"]) == [
        ("n1+n2", "PASS"), ("n1+n3", "PASS"), ("n1+n5", "PASS"), ("n2+n4", "FAIL"), ("n2+n6", "PASS"), ("n3+n4", "FAIL"),
        ("n5+n6", "FAIL"),
    ]  # fmt: skip
    assert "MPI between n5 and n6 alone is too slow or wrong, and both are well with other partners" in said
    assert all((tmp_path / "results/s" / pair["result"]).is_dir() for pair in found["pairs"])
    page = (tmp_path / "results/s/index.html").read_text()
    assert "MPI between nodes" in page and 'href="pairs/n2+n4/1/index.html"' in page


def test_where_there_are_no_two_nodes_it_says_so(slurm: PrivateSlurm, tmp_path: Path) -> None:
    found, said = swept(slurm, tmp_path, "--mpi-pairs", "--nodes=n1")
    assert found["pairs"] == [] and "MPI between nodes was not measured: fewer than two nodes are well" in said
    assert "fewer than two nodes" in (tmp_path / "results/s/index.html").read_text()


#: Stands in for nearfar-contention: each rank says where it runs, and rank 0 leaves the document.
FAKE_PROGRAM = f"""#!{sys.executable}
import json, os, socket, sys, time
from pathlib import Path
sys.path.insert(0, {str(CHECKOUT)!r})
from nearfar.mpi import contention
from tests.mpi.test_contention_figures import raw, result
rank = os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK"))
Path("rank" + rank).write_text(socket.gethostname())
while rank == "0" and not Path("rank1").exists():
    time.sleep(0.05)
if rank == "0":
    place = "within" if Path("rank1").read_text() == socket.gethostname() else "across"
    each = [result(contention.ALONE["stream" in cell], cell, 2.0, 2.0) for cell in contention.subjects(["mpi_only"], [1], place)]
    Path(sys.argv[1].partition("=")[2]).write_text(json.dumps(raw(*each)))
"""


def test_without_osu_a_ping_pong_of_our_own_measures(slurm: PrivateSlurm, tmp_path: Path) -> None:
    """A second stage whose job is the real one: ReFrame starts one rank on each node through the MPI's launcher."""
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun")
    found, said = swept(slurm, tmp_path, "--mpi-pairs", "--nodes=n[1-2]", real_pairs=True)
    (pair,) = found["pairs"]
    assert (pair["node"], pair["verdict"]) == ("n1+n2", "not judged"), said
    assert {node["verdict"] for node in found["nodes"]} == {"INDETERMINATE"}, "a site without references has no answer"
    assert "MPI between nodes works with n2, and no figure of it was judged: nearfar tune makes references" in said
    assert "MPI between nodes was measured by ping_pong_check, because there is no OSU; spack install osu" in said
    (path,) = (tmp_path / "results/s" / pair["result"]).glob("n1/ping_pong_check/verdict.json")
    figures = {metric["name"]: metric["value"] for metric in json.loads(path.read_text())["metrics"]}
    assert figures["across.mpi_only.1.pingpong_8B.latency"] == 2.0
    assert not list((tmp_path / "results").rglob(".measuring-*")), "its working directory is gone"
