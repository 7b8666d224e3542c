"""``run.json``: the cases that ran against those expected, and one verdict of all."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar.base import (
    EXIT_COULD_NOT_JUDGE,
    EXIT_FAILED,
    EXIT_GOOD,
    NOT_JUDGED,
    files,
    passes,
    places,
    utc_text,
    worst,
)
from nearfar.question import questions
from nearfar.verdict import Verdict, of_one_run, verdict_file

from . import expected_cases
from .expected_cases import ExpectedCase, RanCase

#: A run's exit code by its verdict, where it is no acceptance.
EXIT_CODES = {
    "PASS": EXIT_GOOD, "DEGRADED": EXIT_GOOD, NOT_JUDGED: EXIT_GOOD, "FAIL": EXIT_FAILED, "INDETERMINATE": EXIT_COULD_NOT_JUDGE,
}  # fmt: skip


def exit_code(verdict: str, acceptance: Mapping[str, Any] | None) -> int:
    """A run's exit code; an ``acceptance`` (as ``run.json`` has it) refuses DEGRADED, unless told to accept it."""
    refused = verdict == "DEGRADED" and acceptance is not None and not acceptance["accept_degraded"]
    return EXIT_FAILED if refused else EXIT_CODES[verdict]


def adopt(folder: Path) -> None:
    """Write the ``run.json`` of a run that ReFrame made by hand, from its report: the cases that it ran are those that
    were wanted. Does nothing where there is no such report or ``run.json`` stands already."""
    report = folder / "reframe-report.json"
    if (folder / "run.json").exists() or not report.exists():
        return
    names = {question.name for question in questions()}
    ran = [case for case in expected_cases.ran(report) if case.check in names]
    verdicts = expected_cases.verdicts(folder)
    if not ran or not verdicts:
        return
    modelled = {(v.check, v.partition) for v in verdicts if v.kind == "modelled"}
    cases = [
        ExpectedCase(r.check, r.system, r.partition, r.environ, (r.check, r.partition) in modelled, r.node, r.check)
        for r in {(r.check, r.system, r.partition, r.environ): r for r in ran}.values()
    ]
    session = json.loads(report.read_text(encoding="utf-8"))["session_info"]
    about = {
        "system": ran[0].system,
        "command": ["reframe", *shlex.split(session.get("cmdline") or "")[1:]],
        "hostname": session.get("hostname"),
        "interrupted": any(r.result in ("abort", "aborted") for r in ran),
    }
    started = float(session.get("time_start_unix") or report.stat().st_mtime)
    account(folder, cases, about, started, float(session.get("time_elapsed") or 0.0), "")


def account(
    folder: Path, cases: Sequence[ExpectedCase], about: Mapping[str, Any], started: float, seconds: float, text: str,
    must_judge: bool = False, ran: Sequence[RanCase] | None = None,
) -> str:  # fmt: skip
    """Count, merge and write ``run.json``; returns the run's verdict. ``ran``: what ran (None: as ReFrame's report has it)."""
    interrupted = bool(about["interrupted"])
    ran = expected_cases.ran(folder / "reframe-report.json") if ran is None else ran
    missing = [{**case.entry(), "reason": _why(case, text, interrupted)} for case in expected_cases.missing(cases, ran)]
    verdicts = _of_each_node(folder)
    missing += _without_verdict(cases, ran, verdicts)
    verdict = merged(cases, verdicts, bool(missing), must_judge)
    programs = sum(case.seconds for case in ran)
    builds = sum(case.build_seconds for case in ran)
    summary = {
        "schema": "nearfar-run/1",
        "system": about["system"],
        "started": utc_text(started),
        "seconds": round(seconds, 3),
        "command": about["command"],
        "hostname": about["hostname"],
        "real": [about["system"]] if any(not case.modelled for case in cases) else [],
        "modelled": sorted(
            {case.partition if about["system"] == "local" else about["system"] for case in cases if case.modelled}
        ),
        "expected_cases": [case.entry() for case in cases],
        "ran_cases": [_entry(case) for case in ran if any(case.check == expected.check for expected in cases)],
        "missing_cases": missing,
        "not_asked": list(about.get("not_asked", ())),
        **{key: about[key] for key in ("degraded", "acceptance", "foreign", "kernel_log") if about.get(key)},
        "verdict": verdict,
        "exit_code": exit_code(verdict, about.get("acceptance")),
        "interrupted": interrupted,
        "stages": {
            "reframe": round(seconds - programs - builds, 3),
            "programs": round(programs, 3),
            "builds": round(builds, 3),
        },
    }
    files.write_atomically(folder / "run.json", json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    return verdict


def _of_each_node(folder: Path) -> list[Verdict]:
    """The verdicts of all nodes and checks; what a node's other checks change is written into its ``verdict.json``."""
    verdicts: list[Verdict] = []
    for node in sorted({path.parent.parent for path in folder.glob(f"*/*/{verdict_file.NAME}")}):
        by_path = {
            path: raw for path in sorted(node.glob(f"*/{verdict_file.NAME}")) if (raw := verdict_file.read(path.parent))
        }
        for (path, raw), final in zip(by_path.items(), of_one_run(list(by_path.values()))):
            if final is not raw:
                files.write_atomically(path, verdict_file.dump(final))
            verdicts.append(final)
    return verdicts


def _entry(case: RanCase) -> dict[str, Any]:
    return {"name": f"{case.check} @{case.system}:{case.partition}+{case.environ}", **vars(case)}


def _why(case: ExpectedCase, text: str, interrupted: bool) -> str:
    """Why a case did not run: what its file, the build or ReFrame says."""
    if interrupted:
        return "the run was interrupted"
    if case.problem is not None:
        return case.problem
    lines = text.splitlines()
    file = Path(case.where).name
    skipped = next((line for line in lines if "skipping" in line and file in line), None)
    if skipped is not None:
        return skipped[skipped.index("skipping") :].rstrip(":")
    errors = [line for line in lines if re.match(r"^(ERROR: |[A-Za-z.]*Error\b|nearfar: )", line)]
    frames = re.findall(r'^\s+File "(.*)", line (\d+)', text, re.MULTILINE)
    ours = [f"{path}:{line}" for path, line in frames if path.startswith((str(places.PACKAGE), str(places.CHECKS)))]
    return f"{ours[-1] if ours else case.where}: ReFrame did not run it{': ' + errors[-1] if errors else ''}"


def _failed_build(case: ExpectedCase, ran: Sequence[RanCase]) -> str | None:
    """What the build of a case's programs died of, if it did."""
    for build in ran:
        if build.check == "programs" and build.partition == case.partition and build.result == "fail":
            return f"the programs could not be built: {_first_line(build.reason)}"
    return None


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else "see reframe.log"


def _without_verdict(
    cases: Sequence[ExpectedCase], ran: Sequence[RanCase], verdicts: Sequence[Verdict]
) -> list[dict[str, Any]]:
    """The cases that ran and were not judged, or whose failure is ReFrame's own: no verdict about a node, and never
    green."""
    left = []
    for case in cases:
        result = next((r for r in ran if expected_cases.belongs(r, case)), None)
        if result is None or result.result == "xfail":
            continue
        if result.result == "skip":
            # What a modelled node lacks is no loss; on a real one a check that looked at nothing is never green.
            left += [] if case.modelled else [{**case.entry(), "reason": f"skipped: {_first_line(result.reason)}"}]
            continue
        own = [v.verdict for v in verdicts if expected_cases.belongs(v, case)]
        repeats = sum(expected_cases.belongs(r, case) and r.result != "skip" for r in ran)
        if len(own) < repeats or (result.result == "fail" and passes(worst(own))):
            died = f"ReFrame: {_first_line(result.reason)}" if result.reason else "it left no verdict"
            reason = _failed_build(case, ran) or died
            left.append({**case.entry(), "reason": reason})
    return left


def merged(cases: Sequence[ExpectedCase], verdicts: Sequence[Verdict], missing: bool, must_judge: bool = False) -> str:
    """The run's verdict: the worst of what was really measured; INDETERMINATE where a case is missing or was not
    judged, and where nothing of it was though something had to be (``must_judge``).

    What a modelled node shows counts for nothing: a run of modelled partitions alone is not judged (shown as MODELLED)
    where every case ran.
    """
    without_result = ["INDETERMINATE"] if missing else []
    real = [case for case in cases if not case.modelled]
    judged = [v.verdict for v in verdicts for case in real if expected_cases.belongs(v, case)]
    if cases and not real:
        return worst(without_result)
    verdict = worst([*without_result, *judged]) if judged else "INDETERMINATE"
    return "INDETERMINATE" if must_judge and verdict == NOT_JUDGED else verdict
