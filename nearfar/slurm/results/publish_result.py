"""A node's run directory handed over: the documents, the verdicts and ``result.json`` beside them, renamed into place."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nearfar.base import (
    ORDER,
    CouldNotJudge,
    Finding,
    NearfarError,
    cannot_write,
    copy_tree,
    json_or_none,
    write_atomically,
)
from nearfar.verdict import UNJUDGED, Verdict, verdict_file

from .result import RESULT, SCHEMA, RunInfo, verdict_of

#: What of a run directory stays where the node keeps its own files: ReFrame's stage and output.
_LEFT_BEHIND = ("reframe",)
#: Verdicts of what is not well.
_BAD = ORDER[:3]
_ELSEWHERE = "name another --results DIR"


def leave(run_directory: Path, place: Path, info: RunInfo, run: str | None = None) -> Path:
    """Copy what a run left to ``place`` (``result.place(…)``), with its ``result.json``; returns ``place``. The copy is made beside it and
    renamed, so that a reader sees all of it or nothing. What is modelled is not copied. Raises ``CouldNotJudge`` where nothing was
    measured, where ``place`` exists, or where it cannot be written."""
    document = _document(run_directory, info, run or secrets.token_hex(4))
    try:
        with _beside(place) as beside:
            _copy(run_directory, beside, {entry["node_folder"] for entry in document["checks"]})
            for entry in document["checks"]:
                del entry["node_folder"]
            files = [path for path in sorted(beside.rglob("*")) if path.is_file()]
            document["files"] = {str(path.relative_to(beside)): path.stat().st_size for path in files}
            text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
            write_atomically(beside / RESULT, text, _ELSEWHERE, mode=0o644, durable=True)
            os.rename(beside, place)
    except OSError as error:
        if place.exists():
            raise CouldNotJudge(f"{place}: there is a result already; it is kept") from None
        raise cannot_write(place, error, _ELSEWHERE) from None
    return place


@contextlib.contextmanager
def _beside(place: Path) -> Iterator[Path]:
    """A directory beside ``place``, open to readers and to no other writer; gone when it was not renamed."""
    make_for_all(place.parent)
    beside = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
    beside.chmod(0o755)
    try:
        yield beside
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def make_for_all(folder: Path) -> None:
    """Make a directory and its parents so that others read and only the owner writes, whatever the umask: results below one
    that a group can write to would not be believed."""
    for path in reversed([folder, *folder.parents]):
        if not path.exists():
            path.mkdir(exist_ok=True)
            path.chmod(0o755)


def _copy(run_directory: Path, to: Path, measured: set[str]) -> None:
    for path in sorted(run_directory.iterdir()):
        holds_verdicts = path.is_dir() and any(path.glob("*/verdict.json"))
        if path.name in _LEFT_BEHIND or path.is_symlink() or (holds_verdicts and path.name not in measured):
            continue
        if path.is_dir():
            copy_tree(path, to / path.name)
        else:
            shutil.copyfile(path, to / path.name)
    for path in (to, *to.rglob("*")):
        # Whatever the umask of the job: others read, and only the owner writes.
        path.chmod(0o755 if stat.S_ISDIR(path.lstat().st_mode) else 0o644)


def _document(run_directory: Path, info: RunInfo, run: str) -> dict[str, Any]:
    raw = json_or_none(run_directory / "run.json")
    if not isinstance(raw, dict):
        raise CouldNotJudge(f"{run_directory}: not a whole run (no run.json); no result is written")
    checks = [entry for path in sorted(run_directory.glob("*/*/verdict.json")) if (entry := _check(path)) is not None]
    real = [case for case in raw["missing_cases"] if not case.get("modelled")]
    missing = [f"{case['name']}: {case.get('reason') or 'it did not run'}" for case in real]
    if not checks and not missing:
        raise CouldNotJudge(f"{run_directory}: nothing was measured on {info.hostname}; no result is written")
    verdict = verdict_of(info.nodes, (entry["verdict"] for entry in checks), bool(missing))
    return {
        "schema": SCHEMA, "run": run, "node": info.name, "hostname": info.hostname, "pack": info.level, "sweep": info.sweep,
        "started": info.started, "ended": info.ended, "system": raw["system"], "slurm": info.slurm, "verdict": verdict,
        "reason": _first_reason(verdict, checks, missing),
        "interrupted": bool(raw.get("interrupted")), "checks": checks, "missing": missing,
        "blamed": _blamed(run_directory / "report.json"),
    }  # fmt: skip


def _check(path: Path) -> dict[str, Any] | None:
    try:
        verdict = verdict_file.read(path.parent)
    except NearfarError as error:
        raise CouldNotJudge(f"{error}; no result is written") from None
    if verdict is None or verdict.kind != "measured":
        return None
    return {"check": verdict.check, "verdict": verdict.verdict, "folder": f"{path.parent.parent.name}/{path.parent.name}",
            "node_folder": path.parent.parent.name, "findings": [each.to_raw() for each in findings(verdict)]}  # fmt: skip


def findings(verdict: Verdict) -> list[Finding]:
    """What a check's verdict holds against a node: a finding for each figure or observation that is not well, worst first and hard
    ones before the others."""
    figures = (metric.finding for metric in verdict.metrics if metric.verdict in _BAD)
    found = [*(each for each in verdict.findings if each.verdict in _BAD), *figures]
    return sorted(found, key=lambda finding: (ORDER.index(finding.verdict), not finding.hard))


def _first_reason(verdict: str, checks: list[dict[str, Any]], missing: list[str]) -> str | None:
    found = [finding for entry in checks for finding in entry["findings"] if finding["verdict"] == verdict]
    # That nothing was judged says less of a node than anything else.
    hard_first = sorted(found, key=lambda finding: (not finding["hard"], finding["subject"] == UNJUDGED))
    words = [str(finding["reason"]) for finding in hard_first] + (missing if verdict == "INDETERMINATE" else [])
    nothing = "nothing of this node was judged" if verdict == "INDETERMINATE" else None
    return words[0] if words else nothing


def _blamed(report: Path) -> list[str]:
    """The parts of a diagnosis that has one answer; none where it has several, or there is no diagnosis."""
    nodes = [n for n in (json_or_none(report) or {}).get("nodes", []) if n.get("kind") == "measured"]
    sets = [s for node in nodes for s in (node.get("diagnosis") or {}).get("sets", [])]
    return [str(blame["part"]) for blame in sets[0]] if len(sets) == 1 else []
