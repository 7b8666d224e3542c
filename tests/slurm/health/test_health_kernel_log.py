"""The kernel's log since the last look: forms of lines, classes of Xids, where the last look ended, and what cannot be read."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nearfar.slurm.health import kernel_log, xids
from nearfar.slurm.health.source import Now, Seen
from nearfar.topology.inventory import kernel_lines
from nearfar.topology.inventory.kernel_lines import LogLine, event, events, from_journal, from_kmsg
from tests.conftest import CHECKOUT

RECORDED = CHECKOUT / "tests" / "data" / "kernel-log"
GPU = "0000:01:00.0"
FALLEN = "NVRM: Xid (PCI:0000:01:00): 79, pid=1, name=python3, GPU has fallen off the bus."
NOTHING: Mapping[str, Any] = {"boot": "b", "at": 50.0, "sequence": -1, "log_at": 0.0}
NO_JOURNAL = "/nonexistent/journalctl"


def now(past: Mapping[str, Any] = NOTHING) -> Now:
    return Now(gpus={GPU: 0, "0000:41:00.0": 1}, boot="b", at=100.0, past=past)


def kmsg(root: Path, *messages: str, first: int = 0, facility: int = 0) -> Path:
    """A ring of the kernel as a file."""
    (root / "dev").mkdir(exist_ok=True)
    records = [f"{facility << 3 | 6},{first + i},{(first + i) * 1000000},-;{text}\n" for i, text in enumerate(messages)]
    (root / "dev" / "kmsg").write_text("".join(records))
    return root


def told(*messages: str, past: Mapping[str, Any] = NOTHING) -> Seen:
    lines = tuple(LogLine(60.0 + i, text, i) for i, text in enumerate(messages))
    return kernel_log.classify(now(past), ((*lines, LogLine(99.0, "", len(lines))), ""))


def seen_in(root: Path, past: Mapping[str, Any] = NOTHING, journalctl: str = NO_JOURNAL) -> Seen:
    """What a check of this tree finds."""
    previous = (
        kernel_log.end_of_boot(past["boot"], past["log_at"], journalctl) if past.get("boot", "b") != "b" else ((), "")
    )
    return kernel_log.classify(now(past), kernel_lines.read_ring(root), previous)


def found(seen: Seen) -> list[tuple[str, str, bool]]:
    return [(one.subject, one.verdict, one.hard) for one in seen.findings]


def recorded(file: str) -> list[str]:
    """Lines without the time, host and program that dmesg and syslog put before them."""
    return [re.sub(r"^.*?(?=NVRM:|nvidia-nvswitch)", "", text) for text in (RECORDED / file).read_text().splitlines()]


@pytest.mark.parametrize(
    ("file", "numbers"),
    [
        ("dmesg.txt", [(13, "cb"), (109, "cb"), (32, "01"), (31, "01"), (12028, "05"), (20034, "00")]),
        (
            "journal.txt",
            [
                (45, "dc"),
                (45, "ed"),
                (149, "01"),
                (145, "01"),
                (94, "9b"),
                (63, "10"),
                (119, "65"),
                (79, "01"),
                (79, "01"),
                (154, "01"),
            ],
        ),
    ],
)
def test_lines_as_others_recorded_them(file: str, numbers: list[tuple[int, str]]) -> None:
    lines = [LogLine(0.0, text) for text in recorded(file)]
    assert [(one.number, one.pci.split(":")[1]) for one in events(lines)] == numbers


@pytest.mark.parametrize(
    ("line", "pci", "number"),
    [
        ("NVRM: Xid (0000:03:00): 8, Channel 00000001", "0000:03:00.0", 8),
        ("NVRM: Xid (PCI:0000:41:00 GPU-I:05): 94, pid=7, name=x, Contained", "0000:41:00.0", 94),
        ("NVRM: Xid (PCI:00000000:41:00.0): 79", "0000:41:00.0", 79),
        ("NVRM: Xid (PCI:0000:00:1e): 31", "0000:00:1e.0", 31),
        ("NVRM: Xid (PCI:0000:66:00): abc, pid=2280636", None, 0),
        ("NVRM: Xid (PCI:zz:66:00): 79", None, 0),
        ("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  595.71.05", None, 0),
        ("x[7]: segfault at 0 NVRM: Xid (PCI:0000:01:00): 79, x", None, 0),
        ("audit: comm=kernel: NVRM: Xid (PCI:0000:01:00): 79, x", None, 0),
    ],
)
def test_forms_of_the_driver(line: str, pci: str | None, number: int) -> None:
    one = event(LogLine(0.0, line))
    assert (one.pci, one.number) == (pci, number) if one is not None else pci is None


def test_only_the_kernels_own_lines_count() -> None:
    """Whoever can write to /dev/kmsg does so under another facility; a program cannot name itself into an error."""
    forged = f"12,5,5000000,-;{FALLEN}\n".encode()
    assert events(from_kmsg(forged)) == []
    entry = {"__MONOTONIC_TIMESTAMP": "5", "SYSLOG_FACILITY": "3", "MESSAGE": FALLEN}
    assert from_journal(json.dumps(entry)) is None
    quoted = event(LogLine(0.0, "NVRM: Xid (PCI:0000:01:00): 31, pid=1, name=): 79, fallen, Ch 00000003"))
    assert quoted is not None and quoted.number == 31


@pytest.mark.parametrize(
    "rubbish",
    [b"\xff\xfe\x00\x01\n" * 100, b"6,x,y,-;NVRM: Xid\n", b"6,1;NVRM\n", b";;;\n,,,;\n", b"", b" KEY=value\n"],
)
def test_rubbish_in_a_ring(rubbish: bytes) -> None:
    assert events(from_kmsg(rubbish)) == []
    good = f"4,7,7000000,-;{FALLEN}\n SUBSYSTEM=pci\n".encode()
    assert [one.number for one in events(from_kmsg(rubbish + b"\n" + good + rubbish))] == [79]


@pytest.mark.parametrize("rubbish", ["", "{", "[]", '"x"', '{"MESSAGE": "x"}', '{"__MONOTONIC_TIMESTAMP": "x"}'])
def test_rubbish_in_a_journal(rubbish: str) -> None:
    assert from_journal(rubbish) is None


def test_an_entry_that_is_no_text() -> None:
    message = list(FALLEN.encode() + b"\xff\x00\n")
    line = from_journal(json.dumps({"__MONOTONIC_TIMESTAMP": "5000000", "MESSAGE": message}))
    assert line is not None and line.at == 5.0
    one = event(line)
    assert one is not None and one.number == 79 and one.text.isprintable()


@pytest.mark.parametrize("number", [48, 62, 64, 74, 79, 94, 95, 110, 119, 120, 136, 140, 143, 158, 171, 172])
def test_hard_evidence(number: int) -> None:
    seen = told(f"NVRM: Xid (PCI:0000:01:00): {number}, pid=1, name=a, words")
    assert found(seen) == [(f"g0.xid{number}", "FAIL", True)]
    assert seen.findings[0].code == f"xid.{number}" and seen.findings[0].fields["line"] == "words"


@pytest.mark.parametrize("number", [8, 13, 31, 32, 43, 45, 68, 69, 96, 126, 137])
def test_an_applications_xid_is_told_and_nothing_more(number: int) -> None:
    seen = told(f"NVRM: Xid (PCI:0000:01:00): {number}, pid=1, name=a, words")
    assert found(seen) == [] and [note.code for note in seen.notes] == [f"xid.{number}"]


@pytest.mark.parametrize("number", [1, 12, 999, 65535])
def test_an_unknown_xid_is_told_and_drains_nothing(number: int) -> None:
    seen = told(f"NVRM: Xid (PCI:0000:01:00): {number}, words")
    assert found(seen) == [(f"g0.xid{number}", "DEGRADED", False)]
    assert (seen.findings[0].code, seen.findings[0].fields["number"]) == ("xid.other", number)


@pytest.mark.parametrize(
    ("text", "code", "verdict", "hard"),
    [
        ("149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x0)", "xid.149", "FAIL", True),
        ("145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0)", "xid.145", "DEGRADED", False),
        (
            "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)",
            "recovery.gpu_reset",
            "FAIL",
            True,
        ),
        ("154, GPU recovery action changed from 0x0 (None) to 0x2 (OS Reboot)", "recovery.node_reboot", "FAIL", True),
        (
            "154, GPU recovery action changed from 0x0 (None) to 0x3 (Drain P2P)",
            "recovery.drain_p2p",
            "DEGRADED",
            False,
        ),
        (
            "154, GPU recovery action changed from 0x0 (None) to 0x63 (Something New)",
            "recovery.other",
            "DEGRADED",
            False,
        ),
        ("154, something else", "xid.154", "DEGRADED", False),
    ],
)
def test_what_the_line_itself_decides(text: str, code: str, verdict: str, hard: bool) -> None:
    seen = told(f"NVRM: Xid (PCI:0000:01:00): {text}")
    assert [(one.code, one.verdict, one.hard) for one in seen.findings] == [(code, verdict, hard)]


def test_a_recovery_action_that_is_withdrawn() -> None:
    seen = told(
        "NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
    )
    assert found(seen) == [] and [note.code for note in seen.notes] == ["recovery.none"]


def test_switches() -> None:
    seen = told(*recorded("dmesg.txt")[-2:])
    assert found(seen) == [("nvswitch3.sxid12028", "DEGRADED", False), ("nvswitch0.sxid20034", "FAIL", True)]


def test_the_same_many_times_is_one_finding() -> None:
    seen = told(*[FALLEN] * 500, "NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.")
    assert found(seen) == [("g0.xid79", "FAIL", True)] and seen.findings[0].fields["times"] == 501


def test_a_gpu_that_is_none_of_the_nodes() -> None:
    seen = told("NVRM: Xid (PCI:0000:77:00): 79, GPU has fallen off the bus.")
    assert found(seen) == [("0000:77:00.0.xid79", "FAIL", True)]
    assert (seen.findings[0].fields["gpu"], seen.findings[0].fields["pci"]) == (None, "0000:77:00.0")
    assert seen.findings[0].reason.startswith("GPU 0000:77:00.0: Xid 79, ")


def test_what_was_logged_before_the_first_look_accuses_nobody() -> None:
    """It may have been fixed since: a fleet is not drained by an installation."""
    seen = told(FALLEN, past={})
    assert found(seen) == [("g0.xid79", "DEGRADED", False)] and seen.findings[0].fields["logged"]


RESET = "NVRM: Xid (PCI:0000:01:00): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate."


def test_since_the_last_check(tmp_path: Path) -> None:
    first = seen_in(kmsg(tmp_path, "up", FALLEN))
    assert len(first.findings) == 1 and (first.past["sequence"], first.past["log_at"]) == (1, 1.0) and not first.unread
    past = {**first.past, "boot": "b", "at": 2.0}
    again = seen_in(tmp_path, past)
    assert again.findings == () and again.past["sequence"] == 1
    more = seen_in(kmsg(tmp_path, "up", FALLEN, "x", FALLEN), past)
    assert len(more.findings) == 1 and more.findings[0].fields["times"] is None


def test_a_new_boot_begins_anew(tmp_path: Path) -> None:
    past = {"boot": "before", "at": 2.0, "sequence": 9000, "log_at": 9.0}
    seen = seen_in(kmsg(tmp_path, "up", FALLEN), past)
    assert len(seen.findings) == 1
    gap = "the kernel's log between the last health check and this boot"
    assert seen.unread == (f"{gap}: journalctl is not installed",)


def journal(tmp_path: Path, *entries: tuple[float, str]) -> str:
    """A journalctl that has these entries of the boot before, newest first as it is asked."""
    (tmp_path / "entries.json").write_text(json.dumps({"before": entries}))
    program = tmp_path / "journalctl"
    program.write_text(
        f"#!{sys.executable} -IS\n"
        "import json, sys, pathlib\n"
        "held = json.loads((pathlib.Path(__file__).parent / 'entries.json').read_text())\n"
        "boot = next(a for a in sys.argv if a.startswith('_BOOT_ID=')).partition('=')[2]\n"
        "assert '--reverse' in sys.argv and '_TRANSPORT=kernel' in sys.argv\n"
        "for at, text in reversed(held.get(boot, [])):\n"
        "    print(json.dumps({'_SOURCE_MONOTONIC_TIMESTAMP': str(int(at * 1e6)), '__MONOTONIC_TIMESTAMP': '1', 'MESSAGE': text}))\n"
    )
    program.chmod(0o755)
    return str(program)


def numbers(seen: Seen) -> list[int]:
    return [one.fields["number"] for one in seen.findings]


def test_what_the_ring_has_lost_is_told(tmp_path: Path) -> None:
    past = {"boot": "b", "at": 2.0, "sequence": 4, "log_at": 4.0}
    seen = seen_in(kmsg(tmp_path, "much else", first=50), past)
    assert seen.unread == ("the kernel's log: 45 lines since the last health check are gone from /dev/kmsg",)
    assert seen.past["sequence"] == 50


def test_a_gpu_that_fell_off_before_the_reboot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_log, "JOURNAL", 20.0)
    past = {"boot": "be-fo-re", "at": 9.0, "sequence": 9000, "log_at": 9.0}
    program = journal(tmp_path, (8.0, FALLEN), (10.0, FALLEN))
    seen = seen_in(kmsg(tmp_path, "up"), past, program)
    assert found(seen) == [("g0.xid79", "FAIL", True)] and not seen.unread and seen.findings[0].fields["times"] is None


def test_neither_can_be_read(tmp_path: Path) -> None:
    """One line says so; it is no evidence against the node."""
    program = tmp_path / "journalctl"
    program.write_text("#!/bin/sh\necho 'No journal files were opened due to insufficient permissions.' >&2; exit 1\n")
    program.chmod(0o755)
    seen = seen_in(tmp_path, {"boot": "before", "at": 9.0, "sequence": 9000, "log_at": 9.0}, str(program))
    assert seen.findings == () and seen.unread == (
        "the kernel's log between the last health check and this boot: "
        "No journal files were opened due to insufficient permissions.",
        "the kernel's log: /dev/kmsg cannot be read: No such file or directory",
    )


def test_a_journal_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_log, "JOURNAL", 0.3)
    program = tmp_path / "journalctl"
    line = json.dumps({"__MONOTONIC_TIMESTAMP": "99000000", "MESSAGE": "a line of the kernel"})
    program.write_text(f"#!/bin/sh\nwhile echo '{line}'; do sleep 0.01; done\n")
    program.chmod(0o755)
    began = time.monotonic()
    seen = seen_in(tmp_path, {"boot": "before", "at": 9.0, "sequence": 9000, "log_at": 9.0}, str(program))
    assert time.monotonic() - began < 10
    assert "there is more than can be read" in seen.unread[0]


def test_ten_megabytes_of_lines() -> None:
    """Lines that are not the driver's cost next to nothing."""
    filler = b"".join(b"6,%d,%d,-;%s\n" % (i, i, b"x" * 1000) for i in range(10_000))
    last = f"4,10000,10000,-;{FALLEN}\n".encode()
    began = time.process_time()
    lines = [line for line in from_kmsg(filler + last) if line.text]
    assert len(lines) == 1 and time.process_time() - began < 5


def test_the_ring_of_this_machine() -> None:
    """As the kernel gives it, where this user may read it."""
    if not os.access("/dev/kmsg", os.R_OK):
        pytest.skip("this user may not read /dev/kmsg")
    try:
        os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
    except OSError:
        pytest.skip("/dev/kmsg cannot be opened here")
    assert kernel_lines.read_ring(Path("/"))[0]


def test_the_table() -> None:
    assert len(xids.XIDS) == len(xids._TABLE), "a number twice"
    assert {xid.kind for xid in xids.XIDS.values()} == set(xids.KINDS)


def test_hard_xids_that_the_catalogue_takes_lightly_have_a_reason() -> None:
    light = {
        xid.number for xid in xids.XIDS.values() if xid.kind == xids.HARD and xid.bucket in ("RESTART_APP", "IGNORE")
    }
    assert light == set(xids.STRICTER)
    assert all("reset the GPU" in xids.XIDS[number].remedy for number in xids.STRICTER)
