"""All sources in one look: one that hangs or breaks, what is kept for the next look, and how it reaches ``act``."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli
from nearfar.base import Finding, NearfarError, validator
from nearfar.slurm.findings.gathering import TimeRange, gather
from nearfar.slurm.health import kept_looks
from nearfar.slurm.health import look as health_look
from nearfar.slurm.health.sources import Now, every_source
from nearfar.slurm.health.sources.source import Seen
from nearfar.topology import inventory
from tests.slurm.health.test_health import SYSTEM, findings, hardware
from tests.support.counting_nvml import CountingNvml
from tests.support.fake_nvml import NVMLError

NOW = Now(gpus={}, boot="b", at=100.0)


def test_a_source_that_hangs_costs_its_share_and_hides_nothing() -> None:
    ended = threading.Event()
    sources = {
        "stuck": lambda now: Seen(said=str(ended.wait(60))),
        "broken": lambda now: Seen(said=str(1 // 0)),
        "well": lambda now: Seen(
            "here",
            (Finding("x", "FAIL", "words", True),),
            (Finding("x", "not judged", "a note"),),
            ("not read",),
            {"place": 3},
        ),
    }
    past = {"stuck": {"place": 1}, "broken": {"place": 2}, "gone": {"place": 4}}
    began = time.monotonic()
    seen = every_source.look(NOW, past, 0.5, sources)
    assert time.monotonic() - began < 10
    ended.set()
    assert [(one.subject, one.verdict) for one in seen.findings] == [
        ("stuck", "INDETERMINATE"),
        ("broken", "INDETERMINATE"),
        ("x", "FAIL"),
    ]
    assert [one.code for one in seen.findings] == ["source.timeout", "source.error", ""]
    assert seen.findings[1].fields["error"].startswith("ZeroDivisionError: ")
    assert (seen.notes, seen.unread) == (("a note",), ("not read",))
    assert seen.past == {"stuck": {"place": 1}, "gone": {"place": 4}, "well": {"place": 3, "boot": "b", "at": 100.0}}
    assert seen.sources["well"]["said"] == "here"


@pytest.mark.parametrize(
    "rubbish",
    [
        {"kernel_log": {"boot": "b", "sequence": "x"}},
        {"kernel_log": 3, "pcie": []},
        {"clocks": {"boot": "b", "at": None}},
    ],
)
def test_a_past_that_is_rubbish_ends_no_look(rubbish: dict[str, Any], tmp_path: Path) -> None:
    seen = every_source.look(Now(gpus={}, boot="b", at=100.0, root=tmp_path), rubbish)
    assert {one.verdict for one in seen.findings} <= {"INDETERMINATE"}
    again = every_source.look(Now(gpus={}, boot="b", at=200.0, root=tmp_path), seen.past)
    assert not again.findings, "it begins anew"


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"schema": "other/1", "sources": {"x": {}}}', '{"schema": "nearfar-health-past/1", "sources": 3}'],
)
def test_what_was_kept_is_torn(tmp_path: Path, text: str) -> None:
    assert kept_looks.read_past(tmp_path, "n1") == {}
    (tmp_path / ".n1.past.json").write_text(text)
    assert kept_looks.read_past(tmp_path, "n1") == {}
    kept_looks.store_past(tmp_path, "n1", {"x": {"place": 1}}, "")
    assert kept_looks.read_past(tmp_path, "n1") == {"x": {"place": 1}}


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node as the site describes it, whose kernel and ports are a tree of files."""
    (tmp_path / "site" / "systems").mkdir(parents=True)
    (tmp_path / "site" / "systems" / "vm.yaml").write_text(SYSTEM)
    root = tmp_path / "root"
    (root / "proc/sys/kernel/random").mkdir(parents=True)
    (root / "proc/sys/kernel/random/boot_id").write_text("11111111-2222\n")
    (root / "dev").mkdir()
    (root / "dev/kmsg").write_text("6,0,1,-;up\n")
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    monkeypatch.setenv("SLURMD_NODENAME", "n1")
    monkeypatch.setenv("HWLOC_XMLFILE", str(hardware(tmp_path / "n1.xml")))
    monkeypatch.setenv("HWLOC_THISSYSTEM", "0")
    monkeypatch.setattr(health_look, "ROOT", root)
    monkeypatch.setattr(health_look, "_nvml", lambda: None)
    return tmp_path


def looked(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert cli.main(["slurm", "health", "--output", str(folder / "health"), "--json"]) == 0
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    written = json.loads((folder / "health" / "n1.json").read_text())
    assert {**said, "kept": None} == {**written, "kept": None}
    assert not list(validator("health-1").iter_errors(said))
    return said


def logged(folder: Path, *messages: str) -> None:
    with (folder / "root/dev/kmsg").open("a") as ring:
        number = len((folder / "root/dev/kmsg").read_text().splitlines())
        ring.writelines(f"4,{number + i},{(number + i) * 1000000},-;{text}\n" for i, text in enumerate(messages))


def test_an_xid_between_two_looks_reaches_act(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = looked(node, capsys)
    assert (first["verdict"], first["findings"], first["unread"]) == ("PASS", [], [])
    assert set(first["sources"]) == set(every_source.SOURCES) and "past" not in first
    logged(node, "NVRM: Xid (PCI:0000:00:08): 79, pid=1, name=python3, GPU has fallen off the bus.")
    found = looked(node, capsys)
    assert (found["verdict"], findings(found)) == ("FAIL", [("g2.xid79", "FAIL", True)])
    assert found["findings"][0]["code"] == "xid.79"
    assert found["findings"][0]["fields"]["pci"] == "0000:00:08.0"
    after = looked(node, capsys)
    assert after["verdict"] == "PASS", "each line counts once"
    if os.geteuid() == 0:
        gathered = gather(None, node / "health", "vm", frozenset(), time.time(), TimeRange(0.0))
        assert not gathered.refused
        hard = [(f.subject, f.code, f.hard) for run in gathered.runs for f in run.failures]
        assert hard == [("g2.xid79", "xid.79", True)], "it is kept until act has read it"


def test_what_the_driver_counts_reaches_the_look(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = {f"0000:00:0{bus}.0": {"TotalEccErrors": 0, "RemappedRows": [0, 0, 0, 0]} for bus in (6, 7, 8, 9)}
    told["0000:00:07.0"] = {"TotalEccErrors": 1, "RemappedRows": [0, 1, 1, 0]}
    told["0000:00:09.0"] = {"TotalEccErrors": NVMLError(999, "Unknown Error")}
    monkeypatch.setattr(health_look, "_nvml", lambda: CountingNvml(told))
    found = looked(node, capsys)
    assert findings(found) == [("g1.memory", "FAIL", True), ("g1.memory", "DEGRADED", False)]
    assert [one["code"] for one in found["findings"]] == ["health.memory_uncorrectable", "memory.row_remap_pending"]
    assert found["unread"] == ["memory errors of GPU 3: nvmlDeviceGetTotalEccErrors: Unknown Error"]
    assert found["sources"]["memory"]["said"] == "3 GPUs count memory errors"


def test_notes_and_what_could_not_be_read_in_words(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    looked(node, capsys)
    logged(node, "NVRM: Xid (PCI:0000:00:08): 31, pid=1, name=python3, Ch 00000003")
    assert cli.main(["slurm", "health", "--output", str(node / "health")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "n1: PASS" and said[1].startswith("  note: GPU 2 at 0000:00:08.0: Xid 31, "), said
    (node / "root/dev/kmsg").unlink()
    assert cli.main(["slurm", "health", "--output", str(node / "health")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "n1: PASS" and said[1].startswith(
        "  not read: the kernel's log: /dev/kmsg cannot be read: No such file"
    ), said


def test_a_look_that_could_not_be_written_forgets_nothing(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    looked(node, capsys)
    logged(node, "NVRM: Xid (PCI:0000:00:08): 79, GPU has fallen off the bus.")
    (node / "health/kept").write_text("in the way")
    assert cli.main(["slurm", "health", "--output", str(node / "health")]) == 3
    (node / "health/kept").unlink()
    assert findings(looked(node, capsys)) == [("g2.xid79", "FAIL", True)]


def test_ports_that_the_sites_file_names(node: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = node / "site/systems/vm.yaml"
    file.write_text(SYSTEM.replace("partitions:", "expect: {infiniband: [mlx5_0]}\npartitions:"))
    assert findings(looked(node, capsys)) == [("mlx5_0.port", "FAIL", False)]
    place = node / "root/sys/class/infiniband/mlx5_0/ports/1"
    place.mkdir(parents=True)
    (place / "state").write_text("4: ACTIVE\n")
    assert looked(node, capsys)["verdict"] == "PASS"


def test_without_hwloc_counters_and_logs_are_read_all_the_same(
    node: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looked(node, capsys)
    logged(node, "NVRM: Xid (PCI:0000:00:08): 79, GPU has fallen off the bus.")

    def absent() -> None:
        raise NearfarError("lstopo is not installed")

    monkeypatch.setattr(inventory, "observe", absent)
    found = looked(node, capsys)
    assert [one["verdict"] for one in found["findings"]] == ["INDETERMINATE", "FAIL"]
