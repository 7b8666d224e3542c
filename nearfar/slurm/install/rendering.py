"""The files of an installation, from the templates of ``site/templates/slurm/``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nearfar.slurm.controller import templates, versions
from nearfar.slurm.health import FOUND, LIMIT, QUICK_LIMIT

from . import slurm_conf
from .options import InstallOptions

_UNITS = "/etc/systemd/system"


@dataclass(frozen=True)
class InstalledFile:
    """A file as it should be: the part that it is of, its absolute path on the machine, its text and its mode."""

    part: str
    path: str
    text: str
    mode: int

    @property
    def digest(self) -> str:
        """What tells it from one that somebody has edited."""
        return digest(self.text)


def digest(text: str) -> str:
    """SHA-256 of a file's text."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def rendered(options: InstallOptions) -> list[InstalledFile]:
    """The files of an installation. Raises ``NearfarError`` for words that systemd, cron or Slurm would take otherwise."""
    options.check()
    values = _values(options)
    found = []
    for part, template, name, own in _scripts(options, values):
        if part in options.what:
            text = templates.render(template, {**values, **own})
            found.append(InstalledFile(part, f"{options.folder}/{name}", text, 0o755))
    for part in ("nightly", "act"):
        if part in options.what:
            found += [
                InstalledFile(part, path, templates.render(name, values), 0o644) for name, path in _units(options, part)
            ]
    if "health" in options.what:
        text = templates.render("slurm.conf.example", values)
        found.append(InstalledFile("health", f"{options.folder}/slurm.conf.example", text, 0o644))
    return found


def _scripts(options: InstallOptions, values: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Part, template, name, and the values that only this one has."""
    yield "nightly", "nightly", "nightly", {}
    yield "act", "act", "act", {"words": _act_words(options)}
    if options.collect is not None:
        yield "act", "collect", "collect", {}
    # Its modules come from the checkout alone, whatever the environment says.
    bare = {name: value for name, value in options.environment.items() if name == "NEARFAR_SITE"}
    yield "health", "health", "health-check", {"environment": bare}
    yield "prolog", "prolog", "prolog", {}
    yield "epilog", "epilog", "epilog", {}


def _units(options: InstallOptions, part: str) -> list[tuple[str, str]]:
    """Templates and paths of what starts a part."""
    if options.timer == "cron":
        return [(f"nearfar-{part}.cron", f"/etc/cron.d/nearfar-{part}")]
    return [(unit, f"{_UNITS}/{unit}") for unit in (f"nearfar-{part}.service", f"nearfar-{part}.timer")]


def _act_words(options: InstallOptions) -> list[str]:
    return [
        f"--results={options.results}",
        f"--health={options.findings}",
        f"--state={options.state}",
        *options.act_words,
    ]


def _values(options: InstallOptions) -> dict[str, Any]:
    """What the templates know."""
    words = [
        f"--partition={options.partition}",
        f"--results={options.results}",
        f"--deadline={options.hours:g}",
        *options.words,
    ]
    health = {"output": options.health_output, "results": options.results}
    if options.metrics is not None:
        health["metrics"] = options.metrics
    return {
        "partition": options.partition, "user": options.user, "act_user": options.act_user, "timer": options.timer,
        "at": options.at, "every": options.every, "hours": options.hours, "folder": options.folder, "python": options.python,
        "checkout": options.checkout, "path": options.path, "words": words, "environment": dict(options.environment),
        "health_output": options.health_output, "collect": options.collect, "prolog": options.prolog, "options": health,
        "limit": int(LIMIT), "quick_limit": int(QUICK_LIMIT), "found": FOUND,
        "slurm_conf": slurm_conf.lines(options),
        "timeout": versions.HEALTH_CHECK_TIMEOUT.holds(options.version), "version": versions.words(options.version),
    }  # fmt: skip
