"""Runs of many hosts that were gathered over SSH, as one page."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nearfar.cli import main
from nearfar.report import batch
from nearfar.verdict import verdict_file
from tests.data.runs.synthetic import make_node
from tests.support.verdicts import judged, judged_metric


def run_of(folder: Path, host: str, word: str) -> None:
    """A run directory with one check of one real node."""
    place = folder / "nodes" / host
    check = place / host / "host_memory_check"
    check.mkdir(parents=True)
    metric = judged_metric(
        name="c0_n0", value=10.0, verdict=word, reason="too slow: 10.0 GB/s" if word == "FAIL" else ""
    )
    made = replace(
        judged("host_memory_check", metric), verdict=word, reasons=() if word == "PASS" else ("too slow: 10.0 GB/s",)
    )
    (check / "verdict.json").write_text(verdict_file.dump(made))
    (place / "run.json").write_text(json.dumps({"schema": "nearfar-run/1", "system": "mine", "verdict": word}))
    (place / "index.html").touch()


def gathered(folder: Path, hosts: list[dict[str, Any]]) -> dict[str, Any]:
    about = {"schema": "nearfar-hosts/1", "name": "night", "started": "2026-11-20T09:00:00Z", "hosts": hosts}
    (folder / "hosts.json").write_text(json.dumps(about))
    batch.gather(folder)
    return dict(json.loads((folder / "hosts-report.json").read_text()))


def test_each_host_has_its_runs_verdict_and_what_left_none_is_indeterminate(tmp_path: Path) -> None:
    run_of(tmp_path, "n1", "PASS")
    run_of(tmp_path, "n2", "FAIL")
    run_of(tmp_path, "n5", "not judged")
    for host, bios in (("n1", "1.4"), ("n2", "1.2"), ("n5", "1.4")):
        node = make_node(host)
        node["software"]["bios"] = bios
        (tmp_path / "nodes" / host / host / "node.json").write_text(json.dumps(node))
    reason = "it cannot be reached: <b>Connection refused</b>"
    report = gathered(
        tmp_path, [{"host": "n1"}, {"host": "n2"}, {"host": "n3", "reason": reason}, {"host": "n4"}, {"host": "n5"}]
    )
    found = {host["host"]: (host["verdict"], host["reason"]) for host in report["hosts"]}
    assert found == {
        "n1": ("PASS", None),
        "n2": ("FAIL", "too slow: 10.0 GB/s."),
        "n3": ("INDETERMINATE", reason),
        "n4": ("INDETERMINATE", "it left no result"),
        "n5": ("INDETERMINATE", "Nothing was judged: 1 figure has no reference, nearfar tune --system mine makes them."),
    }  # fmt: skip
    assert report["verdict"] == "FAIL" and report["counts"]["INDETERMINATE"] == 3
    page = (tmp_path / "index.html").read_text()
    assert "2 of 3 nodes have BIOS 1.4, 1 has 1.2 (n2)" in page
    assert 'href="nodes/n2/index.html"' in page and "<b>Connection" not in page


def test_a_run_that_measured_nothing_or_was_cut_short_is_never_green(tmp_path: Path) -> None:
    run_of(tmp_path, "n1", "PASS")
    shutil.rmtree(tmp_path / "nodes/n1/n1")
    run_of(tmp_path, "n2", "PASS")
    (tmp_path / "nodes/n2/run.json").write_text('{"schema": "nearfar-run/1"')
    report = gathered(tmp_path, [{"host": "n1"}, {"host": "n2"}])
    assert [host["verdict"] for host in report["hosts"]] == ["INDETERMINATE"] * 2
    assert report["hosts"][0]["reason"] == "nothing was measured on it" and "run.json" in report["hosts"][1]["reason"]


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ([{"host": "../x"}], "not the name of a host: '../x'"),
        ([{"host": "n1"}, {"host": "n1"}], "n1 is there twice"),
        ([{}], "not a list of hosts"),
    ],
)
def test_a_list_that_is_none_is_one_line(
    tmp_path: Path, hosts: list[dict[str, Any]], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Exception, match="not a list of hosts"):
        gathered(tmp_path, hosts)
    assert main(["report", "--together", str(tmp_path)]) == 2
    assert words in capsys.readouterr().err
    assert main(["report", "--together", str(tmp_path / "none")]) == 2
    assert main(["report"]) == 2
