"""What a site installs for nightly runs and health checks: rendered from templates, shown as a diff, then written."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, files
from nearfar.slurm.controller import templates
from nearfar.slurm.health import LIMIT, OUTPUT

TIMERS = ("systemd", "cron")
WHAT = ("timer", "health")
_USER = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
_AT = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
#: A path that systemd, cron and slurm.conf take as it is.
_PLAIN = re.compile(r"/[A-Za-z0-9._/+-]+")
#: Variables of the installer's environment that nightly runs and health checks need too.
_KEPT = ("NEARFAR_SITE", "NEARFAR_STATE", "NEARFAR_PROGRAMS", "NEARFAR_HISTORY")
_UNITS = "etc/systemd/system"


@dataclass(frozen=True)
class InstallOptions:
    """What is to be installed. ``folder`` is where the scripts go, ``root`` a directory that stands for ``/`` (a package, an
    image); ``version`` is Slurm's; ``words`` are the further arguments of ``nearfar slurm nightly``."""

    partition: str
    results: Path
    user: str
    version: tuple[int, int]
    what: tuple[str, ...] = WHAT
    at: str = "02:30"
    timer: str = "systemd"
    hours: float = 5.0
    folder: Path = Path("/etc/nearfar")
    root: Path = Path("/")
    health_output: Path = OUTPUT
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class InstalledFile:
    """A file as it should be, where it goes, and its mode."""

    path: Path
    text: str
    mode: int

    def present(self) -> str | None:
        """What is there now; None where nothing is."""
        try:
            return self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise NearfarError(f"{self.path}: cannot be read: {error.strerror}") from None

    def diff(self) -> list[str]:
        """The lines of a unified diff from what is there; none where nothing changes."""
        now = self.present()
        name = str(self.path)
        before = "/dev/null" if now is None else name
        return list(difflib.unified_diff((now or "").splitlines(), self.text.splitlines(), before, name, lineterm=""))

    def write(self) -> None:
        """Put it there. Raises ``CouldNotJudge`` with the remedy."""
        files.write_atomically(self.path, self.text, "run this as root, or stage it: --root DIR, a directory")
        self.path.chmod(self.mode)


def rendered(options: InstallOptions) -> list[InstalledFile]:
    """The files of an installation. Raises ``NearfarError`` for words that systemd, cron or Slurm would take otherwise."""
    _check(options)
    values = _values(options)
    found = []
    if "timer" in options.what:
        found.append(_script(options, "nightly", "nightly", values))
        units = ("nearfar-nightly.service", "nearfar-nightly.timer")
        places = [(unit, f"{_UNITS}/{unit}") for unit in units]
        if options.timer == "cron":
            places = [("nearfar-nightly.cron", "etc/cron.d/nearfar-nightly")]
        found += [InstalledFile(options.root / place, templates.render(name, values), 0o644) for name, place in places]
    if "health" in options.what:
        # Its modules come from the checkout alone, whatever the environment says.
        bare = {name: value for name, value in values["environment"].items() if name == "NEARFAR_SITE"}
        found.append(_script(options, "health", "health-check", {**values, "environment": bare}))
        found.append(_script(options, "epilog.example", "epilog.example", values))
    conf = options.root / str(options.folder).lstrip("/") / "slurm.conf.example"
    return [*found, InstalledFile(conf, templates.render("slurm.conf.example", values), 0o644)]


def _script(options: InstallOptions, template: str, name: str, values: Mapping[str, Any]) -> InstalledFile:
    place = options.root / str(options.folder).lstrip("/") / name
    return InstalledFile(place, templates.render(template, values), 0o755)


def _check(options: InstallOptions) -> None:
    if not _USER.fullmatch(options.user):
        raise NearfarError(f"--user {options.user}: not the name of a user")
    if not _AT.fullmatch(options.at):
        raise NearfarError(f"--at {options.at}: expected HH:MM, as 02:30")
    for what, path in (("--folder", options.folder), ("the Python of this checkout", Path(sys.executable))):
        if not _PLAIN.fullmatch(str(path)):
            raise NearfarError(
                f"{what}: {path}: an absolute path of letters, digits and ._/+- alone, for systemd and cron"
            )


def _values(options: InstallOptions) -> dict[str, Any]:
    """What the templates know."""
    kept = {name: os.environ[name] for name in _KEPT if os.environ.get(name)}
    words = [
        f"--partition={options.partition}",
        f"--results={options.results}",
        f"--deadline={options.hours:g}",
        *options.words,
    ]
    health = {"output": str(options.health_output), "results": str(options.results)}
    return {
        "partition": options.partition, "user": options.user, "timer": options.timer, "at": options.at, "hours": options.hours,
        "folder": str(options.folder), "python": sys.executable, "checkout": str(files.CHECKOUT), "words": words,
        "environment": {**kept, "PYTHONPATH": str(files.CHECKOUT)}, "options": health,
        "order": health,  # as sites' own templates may still call it
        "limit": int(LIMIT),
        "timeout": options.version >= (26, 5), "version": "{}.{:02}".format(*options.version),
    }  # fmt: skip


def next_steps(options: InstallOptions) -> list[str]:
    """What is left to do by hand."""
    steps = []
    if "timer" in options.what and options.timer == "systemd":
        steps.append("systemctl daemon-reload && systemctl enable --now nearfar-nightly.timer")
    if "health" in options.what:
        steps.append(f"{options.folder}/slurm.conf.example has the lines for slurm.conf")
    return steps
