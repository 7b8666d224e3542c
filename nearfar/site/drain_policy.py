"""What a site allows ``nearfar slurm act`` to do: the ladder of each check, whose results count, and the caps.

The ``act`` of a system file, read once for ``act`` and for lint. A site that says nothing is only observed.
"""

from __future__ import annotations

import os
import pwd
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil, floor
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, SiteFile, SiteFileError, did_you_mean, site_directories, site_files

#: The check that a health finding belongs to.
HEALTH = "health"
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True)
class DrainCap:
    """At most ``nodes`` of all nodes and ``share`` of each Slurm partition (at least one node of each)."""

    nodes: int
    share: float

    def of(self, size: int) -> int:
        """How many nodes of a partition of ``size`` nodes that is."""
        return max(1, floor(self.share * size + 1e-9))


@dataclass(frozen=True)
class AvailableFloor:
    """At least ``share`` of each Slurm partition, and ``nodes`` of it, stay usable: nodes that are out for whatever reason count."""

    share: float
    nodes: int = 0

    def of(self, size: int) -> int:
        """How many nodes of a partition of ``size`` nodes that is. The share leaves one node of each that may go."""
        return max(self.nodes, min(size - 1, ceil(self.share * size - 1e-9)))


@dataclass(frozen=True)
class FlapRule:
    """A node drained ``drains`` times within ``within`` seconds is not resumed by itself: it waits for a person."""

    drains: int = 2
    within: float = 86400.0


@dataclass(frozen=True)
class DrainSteps:
    """What a check may lead to: for hard evidence, and for speed."""

    evidence: str = "observe"
    speed: str = "observe"


@dataclass(frozen=True)
class NightRule:
    """A figure that was slow on ``nights`` of the last ``of`` nights needs no confirming run (docs/reference/system-file.md)."""

    nights: int = 3
    of: int = 30


@dataclass(frozen=True)
class Policy:
    """``trusted``: the users (numbers) whose results count. Seconds: a result older than ``max_age`` is not acted on, and a
    confirming run may lie ``confirm_within`` back. ``intermittent``: what comes and goes; None: it is not counted. ``same_metric``:
    from here on the reference or the driver is blamed."""

    system: str
    trusted: frozenset[int] = frozenset({0})
    default: DrainSteps = DrainSteps()
    checks: Mapping[str, DrainSteps] = field(default_factory=dict)
    max_age: float = 36 * 3600.0
    confirm_within: float = 7 * 86400.0
    per_day: DrainCap = DrainCap(2, 0.05)
    in_all: DrainCap = DrainCap(8, 0.1)
    same_metric: DrainCap = DrainCap(3, 0.2)
    intermittent: NightRule | None = NightRule()
    available: AvailableFloor | None = None
    flaps: FlapRule = FlapRule()
    #: The program that is told of findings, drains and releases; None: none.
    on_event: str | None = None

    @property
    def floor(self) -> AvailableFloor:
        """What has to stay usable; where the site does not say, others may have out as large a share as ``in_all`` allows."""
        return AvailableFloor(_left_by(self.in_all)) if self.available is None else self.available

    @property
    def look_back(self) -> float:
        """Seconds before a slow figure in which others count with it."""
        nights = 0.0 if self.intermittent is None else self.intermittent.of * _SECONDS["d"]
        return max(self.confirm_within, nights)

    def step(self, check: str, hard: bool) -> str:
        """The step of the ladder that a finding of a check may lead to."""
        step = self.checks.get(check, self.default)
        return step.evidence if hard else step.speed


def of_system(file: SiteFile, checks: Sequence[str] | None = None) -> Policy:
    """The policy in a system file that was checked against its schema; ``checks`` are the names that exist (None: not
    looked at). Raises ``NearfarError`` with file and line."""
    for problem in (*problems(file, checks), *strangers(file)):
        raise problem
    data = file.data.get("act") or {}
    given: dict[str, Any] = {}
    if "trusted" in data:
        given["trusted"] = frozenset(number for name in data["trusted"] if (number := _user(name)) is not None)
    if "default" in data:
        given["default"] = step_of(data["default"])
    for key in ("max_age", "confirm_within"):
        if key in data:
            given[key] = seconds(data[key])
    given |= _caps(data)
    if "same_metric" in data:
        given["same_metric"] = _share(data["same_metric"], Policy.same_metric)
    if "intermittent" in data:
        given["intermittent"] = NightRule(**data["intermittent"])
    if "available" in data.get("cap", {}):
        share = _left_by(given.get("in_all", Policy.in_all))
        given["available"] = AvailableFloor(**{"share": share, **data["cap"]["available"]})
    if "flaps" in data:
        within = seconds(data["flaps"]["within"]) if "within" in data["flaps"] else FlapRule.within
        given["flaps"] = FlapRule(data["flaps"].get("drains", FlapRule.drains), within)
    given["on_event"] = data.get("on_event")
    steps = {name: step_of(value) for name, value in data.get("checks", {}).items()}
    return Policy(system=file.data["system"], checks=steps, **given)


def measuring_users() -> frozenset[int]:
    """Root and the users that any system file of the site trusts to measure; of one that cannot be read, none."""
    found = {0}
    for path in site_files("systems", site_directories()).values():
        with suppress(NearfarError, LookupError, TypeError):
            found.update(user for name in SiteFile(path).data["act"]["trusted"] if (user := _user(name)) is not None)
    return frozenset(found)


def problems(file: SiteFile, checks: Sequence[str] | None) -> Iterator[SiteFileError]:
    """What is wrong with a file's ``act`` wherever it is read: a check that does not exist (it would silently leave the check
    that was meant at the default), caps that contradict each other."""
    data = file.data.get("act") or {}
    known = [HEALTH, *(checks or ())]
    for name in data.get("checks", {}) if checks is not None else ():
        if name not in known:
            yield file.error(f"act: no check is called '{name}'{did_you_mean(name, known)}", "act", "checks", name)
    rule = NightRule(**data.get("intermittent", {}))
    if rule.nights > rule.of:
        fault = f"act: intermittent: {rule.nights} of {rule.of} nights is impossible; nights is the smaller of the two"
        yield file.error(fault, "act", "intermittent")
    caps = {"per_day": Policy.per_day, "in_all": Policy.in_all, **_caps(data)}
    if caps["per_day"].nodes > caps["in_all"].nodes or caps["per_day"].share > caps["in_all"].share:
        yield file.error("act: cap: more a day than in all; per_day is the smaller of the two", "act", "cap", "per_day")


def strangers(file: SiteFile) -> Iterator[SiteFileError]:
    """The trusted users that this host does not know."""
    for index, name in enumerate((file.data.get("act") or {}).get("trusted", ())):
        if _user(name) is None:
            message = f"act: trusted: no user '{name}' on this host; name one, or its number"
            yield file.error(message, "act", "trusted", index)


def unusable_program(file: SiteFile) -> Iterator[SiteFileError]:
    """Why ``act`` could not run ``on_event`` here, as this user, root or a trusted one."""
    data = file.data.get("act") or {}
    users = {0, os.geteuid(), *filter(None, map(_user, data.get("trusted", ())))}
    problem = program_problem(data["on_event"], users) if "on_event" in data else None
    if problem is not None:
        yield file.error(f"act: on_event: {problem}", "act", "on_event")


def program_problem(program: str, users: Collection[int]) -> str | None:
    """Why a program may not be run, the place first, and what to do; None where it may: a file that can be executed, which nobody but
    ``users`` (numbers) can change, nor put another in its place."""
    path = Path(program)
    try:
        real = path.resolve(strict=True)
        status = real.stat()
        owners = [(place, place.lstat()) for place in dict.fromkeys((real, *real.parents, *path.absolute().parents))]
    except (OSError, RuntimeError) as error:
        return f"{program}: {getattr(error, 'strerror', None) or error}; write it, or name another"
    if not stat.S_ISREG(status.st_mode):
        return f"{program}: not a file; name a program"
    if not status.st_mode & 0o111:
        return f"{program}: not executable; chmod 0755 {program}"
    for place, owner in owners:
        if owner.st_uid not in users:
            return f"{place}: belongs to user {owner.st_uid}, not to root or to who runs act; chown root {place}"
        sticky = stat.S_ISDIR(owner.st_mode) and owner.st_mode & stat.S_ISVTX
        if owner.st_mode & 0o022 and not sticky and not stat.S_ISLNK(owner.st_mode):
            mode = stat.S_IMODE(owner.st_mode)
            return f"{place}: other users can write to it (mode {mode:04o}); chmod go-w {place}"
    return None if os.access(real, os.X_OK) else f"{program}: this user may not execute it; chmod 0755 {program}"


def unreached(file: SiteFile) -> Iterator[SiteFileError]:
    """A cap that is never reached, since drains are held before: what has to stay usable leaves less than it."""
    data = (file.data.get("act") or {}).get("cap", {})
    share = data.get("available", {}).get("share", 0.0)
    in_all = _share(data.get("in_all", {}), Policy.in_all).share
    if share > 1 - in_all + 1e-9:
        left = f"available leaves {1 - share:.3g} of a partition to all nodes that are out of use"
        message = f"act: cap: {left}, less than the {in_all:g} of in_all, which is then never reached"
        yield file.error(message, "act", "cap", "available")


def seconds(duration: str) -> float:
    """``1d12h`` in seconds."""
    return sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"(\d+)([mhd])", duration))


def step_of(value: str | Mapping[str, str]) -> DrainSteps:
    """What ``drain`` or ``{evidence: drain, speed: observe}`` says."""
    return DrainSteps(value, value) if isinstance(value, str) else DrainSteps(**value)


def _caps(data: Mapping[str, Any]) -> dict[str, DrainCap]:
    given = data.get("cap", {})
    return {key: _share(given[key], getattr(Policy, key)) for key in ("per_day", "in_all") if key in given}


def _share(value: Mapping[str, Any], default: DrainCap) -> DrainCap:
    return DrainCap(value.get("nodes", default.nodes), value.get("share", default.share))


def _left_by(in_all: DrainCap) -> float:
    """The share of a partition that is left where as many nodes are out by others as may be drained."""
    return max(0.0, 1 - 2 * in_all.share)


def _user(name: str | int) -> int | None:
    if isinstance(name, int):
        return name
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None
