"""Looks that found a FAIL, kept beside the newest ones until ``nearfar slurm act`` has read them.

``HEALTH/<node>.json`` is a node's newest look, and the next one replaces it. A FAIL is therefore kept as well, as
``HEALTH/kept/<node>/<UTC time>-<run>.json``: a GPU that was absent for one look is seen however late ``act`` comes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nearfar.base import files

#: The directory of kept looks, below that of the newest ones.
KEPT = "kept"
#: So many are kept of a node; beyond, the oldest of those whose FAILs a later one has too make room.
MOST = 500
#: The schema of what looks keep for the next.
PAST = "nearfar-health-past/1"
_NAME = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}\.json")


def name(finding: Mapping[str, Any]) -> str:
    """The name of a kept look's file."""
    stamp = str(finding["time"]).replace("-", "").replace(":", "")
    return f"{stamp}-{finding['run']}.json"


def store(output: Path, finding: Mapping[str, Any], elsewhere: str, most: int = MOST) -> None:
    """Write a look as its node's newest, and first keep whatever FAIL would otherwise be lost.

    Of looks in a row that found the very same FAILs the first is kept when it is made, and the last when another look is
    about to replace it. Raises ``CouldNotJudge`` where one cannot be written; the newest look then stays as it was.
    """
    newest, folder = output / f"{finding['node']}.json", output / KEPT / str(finding["node"])
    before, found = _read(newest), _fails(finding)
    last = _fails(before)
    if last and last != found and not before.get("kept"):
        _keep(folder, {**before, "kept": True}, elsewhere, most, newest)
    if found and (last != found or not any(_fails(_read(path)) == found for path in _files(folder))):
        finding = {**finding, "kept": True}
        _keep(folder, finding, elsewhere, most)
    files.write_atomically(newest, _text(finding), elsewhere)


def store_past(output: Path, node: str, past: Mapping[str, Any], elsewhere: str) -> None:
    """Write what the sources of evidence want to find at the next look: places in logs, counters. Raises ``CouldNotJudge`` where it
    cannot be written; the next look then finds the same again."""
    text = json.dumps({"schema": PAST, "sources": dict(past)}, ensure_ascii=False) + "\n"
    files.write_atomically(_past_file(output, node), text, elsewhere)


def read_past(output: Path, node: str) -> dict[str, Any]:
    """What the last look kept of each source; empty where there was none, or it is torn: then everything begins anew."""
    try:
        found = json.loads(_past_file(output, node).read_text(encoding="utf-8"))
        sources = found["sources"] if found["schema"] == PAST else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
    return {name: one for name, one in sources.items() if isinstance(one, dict)} if isinstance(sources, dict) else {}


def _past_file(output: Path, node: str) -> Path:
    # It begins with a dot: it is no look.
    return output / f".{node}.past.json"


def partition(output: Path, node: str) -> str | None:
    """The site's partition that a node's newest look took it to be of; None where there is none."""
    found = _read(output / f"{node}.json").get("partition")
    return found if isinstance(found, str) else None


def forget(paths: Iterable[Path]) -> None:
    """Remove kept looks that ``act`` has read and written down in its own log.

    ``paths`` as ``health_finding.all_of`` gives them; those of newest looks are passed over. What cannot be removed (a
    read-only directory, another user's) stays, and is read again: that is no error.
    """
    for path in paths:
        if path.parent.parent.name == KEPT and _NAME.fullmatch(path.name):
            with suppress(OSError):
                path.unlink()


def _keep(folder: Path, finding: Mapping[str, Any], elsewhere: str, most: int, like: Path | None = None) -> None:
    """Keep a look; one that was the newest until now (``like``) with the time at which it became that: what it found was known then,
    and a reboot since lies between."""
    path = folder / name(finding)
    files.write_atomically(path, _text(finding), elsewhere, durable=True)
    if like is not None:
        with suppress(OSError):
            known = like.stat().st_mtime_ns
            os.utime(path, ns=(known, known))
    for place in (folder.parent, folder.parent.parent):  # they may be new as well
        files.sync_directory(place, elsewhere)
    _make_room(folder, most)


def _make_room(folder: Path, most: int) -> None:
    """Remove the oldest of which a later one says the same, as many as there are too many. Others are never removed."""
    kept = list(_files(folder))
    too_many = len(kept) - most
    if too_many <= 0:
        return
    later = set()
    repeated = []
    for path in reversed(kept):
        fails = _fails(_read(path))
        if fails and fails in later:
            repeated.append(path)
        later.add(fails)
    for path in repeated[::-1][:too_many]:
        with suppress(OSError):
            path.unlink()


def _files(folder: Path) -> Iterator[Path]:
    """The kept looks of a node, oldest first."""
    with suppress(OSError):
        yield from sorted(path for path in folder.iterdir() if is_look(path.name))


def is_look(file: str) -> bool:
    """Whether a file of this name holds a look: not the lock, nor what is still being written."""
    return file.endswith(".json") and not file.startswith(".")


def _fails(finding: Mapping[str, Any]) -> frozenset[tuple[object, ...]]:
    keys = ("code", "subject", "verdict", "hard", "reason")
    return frozenset(
        tuple(one.get(key) for key in keys) for one in finding.get("findings", ()) if one.get("verdict") == "FAIL"
    )


def _read(path: Path) -> dict[str, Any]:
    """A look of the node's own directory, which nobody else can change; empty where there is none, or it is torn."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        whole = bool(name(found)) and all(isinstance(one, dict) for one in found["findings"])
    except (OSError, ValueError, TypeError, KeyError):
        return {}
    return found if whole else {}


def _text(finding: Mapping[str, Any]) -> str:
    return json.dumps(finding, indent=1, ensure_ascii=False) + "\n"
