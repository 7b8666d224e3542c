"""What is to be installed, and for which machine: all that the files are rendered from."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from nearfar.base import NearfarError, places
from nearfar.slurm.health import OUTPUT

#: The parts of an installation; ``health`` is the script that the prolog and the epilog call as well.
PARTS = ("nightly", "act", "health", "prolog", "epilog")
#: Those that run on the compute nodes.
ON_NODES = ("health", "prolog", "epilog")
TIMERS = ("systemd", "cron")
NOTE, FAIL = "note", "fail"
_CHOICES = {"what": PARTS, "timer": TIMERS, "prolog": (NOTE, FAIL)}
#: The directory of the scripts, unless the caller names another.
FOLDER = "/etc/nearfar"
#: Where the collector puts the findings of all nodes, unless the caller names a directory.
COLLECTED = "/var/lib/nearfar/health-of-nodes"
#: Where commands are looked for beside Slurm's own directory.
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
_USER = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
_AT = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
#: A path that systemd, cron and slurm.conf take as it is.
_PLAIN = re.compile(r"/[A-Za-z0-9._/+-]+")
#: Variables of the installer's environment that the scripts need too.
_KEPT = ("NEARFAR_SITE", "NEARFAR_STATE", "NEARFAR_PROGRAMS", "NEARFAR_HISTORY", "NEARFAR_METRICS", "SLURM_CONF")


@dataclass(frozen=True, kw_only=True)
class InstallOptions:
    """What is to be installed. Paths are absolute.

    ``version`` is Slurm's; ``user`` runs nightly runs and ``act_user`` ``act``, every ``every`` minutes; ``prolog``: what a
    finding does to the job, ``note`` or ``fail``. Nodes write findings to ``health_output``; ``collect`` is where they are
    brought together, None where that directory is shared. ``words`` and ``act_words`` are further arguments of the two
    commands, ``path`` the scripts' PATH."""

    partition: str
    results: str
    user: str
    act_user: str
    version: tuple[int, int]
    what: tuple[str, ...] = PARTS
    at: str = "02:30"
    timer: str = "systemd"
    hours: float = 5.0
    every: int = 5
    prolog: str = NOTE
    folder: str = FOLDER
    state: str = "/var/lib/nearfar/act"
    health_output: str = str(OUTPUT)
    collect: str | None = COLLECTED
    words: tuple[str, ...] = ()
    act_words: tuple[str, ...] = ()
    path: str = _PATH
    python: str = sys.executable
    checkout: str = str(places.IMPORT_PATH)
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def findings(self) -> str:
        """The directory of all nodes' findings, which ``act`` reads."""
        return self.collect or self.health_output

    @property
    def slurm_bin(self) -> str | None:
        """The directory of Slurm's commands, where it is none of the usual ones."""
        return self.path.removesuffix(f":{_PATH}") if self.path != _PATH else None

    @property
    def metrics(self) -> str | None:
        """The directory of Prometheus' text files on every machine; None: none are written."""
        return self.environment.get("NEARFAR_METRICS")

    def check(self) -> None:
        """Raise ``NearfarError`` for words that systemd, cron or Slurm would take otherwise."""
        for option, user in (("--user", self.user), ("--act-user", self.act_user)):
            if not _USER.fullmatch(user):
                raise NearfarError(f"{option} {user}: not the name of a user")
        if not _AT.fullmatch(self.at):
            raise NearfarError(f"--at {self.at}: expected HH:MM, as 02:30")
        places = [
            ("--folder", self.folder),
            ("the Python of this checkout", self.python),
            ("--health-output", self.health_output),
        ]
        places += [] if self.collect is None else [("--collect", self.collect)]
        for what, path in places:
            if not _PLAIN.fullmatch(path):
                raise NearfarError(
                    f"{what}: {path}: an absolute path of letters, digits and ._/+- alone, for systemd and cron"
                )
        for what, text in self._texts():
            if any(ord(letter) < 32 for letter in text):
                raise NearfarError(f"{what}: {text!r}: a line break or the like, which no script can hold")

    def _texts(self) -> list[tuple[str, str]]:
        paths = [("--results", self.results), ("--state", self.state), ("--health-output", self.health_output),
                 ("--collect", self.collect or ""), ("PATH", self.path), *self.environment.items()]  # fmt: skip
        return [*paths, *(("--nightly", word) for word in self.words), *(("--act", word) for word in self.act_words)]

    def entry(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def from_entry(entry: Mapping[str, Any]) -> InstallOptions:
    """The options of an entry. Raises ``TypeError``, ``KeyError`` or ``ValueError`` for what is none."""
    known = {each.name for each in fields(InstallOptions)}
    found: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in entry.items() if name in known
    }
    made = InstallOptions(**found)
    for name, value in asdict(made).items():
        if not _right(name, value):
            raise ValueError(f"{name}: {str(value)[:40]} is no such option")
    try:
        made.check()
    except NearfarError as error:
        raise ValueError(str(error)) from None
    return made


def _right(name: str, value: Any) -> bool:
    """Whether a field holds what it can hold."""
    if name in ("every", "hours"):
        return isinstance(value, int) or (name == "hours" and isinstance(value, float))
    if name == "version":
        return len(value) == 2 and all(isinstance(each, int) for each in value)
    if name in _CHOICES:
        return all(each in _CHOICES[name] for each in (value if isinstance(value, tuple) else [value]))
    if name == "environment":
        return all(isinstance(each, str) for pair in value.items() for each in pair)
    if name in ("words", "act_words"):
        return isinstance(value, tuple) and all(isinstance(each, str) for each in value)
    return isinstance(value, str) or (name == "collect" and value is None)


def again(folder: str, *words: str, root: str = "/") -> str:
    """The line that installs again, all that it does not name as it was installed; ``words``: what it names."""
    where = [*([] if folder == FOLDER else [f"--folder={folder}"]), *([] if root == "/" else [f"--root={root}"])]
    return shlex.join(["nearfar", "slurm", "install", *where, *words, "--apply"])


def search_path(slurm: str | None) -> str:
    """The scripts' PATH, with the directory of Slurm's commands first where it is none of the usual ones."""
    return _PATH if slurm is None or slurm in _PATH.split(":") else f"{slurm}:{_PATH}"


def slurm_directory() -> str | None:
    """Where this machine has Slurm's commands; None where they are not on the PATH."""
    found = shutil.which("scontrol")
    return None if found is None else os.path.dirname(os.path.abspath(found))


def surroundings() -> dict[str, str]:
    """The variables that the scripts set: those of this process' own that they need, and the checkout."""
    kept = {name: os.environ[name] for name in _KEPT if os.environ.get(name)}
    return {**kept, "PYTHONPATH": str(places.IMPORT_PATH)}
