"""Readers never see half a file; a full or read-only disk is a users' error with a remedy."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from nearfar.base import files
from nearfar.base.errors import CouldNotJudge


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NEARFAR_STATE", str(tmp_path))
    return tmp_path


def test_written_and_replaced(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file"
    files.write_atomically(target, "one")
    files.write_atomically(target, b"two")
    assert target.read_bytes() == b"two"
    assert os.listdir(target.parent) == ["file"]
    assert target.stat().st_mode & 0o444 == 0o444


def test_what_is_no_file_is_not_written_over(tmp_path: Path) -> None:
    target = tmp_path / "pipe"
    os.mkfifo(target)
    with pytest.raises(CouldNotJudge, match="exists and is not a file"):
        files.write_atomically(target, "x")
    assert target.is_fifo() and os.listdir(tmp_path) == ["pipe"]


@pytest.mark.parametrize(
    "number, words", [(errno.ENOSPC, "disk is full"), (errno.EROFS, "read-only"), (errno.EDQUOT, "quota")]
)
def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    target = tmp_path / "file"
    files.write_atomically(target, "old")

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(CouldNotJudge, match=words) as caught:
        files.write_atomically(target, "new")
    assert "NEARFAR_STATE" in str(caught.value) and str(target) in str(caught.value)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_an_interrupt_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.write_atomically(tmp_path / "file", "new")
    assert os.listdir(tmp_path) == []


def test_a_really_full_disk() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    error = None
    try:
        with open("/dev/full", "wb", buffering=0) as stream:
            stream.write(b"x")
    except OSError as caught:
        error = caught
    assert error is not None and "disk is full" in str(files.cannot_write(Path("x"), error))


def test_two_runs_in_a_second_and_the_link(state: Path) -> None:
    first, second = files.new_run_directory("local", 0.0), files.new_run_directory("local", 0.0)
    assert first == state / "reports/local/19700101T000000"
    assert second.name == "19700101T000000-2"
    files.publish_run(first)
    files.publish_run(second)
    assert (state / "reports/latest").resolve() == second.resolve()


def test_a_held_lock_is_named(tmp_path: Path) -> None:
    with files.file_lock(tmp_path / "l"):
        with pytest.raises(CouldNotJudge, match="held by another run"):
            with files.file_lock(tmp_path / "l", limit=0.1):
                pass
    with files.file_lock(tmp_path / "l", limit=0.1):
        pass


def test_a_fifo_in_the_place_of_a_lock_is_one_line_and_no_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock")
    with (
        pytest.raises(CouldNotJudge, match=r"lock: cannot be written: .*not seekable"),
        files.file_lock(tmp_path / "lock"),
    ):
        pass
