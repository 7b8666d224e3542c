"""Finding Spack: ``SPACK_ROOT``, then the PATH. What is too old, missing or without its solver is said in one line."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base import Finished, NearfarError, run

#: The oldest Spack whose environments take conditional includes and whose compilers are packages.
LEAST_VERSION = (1, 0)
#: Seconds for a question that Spack answers from its own files.
_QUESTION = 120.0
#: Program and version that a process found, for those that it starts: asking takes Spack a second.
_FOUND = "NEARFAR_SPACK_FOUND"
_SOLVER = (
    "Spack's solver clingo is missing and Spack could not bring it: `pip install clingo` into a Python and name that in"
    " SPACK_PYTHON, or run `spack bootstrap now` on a host with a network"
)


@dataclass(frozen=True)
class Spack:
    """A Spack that can be used: its program, its version and the folder that it lives in."""

    program: Path
    version: str
    root: Path
    environ: Mapping[str, str] = field(repr=False, default_factory=lambda: dict(os.environ))

    def run(
        self,
        arguments: Sequence[str],
        limit: float | None = _QUESTION,
        tell: Callable[[str], None] | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> Finished:
        """Run ``spack`` with these arguments; ``tell`` sees each line as it comes, ``env`` changes the environment (None: takes out).

        An environment that is active in the caller's shell does not count.
        """
        changed = {**self.environ, "SPACK_ENV": None, **(env or {})}
        mine = {name: value for name, value in changed.items() if value is not None}
        return run([str(self.program), *arguments], limit, env=mine, on_stdout=tell, on_stderr=tell)

    def need_solver(self, say: Callable[[str], None]) -> None:
        """Raises ``NearfarError`` where clingo is neither importable nor brought by Spack (which takes a network)."""
        if self.run(["python", "-c", "import clingo"]).returncode == 0:
            return
        say("Spack fetches its solver clingo (spack bootstrap now)")
        if self.run(["bootstrap", "now"], limit=None).returncode != 0:
            raise NearfarError(_SOLVER)


def find(environ: Mapping[str, str] | None = None) -> Spack:
    """The Spack of ``SPACK_ROOT``, or else of the PATH.

    Raises ``NearfarError`` where there is none, it does not start, or it is older than ``LEAST_VERSION``.
    """
    env = dict(os.environ if environ is None else environ)
    program = _program(env)
    named, _, version = env.get(_FOUND, "").rpartition("@")
    if named == str(program) and version:
        return Spack(program, version, program.resolve().parents[1], env)
    asked = run([str(program), "--version"], _QUESTION, env=env)
    least = ".".join(map(str, LEAST_VERSION))
    found = re.search(r"^(\d+)\.(\d+)\S*", asked.stdout, re.MULTILINE)
    if asked.returncode != 0 or found is None:
        raise NearfarError(f"{program}: `spack --version` does not answer: {asked.last_line or asked.stdout.strip()}")
    if (int(found[1]), int(found[2])) < LEAST_VERSION:
        raise NearfarError(f"{program} is Spack {found[0]}: nearfar needs {least} or newer; set SPACK_ROOT to one")
    return Spack(program, found[0], program.resolve().parents[1], env)


def tell_children(spack: Spack) -> None:
    """Let the processes that this one starts know what was found, so that they need not ask again."""
    os.environ[_FOUND] = f"{spack.program}@{spack.version}"


def _program(env: Mapping[str, str]) -> Path:
    root = env.get("SPACK_ROOT")
    if root:
        program = Path(root).expanduser().absolute() / "bin" / "spack"
        if not os.access(program, os.X_OK):
            raise NearfarError(f"SPACK_ROOT={root}: no bin/spack there; mend or unset the variable")
        return program
    found = shutil.which("spack", path=env.get("PATH", ""))
    if found is None:
        least = ".".join(map(str, LEAST_VERSION))
        raise NearfarError(f"no Spack: neither SPACK_ROOT nor the PATH has one; nearfar needs Spack {least} or newer")
    return Path(found).absolute()
