"""Children end with everything they started, whatever ended the wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nearfar.base import process
from nearfar.base.errors import CouldNotJudge

#: A program that starts a child that ignores SIGTERM, writes its pid and waits for ever.
STUBBORN = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c",
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"],
    stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
print("cell 3/24 n0:g1", file=sys.stderr, flush=True)
time.sleep(60)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_gone(pid: int) -> bool:
    deadline = time.monotonic() + 20
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


def test_output_and_status() -> None:
    done = process.run([sys.executable, "-c", "import sys; print('a'); print('b', file=sys.stderr); sys.exit(3)"], 10)
    assert (done.returncode, done.stdout, done.stderr, done.timed_out) == (3, "a\n", "b\n", False)


def test_lines_are_told_as_they_come() -> None:
    seen: list[str] = []
    process.run([sys.executable, "-c", "import sys; print('one', file=sys.stderr)"], 10, on_stderr=seen.append)
    assert seen == ["one"]


def test_the_limit_ends_the_whole_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 0.2)
    done = process.run([sys.executable, "-c", STUBBORN], 0.8)
    assert done.timed_out
    assert done.last_line == "cell 3/24 n0:g1"
    assert wait_gone(int(done.stdout))


def test_what_a_finished_child_leaves_behind_is_ended() -> None:
    done = process.run(["sh", "-c", "sleep 60 & echo $!"], 10)
    assert not done.timed_out
    assert done.seconds < 5
    assert wait_gone(int(done.stdout))


def test_interrupted_while_waiting(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    runner = subprocess.Popen(
        [sys.executable, "-c",
         "import sys; from nearfar.base import process\n"
         f"process.run(['sh', '-c', 'echo $$ > {note}; sleep 60'], 50)"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}, stderr=subprocess.PIPE,
    )  # fmt: skip
    deadline = time.monotonic() + 5
    while not (note.exists() and note.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)  # the child may be quicker than the return of Popen: let the wait begin
    runner.send_signal(signal.SIGINT)
    runner.communicate(timeout=10)
    assert wait_gone(int(note.read_text()))


def test_missing_program_is_a_users_error() -> None:
    with pytest.raises(CouldNotJudge, match="no-such-program: not found"):
        process.run(["no-such-program"], 1)
