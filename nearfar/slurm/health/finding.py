"""What the health check leaves behind, and how it is believed: ``HEALTH/<node>.json``, and the kept ones with a FAIL."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import CouldNotJudge, Finding
from nearfar.slurm.trust import Trust

from . import kept_looks

SCHEMA = "nearfar-health/1"


@dataclass(frozen=True)
class HealthFinding:
    """One check of a node. ``time`` is UTC, as 2026-11-20T09:00:00Z."""

    run: str
    node: str
    system: str | None
    time: str
    verdict: str
    findings: Sequence[Finding]


def read(path: Path, trust: Trust) -> HealthFinding:
    """The finding in a file; ``trust.root`` is the directory of the newest findings. Raises ``CouldNotJudge`` with one line that
    says why it is not believed."""
    raw = trust.document(path, SCHEMA, "health-1")
    kept = path.parent != trust.root
    if (path.parent.name if kept else path.name.removesuffix(".json")) != raw["node"]:
        raise CouldNotJudge(f"{path}: of node {raw['node']}; not counted")
    if kept and path.name != kept_looks.name(raw):
        raise CouldNotJudge(f"{path}: of run {raw['run']} at {raw['time']}, and not called so; not counted")
    findings = tuple(map(Finding.from_raw, raw["findings"]))
    return HealthFinding(raw["run"], raw["node"], raw["system"], raw["time"], raw["verdict"], findings)


def all_of(folder: Path, trust: Trust) -> tuple[list[tuple[Path, HealthFinding]], list[str]]:
    """The findings of a directory, the newest of each node and those that are kept, each run once with its file (the kept
    one, where there are two: what ``kept_looks.forget`` takes); and a line for each file or directory that is not believed."""
    found: dict[tuple[str, str], tuple[Path, HealthFinding]] = {}
    refused: list[str] = []
    newest = _entries(folder, trust, refused)
    kept = folder / kept_looks.KEPT
    nodes = _entries(kept, trust, refused) if not refused and os.path.lexists(kept) else []
    for path in (*(path for node in nodes for path in _entries(node, trust, refused)), *newest):
        if path.suffix != ".json":
            continue
        try:
            one = read(path, trust)
        except CouldNotJudge as error:
            refused.append(str(error))
            continue
        there, same = found.setdefault((one.node, one.run), (path, one))
        if same != one:
            refused.append(f"{path}: run {one.run} has something else in {there}; not counted")
    return list(found.values()), refused


def _entries(place: Path, trust: Trust, refused: list[str]) -> list[Path]:
    """What is in a directory that is believed, but for what is still being written; else nothing, and a line."""
    try:
        trust.directory(place)
        return sorted(path for path in place.iterdir() if not path.name.startswith("."))
    except CouldNotJudge as error:
        refused.append(str(error))
    except OSError as error:
        refused.append(f"{place}: cannot be listed: {error.strerror}; not counted")
    return []
