"""``act`` against a real Slurm tells the site's program and Prometheus, also where it was killed in the middle of that."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli
from nearfar.base import files
from tests.conftest import CHECKOUT
from tests.support.acting import Site
from tests.support.node_results import leave
from tests.support.private_slurm import PrivateSlurm, needed

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateSlurm]:
    needed()
    with PrivateSlurm(cpus=1, gpus=0, nodes=4) as slurm:
        yield slurm


def test_a_drain_and_a_release(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hook, told, textfiles = tmp_path / "hook", tmp_path / "told", tmp_path / "textfiles"
    textfiles.mkdir()
    hook.write_text(
        f"#!/bin/sh\ncat >> {told}\n[ -e {told}.first ] || {{ echo $$ > {told}.pid; mv {told}.pid {told}.first; exec sleep 60; }}\n"
    )
    hook.chmod(0o755)
    file = tmp_path / "site" / "systems" / "vm.yaml"
    hooks = f"  on_event: {hook}\n"
    file.write_text(file.read_text().replace("partitions:\n", hooks + "partitions:\n", 1))
    monkeypatch.setenv("NEARFAR_METRICS", str(textfiles))
    leave(site.results, "n2", "00000002", at=site.now - 60, wrong="wrong data")

    command = ["slurm", "act", "--state", str(site.state), "--results", str(site.results)]
    acting = subprocess.Popen([sys.executable, "-m", "nearfar", *command], cwd=CHECKOUT)
    _until(lambda: Path(f"{told}.first").exists())
    assert site.node("n2").drain, "it was done before it was told"
    with files.file_lock(site.state / "lock", 1.0):
        pass  # nobody waits for the program
    acting.send_signal(signal.SIGKILL)
    acting.wait()
    os.kill(int(Path(f"{told}.first").read_text()), signal.SIGKILL)
    assert cli.main(command) == 0
    first, *again = _lines(told)
    assert sorted(each["event"] for each in again) == ["drain", "finding"] and first["id"] in {
        each["id"] for each in again
    }
    assert 'nearfar_fleet_node{node="n2",state="drained",system="vm"} 1.0' in _text(textfiles)

    site.private.run(["scontrol", "update", "nodename=n2", "state=resume"])
    site.slurm.wait("n2", lambda node: node.usable, 30)
    assert cli.main(command) == cli.main(command) == 0
    *_, released = _lines(told)
    assert len(_lines(told)) == 4 and (released["event"], released["by_act"]) == ("release", False)
    assert 'nearfar_events_waiting{system="vm"} 0.0' in _text(textfiles)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _text(textfiles: Path) -> str:
    return (textfiles / "nearfar-fleet.prom").read_text()


def _until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not there():
        assert time.monotonic() < end
        time.sleep(0.1)
