"""Are the timers active, and how did what they start end last?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from nearfar.base import NearfarError, find_program, plural, process

from .answer import DoctorAnswer, not_looked, ok, problem
from .installed_site import InstalledSite, first_line

_LIMIT = 10.0
_ASKED = "Id,LoadState,ActiveState,UnitFileState,LastTriggerUSec,Result,ExecMainStatus,ExecMainExitTimestamp"
#: Exit codes that say something of nodes, and nothing of the installation.
_OF_NODES = {"1": "a node failed", "3": "something is unclear, or waits for a person"}


def ask(site: InstalledSite) -> Iterator[DoctorAnswer]:
    """An answer for each timer, and when ``act`` has been through last."""
    for part in sorted(site.parts & {"nightly", "act"}):
        if site.known.parts[part].options.timer == "systemd":
            yield _of_systemd(site, part)
        else:
            yield _of_cron(site, part)
    if "act" in site.parts:
        yield _last_act(site)
        if site.options.collect is not None:
            yield _collector(site)


def _of_systemd(site: InstalledSite, part: str) -> DoctorAnswer:
    about, timer, service = f"timer of {part}", f"nearfar-{part}.timer", f"nearfar-{part}.service"
    elsewhere = f"run this on the machine that has the timers, or: {site.again('--timer=cron')}"
    if find_program("systemctl") is None:
        return not_looked(about, "systemctl: not found", elsewhere)
    try:
        answer = process.run(["systemctl", "show", timer, service, f"--property={_ASKED}"], _LIMIT)
    except NearfarError as error:
        return not_looked(about, first_line(error))
    if answer.timed_out or answer.returncode:
        why = f"no answer within {_LIMIT:.0f} s" if answer.timed_out else answer.last_line or "systemctl failed"
        return not_looked(about, why, elsewhere)
    units = {unit.get("Id"): unit for unit in map(_unit, re.split(r"\n\s*\n", answer.stdout))}
    if timer not in units or service not in units:
        return not_looked(about, f"systemctl show says nothing of {timer}")
    return _judged(about, timer, service, units[timer], units[service])


def _unit(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _judged(about: str, timer: str, service: str, first: Mapping[str, str], second: Mapping[str, str]) -> DoctorAnswer:
    start = f"systemctl daemon-reload && systemctl enable --now {timer}"
    if first.get("LoadState") != "loaded":
        return problem(about, f"{timer}: systemd has it as {first.get('LoadState', 'unknown')}", start)
    if first.get("ActiveState") != "active":
        return problem(about, f"{timer}: {first.get('ActiveState', 'unknown')}", start)
    if first.get("UnitFileState") != "enabled":
        return problem(about, f"{timer}: active, and not enabled: gone after a reboot", f"systemctl enable {timer}")
    ended = second.get("ExecMainExitTimestamp") or "n/a"
    if ended == "n/a":
        return ok(about, f"active; {service} has not ended yet since this machine was booted")
    code, result = second.get("ExecMainStatus", ""), second.get("Result", "")
    if result == "success" or (result == "exit-code" and code in _OF_NODES):
        return ok(
            about, f"active; ended last {ended}, exit code {code}{': ' + _OF_NODES[code] if code in _OF_NODES else ''}"
        )
    return problem(about, f"{service} ended {ended} with {result}, exit code {code}", f"journalctl -u {service}")


def _of_cron(site: InstalledSite, part: str) -> DoctorAnswer:
    if (
        find_program("crond")
        or find_program("cron")
        or Path("/usr/sbin/cron").exists()
        or Path("/usr/sbin/crond").exists()
    ):
        return ok(f"timer of {part}", "cron is here; it does not say when it ran what")
    return problem(
        f"timer of {part}", "there is no cron on this machine", f"install it, or: {site.again('--timer=systemd')}"
    )


def _collector(site: InstalledSite) -> DoctorAnswer:
    lacking = [name for name in ("rsync", "ssh", "flock", "xargs") if find_program(name) is None]
    if lacking:
        return problem("collector", f"not on this machine: {', '.join(lacking)}", "install it, or let nodes write to a directory that "
                       f"all share: {site.again('--health-output=DIR')}")  # fmt: skip
    return ok("collector", "has the programs that it needs")


def _last_act(site: InstalledSite) -> DoctorAnswer:
    path, about = Path(site.options.state) / "read.json", "last act"
    every = site.options.every
    try:
        ago = (site.now - path.stat().st_mtime) / 60
    except FileNotFoundError:
        return problem(
            about,
            f"{path} is not there: act has not been through yet",
            f"start its timer; by hand: {site.options.folder}/act",
        )
    except OSError as error:
        return not_looked(about, f"{path}: {error.strerror}")
    if ago > 3 * every + 15:
        words = f"{ago:.0f} minutes ago" if ago < 120 else f"{ago / 60:.0f} hours ago"
        return problem(
            about,
            f"it was through last {words}, and runs every {every} minutes",
            f"by hand, to see why: {site.options.folder}/act",
        )
    return ok(about, f"it was through {plural(round(ago), 'minute')} ago")
