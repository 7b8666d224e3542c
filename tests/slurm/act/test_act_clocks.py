"""A host whose clock was set back does nothing and writes nothing; what slurmctld lost when it was killed is done again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nearfar.base.errors import CouldNotJudge
from nearfar.slurm.act import clear, quarantine
from nearfar.slurm.act.state_directory import locked
from nearfar.slurm.controller import reservations
from nearfar.slurm.findings.log import ActLog
from tests.support.acting import Site
from tests.support.private_slurm import PrivateSlurm, needed


def test_nothing_is_written_by_a_clock_that_was_set_back(tmp_path: Path) -> None:
    """A line of an hour ago would make all lines before it an hour older: a pass from before a drain would release its node."""
    log = ActLog(tmp_path)
    assert log.last() is None
    log.note("latch", time.time() + 3600, why="the cap")
    before = log.path.read_bytes()
    with pytest.raises(CouldNotJudge, match="the log's last line is later than this host's clock; set the clock first"):
        clear.allow_drains(tmp_path, "seen to")
    with log.path.open("ab") as stream:
        stream.write(b'{"half a line')
    with pytest.raises(CouldNotJudge), locked(tmp_path):
        pass
    assert log.path.read_bytes() == before + b'{"half a line'


def test_the_last_line_may_be_torn_or_none_of_ours(tmp_path: Path) -> None:
    log = ActLog(tmp_path)
    log.note("latch", 1000.0, why="the cap")
    with log.path.open("a") as stream:
        stream.write("half a line #torn\n")
    last = log.last()
    assert last is not None and last.at == 1000.0
    with log.path.open("a") as stream:
        stream.write("not of this log\n")
    assert log.last() is None, "who reads it all says what is wrong with it"


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateSlurm]:
    needed(root=True)
    with PrivateSlurm(cpus=1, gpus=0, nodes=2) as slurm:
        yield slurm


@pytest.mark.slurm
def test_the_end_of_a_retest_that_slurmctld_had_not_saved_when_it_was_killed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.slow_twice("n2", "00000002", "00000003")
    assert site.act() == 0 and site.act() == 0
    reason = site.node("n2").reason
    names: list[str] = []
    real = quarantine.close

    def close(name: str, *others: object) -> None:
        names.append(name)
        real(name, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(quarantine, "close", close)
    assert site.run("retest", "n2", "--level", "accept") == 1, "its sweep measures nothing"
    assert site.node("n2").drain and reservations.show(site.slurm) == []
    # As slurmctld knows it again: reserved, and in use inside the reservation.
    reservations.make(site.slurm, names[0], ["n2"], "root")
    site.private.run(["scontrol", "update", "nodename=n2", "state=resume"])
    site.slurm.wait("n2", lambda node: "RESERVED" in node.flags and not node.drain, 20)
    site.act()
    assert (site.node("n2").drain, site.node("n2").reason) == (True, reason)
    assert reservations.show(site.slurm) == []
    assert "resumed_by_others" not in [action for action, _, _ in site.log("resumed_by_others")]
