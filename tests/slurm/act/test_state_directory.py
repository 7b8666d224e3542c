"""The state directory of act: whose it is, one process, and one host."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nearfar.base.errors import CouldNotJudge, NearfarError
from nearfar.site.drain_policy import DrainCap, DrainSteps, Policy
from nearfar.slurm.act import ActOptions, act
from nearfar.slurm.act.state_directory import TAKE_OVER, locked, prepare
from nearfar.slurm.findings.log import ActLog
from tests.support.fake_slurm import FakeSlurm
from tests.support.node_results import leave

HOUR = 3600.0
POLICY = Policy(
    "vm", frozenset({os.geteuid()}), default=DrainSteps("drain", "drain"), per_day=DrainCap(3, 0.5), in_all=DrainCap(4, 0.6)
)  # fmt: skip


def used(state: Path, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    with locked(prepare(state)):
        pass


def test_who_holds_the_lock_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nearfar.slurm.act.state_directory._PATIENCE", 0.2)
    state = prepare(tmp_path / "state")
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom nearfar.slurm.act.state_directory import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(state)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None and other.stdout.readline() == "held\n"
    try:
        held = (
            rf"lock: held by {socket.gethostname()} \(process {other.pid}\) since 2\S+Z for more than 0 s; wait for it"
        )
        with pytest.raises(CouldNotJudge, match=held), locked(state):
            pass
    finally:
        other.communicate("")
    with locked(state):
        assert f"process {os.getpid()}" in (state / "lock").read_text()
    assert " until " in (state / "lock").read_text()


def test_another_host_is_refused_for_an_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "state"
    used(state, monkeypatch, "admin1")
    used(state, monkeypatch, "admin1")
    with pytest.raises(CouldNotJudge) as refused:
        used(state, monkeypatch, "admin2")
    words = str(refused.value)
    assert (
        "used by host admin1 (until, 2" in words and f"echo admin2 > {state / TAKE_OVER}" in words and "\n" not in words
    )
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + HOUR + 60)
    used(state, monkeypatch, "admin2")
    (line,) = ActLog(state).entries()
    assert (line.action, line.more["before"], line.more["host"]) == ("host_change", "admin1", "admin2")
    with pytest.raises(CouldNotJudge, match="used by host admin2"):
        used(state, monkeypatch, "admin1")


def test_a_person_gives_it_to_another_host_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "state"
    used(state, monkeypatch, "admin1")
    (state / TAKE_OVER).write_text("admin3\n")
    with pytest.raises(CouldNotJudge, match="used by host admin1"):
        used(state, monkeypatch, "admin2")
    (state / TAKE_OVER).write_text("admin2\n")
    used(state, monkeypatch, "admin2")
    assert ActLog(state).entries()[-1].more["why"] == "a person's word" and not (state / TAKE_OVER).exists()
    used(state, monkeypatch, "admin2")
    with pytest.raises(CouldNotJudge, match="used by host admin2"):
        used(state, monkeypatch, "admin1")


def test_what_did_not_end_on_another_host_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the lock does not hold between hosts, a retest of two hours is still one."""
    state = prepare(tmp_path / "state")
    (state / "lock").write_text("admin1 (process 4711) since 2026-11-21T08:00:00Z\n")
    with pytest.raises(CouldNotJudge, match="used by host admin1 \\(not ended, 2026-11-21 08:00:00 UTC\\)"):
        used(state, monkeypatch, "admin2")


def test_a_log_of_another_host_counts_where_the_lock_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = prepare(tmp_path / "state")
    monkeypatch.setattr(socket, "gethostname", lambda: "admin1")
    ActLog(state).note("latch", time.time() - 60, why="cap")
    (state / "lock").write_text("")
    with pytest.raises(CouldNotJudge, match="used by host admin1"):
        used(state, monkeypatch, "admin2")


def test_a_file_system_without_locks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(
        CouldNotJudge, match="lock: cannot be locked: Function not implemented; its file system has no locks"
    ):
        used(tmp_path / "state", monkeypatch, "admin1")


def test_a_state_directory_that_is_none(tmp_path: Path) -> None:
    """A link to a disk that is not mounted is no empty log: `status` would say that all is well."""
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to(tmp_path / "not mounted")
    file.write_text("")
    for place, words in ((link, "a link that leads nowhere"), (file, "not a directory")):
        with pytest.raises(CouldNotJudge, match=f"^{place}: {words}; name another --state DIR$"):
            prepare(place)
    with pytest.raises(CouldNotJudge, match=f"^{link}: a link that leads nowhere: is its file system mounted"):
        ActLog(link).entries()
    with pytest.raises(CouldNotJudge, match=r"log\.jsonl: cannot be read: Not a directory; nothing is done without it"):
        ActLog(file).entries()


@pytest.mark.parametrize("trouble", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_nothing_is_done_that_cannot_be_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: int
) -> None:
    slurm, results = FakeSlurm(("n1", "n2"), False), tmp_path / "results"
    results.mkdir()
    leave(results, "n1", "00000001", at=time.time() - 60, wrong="wrong data")
    real = os.open

    def open_(path: object, flags: int, *more: int, **named: object) -> int:
        if str(path).endswith("log.jsonl") and flags & os.O_APPEND:
            raise OSError(trouble, os.strerror(trouble))
        return real(path, flags, *more, **named)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(os, "open", open_)
    with pytest.raises(CouldNotJudge, match=r"log\.jsonl: cannot be written: .*--state DIR"):
        act.run(ActOptions(POLICY, results, None, tmp_path / "state"), slurm)  # type: ignore[arg-type]
    assert not slurm.node("n1").drain


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a file system, and gives files away")
def test_a_disk_that_is_full_for_good(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "tmpfs", state], check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        log = ActLog(prepare(state))
        with pytest.raises(CouldNotJudge, match="the disk is full"), locked(state):
            for _ in range(200):
                log.note("latch", time.time(), why="x" * 400)
        (state / "lock").unlink()
        with open(log.path, "r+b") as stream:
            stream.truncate(stream.seek(0, 2) - 4096)  # somebody makes room: a line is cut short
        with locked(state):
            log.note("reset_latch", time.time(), why="room again")
        assert log.entries()[-1].action == "reset_latch"
    finally:
        subprocess.run(["umount", state], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a file system, and gives files away")
def test_whose_directory_and_log_it_is(tmp_path: Path) -> None:
    state = prepare(tmp_path / "state")
    ActLog(state).note("latch", 1.0, why="cap")
    for wrong in (lambda: os.chown(ActLog(state).path, 1234, 0), lambda: os.chmod(ActLog(state).path, 0o666)):
        wrong()
        with pytest.raises(
            NearfarError, match=r"log\.jsonl: .*others can write to it.* chown 0 .*chmod 644"
        ) as refused:
            prepare(state)
        assert refused.value.exit_code == 2
        os.chown(ActLog(state).path, 0, 0)
    os.chmod(ActLog(state).path, 0o644)
    prepare(state)
    os.chown(state, 1234, 0)
    with pytest.raises(NearfarError, match=r"belongs to user 1234, .*name another --state DIR"):
        prepare(state)
    os.chown(state, 0, 0)
    ActLog(state).path.rename(state / "elsewhere")
    ActLog(state).path.symlink_to(state / "elsewhere")
    with pytest.raises(NearfarError, match="links are not followed"):
        prepare(state)
