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


def rendered(orders: InstallOptions) -> list[InstalledFile]:
    """The files of an order. Raises ``NearfarError`` for words that systemd, cron or Slurm would take otherwise."""
    _check(orders)
    values = _values(orders)
    found = []
    if "timer" in orders.what:
        found.append(_script(orders, "nightly", "nightly", values))
        units = ("nearfar-nightly.service", "nearfar-nightly.timer")
        places = [(unit, f"{_UNITS}/{unit}") for unit in units]
        if orders.timer == "cron":
            places = [("nearfar-nightly.cron", "etc/cron.d/nearfar-nightly")]
        found += [InstalledFile(orders.root / place, templates.render(name, values), 0o644) for name, place in places]
    if "health" in orders.what:
        # Its modules come from the checkout alone, whatever the environment says.
        bare = {name: value for name, value in values["environment"].items() if name == "NEARFAR_SITE"}
        found.append(_script(orders, "health", "health-check", {**values, "environment": bare}))
        found.append(_script(orders, "epilog.example", "epilog.example", values))
    conf = orders.root / str(orders.folder).lstrip("/") / "slurm.conf.example"
    return [*found, InstalledFile(conf, templates.render("slurm.conf.example", values), 0o644)]


def _script(orders: InstallOptions, template: str, name: str, values: Mapping[str, Any]) -> InstalledFile:
    place = orders.root / str(orders.folder).lstrip("/") / name
    return InstalledFile(place, templates.render(template, values), 0o755)


def _check(orders: InstallOptions) -> None:
    if not _USER.fullmatch(orders.user):
        raise NearfarError(f"--user {orders.user}: not the name of a user")
    if not _AT.fullmatch(orders.at):
        raise NearfarError(f"--at {orders.at}: expected HH:MM, as 02:30")
    for what, path in (("--folder", orders.folder), ("the Python of this checkout", Path(sys.executable))):
        if not _PLAIN.fullmatch(str(path)):
            raise NearfarError(
                f"{what}: {path}: an absolute path of letters, digits and ._/+- alone, for systemd and cron"
            )


def _values(orders: InstallOptions) -> dict[str, Any]:
    """What the templates know."""
    kept = {name: os.environ[name] for name in _KEPT if os.environ.get(name)}
    words = [
        f"--partition={orders.partition}",
        f"--results={orders.results}",
        f"--deadline={orders.hours:g}",
        *orders.words,
    ]
    order = {"output": str(orders.health_output), "results": str(orders.results)}
    return {
        "partition": orders.partition, "user": orders.user, "timer": orders.timer, "at": orders.at, "hours": orders.hours,
        "folder": str(orders.folder), "python": sys.executable, "checkout": str(files.CHECKOUT), "words": words,
        "environment": {**kept, "PYTHONPATH": str(files.CHECKOUT)}, "order": order, "limit": int(LIMIT),
        "timeout": orders.version >= (26, 5), "version": "{}.{:02}".format(*orders.version),
    }  # fmt: skip


def next_steps(orders: InstallOptions) -> list[str]:
    """What is left to do by hand."""
    steps = []
    if "timer" in orders.what and orders.timer == "systemd":
        steps.append("systemctl daemon-reload && systemctl enable --now nearfar-nightly.timer")
    if "health" in orders.what:
        steps.append(f"{orders.folder}/slurm.conf.example has the lines for slurm.conf")
    return steps
