"""What the questions are asked of, an installation and the Slurm that it belongs to; and what an answer holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nearfar.base import NearfarError
from nearfar.slurm.controller import NodeState, Slurm
from nearfar.slurm.install import Installed, InstallOptions

OK, PROBLEM = "OK", "problem"
#: Seconds that Slurm has for an answer.
_PATIENCE = 10.0


@dataclass(frozen=True)
class DoctorAnswer:
    """One question's answer."""

    about: str
    #: ``OK`` or ``PROBLEM``.
    verdict: str
    words: str
    #: What to type; None where all is well.
    remedy: str | None = None


class Problem(NearfarError):
    """What is wrong, and what to type."""

    def __init__(self, words: str, remedy: str) -> None:
        super().__init__(words)
        self.remedy = remedy


@dataclass(frozen=True)
class Installation:
    """An installation below ``root``; Slurm is asked once. ``now``: seconds since 1970."""

    installed: Installed
    root: Path
    now: float

    @property
    def options(self) -> InstallOptions:
        """What the files were rendered from."""
        return self.installed.options

    @cached_property
    def slurm(self) -> Slurm:
        """Slurm as the scripts reach it."""
        return Slurm(self.options.surroundings, _PATIENCE)

    @cached_property
    def slurm_answers(self) -> tuple[Mapping[str, str], Mapping[str, NodeState]] | NearfarError:
        """Slurm's settings and its nodes, or why there are none."""
        try:
            self.slurm.version()
            return self.slurm.settings(), self.slurm.nodes()
        except NearfarError as error:
            return error

    @property
    def settings(self) -> Mapping[str, str]:
        """Slurm's settings. Raises ``NearfarError``."""
        return self._answered()[0]

    @property
    def nodes(self) -> Mapping[str, NodeState]:
        """The nodes of the partition. Raises ``NearfarError``."""
        return {name: node for name, node in self._answered()[1].items() if self.options.partition in node.partitions}

    def _answered(self) -> tuple[Mapping[str, str], Mapping[str, NodeState]]:
        if isinstance(self.slurm_answers, NearfarError):
            raise NearfarError("not known: Slurm does not answer")
        return self.slurm_answers
