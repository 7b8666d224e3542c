"""Runs on one node do not measure into each other: who holds the lock, who waits and for whom, and what frees it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nearfar.base import node_lock, supervise
from nearfar.base.errors import CouldNotJudge, NearfarError
from nearfar.verdict import case_files
from tests.conftest import CHECKOUT
from tests.run.test_validation import checkout, command, validate_plain

assert checkout is not None  # a fixture

HOLD = "import sys; from nearfar.base import node_lock\nwith node_lock.held(0): print('held', flush=True); sys.stdin.read()"
SUPERVISE = [sys.executable, "-m", "nearfar.base.supervise"]


@pytest.fixture(autouse=True)
def own_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other test's lock, and none of a run that these tests belong to."""
    monkeypatch.setenv(node_lock.PART, f"{os.getpid()}-{tmp_path.name}"[:60])
    monkeypatch.delenv(node_lock.HELD, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))


@contextmanager
def holder(*before: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the lock."""
    words = [*before, sys.executable, "-c", HOLD]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/") as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == "held\n"
            yield other
        finally:
            other.kill()


def refused() -> str:
    """Why the lock cannot be had at once."""
    with pytest.raises(CouldNotJudge) as error:
        with node_lock.held(0):
            pass
    return str(error.value)


def lines_of(process: subprocess.Popen[str], words: str) -> list[str]:
    """What a process says on standard error until a line has these words."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if words in line:
            return said
    raise AssertionError(f"it never said {words!r}: {said}")


def test_who_holds_it_is_said() -> None:
    with holder() as other:
        said = refused()
        assert f"pid {other.pid} of user " in said and re.search(r", since \d\d:\d\d:\d\d; waited 0 s", said), said
        assert "--wait SECONDS (NEARFAR_WAIT)" in said and "\n" not in said
    with node_lock.held(0):
        assert os.environ[node_lock.HELD].endswith(f":{os.getpid()}")
    assert node_lock.HELD not in os.environ


def test_root_waits_for_no_user_but_those_it_trusts(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with holder("setpriv", "--reuid=65534", "--clear-groups") as other:
        lines: list[str] = []
        with node_lock.held(60, lines.append):
            words = [*SUPERVISE, "--limit", "5", "--wait", "0", "--", "true"]
            child = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
        assert len(lines) == 1 and f"pid {other.pid} of user nobody" in lines[0] and "root does not wait" in lines[0], (
            lines
        )
        assert (child.returncode, child.stderr) == (0, ""), "what the run starts does not ask again"
        assert node_lock.HELD not in os.environ
        with (
            pytest.raises(CouldNotJudge, match=f"pid {other.pid} of user nobody"),
            node_lock.held(0, trusted={0, 65534}),
        ):
            pass


def test_a_lock_that_nobody_answers_for_does_not_stop_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root goes on")
    with socket.socket(socket.AF_UNIX) as full, socket.socket(socket.AF_UNIX) as asks:
        full.bind(node_lock._name())
        full.listen(0)
        asks.connect(node_lock._name())
        lines: list[str] = []
        with node_lock.held(0.3, lines.append):
            assert "a process that cannot be seen from here" in lines[-1] and "root does not wait" in lines[-1]


def test_a_user_waits_for_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    words = ["setpriv", "--reuid=65534", "--clear-groups", *SUPERVISE, "--limit", "5", "--wait", "0", "--", "true"]
    with holder() as other:
        done = subprocess.run(words, capture_output=True, text=True, cwd="/var/tmp")
    assert f"pid {other.pid} of user root" in done.stderr, done.stderr


def test_killed_it_is_free() -> None:
    with holder() as other:
        other.send_signal(signal.SIGKILL)
        with node_lock.held(5):
            pass


def test_it_goes_on_once_the_other_has_ended() -> None:
    with holder() as other:
        said: list[str] = []
        began = time.monotonic()

        def told(line: str) -> None:
            said.append(line)
            assert other.stdin is not None
            other.stdin.close()

        with node_lock.held(20, told):
            assert time.monotonic() - began < 5, "it is woken by the holder's end"
        assert len(said) == 1 and f"pid {other.pid} of user" in said[0] and said[0].endswith("waiting up to 20 s"), said


def test_what_a_run_starts_does_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    child = "from nearfar.base import node_lock\nwith node_lock.held(0):\n with node_lock.held(0): print('fine')"
    with node_lock.held(0):
        done = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True)
        assert done.stdout == "fine\n", done.stderr
        with node_lock.held(0):
            pass
        assert f"pid {os.getpid()}" in subprocess.run(
            [sys.executable, "-c", child], capture_output=True, text=True, env={**os.environ, node_lock.HELD: ""}
        ).stderr, "without the variable it is another run"  # fmt: skip
    with holder() as other:
        for value in (f"{socket.gethostname()}:{os.getpid()}", f"elsewhere:{other.pid}", str(other.pid)):
            monkeypatch.setenv(node_lock.HELD, value)  # as from a run that has ended, or on another node
            assert f"pid {other.pid}" in refused()


def test_nodes_that_are_pretended_on_one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with holder():
        monkeypatch.setattr(socket, "gethostname", lambda: "n2")
        with node_lock.held(0):
            pass


def test_interrupted_while_waiting() -> None:
    with holder():
        words = [*SUPERVISE, "--limit", "5", "--wait", "60", "--", "true"]
        waits = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        lines_of(waits, "waiting up to 60 s")
        began = time.monotonic()
        waits.send_signal(signal.SIGINT)
        waits.communicate(timeout=40)
        assert time.monotonic() - began < 40, "not the minute that it would have waited"


def test_a_command_of_another_user_cannot_write_to_the_terminal() -> None:
    words = [sys.executable, "-c", HOLD, "\x1b[2J\n`", "x" * 300]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        said = refused()
        other.kill()
    assert said.isprintable() and len(said) < 300, said


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf", "1e9"])
def test_a_wait_that_is_no_number_of_seconds(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(node_lock.WAIT, text)
    with pytest.raises(NearfarError, match=f"NEARFAR_WAIT: '{text}'"):
        node_lock.wait()


def test_without_such_sockets_it_measures_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_allowed(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(node_lock, "_bound", not_allowed)
    said: list[str] = []
    with node_lock.held(0, said.append):
        assert len(said) == 1 and "no lock on this system (Operation not permitted)" in said[0]


def test_a_program_that_was_not_started_is_indeterminate(tmp_path: Path) -> None:
    with holder() as other:
        words = [*SUPERVISE, "--limit", "5", "--wait", "0.2", "--", "touch", "started"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 3 and not (tmp_path / "started").exists()
    assert "returncode" not in json.loads((tmp_path / supervise.ACCOUNT).read_text())
    (tmp_path / "out").touch()
    document, findings = case_files.read(tmp_path, tmp_path / "out", tmp_path / "err")
    assert document is None
    assert [(f.subject, f.verdict, f.hard) for f in findings] == [("program", "INDETERMINATE", False)]
    assert findings[0].reason.startswith(f"another run measures on this node: pid {other.pid} of user"), findings


def test_waiting_is_no_part_of_a_programs_time(tmp_path: Path) -> None:
    with holder() as other:
        words = [*SUPERVISE, "--limit", "4", "--wait", "30", "--", "echo", "done"]
        waits = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines_of(waits, "waiting")
        time.sleep(4.2)
        other.kill()
        assert waits.communicate(timeout=20)[0] == "done\n"
    account = json.loads((tmp_path / supervise.ACCOUNT).read_text())
    assert not account["timed_out"] and account["seconds"] < 4


def test_two_runs_at_once(checkout: Path) -> None:
    """The second says for whom it waits, and measures when the first has ended; both are judged."""
    assert validate_plain(checkout, "good").returncode == 0
    words, env = command(checkout, "--system", "fake", "--check", "host_device_check")
    with holder():
        both = [
            subprocess.Popen(words, cwd=checkout, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        for run in both:
            lines_of(run, "another run measures on this node")
    said = [run.communicate(timeout=100) for run in both]
    assert [run.returncode for run in both] == [0, 0], said
    assert any(f"pid {run.pid} of user" in err and "`nearfar validate --system fake" in err
               for run in both for _, err in said), f"the second run did not say that it waits for the first: {said}"  # fmt: skip


def test_a_run_that_gives_up_leaves_nothing(checkout: Path) -> None:
    with holder() as other:
        done = validate_plain(checkout, "good", NEARFAR_WAIT="0")
        assert done.returncode == 3 and f"pid {other.pid} of user" in done.stderr, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert not (checkout.parent / "state/reports").exists(), "no run is left that never was"
        words, env = command(checkout, "--system", "fake", "--check", "host_device_check", "--json", NEARFAR_WAIT="0")
        done = subprocess.run(words, cwd=checkout, env=env, capture_output=True, text=True, timeout=100)
        said = json.loads(done.stdout)
        assert done.returncode == said.pop("exit_code") == 3 and said["reason"] in done.stderr, done.stderr
        assert f"pid {other.pid} of user" in said.pop("reason")
        assert said == {"schema": "nearfar-not-run/1", "verdict": "INDETERMINATE"}
        words, env = command(checkout, "--system", "keeneland", "--check", "topology_check", NEARFAR_WAIT="0")
        done = subprocess.run(words, cwd=checkout, env=env, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, f"nothing is measured on a modelled node: {done.stderr}"


def test_osu_waits_as_well() -> None:
    with holder() as other:
        words = [sys.executable, "-m", "nearfar", "osu"]
        env = {**os.environ, "NEARFAR_WAIT": "0"}
        done = subprocess.run(words, capture_output=True, text=True, env=env, timeout=60)
    assert done.returncode == 3 and f"pid {other.pid} of user" in done.stderr, done.stderr
