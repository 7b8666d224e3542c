"""What the questions are asked of: an installation, and the Slurm that it belongs to."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from nearfar.base import NearfarError
from nearfar.site import Policy
from nearfar.slurm.act import ActOptions, read_policy, view
from nearfar.slurm.controller import NodeState, Slurm
from nearfar.slurm.install import InstallManifest, InstallOptions, again

#: Seconds that Slurm has for an answer.
_PATIENCE = 10.0

Found = TypeVar("Found")


@dataclass(frozen=True)
class InstalledSite:
    """An installation that is known; what is asked of Slurm is asked once. ``now`` in seconds since 1970."""

    known: InstallManifest
    now: float

    @property
    def options(self) -> InstallOptions:
        """What it was made from: that of ``act``, where it is installed."""
        return next(
            self.known.parts[name].options for name in ("act", "nightly", *self.known.parts) if name in self.known.parts
        )

    @property
    def parts(self) -> frozenset[str]:
        """The parts that are installed."""
        return frozenset(self.known.parts)

    def again(self, *words: str) -> str:
        """The line that installs it again, with ``words`` in the place of what they name."""
        return again(self.options.folder, *words, root=str(self.known.root))

    @cached_property
    def slurm(self) -> Slurm:
        """Slurm as the installed scripts reach it. Raises ``NearfarError``."""
        conf = self.options.environment.get("SLURM_CONF")
        environ = {**os.environ, "PATH": self.options.path, **({"SLURM_CONF": conf} if conf else {})}
        return Slurm(environ, _PATIENCE)

    @property
    def version(self) -> tuple[int, int]:
        """Slurm's. Raises ``NearfarError``."""
        return _value(self._version)

    @property
    def nodes(self) -> Mapping[str, NodeState]:
        """All nodes. Raises ``NearfarError``."""
        return _value(self._nodes)

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """Slurm's settings. Raises ``NearfarError``."""
        _value(self._nodes)
        return self.slurm.settings()

    # A Slurm that does not answer is waited for once.
    @cached_property
    def _version(self) -> tuple[int, int] | NearfarError:
        return _or_error(lambda: self.slurm.version())

    @cached_property
    def _nodes(self) -> dict[str, NodeState] | NearfarError:
        return _or_error(lambda: (_value(self._version), self.slurm.nodes())[1])

    @cached_property
    def policy(self) -> Policy:
        """What ``act`` may do. Raises ``NearfarError``."""
        words = [word.partition("=") for word in self.options.act_words]
        return read_policy(next((value for name, _, value in words if name == "--system"), None))

    def act_options(self, results: Path | None, health: Path | None) -> ActOptions:
        """Those of the installed ``act``, with other directories."""
        return ActOptions(self.policy, results, health, Path(self.options.state))

    @cached_property
    def seen(self) -> view.ActView:
        """What ``act`` sees now. Raises ``NearfarError``."""
        _value(self._nodes)
        results, findings = Path(self.options.results), Path(self.options.findings)
        return view.look(self.act_options(results, findings if findings.is_dir() else None), self.slurm, self.now)


def _or_error(call: Callable[[], Found]) -> Found | NearfarError:
    try:
        return call()
    except NearfarError as error:
        return error


def _value(found: Found | NearfarError) -> Found:
    if isinstance(found, NearfarError):
        raise found
    return found


def first_line(error: NearfarError) -> str:
    """An error in one line."""
    return str(error).splitlines()[0]
