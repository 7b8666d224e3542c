"""Root on behalf of the user whose ledger and results they are: nothing of it becomes root's."""

from __future__ import annotations

import os
import pwd
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nearfar.base import NearfarError
from nearfar.slurm.act import admin_host, repairs
from nearfar.slurm.ledger import Ledger, actions
from nearfar.slurm.trust import go_on_as_owner
from tests.support import sweeping
from tests.support.node_results import leave
from tests.support.other_user import become, place_for_all, python_of
from tests.support.private_slurm import PrivateSlurm, needed

for_all = pytest.fixture(place_for_all)

#: Another user, whom Slurm takes as SlurmUser: from 25.11 on it does not take nobody.
DAEMON = pwd.getpwnam("daemon").pw_uid

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def slurm() -> Iterator[PrivateSlurm]:
    needed(root=True)
    # As SlurmUser it may do what operators may.
    with PrivateSlurm(cpus=2, gpus=0, nodes=2, settings={"SlurmUser": "daemon"}) as private:
        yield private


@pytest.fixture
def command(slurm: PrivateSlurm, for_all: Path) -> Iterator[Command]:
    """``nearfar slurm …`` as root in a process of its own, on directories that are another user's."""
    python = python_of(DAEMON, for_all)
    variables = sweeping.site(for_all, slurm, python=python)
    system = for_all / "site/systems/mine.yaml"
    system.write_text(f"{system.read_text()}act: {{trusted: [root, daemon], default: drain}}\n")
    for name in ("results", "log", "state"):
        (for_all / name).mkdir()
        os.chown(for_all / name, DAEMON, DAEMON)

    def call(word: str, *words: str, before: list[str] | None = None) -> subprocess.CompletedProcess[str]:
        slurm.until_nodes_answer()
        places = [f"--results={for_all}/results", *([] if word == "sweep" else [f"--state={for_all}/log"])]
        line = [*(before or []), python, "-m", "nearfar", "slurm", word, *words, *places]
        environ = {name: value for name, value in os.environ.items() if name != "SUDO_USER"}
        return subprocess.run(
            line, env={**environ, **slurm.environment, **variables}, capture_output=True, text=True, timeout=300
        )

    yield call
    for name in slurm.names:
        slurm.run(["scontrol", "update", f"nodename={name}", "state=resume"])


def owners(folder: Path) -> set[int]:
    return {path.lstat().st_uid for path in (folder, *folder.rglob("*"))}


def until_drained(command: Command, slurm: PrivateSlurm, results: Path) -> None:
    """Let ``act`` drain n2 for what a run has found."""
    place = leave(
        results, "n2", "0000000a", at=time.time() - 60, wrong="wrong data", check="quick_check", system="mine"
    )
    for path in (place.parents[2], *place.parents[2].rglob("*")):
        os.chown(path, DAEMON, DAEMON)
    done = command("act")
    assert "drain" in slurm.run(["scontrol", "show", "node", "n2"]).stdout.lower(), done.stderr + done.stdout


@pytest.mark.slurm
def test_all_that_root_types_is_done_as_the_owner(command: Command, slurm: PrivateSlurm, for_all: Path) -> None:
    until_drained(command, slurm, for_all / "results")
    done = command("retest", "n2", "--level=quick")
    assert (done.returncode, done.stdout.split()[:2]) == (1, ["n2", "drained"]), "a quick run does not cover wrong data"
    done = command("clear", "n2", "--because=riser reseated")
    assert done.returncode == 0 and f"nearfar: goes on as daemon: {for_all}/log is that user's" in done.stderr, (
        done.stderr
    )
    assert command("status").returncode in (0, 3)

    assert owners(for_all / "results") == owners(for_all / "log") == {DAEMON}
    users = {word for word in slurm.run(["scontrol", "show", "jobs"]).stdout.split() if word.startswith("UserId=")}
    assert users == {f"UserId=daemon({DAEMON})"}
    with Ledger.open(for_all / "log") as ledger:
        assert {each.kind for each in actions.actions(ledger)} >= {actions.DRAIN, actions.RETEST, actions.CLEAR}
    by_itself = command("act", before=become(DAEMON))
    assert by_itself.returncode == 0, by_itself.stderr


@pytest.mark.slurm
def test_a_log_of_roots_and_results_of_another(command: Command, slurm: PrivateSlurm, for_all: Path) -> None:
    """As ``install --act-user root`` has it: who measures is the owner of the results."""
    os.chown(for_all / "log", 0, 0)
    until_drained(command, slurm, for_all / "results")
    done = command("retest", "n2", "--level=quick")
    assert (done.returncode, done.stdout.split()[:2]) == (1, ["n2", "drained"]), done.stderr + done.stdout
    assert owners(for_all / "results") == {DAEMON} and owners(for_all / "log") == {0}
    assert "UserId=root" not in slurm.run(["scontrol", "show", "jobs"]).stdout
    refused = command("retest", "n2", "--level=quick", before=become(DAEMON))
    assert refused.returncode == 2 and f"{for_all}/log: belongs to user root" in refused.stderr
    assert (
        f"(sudo nearfar slurm retest n2 --level=quick --results={for_all}/results --state={for_all}/log)"
        in refused.stderr
    )


def test_who_may_not_is_told_the_whole_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    results, state = tmp_path / "results", tmp_path / "log"
    results.mkdir()
    state.mkdir()
    os.chown(results, DAEMON, DAEMON)
    monkeypatch.setattr("sys.argv", ["nearfar", "slurm", "retest", "n2", "--level", "quick"])
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    with pytest.raises(
        NearfarError, match=r"belongs to daemon: run it as root \(sudo nearfar slurm retest n2 --level quick\)"
    ):
        repairs._measuring_user(results, state)
    os.chown(state, DAEMON, DAEMON)
    with pytest.raises(
        NearfarError, match=r"run it as daemon \(sudo -u daemon nearfar slurm retest n2 --level quick\)"
    ):
        repairs._measuring_user(results, state)
    with pytest.raises(
        NearfarError, match=r"run it as that user \(sudo -u daemon nearfar slurm retest n2 --level quick\)"
    ):
        admin_host.prepare(state)
    os.chown(state, 1234, 1234)
    with pytest.raises(NearfarError, match=f"or root the ledger: chown -R root {state}"):
        repairs._measuring_user(results, state)


def test_a_user_whom_this_machine_does_not_know(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    go_on_as_owner(tmp_path / "missing")
    os.chown(tmp_path, 54321, 54321)
    with pytest.raises(NearfarError, match="belongs to user 54321, whom this machine does not know; chown it"):
        go_on_as_owner(tmp_path)
    assert os.geteuid() == 0
    os.chown(tmp_path, 0, 0)
