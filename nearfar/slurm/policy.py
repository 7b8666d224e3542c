"""What a site allows ``nearfar slurm act`` to do: the ladder of each check, whose results count, and the caps.

The ``act`` of a system file. A site that says nothing is only observed.
"""

from __future__ import annotations

import pwd
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import floor
from typing import Any

from nearfar.sitefile import SiteFile, nearest

#: The ladder, lowest step first.
STEPS = ("observe", "comment", "drain")
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True)
class Share:
    """At most ``nodes`` of all nodes and ``share`` of each Slurm partition (at least one node of each)."""

    nodes: int
    share: float

    def of(self, size: int) -> int:
        """How many nodes of a partition of ``size`` nodes that is."""
        return max(1, floor(self.share * size + 1e-9))


@dataclass(frozen=True)
class Step:
    """What a check may lead to: for hard evidence, and for speed."""

    evidence: str = "observe"
    speed: str = "observe"


@dataclass(frozen=True)
class Policy:
    """``trusted``: the users (numbers) whose results count. Seconds: a result older than ``max_age`` is not acted on, and a
    confirming run may lie ``confirm_within`` back. ``same_metric``: from here on the reference or the driver is blamed."""

    system: str
    trusted: frozenset[int] = frozenset({0})
    default: Step = Step()
    checks: Mapping[str, Step] = field(default_factory=dict)
    max_age: float = 36 * 3600.0
    confirm_within: float = 7 * 86400.0
    per_day: Share = Share(2, 0.05)
    in_all: Share = Share(8, 0.1)
    same_metric: Share = Share(3, 0.2)

    def step(self, check: str, hard: bool) -> str:
        """The step of the ladder that a finding of a check may lead to."""
        step = self.checks.get(check, self.default)
        return step.evidence if hard else step.speed


def of_system(file: SiteFile) -> Policy:
    """The policy in a system file that was checked against its schema. Raises ``NearfarError`` with file and line."""
    data = file.data.get("act") or {}
    given: dict[str, Any] = {}
    if "trusted" in data:
        given["trusted"] = frozenset(_user(file, index, name) for index, name in enumerate(data["trusted"]))
    if "default" in data:
        given["default"] = _step(data["default"])
    for key in ("max_age", "confirm_within"):
        if key in data:
            given[key] = seconds(data[key])
    for key in ("per_day", "in_all"):
        if key in data.get("cap", {}):
            given[key] = _share(data["cap"][key], getattr(Policy, key))
    if "same_metric" in data:
        given["same_metric"] = _share(data["same_metric"], Policy.same_metric)
    checks = {name: _step(value) for name, value in data.get("checks", {}).items()}
    policy = Policy(system=file.data["system"], checks=checks, **given)
    if policy.per_day.nodes > policy.in_all.nodes or policy.per_day.share > policy.in_all.share:
        raise file.error("act: cap: more a day than in all; per_day is the smaller of the two", "act", "cap", "per_day")
    return policy


def refuse_unknown_checks(file: SiteFile, known: list[str]) -> None:
    """Raise ``NearfarError`` with the line of a check that does not exist: a slip would silently leave it at the default."""
    for name in file.data.get("act", {}).get("checks", {}):
        if name not in known:
            raise file.error(f"act: no check is called '{name}'{nearest(name, known)}", "act", "checks", name)


def seconds(words: str) -> float:
    """``1d12h`` in seconds."""
    return sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"(\d+)([mhd])", words))


def _step(value: str | Mapping[str, str]) -> Step:
    return Step(value, value) if isinstance(value, str) else Step(**value)


def _share(value: Mapping[str, Any], default: Share) -> Share:
    return Share(value.get("nodes", default.nodes), value.get("share", default.share))


def _user(file: SiteFile, index: int, name: str | int) -> int:
    if isinstance(name, int):
        return name
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise file.error(
            f"act: trusted: no user '{name}' on this host; name one, or its number", "act", "trusted", index
        ) from None
