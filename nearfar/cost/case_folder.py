"""The folder that a program runs in: a copy for every run, so that none finds what another has left, made ready by commands before."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError, process

#: Seconds that a command which makes it ready may take.
_PREPARE = 600.0
_SHOWN = 160


@dataclass(frozen=True)
class CaseFolder:
    """``folder`` is copied for every run (None: runs are where nearfar is); ``read`` names a file in the copy that the program writes,
    and that is read behind its output."""

    folder: Path | None = None
    read: str | None = None

    def copied(self, to: Path) -> Path | None:
        """A copy for one run; None where there is nothing to copy. Raises ``CouldNotJudge`` where there is no room for it."""
        if self.folder is None:
            return None
        try:
            shutil.copytree(self.folder, to, symlinks=True)
        except (OSError, shutil.Error) as error:
            raise CouldNotJudge(
                f"{self.folder} cannot be copied to {to}: {error}; TMPDIR names a larger folder"
            ) from None
        return to

    def written(self, copy: Path | None) -> Path | None:
        """The file that a run has written beside its output; None where there is none to be read."""
        return None if self.read is None or copy is None else copy / self.read


def made_ready(inputs: Path | None, prepare: Sequence[str], read: str | None, folder: Path) -> CaseFolder:
    """A copy of ``inputs`` in ``folder`` in which the commands ``prepare`` have run, without a shell. With neither of them runs have no
    folder of their own.

    Raises ``NearfarError`` for what cannot be read or started, ``CouldNotJudge`` for a command that fails.
    """
    if inputs is None and not prepare and read is None:
        return CaseFolder()
    if inputs is not None and not inputs.is_dir():
        raise NearfarError(f"--inputs {inputs}: no such folder")
    if read is not None and (Path(read).is_absolute() or ".." in Path(read).parts):
        raise NearfarError(f"--read {read}: a file in the folder that the program runs in, by its name")
    case = folder / "case"
    if CaseFolder(inputs).copied(case) is None:
        case.mkdir()
    for command in prepare:
        _run(command, case)
    return CaseFolder(case, read)


def _run(command: str, case: Path) -> None:
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise NearfarError(f"--prepare '{command}': {error}") from None
    if not argv:
        raise NearfarError("--prepare: an empty command")
    done = process.run(argv, _PREPARE, cwd=case)
    if done.timed_out:
        raise CouldNotJudge(f"--prepare '{command}': did not end within {_PREPARE:.0f} s")
    if done.returncode:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        last = f": {lines[-1][:_SHOWN]}" if lines else ""
        raise CouldNotJudge(f"--prepare '{command}': ended with exit code {done.returncode}{last}")
