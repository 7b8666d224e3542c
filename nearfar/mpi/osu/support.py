"""What the installed OSU and MPI can do: told by OSU's own help, and by ``ompi_info``."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from nearfar.binding import Mpi

from .installed import INSTALL_CUDA


@dataclass(frozen=True)
class OsuSupport:
    """The options of a benchmark, from its help (``-h``)."""

    options: frozenset[str]
    ranges: bool

    @property
    def validates(self) -> bool:
        """Whether it can compare what arrived with what was sent."""
        return "c" in self.options

    @property
    def devices(self) -> bool:
        """Whether it was built with CUDA (or another accelerator)."""
        return "d" in self.options

    def sizes(self, least: int, most: int) -> list[str]:
        """The options that ask for messages from ``least`` to ``most`` bytes; old versions begin where they like."""
        return ["-m", f"{least}:{most}" if self.ranges else str(most)]

    def trial(self, reduces: bool) -> list[str]:
        """The options of a short run, which validates where it can. Reductions of characters overflow, and OSU then calls
        sound data wrong; of floats they do not."""
        options = ["-i", "3", "-x", "1"]
        if not self.validates:
            return options
        options += ["-c"]
        options += ["-u", "0"] if "u" in self.options else []
        options += ["-W", "4"] if "W" in self.options else []
        return options + (["-T", "mpi_float"] if reduces and "T" in self.options else [])


def read_help(text: str) -> OsuSupport:
    """What a benchmark's help offers."""
    options = frozenset(re.findall(r"^\s+-(\w)(?:,|\s)", text, re.MULTILINE))
    return OsuSupport(options, "[MIN:]MAX" in text)


def without_devices(mpi: Mpi, support: OsuSupport) -> str | None:
    """Why device buffers cannot be measured, with the line that brings what is missing; None where nothing speaks against it."""
    if not support.devices:
        return f"OSU was built without CUDA; {INSTALL_CUDA}"
    if mpi.implementation == "openmpi" and _says_no_cuda(mpi):
        return f"{mpi.name} was built without CUDA; {INSTALL_CUDA}"
    return None


def _says_no_cuda(mpi: Mpi) -> bool:
    command = [str(Path(mpi.launcher).with_name("ompi_info")), "--parsable", "--all"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return "mpi_built_with_cuda_support:value:false" in done.stdout
