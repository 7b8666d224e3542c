"""``run.json``, and what the checks of a run say of each other's figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.run import run_file
from nearfar.run.expected_cases import ExpectedCase, RanCase
from nearfar.slurm.results import publish_result, result
from nearfar.slurm.results.result import RunInfo
from nearfar.slurm.trust import own
from nearfar.verdict import JudgedMetric, verdict_file
from tests.support.verdicts import TIME, judged, judged_metric

CHECKS = {"host_device_check": "INDETERMINATE", "host_memory_check": "FAIL"}


def fell(disturbance: str | None) -> list[JudgedMetric]:
    word = "INDETERMINATE" if disturbance else "PASS"
    return [judged_metric(subject=f"n0:g{g}", verdict=word, reason="fell", disturbance=disturbance) for g in (0, 1)]


@pytest.mark.parametrize(("disturbance", "expected"), [("host", "INDETERMINATE"), (None, "FAIL")])
def test_a_run_has_one_verdict_wherever_it_is_read(tmp_path: Path, disturbance: str | None, expected: str) -> None:
    stream = judged_metric(subject="c0:n0/triad", quantity="stream", verdict="FAIL", reason="STREAM is slow")
    for check, metrics in zip(CHECKS, (fell(disturbance), [stream])):
        folder = tmp_path / "run" / "a" / check
        folder.mkdir(parents=True)
        (folder / "document.json").write_text("{}")
        word = CHECKS[check] if disturbance or metrics == [stream] else "PASS"
        made = judged(check, *metrics, node="a", verdict=word)
        (folder / verdict_file.NAME).write_text(verdict_file.dump(made))
    place = (made.system, made.partition, made.environ)
    cases = [ExpectedCase(check, *place, False, "a", check) for check in CHECKS]
    ran = [
        RanCase(check, *place, "pass" if check == "host_device_check" and not disturbance else "fail", "", "a", 1.0)
        for check in CHECKS
    ]
    about = {"system": made.system, "command": [], "hostname": "a", "interrupted": False}
    written = []
    for _ in range(2):
        assert run_file.account(tmp_path / "run", cases, about, 0.0, 1.0, "", ran=ran) == expected
        written.append((folder / verdict_file.NAME).read_bytes())
    assert written[0] == written[1], "to account again changes nothing"
    found = verdict_file.read(folder)
    assert found is not None and (found.verdict, found.metrics[0].disturbance) == (expected, disturbance)
    assert found.by_itself == ("FAIL" if disturbance else None)
    info = RunInfo(nodes=("a",), hostname="a", level="nightly", sweep="s", started=TIME, ended=TIME)
    left = publish_result.leave(tmp_path / "run", result.place(tmp_path / "results", "s", "a", 1), info)
    read = result.read(left, own(tmp_path / "results"))
    assert read.verdict == expected, "what a sweep reports"
    failures = [failure.subject for check in read.checks for failure in check.failures]
    assert failures == ([] if disturbance else [stream.name]), "what act counts"
