"""The ``spack`` program: that of ``SPACK_ROOT``, or else the first on the PATH."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base import Finished, NearfarError, run, say, write_atomically

from .failures import failed

#: The oldest Spack whose environments take conditional includes and whose compilers are packages.
LEAST_VERSION = (1, 0)
_LEAST = ".".join(map(str, LEAST_VERSION))
#: The lines that bring one, with the tag of the newest that the pack was tried with.
_CLONE = (
    "git clone --depth=2 --branch=v1.1.0 https://github.com/spack/spack ~/spack && . ~/spack/share/spack/setup-env.sh"
)
#: Seconds between two lines that tell that a command still runs.
_TELL = 60.0


@dataclass(frozen=True)
class Spack:
    """A ``spack`` program, and the environment variables that it is run with."""

    program: Path
    environ: Mapping[str, str] = field(repr=False, default_factory=lambda: dict(os.environ))

    def run(
        self,
        arguments: Sequence[str],
        problem: str,
        *,
        env: Mapping[str, str | None] | None = None,
        log: Path | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> Finished:
        """Run ``spack`` with these arguments, whatever Spack environment is active in the caller's shell.

        ``env`` changes the variables (None: takes out); ``tell`` sees each line of output. Raises ``NearfarError`` with one line
        where it fails: ``problem`` and why; all that Spack said is then in ``log``. Every minute that it takes is told.
        """
        changed = {**self.environ, "SPACK_ENV": None, "PYTHONUNBUFFERED": "1", **(env or {})}
        variables = {name: value for name, value in changed.items() if value is not None}
        with _told_each_minute(" ".join(arguments[2:] if arguments[0] == "-e" else arguments)):
            done = run([str(self.program), *arguments], None, env=variables, on_stdout=tell, on_stderr=tell)
        if done.returncode != 0:
            if log is not None:
                write_atomically(log, f"$ {self.program} {' '.join(arguments)}\n{done.stdout}{done.stderr}")
            raise failed(problem, done.stdout + done.stderr, log)
        return done

    def need_version(self) -> str:
        """Its version. Raises ``NearfarError`` where it does not start or is older than ``LEAST_VERSION``."""
        asked = run([str(self.program), "--version"], 120.0, env=self.environ)
        match = re.search(r"^(\d+)\.(\d+)\S*", asked.stdout, re.MULTILINE)
        if asked.returncode != 0 or match is None:
            last_line = asked.last_line or asked.stdout.strip()
            raise NearfarError(f"{self.program}: `spack --version` does not answer: {last_line}")
        if (int(match[1]), int(match[2])) < LEAST_VERSION:
            raise NearfarError(
                f"{self.program} is Spack {match[0]}: nearfar needs {_LEAST} or newer; set SPACK_ROOT to one"
            )
        return match[0]


@contextmanager
def _told_each_minute(command: str) -> Iterator[None]:
    """Say every ``_TELL`` seconds for how long a command of Spack's has run: it may print nothing for minutes."""
    began, done = time.monotonic(), threading.Event()

    def tell() -> None:
        while not done.wait(_TELL):
            say(f"spack {command} has run for {time.monotonic() - began:.0f} s")

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def find(environ: Mapping[str, str] | None = None) -> Spack:
    """The Spack of ``SPACK_ROOT``, or else of the PATH; not asked yet whether it starts. Raises ``NearfarError`` where there is none."""
    env = dict(os.environ if environ is None else environ)
    root = env.get("SPACK_ROOT")
    if root:
        program = Path(root).expanduser().absolute() / "bin" / "spack"
        if not os.access(program, os.X_OK):
            raise NearfarError(f"SPACK_ROOT={root}: no bin/spack there; correct or unset the variable")
        return Spack(program, env)
    on_path = shutil.which("spack", path=env.get("PATH", ""))
    if on_path is None:
        problem = "no Spack: neither SPACK_ROOT nor the PATH has one; nearfar needs Spack"
        raise NearfarError(f"{problem} {_LEAST} or newer, which this line brings: {_CLONE}")
    return Spack(Path(on_path).absolute(), env)
