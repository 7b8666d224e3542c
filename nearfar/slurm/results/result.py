"""What one node's run leaves in the shared results directory, and how it is believed: ``nearfar-node-result/1``.

``RESULTS/<sweep>/nodes/<node>/<attempt>/`` holds the run directory's documents and verdicts beside ``result.json``. It
is renamed into place whole. A reader believes a result only if it is whole, its own node's, measured, of a trusted
user, and says no other than its verdict files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nearfar.base import (
    NOT_JUDGED,
    ORDER,
    CouldNotJudge,
    Finding,
    NearfarError,
    plural,
    short_host_name,
    utc_time,
    worst,
)
from nearfar.slurm.ledger import RUN, CheckRun, seconds
from nearfar.slurm.trust import Trust
from nearfar.verdict import FELL_TOGETHER, JudgedMetric, Verdict, verdict_file

SCHEMA = "nearfar-node-result/1"
RESULT = "result.json"
#: Letters of what a run reports that are kept.
_LONGEST = 300


class Pair(NamedTuple):
    """Two nodes that are measured together."""

    one: str
    other: str


def joined(nodes: Sequence[str]) -> str:
    """The name of a directory, and of a job's option, for a node or the two of a pair: ``n1``, ``n1+n2``."""
    return "+".join(nodes)


def parted(name: str) -> tuple[str, ...]:
    """The node of such a name (a tuple of one), or the ``Pair``."""
    nodes = tuple(name.split("+"))
    return Pair(*nodes) if len(nodes) == 2 else nodes


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """Which run it was. ``nodes``: the node, or the two of a pair, by Slurm's names; ``hostname`` is the machine's own. ``level``: what
    was to be measured. ``sweep`` None: outside a sweep. Times are UTC, as 2026-11-20T09:00:00Z. ``slurm``: the job's ``job``,
    ``partition`` and ``cluster``; None outside Slurm."""

    nodes: tuple[str, ...]
    hostname: str
    level: str
    sweep: str | None
    started: str
    ended: str
    slurm: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """What its directory is called: the node's name, or ``n1+n2``."""
        return joined(self.nodes)


@dataclass(frozen=True, kw_only=True)
class NodeResult(RunInfo):
    """A run and what it found, as it lies in ``folder``.

    ``missing``: sentences about cases that should have run and did not. ``interrupted``: its job was ended before it
    was through; ``undone``: either as a check of its own (``RUN``). ``blamed``: parts that explain what is slow (``g2.link``), where the
    diagnosis found any.
    """

    folder: Path
    run: str
    system: str
    verdict: str
    reason: str | None
    checks: tuple[CheckRun, ...]
    missing: tuple[str, ...]
    interrupted: bool
    blamed: tuple[str, ...]
    undone: tuple[CheckRun, ...] = ()

    @property
    def findings(self) -> list[tuple[CheckRun, Finding]]:
        """All findings with their checks, worst first, hard ones before the others."""
        pairs = [(check, finding) for check in self.checks for finding in check.findings]
        return sorted(pairs, key=lambda pair: (ORDER.index(pair[1].verdict), not pair[1].hard))


def verdict_of(nodes: Sequence[str], checks: Iterable[str], missing: bool) -> str:
    """A result's verdict, of its checks': a node of which nothing was judged is INDETERMINATE. What a pair says of its nodes
    follows from all pairs together; by itself one may be not judged."""
    verdict = worst([*checks, *(["INDETERMINATE"] if missing else [])])
    return "INDETERMINATE" if verdict == NOT_JUDGED and len(nodes) == 1 else verdict


def place(results: Path, sweep: str, name: str, attempt: int) -> Path:
    """Where an attempt at a node or pair of that name goes."""
    return results / sweep / ("nodes" if len(parted(name)) == 1 else "pairs") / name / str(attempt)


def read(folder: Path, trust: Trust) -> NodeResult:
    """The result in a folder. Raises ``CouldNotJudge`` with one line that says why it is not believed: cut short, forged, another
    node's, modelled, NaN, or at odds with its own verdict files."""
    trust.directory(folder)
    path = folder / RESULT
    raw = trust.document(path, SCHEMA, "node-result-1")
    if raw["node"] != folder.parent.name:
        raise CouldNotJudge(f"{path}: of node {raw['node']}, in the place of {folder.parent.name}; not counted")
    for time in (raw["started"], raw["ended"]):
        try:
            utc_time(time)
        except ValueError:
            raise CouldNotJudge(f"{path}: {time} is not a time; not counted") from None
    if raw["ended"] < raw["started"]:
        raise CouldNotJudge(f"{path}: ended {raw['ended']}, before it started ({raw['started']}); not counted")
    _check_sizes(folder, raw["files"])
    checks = tuple(_check(folder, raw, entry, trust) for entry in raw["checks"])
    nodes = parted(raw["node"])
    verdict = verdict_of(nodes, (check.verdict for check in checks), bool(raw["missing"]))
    if verdict != raw["verdict"]:
        raise CouldNotJudge(f"{path}: has verdict {raw['verdict']} where its checks have {verdict}; not counted")
    words = _undone(raw)
    return NodeResult(
        folder=folder, nodes=nodes, level=raw["pack"], checks=checks,
        undone=(_check_run(raw, RUN, "INDETERMINATE", folder, words=words),) if words else (), missing=tuple(raw["missing"]),
        blamed=tuple(raw["blamed"]),
        **{key: raw[key] for key in ("run", "sweep", "hostname", "system", "started", "ended", "slurm", "verdict", "reason",
                                     "interrupted")},
    )  # fmt: skip


def _check_sizes(folder: Path, sizes: dict[str, int]) -> None:
    """A machine that dies may leave files of a renamed directory empty."""
    for name, size in sizes.items():
        if name.startswith("/") or ".." in name.split("/"):
            raise CouldNotJudge(f"{folder / RESULT}: names a file outside its directory ({name}); not counted")
        try:
            found = os.lstat(f"{folder}/{name}").st_size
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise CouldNotJudge(f"{folder / name}: {why}; an incomplete result is not counted") from None
        if found != size:
            raise CouldNotJudge(f"{folder / name}: {found} bytes of {size}; an incomplete result is not counted")


def _check(folder: Path, result: dict[str, Any], entry: dict[str, Any], trust: Trust) -> CheckRun:
    place = folder / entry["folder"]
    if f"{entry['folder']}/{verdict_file.NAME}" not in result["files"]:
        raise CouldNotJudge(f"{folder / RESULT}: {entry['check']} has no verdict file; not counted")
    trust.below(folder, place)
    path = place / verdict_file.NAME
    raw = trust.object(path)
    try:
        verdict = verdict_file.from_raw(raw, path)
    except NearfarError as error:
        raise CouldNotJudge(f"{error}; not counted") from None
    _refuse_odds(path, result, entry, verdict)
    found = tuple(map(Finding.from_raw, entry["findings"]))
    failures = tuple(f for f in found if f.verdict == "FAIL" and f.code != FELL_TOGETHER.code)
    passed, intermittent = passing(verdict.metrics)
    return _check_run(
        result, entry["check"], entry["verdict"], place, failures=failures, findings=found, figures=verdict.metrics, passed=passed,
        intermittent=intermittent, cells=frozenset(figure.subject for figure in verdict.metrics),
        words="" if failures else _words(entry["verdict"], found, next(iter(verdict.reasons), "")),
    )  # fmt: skip


def _check_run(result: dict[str, Any], check: str, verdict: str, place: Path, **found: Any) -> CheckRun:
    return CheckRun(
        result["node"], check, result["run"], seconds(result["started"]), seconds(result["ended"]), verdict, parts=tuple(result["blamed"]),
        source=str(place), system=result["system"], level=result["pack"], **found,
    )  # fmt: skip


def passing(figures: Sequence[JudgedMetric]) -> tuple[frozenset[str], frozenset[str]]:
    """The figures that passed, and those of them that were slow now and then. What passed by bounds which were only widened
    proves nothing; what fell together with the host's other paths is no figure that was slow now and then."""
    these = [figure for figure in figures if figure.passed]
    slow = (each for each in these if each.verdict == "DEGRADED" and each.disturbance is None and each.intermittent)
    return frozenset(each.name for each in these), frozenset(each.name for each in slow)


def _undone(result: dict[str, Any]) -> str:
    """Why not all that was to run did: the first case that is missing, or that the job was ended; empty where all did."""
    missing = result["missing"]
    if missing:
        more = f" (and {plural(len(missing) - 1, 'case')} more)" if len(missing) > 1 else ""
        return f"{_cut(missing[0])}{more}"
    return "its job was ended before the run was through" if result["interrupted"] else ""


def _words(verdict: str, found: Sequence[Finding], reason: str) -> str:
    """What a check reports of the node where no FAIL counts against that: its worst finding of its verdict."""
    if verdict not in ("INDETERMINATE", "DEGRADED", "FAIL"):
        return ""
    worst_one = next((finding.reason for finding in found if finding.verdict == verdict), "")
    together = "paths of the host fell together, no grounds for a drain: " if verdict == "FAIL" else ""
    return _cut(together + (worst_one or reason))


def _cut(words: str) -> str:
    one = " ".join(words.split())
    return one if len(one) <= _LONGEST else f"{one[:_LONGEST]}…"


def _refuse_odds(path: Path, result: dict[str, Any], entry: dict[str, Any], verdict: Verdict) -> None:
    """Raise ``CouldNotJudge`` where a verdict file is not measured, or does not agree with ``result.json``."""
    if (verdict.check, verdict.verdict) != (entry["check"], entry["verdict"]):
        theirs = f"result.json {entry['check']} {entry['verdict']}"
        raise CouldNotJudge(f"{path}: has {verdict.check} {verdict.verdict}, {theirs}; not counted")
    if short_host_name(verdict.node) != short_host_name(result["hostname"]):
        raise CouldNotJudge(f"{path}: of {verdict.node}, in a result of {result['hostname']}; not counted")
    if verdict.kind != "measured":
        raise CouldNotJudge(f"{path}: {verdict.kind}, not measured; not counted")
