"""A sweep that was killed, and resumed: no node is measured twice, and none is forgotten. On a real Slurm."""

from __future__ import annotations

import json
import shutil
import signal
import sys
from collections import Counter
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
    with PrivateSlurm(cpus=2, gpus=0, nodes=4) as private:
        yield private


class Killed:
    """A sweep of four nodes in ``place``, whose jobs take a moment, and what came of it."""

    def __init__(self, slurm: PrivateSlurm, place: Path) -> None:
        self.slurm, self.place, self.results = slurm, place, place / "results"
        self.variables = sweeping.site(place, slurm)
        sweeping.stand_in_jobs(
            place / "site",
            f"export PYTHONPATH={CHECKOUT} FAKE_SECONDS=$(cat {place}/seconds)\n"
            f'exec {sys.executable} {fake_node_run.__file__} {{{{ results }}}} {{{{ sweep }}}} {{{{ level }}}} "$1" "$2"\n',
        )
        (place / "seconds").write_text("0.5")

    def run(self, *words: str, **variables: str) -> tuple[int, str]:
        """``nearfar slurm sweep``; its exit code and all that it said."""
        given = ["sweep", *words, f"--results={self.results}", "--result-wait=1"]
        running = sweeping.started(self.slurm, {**self.variables, **variables}, *given)
        out, said = running.communicate(timeout=120)
        return running.returncode, out + said

    def real(self, command: str) -> str | None:
        """Where one of Slurm's commands is."""
        return shutil.which(command, path=self.slurm.environment["PATH"])

    def wrapper(self, script: str) -> dict[str, str]:
        """A PATH on which sbatch does ``script`` at its third call; ``$sbatch`` is the real one."""
        folder = self.place / "wrapper"
        folder.mkdir(exist_ok=True)
        (folder / "sbatch").write_text(
            f"#!/bin/bash\nsbatch={self.real('sbatch')}\necho >> {folder}/calls\n"
            f'if [ $(wc -l < {folder}/calls) = 4 ]; then\n{script}\nfi\nexec $sbatch "$@"\n'
        )
        (folder / "sbatch").chmod(0o755)
        return {"PATH": f"{folder}:{self.slurm.environment['PATH']}"}

    @property
    def measured(self) -> list[str]:
        """The node of each measurement that began, once no job is left that could begin another."""
        sweeping.until_all_have_ended(self.slurm)
        return [line.split()[0] for line in (self.results / "s/measured").read_text().splitlines()]

    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.results / "s/sweep-report.json").read_text())
        return found


@pytest.fixture
def killed(slurm: PrivateSlurm, tmp_path: Path) -> Killed:
    return Killed(slurm, tmp_path)


BEGIN = ("--partition=all", "--level=quick", "--name=s", "--sbatch=--comment=x")
MOMENTS = {
    "taken, and not written down": 'said=$($sbatch "$@"); kill -9 $PPID; echo $said; exit',
    "not sent": "kill -9 $PPID; exit 1",
    "under way, and taken while the resumed sweep goes on": 'kill -9 $PPID; sleep 2; exec $sbatch "$@"',
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_a_submission(killed: Killed, moment: str) -> None:
    (killed.results / "t/nodes").mkdir(parents=True)  # another was killed while it was begun
    code, _ = killed.run(*BEGIN, **killed.wrapper(MOMENTS[moment]))
    assert code == -signal.SIGKILL
    code, said = killed.run("--resume=s")
    assert code == 0, said
    found = killed.report()
    assert {node["node"]: node["verdict"] for node in found["nodes"]} == dict.fromkeys(killed.slurm.names, "PASS"), said
    assert Counter(killed.measured) == Counter(killed.slurm.names), said
    assert all(node["result"] == f"nodes/{node['node']}/1" for node in found["nodes"])
    assert "4 PASS" in said and (killed.results / "s/index.html").exists()


def test_what_slurm_has_forgotten_is_known_by_what_it_left(killed: Killed) -> None:
    """Killed just after it began; all jobs have ended since, one without a result, and nobody can ask Slurm for them."""
    killed.run(*BEGIN, **killed.wrapper('said=$($sbatch "$@"); kill -9 $PPID; echo $said; exit'))
    sweeping.until_all_have_ended(killed.slurm)
    first = killed.results / "s/nodes/n1/1/result.json"
    first.parent.rename(killed.results / "s/nodes/n1/.gone")
    (killed.place / "forget").mkdir()
    forgetful = killed.place / "forget/squeue"
    forgetful.write_text(f'#!/bin/sh\n[ -e $0.asked ] && exec {killed.real("squeue")} "$@"\ntouch $0.asked\n')
    forgetful.chmod(0o755)
    code, said = killed.run("--resume=s", PATH=f"{killed.place}/forget:{killed.slurm.environment['PATH']}")
    assert code == 0, said
    assert Counter(killed.measured) == Counter([*killed.slurm.names, "n1"]), said
    assert {node["result"] for node in killed.report()["nodes"]} == {f"nodes/{name}/1" for name in killed.slurm.names}
    code, said = killed.run("--resume=s")
    assert code == 0 and len(killed.measured) == 5, "nothing is left to do"


def test_jobs_that_were_cancelled_meanwhile_have_their_turn_again(killed: Killed) -> None:
    (killed.place / "seconds").write_text("60")
    killed.run(*BEGIN, **killed.wrapper('said=$($sbatch "$@"); kill -9 $PPID; echo $said; exit'))
    killed.slurm.run(["scancel", "--user=root"])
    sweeping.until_all_have_ended(killed.slurm)
    (killed.place / "seconds").write_text("0")
    code, said = killed.run("--resume=s")
    assert code == 0, said
    assert {node["verdict"] for node in killed.report()["nodes"]} == {"PASS"}, said


def test_a_results_directory_that_vanishes_in_the_middle(killed: Killed) -> None:
    (killed.place / "seconds").write_text("1")
    words = ["sweep", *BEGIN, f"--results={killed.results}", "--result-wait=1"]
    running = sweeping.started(killed.slurm, killed.variables, *words)
    sweeping.until(lambda: (killed.results / "s/measured").exists(), "a job has begun")
    killed.results.rename(killed.place / "elsewhere")
    _, said = running.communicate(timeout=60)
    assert running.returncode == 3 and f"{killed.results}/s: is gone: it was moved or removed" in said, said
    assert "Traceback" not in said and not killed.results.exists(), "nothing is made in its place"
    (killed.place / "elsewhere").rename(killed.results)
    code, said = killed.run("--resume=s")
    assert code == 0 and {node["verdict"] for node in killed.report()["nodes"]} == {"PASS"}, said
