"""What is installed on a machine: everything that the files are rendered from."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nearfar.base import NearfarError, places
from nearfar.slurm.controller import NAME

#: The parts of an installation; the prolog and the epilog call the script of ``health``.
PARTS = ("nightly", "act", "health", "prolog", "epilog")
#: Those that run on the compute nodes.
ON_NODES = ("health", "prolog", "epilog")
#: The directory of the scripts, unless the caller names another.
FOLDER = "/etc/nearfar"
#: Where commands are found, after Slurm's own directory.
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
_USER = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
_AT = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
#: A path that systemd and slurm.conf take as it is.
_PLAIN = re.compile(r"/[A-Za-z0-9._/+-]+")


@dataclass(frozen=True, kw_only=True)
class InstallOptions:
    """The options of ``nearfar slurm install``. Paths are absolute."""

    partition: str
    #: The shared directory that nightly sweeps write their results to.
    results: str
    #: The shared directory that the nodes' health checks write their findings to.
    health_output: str
    #: Who measures: runs nightly sweeps and owns the results.
    user: str = "nearfar"
    #: Who drains: runs ``act`` and owns its state.
    act_user: str = "root"
    what: tuple[str, ...] = PARTS
    at: str = "02:30"
    #: Hours that a night lasts.
    deadline: float = 5.0
    #: Minutes between two calls of ``act``.
    every: int = 5
    folder: str = FOLDER
    state: str = "/var/lib/nearfar/act"
    #: Further arguments of the nightly sweep and of ``act``.
    nightly: tuple[str, ...] = ()
    act: tuple[str, ...] = ()
    #: The directory of Slurm's commands; empty: one of the usual ones.
    slurm_bin: str = ""
    #: The variables that the scripts set.
    environment: Mapping[str, str] = field(default_factory=dict)
    #: What runs nearfar, and the directory that holds its package.
    python: str = sys.executable
    checkout: str = str(places.IMPORT_PATH)

    @property
    def path(self) -> str:
        """The scripts' PATH."""
        return _PATH if self.slurm_bin in ("", *_PATH.split(":")) else f"{self.slurm_bin}:{_PATH}"

    @property
    def metrics(self) -> str | None:
        """The directory of Prometheus' text files on every machine; None: none are written."""
        return self.environment.get("NEARFAR_METRICS")

    @property
    def system(self) -> str | None:
        """The system that ``act`` is told to follow; None: the only one whose file has an ``act``."""
        return next((word.partition("=")[2] for word in self.act if word.startswith("--system=")), None)

    @property
    def surroundings(self) -> dict[str, str]:
        """The environment in which the scripts call Slurm."""
        return {**os.environ, **self.environment, "PATH": self.path}

    @property
    def slurm_conf(self) -> dict[str, str]:
        """The settings that slurm.conf needs, by name: for the parts of the nodes that are installed here, else for all of them."""
        parts = {*self.what} & {*ON_NODES} or {*ON_NODES}
        settings: dict[str, str] = {}
        if "health" in parts:
            settings["HealthCheckProgram"] = f"{self.folder}/health-check"
            settings |= {"HealthCheckInterval": "300", "HealthCheckNodeState": "IDLE,CYCLE"}
        if "prolog" in parts:
            settings |= {"Prolog": f"{self.folder}/prolog", "PrologFlags": "Alloc"}
        if "epilog" in parts:
            settings["Epilog"] = f"{self.folder}/epilog"
        return settings

    def check(self) -> None:
        """Raise ``NearfarError`` for values that systemd, Slurm or a shell would read differently."""
        if not NAME.fullmatch(self.partition):
            raise NearfarError(f"--partition {self.partition}: not the name of a partition")
        for option, user in (("--user", self.user), ("--act-user", self.act_user)):
            if not _USER.fullmatch(user):
                raise NearfarError(f"{option} {user}: not the name of a user")
        if self.user == "root" and "nightly" in self.what:
            raise NearfarError("--user root: nightly sweeps submit jobs, which need no root; name a user of their own")
        if not _AT.fullmatch(self.at):
            raise NearfarError(f"--at {self.at}: expected HH:MM, as 02:30")
        for option, path in {"--folder": self.folder, "this Python": self.python}.items():
            if not _PLAIN.fullmatch(path):
                alone = "an absolute path of letters, digits and ._/+- alone, for systemd"
                raise NearfarError(f"{option}: {path}: {alone}")
        places = {"--results": self.results, "--health-output": self.health_output, "--state": self.state}
        words = [*(("--nightly", word) for word in self.nightly), *(("--act", word) for word in self.act)]
        for option, text in (*places.items(), *self.environment.items(), *words, ("--slurm-bin", self.slurm_bin)):
            if any(ord(letter) < 32 for letter in text):
                raise NearfarError(f"{option}: {text!r}: a line break or control character, which no script can hold")


def from_entry(entry: dict[str, Any]) -> InstallOptions:
    """The options that ``installed.json`` holds. Raises ``TypeError``, ``ValueError`` or ``NearfarError`` for what are none."""
    lists = {name: tuple(entry[name]) for name in ("what", "nightly", "act")}
    options = InstallOptions(**{**entry, **lists})
    options.check()
    numbers = isinstance(options.every, int) and isinstance(options.deadline, (int, float))
    if not (numbers and {*options.what} <= {*PARTS}):
        raise ValueError("an option has a value that it cannot have")
    return options
