"""Findings as files: ``HEALTH/<node>.json``, a node's newest, which the next replaces, and each new FAIL as well as
``HEALTH/kept/<node>/<UTC time>-<run>.json``, so that the next ``nearfar slurm act`` sees what one check found."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nearfar.base import files

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
    if finding["verdict"] == "FAIL" and _fails(finding) != _fails(_newest(newest)):
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


def _fails(finding: Mapping[str, Any]) -> set[tuple[object, ...]]:
    return {(one.get("code"), one["subject"], one["reason"]) for one in finding["findings"] if one["verdict"] == "FAIL"}


def _newest(path: Path) -> Mapping[str, Any]:
    with suppress(OSError, ValueError):
        return dict(json.loads(path.read_text(encoding="utf-8")))
    return {"findings": []}
