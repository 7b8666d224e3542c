"""The ledger belongs to one cluster and one host, and nothing is done that cannot be written into it."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from nearfar.base import CouldNotJudge, NearfarError, files
from nearfar.site.drain_policy import DrainCap
from nearfar.slurm.act import admin_host, dry_run
from nearfar.slurm.act.admin_host import prepare
from nearfar.slurm.controller import Slurm
from nearfar.slurm.ledger import FILE, Ledger, LedgerAction, actions
from nearfar.slurm.status import act_and_tell
from tests.support.acting import Site
from tests.support.node_results import leave
from tests.support.played_fleet import PlayedFleet
from tests.support.private_slurm import PrivateSlurm

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a file system, and gives files away")
DAY = 86400.0


@pytest.fixture
def fleet(tmp_path: Path) -> PlayedFleet:
    return PlayedFleet(tmp_path)


def on_host(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: name)


# One process, one host, one cluster.


def test_another_process_is_waited_for_and_then_refused(fleet: PlayedFleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_host, "_PATIENCE", 0.2)
    fleet.wrong("n1")
    with (
        files.file_lock(prepare(fleet.state) / "lock"),
        pytest.raises(CouldNotJudge, match=r"lock: held by .*wait for it"),
    ):
        fleet.act()
    assert fleet.drained() == []
    fleet.act()
    assert fleet.drained() == ["n1"]


def test_a_ledger_of_another_host_is_refused_until_it_is_taken_over(
    fleet: PlayedFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_host(monkeypatch, "admin1")
    fleet.act()
    on_host(monkeypatch, "admin2")
    fleet.wrong("n1")
    with pytest.raises(CouldNotJudge, match=r"host admin1 owns cluster played, this is admin2: .*act --take-over"):
        fleet.act()
    with pytest.raises(CouldNotJudge, match="host admin1 owns"):
        fleet.clear("n1")
    assert fleet.drained() == []
    assert admin_host.take_over(fleet.state, fleet.slurm, exported(fleet)).endswith("this host now owns cluster played")
    fleet.act()
    assert fleet.drained() == ["n1"]
    on_host(monkeypatch, "admin1")
    with pytest.raises(CouldNotJudge, match="host admin2 owns"):
        fleet.act()


@pytest.mark.parametrize("try_", range(12))
def test_of_two_hosts_without_locks_the_second_drains_nothing(
    fleet: PlayedFleet, monkeypatch: pytest.MonkeyPatch, try_: int
) -> None:
    """On one directory at the same moment, both with a ledger that is new."""
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    nodes = fleet.slurm.nodes

    def slow() -> object:
        time.sleep(0.05)
        return nodes()

    fleet.slurm.nodes = slow
    fleet.change(per_day=DrainCap(1, 1.0))
    for node in ("n1", "n2", "n3"):
        fleet.wrong(node)
    prepare(fleet.state)
    reads, writes = os.pipe()
    children = []
    for name in ("admin1", "admin2"):
        child = os.fork()
        if child == 0:
            try:
                on_host(monkeypatch, name)
                time.sleep(0.002 * try_ if name == "admin2" else 0.0)
                fleet.act()
                os.write(writes, f"{name} drained {fleet.drained()}\n".encode())
            except CouldNotJudge as error:
                os.write(writes, f"{name} refused: {error}\n".encode())
            finally:
                os._exit(0)
        children.append(child)
    os.close(writes)
    for child in children:
        os.waitpid(child, 0)
    with os.fdopen(reads) as stream:
        said = stream.read()
    assert said.count("drained ['n1']") == 1 and said.count("refused: ") == 1, said
    with fleet.ledger() as ledger:
        assert {each.host for each in actions.actions(ledger)} == {ledger.meta("host")}


def test_a_result_of_another_cluster_is_refused(fleet: PlayedFleet) -> None:
    fleet.wrong("n1")
    [path] = fleet.results.glob("*/nodes/n1/1/result.json")
    raw = json.loads(path.read_text())
    for cluster, drained in (("theirs", []), ("played", ["n1"])):
        raw["slurm"]["cluster"] = cluster
        path.write_text(json.dumps(raw))
        refused = fleet.act().view.refused
        assert (fleet.drained(), bool(refused)) == (drained, not drained)
        assert all("measured in cluster theirs, this is played; not counted" in line for line in refused)


@pytest.mark.slurm
def test_another_cluster_s_slurm_conf_drains_nothing_there(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert site.act() == 0
    leave(site.results, "n1", "00000001", at=site.now - 60, wrong="wrong data")
    with PrivateSlurm(cpus=1, gpus=0, settings={"ClusterName": "theirs"}) as theirs, monkeypatch.context() as patch:
        patch.setenv("SLURM_CONF", theirs.environment["SLURM_CONF"])
        for command in (["act"], ["act", "--dry-run"], ["clear", "n1", "--because", "x"]):
            assert site.run(*command) == 3
            assert "ledger.db: of cluster private, and Slurm here is theirs" in capsys.readouterr().err
        assert not Slurm(theirs.environment).node("n1").drain
    assert site.act() == 0 and site.drained() == ["n1"]


@pytest.mark.slurm
def test_another_host_goes_on_with_the_export(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It knows what is open and what was cleared, which drains count for a day, and how often a node was drained."""
    for node in range(1, 6):
        leave(site.results, f"n{node}", f"0000000{node}", at=time.time() - 60, wrong="wrong data")
    assert site.act() == 3 and site.drained() == ["n1", "n2", "n3"]
    assert site.run("clear", "n[1-2]", "--because", "memory replaced") == 0
    capsys.readouterr()
    export = tmp_path / "export.db"
    assert site.run("status", f"--export={export}") == 0 and site.run("status", f"--export={export}") == 2

    site.state = tmp_path / "of-admin2"
    on_host(monkeypatch, "admin2")
    assert site.act() == 3
    assert "new, and n3 carry drains of nearfar: another host owns this cluster" in capsys.readouterr().err
    assert site.run("act", f"--take-over={export}") == 0
    assert site.act() == 3 and site.drained() == ["n3"], (
        "what was cleared is not drained, and the cap of the day is used up"
    )
    shown = capsys.readouterr().out
    assert "n[4-5]       held " in shown and "no more than 3 drained within a day" in shown
    with monkeypatch.context() as later:
        at = time.time() + DAY
        later.setattr(time, "time", lambda: at)
        later.setattr(Slurm, "clock_ahead", lambda slurm: 0.0)
        site.act()
        assert site.drained() == ["n3", "n4", "n5"], "wrong data stays open"
    with Ledger.open(site.state) as ledger:
        past = actions.past(ledger, time.time())
        assert {node: len(times) for node, times in past.drains.items()} == {"n3": 1, "n4": 1, "n5": 1}
        assert past.drained["n3"].finding is not None and {*past.answered} == {"n1", "n2"}
    assert site.run("act", "--take-over=none") == 0
    assert list(site.state.glob(f"{FILE}.2*")), "the ledger before is kept"


def test_an_empty_ledger_begins_anew_and_says_so(fleet: PlayedFleet, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.act()
    assert "empty" not in capsys.readouterr().err
    (fleet.state / FILE).write_bytes(b"")
    fleet.wrong("n1")
    fleet.act()
    assert f"{fleet.state / FILE}: empty" in capsys.readouterr().err
    assert fleet.drained() == ["n1"]


@pytest.mark.parametrize("how", ["absent", "empty", "text", "torn", "theirs"])
def test_an_export_that_is_none_leaves_the_ledger_as_it_is(fleet: PlayedFleet, how: str) -> None:
    fleet.wrong("n1")
    fleet.act()
    before, export = fleet.did(), Path(exported(fleet))
    whole = export.read_bytes()
    if how == "theirs":
        with Ledger.open(fleet.state) as ledger:
            ledger.set_meta("cluster", "theirs")
            export.unlink()
            ledger.export(export)
            ledger.set_meta("cluster", "played")
    elif how == "absent":
        export.unlink()
    else:
        export.write_bytes({"empty": b"", "text": b"{}" * 5000, "torn": whole[: len(whole) // 2]}[how])
    with pytest.raises(NearfarError, match=r"export.db: not taken over, and the ledger that is here stays: "):
        admin_host.take_over(fleet.state, fleet.slurm, str(export))
    assert fleet.did() == before and not [*fleet.state.glob(f"{FILE}.*")], "none is kept beside"


@pytest.mark.slurm
@pytest.mark.parametrize("off", [400 * DAY, -400 * DAY])
def test_a_clock_that_is_off_changes_nothing_and_stops_nothing_later(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], off: float
) -> None:
    leave(site.results, "n2", "00000002", at=site.now - 60, wrong="wrong data")
    right = time.time
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: right() + off)
        assert site.act() == 3 and site.drained() == []
        assert "days" in (said := capsys.readouterr().err) or "slurmctld's: set it" in said
    assert site.act() == 0 and site.drained() == ["n2"]


def test_what_was_written_while_all_clocks_were_ahead_stops_nothing(
    fleet: PlayedFleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = time.time() + 400 * DAY
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: ahead)
        fleet.wrong("n2")
        fleet.act()
    assert fleet.drained() == ["n2"]
    fleet.act()
    fleet.clear("n2")
    assert fleet.drained() == [] and fleet.states()["n2"] == "cleared"
    fleet.wrong("n2", ago=-1.0, took=0.0)
    fleet.act()
    assert fleet.drained() == ["n2"], "that word closes nothing that came after it"


# Whose directory and file it is, and where.


def test_a_directory_that_is_none(tmp_path: Path) -> None:
    """A link to a disk that is not mounted is no new ledger."""
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to(tmp_path / "not mounted")
    file.write_text("")
    for place, words in ((link, "a dangling link"), (file, "not a directory")):
        with pytest.raises(CouldNotJudge, match=f"^{place}: {words}; name another --state DIR$"):
            prepare(place)


@root_only
def test_whose_directory_and_ledger_it_is(fleet: PlayedFleet) -> None:
    fleet.act()
    state, file = fleet.state, fleet.state / FILE
    for owner, mode in ((1234, 0o644), (0, 0o666)):
        os.chown(file, owner, 0)
        os.chmod(file, mode)
        with pytest.raises(
            NearfarError, match=r"ledger\.db: .*other users can write to it.* chown 0 .*chmod 640"
        ) as refused:
            prepare(state)
        assert refused.value.exit_code == 2
        os.chown(file, 0, 0)
    os.chmod(file, 0o644)
    os.chmod(state, 0o777)
    with pytest.raises(NearfarError, match="other users can write to it"):
        prepare(state)
    os.chmod(state, 0o755)
    os.chown(state, 1234, 0)
    with pytest.raises(NearfarError, match=r"belongs to user 1234, .*name another --state DIR"):
        prepare(state)
    os.chown(state, 0, 0)
    file.rename(state / "elsewhere")
    file.symlink_to(state / "elsewhere")
    with pytest.raises(NearfarError, match="links are not followed"):
        prepare(state)


@root_only
def test_no_other_user_can_hold_the_lock(fleet: PlayedFleet) -> None:
    """Whoever can read a file can lock it, and keep act from draining for ever."""
    act_and_tell(fleet.options, fleet.slurm, None)
    assert {path.name: path.stat().st_mode & 0o077 for path in fleet.state.glob("*lock")} == {
        "lock": 0,
        "on-event.lock": 0,
    }


def test_a_file_system_that_hosts_share_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/home {tmp_path} nfs4 rw 0 0\n")
    read = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda path, **how: read(mounts if str(path) == "/proc/self/mounts" else path, **how)
    )
    with pytest.raises(NearfarError, match="on nfs4, which several hosts can write; the ledger needs a local disk"):
        prepare(tmp_path / "state")


def test_a_file_system_without_locks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(CouldNotJudge, match="lock: cannot be locked: Function not implemented"):
        PlayedFleet(tmp_path).act()


@pytest.mark.parametrize("how", ["cut", "of letters", "of another version"])
def test_a_damaged_ledger_is_said_and_nothing_is_done(fleet: PlayedFleet, how: str) -> None:
    fleet.act()
    path = fleet.state / FILE
    if how == "of another version":
        with fleet.ledger() as ledger:
            ledger.set_meta("version", "99")
    else:
        path.write_bytes(path.read_bytes()[:5000] if how == "cut" else b"x" * 9000)
    fleet.wrong("n1")
    with pytest.raises(CouldNotJudge, match=r"ledger\.db: (damaged .*--take-over none|a ledger of version 99)"):
        fleet.act()
    assert fleet.drained() == []


@pytest.mark.parametrize("before, after", [
    (b'"wrong data"', b'"wrong"data"'), (b'"wrong data"', b'"wrong\xffdata"'), (b"AUTOINCREMENT", b"AUTO\xffNCREMENT"),
])  # fmt: skip
def test_a_wrong_byte_in_a_ledger_is_said(fleet: PlayedFleet, before: bytes, after: bytes) -> None:
    fleet.wrong("n1")
    fleet.act()
    path = fleet.state / FILE
    path.write_bytes(path.read_bytes().replace(before, after))
    for call in (fleet.act, fleet.view, lambda: dry_run(fleet.options, fleet.slurm)):
        with pytest.raises(CouldNotJudge, match=r"ledger\.db: damaged .*--take-over none"):
            call()


def test_a_read_that_is_left_open_holds_up_nobody(fleet: PlayedFleet) -> None:
    """Of another process, and as a user who can write nothing there; who then reads what was there when the read began."""
    fleet.wrong("n1")
    fleet.act()
    reads, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                for parent in fleet.state.parents[:-2]:
                    parent.chmod(parent.stat().st_mode | 0o055)
                os.setresuid(65534, 65534, 65534)
            left_open = Ledger.read_only(fleet.state)
            assert left_open is not None
            left_open.connection.execute("BEGIN")
            before = len(actions.actions(left_open))
            os.write(tell, b"x")
            while not (fleet.folder / "acted").exists():
                time.sleep(0.05)
            again = Ledger.read_only(fleet.state)
            assert again is not None
            assert len(actions.actions(left_open)) == before
            assert [each.node for each in actions.actions(again, 0.0, actions.DRAIN)] == ["n1", "n2"]
            os.write(tell, b"y")
        finally:
            os._exit(0)
    os.close(tell)
    assert os.read(reads, 1) == b"x"
    fleet.wrong("n2")
    began = time.monotonic()
    fleet.act()
    assert fleet.drained() == ["n1", "n2"] and time.monotonic() - began < 10
    (fleet.folder / "acted").touch()
    assert os.read(reads, 1) == b"y", "it reads again what was done"
    os.waitpid(child, 0)


def test_what_a_killed_write_leaves_is_in_nobody_s_way(fleet: PlayedFleet) -> None:
    fleet.wrong("n1")
    fleet.act()
    child = os.fork()
    if child == 0:
        ledger = fleet.ledger()
        ledger.write("BEGIN IMMEDIATE")
        ledger.write("UPDATE action SET why = ?", "x" * (8 << 20))  # more than SQLite keeps in memory
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert (fleet.state / f"{FILE}-wal").stat().st_size > 0
    read = Ledger.read_only(fleet.state)
    assert read is not None
    with read:
        [drain] = actions.actions(read, 0.0, actions.DRAIN)
    assert drain.why == "hard evidence needs no second run"
    fleet.act()
    assert (fleet.state / f"{FILE}-wal").stat().st_size == 0, "the one file has it all"


# A full disk.


def drained_under(fleet: PlayedFleet, most: int) -> tuple[list[str], str]:
    """The nodes that an ``act`` drains whose files cannot grow beyond so many bytes, and the error that it ended with."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            problem = ""
            try:
                fleet.act()
            except NearfarError as error:
                problem = str(error)
            os.write(writes, json.dumps([fleet.drained(), problem]).encode())
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    found: tuple[list[str], str] = tuple(json.loads(text))
    return found


def test_on_a_full_disk_nothing_is_drained_that_is_not_written_down(fleet: PlayedFleet) -> None:
    """At every size at which a file can cease to grow."""
    for node in ("n1", "n2", "n3"):
        fleet.wrong(node)
    whole, _ = drained_under(fleet, 1 << 24)
    size, refusals = (fleet.state / FILE).stat().st_size, 0
    assert whole == ["n1", "n2", "n3"]
    for most in range(0, size + 4096, 2048):
        for path in fleet.state.iterdir():
            path.unlink()
        drained, problem = drained_under(fleet, most)
        refusals += bool(problem)
        assert problem == "" or FILE in problem or "cannot be written" in problem, problem
        begun = {node for kind, _, node in fleet.did() if kind == actions.DRAIN} if problem == "" or drained else set()
        assert {*drained} <= begun, f"at {most} bytes: {problem}"
        for node in drained:  # they were drained in the child's Slurm
            fleet.slurm.drain(node, next(a.reason for a in _actions(fleet) if a.node == node))
        fleet.act()
        assert fleet.drained() == whole, f"at {most} bytes: the next call goes on"
        for node in whole:
            fleet.slurm.resume(node)
    assert refusals > 10


def _actions(fleet: PlayedFleet) -> list[LedgerAction]:
    with fleet.ledger() as ledger:
        return actions.actions(ledger, 0.0, actions.DRAIN)


@root_only
def test_a_disk_that_fills_up_between_two_drains(fleet: PlayedFleet) -> None:
    fleet.state.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", fleet.state], check=False
    ).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        fleet.act()
        for node in ("n1", "n2"):
            fleet.wrong(node)
        update, filler = fleet.slurm.update, fleet.state / "filler"

        def fill() -> None:
            with open(filler, "ab", buffering=0) as stream, pytest.raises(OSError):
                while True:
                    stream.write(b"x" * 4096)

        def filling(*words: object, **more: object) -> object:
            fill()
            return update(*words, **more)

        fleet.slurm.update = filling
        with pytest.raises(CouldNotJudge, match=r"ledger\.db: .*nothing is done that cannot be written down"):
            fleet.act()
        assert fleet.drained() == ["n1"]
        fleet.slurm.update = update
        fill()
        with pytest.raises(CouldNotJudge):
            fleet.act()
        assert fleet.drained() == ["n1"], "none beyond the one whose end could not be written"
        filler.unlink()
        fleet.act()
        assert fleet.drained() == ["n1", "n2"]
        assert sorted(fleet.did()) == [("drain", "done", "n1"), ("drain", "done", "n2")]
    finally:
        subprocess.run(["umount", fleet.state], check=True)


def exported(fleet: PlayedFleet) -> str:
    path = fleet.folder / "export.db"
    with fleet.ledger() as ledger:
        ledger.export(path)
    return str(path)


def test_a_take_over_beside_what_a_killed_write_has_left(fleet: PlayedFleet) -> None:
    """SQLite would take that for the new ledger's."""
    fleet.wrong("n1")
    fleet.act()
    export = exported(fleet)
    child = os.fork()
    if child == 0:
        ledger = fleet.ledger()
        ledger.write("BEGIN IMMEDIATE")
        ledger.write("UPDATE action SET why = ?", "x" * (8 << 20))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    admin_host.take_over(fleet.state, fleet.slurm, export)
    assert [kind for kind, _, _ in fleet.did()] == ["drain", "take_over"]
    [kept] = fleet.state.glob(f"{FILE}.2*")
    kept.rename(fleet.state / FILE)
    assert fleet.did() == [("drain", "done", "n1")], "the one before is whole"


def test_other_users_cannot_hold_the_ledger_s_locks(fleet: PlayedFleet) -> None:
    before = os.umask(0o077)
    try:
        fleet.act()
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (fleet.state, fleet.state / FILE)] == [0o755, 0o640]
