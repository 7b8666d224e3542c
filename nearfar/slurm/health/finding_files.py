"""Findings as files, and how they are believed: ``HEALTH/<node>.json``, a node's newest, which the next replaces, and each new FAIL as
well as ``HEALTH/kept/<node>/<UTC time>-<run>.json``, so that the next ``nearfar slurm act`` sees what one check found."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, files
from nearfar.slurm.trust import Trust

#: The directory of kept findings, and how many are kept of a node: the newest.
KEPT, MOST = "kept", 200
_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}\.json")


def name(finding: Mapping[str, Any]) -> str:
    """The name of a kept finding's file."""
    return f"{re.sub('[-:]', '', str(finding['time']))}-{finding['run']}.json"


def store(output: Path, finding: Mapping[str, Any], elsewhere: str) -> None:
    """Write a finding, and keep a FAIL that the newest one does not have. Raises ``CouldNotJudge``; nothing was replaced then."""
    newest, folder = output / f"{finding['node']}.json", output / KEPT / str(finding["node"])
    text = json.dumps(finding, indent=1, ensure_ascii=False) + "\n"
    if finding["verdict"] == "FAIL" and _fails(finding) != _fails(files.json_or_none(newest)):
        files.write_atomically(folder / name(finding), text, elsewhere, durable=True)
        for place in (folder.parent, output):  # they may be new as well
            files.sync_directory(place, elsewhere)
        forget(sorted(folder.glob("[!.]*.json"))[:-MOST])
    files.write_atomically(newest, text, elsewhere)


def forget(paths: Iterable[Path]) -> None:
    """Remove kept findings that were read; what cannot be removed stays, and is read again."""
    for path in paths:
        if path.parent.parent.name == KEPT and _NAME.fullmatch(path.name):
            with suppress(OSError):
                path.unlink()


def _fails(finding: Any) -> set[tuple[object, ...]]:
    listed = finding["findings"] if isinstance(finding, dict) else ()
    return {(one.get("code"), one["subject"], one["reason"]) for one in listed if one["verdict"] == "FAIL"}


SCHEMA = "nearfar-health/1"


def read(path: Path, trust: Trust) -> dict[str, Any]:
    """The finding in a file; ``trust.root`` is the directory of the newest findings. Raises ``CouldNotJudge`` with one line that
    says why it is not believed."""
    raw = trust.document(path, SCHEMA, "health-1")
    kept = path.parent != trust.root
    if (path.parent.name if kept else path.name.removesuffix(".json")) != raw["node"]:
        raise CouldNotJudge(f"{path}: of node {raw['node']}; not counted")
    if kept and path.name != name(raw):
        raise CouldNotJudge(f"{path}: of run {raw['run']} at {raw['time']}, and not called so; not counted")
    return raw


def all_of(folder: Path, trust: Trust, refused: list[CouldNotJudge]) -> list[tuple[Path, dict[str, Any]]]:
    """The findings of a directory, the newest of each node and those that are kept, each run once with its file (the kept
    one, where there are two: what ``forget`` takes). ``refused`` takes why a file or directory is not believed."""
    found: dict[tuple[str, str], tuple[Path, dict[str, Any]]] = {}
    newest = _entries(folder, trust, refused)
    kept = folder / KEPT
    nodes = _entries(kept, trust, refused) if os.path.lexists(kept) else []
    for path in (*(path for node in nodes for path in _entries(node, trust, refused)), *newest):
        if path.suffix != ".json":
            continue
        try:
            one = read(path, trust)
        except CouldNotJudge as error:
            refused.append(error)
            continue
        there, same = found.setdefault((one["node"], one["run"]), (path, one))
        if same != one:
            refused.append(CouldNotJudge(f"{path}: run {one['run']} has something else in {there}; not counted"))
    return list(found.values())


def _entries(place: Path, trust: Trust, refused: list[CouldNotJudge]) -> list[Path]:
    """What is in a directory that is believed, but for what is still being written; else nothing, and a line."""
    try:
        trust.directory(place)
        return sorted(path for path in place.iterdir() if not path.name.startswith("."))
    except CouldNotJudge as error:
        refused.append(error)
    except OSError as error:
        refused.append(CouldNotJudge(f"{place}: cannot be listed: {error.strerror}; not counted"))
    return []
