"""A log whose lines hold something else than they should (a later version's, edited by hand) is refused in a line, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nearfar.base import CouldNotJudge
from nearfar.site.drain_policy import Policy
from nearfar.slurm.act import ActOptions, view
from nearfar.slurm.findings.log import SCHEMA, ActLog
from nearfar.slurm.status.node_log import events
from nearfar.slurm.telling.hook_memory import HookMemory
from tests.support.fake_slurm import FakeSlurm

GONE = {"subject": "g2", "verdict": "FAIL", "reason": "GPU 2 is missing", "hard": True}
DRAIN = {
    "reason": "nearfar: FAIL health g2 run=1",
    "check": "health",
    "finding": GONE,
    "run": "1",
    "source": "/x",
}
EVIDENCE = {
    "check": "health", "run": "1", "finding": GONE, "started": 1.0,
    "ended": 2.0, "came": 3.0, "parts": ["g2"], "confirmed": "", "source": "/x", "system": "vm",
}  # fmt: skip
#: A line of each action.
LINES: tuple[tuple[str, str | None, dict[str, Any]], ...] = (
    ("evidence", "n1", EVIDENCE),
    ("drain", "n1", DRAIN),
    ("drain_again", "n2", {**DRAIN, "reservation": "r"}),
    ("closed", "n1", {"evidence": ["id-0"], "until": 5.0, "run": "2", "passed": 4.0, "why": "repaired"}),
    ("drained_by_others", "n3", {"since": 4.0, "reason": "fan", "who": "bob"}),
    ("back_in_use", "n3", {"since": 5.0}),
    ("resumed_by_others", "n1", {"since": 5.0}),
    ("rebooted", "n1", {"booted": 5.0}),
    ("died", "n1", {"state": "DOWN"}),
    ("quarantine", None, {"reservation": "r", "nodes": {"n1": {"reason": "x", "check": "health", "finding": GONE}}}),
    ("quarantine_over", None, {"reservation": "r", "passed": ["n1"]}),
    ("quarantine_end", None, {"reservation": "r"}),
    ("held", None, {"cause": "cap", "nodes": ["n1", "n2"], "why": "cap", "system": "vm"}),
    ("held_over", None, {"cause": "cap", "nodes": ["n1"], "system": "vm"}),
    ("latch", None, {"why": "cap"}),
    ("clear", "n1", {"why": "seen", "reason": "x", "check": "health"}),
    ("release", "n2", {"why": "seen"}),
    ("told", "n1", {"system": "vm", "hook": "on-drain", "event": "id-1", "seconds": 0.1, "said": ""}),
)  # fmt: skip
WRONG: tuple[Any, ...] = (5, None, True, "x", [], [5], [[]], {}, {"n1": 5}, {"n1": {"reason": []}}, -1, 1e300)


def written(lines: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def whole() -> list[dict[str, Any]]:
    return [
        {"schema": SCHEMA, "time": f"2026-11-21T20:11:{index:02d}.000000Z", "action": action, "outcome": "done", "id": f"id-{index}",
         **({} if node is None else {"node": node}), **more, "by": "root", "host": "vm"}
        for index, (action, node, more) in enumerate(LINES)
    ]  # fmt: skip


def read(state: Path) -> None:
    """All that reads the log."""
    entries = ActLog(state).entries()
    for event in events(entries):
        assert isinstance(event.line, str) and json.dumps(event.document)
    view.look(ActOptions(Policy("vm"), None, None, state), FakeSlurm(("n1", "n2", "n3"), False))  # type: ignore[arg-type]
    HookMemory.read(state, "vm")


@pytest.mark.parametrize("index", range(len(LINES)), ids=[line[0] for line in LINES])
def test_wrong_values_are_refused_in_one_line(tmp_path: Path, index: int) -> None:
    lines, path = whole(), ActLog(tmp_path).path
    path.write_text(written(lines))
    (tmp_path / "hooks.jsonl").write_text(written(lines))
    read(tmp_path)
    for key in lines[index]:
        for wrong in (*WRONG, ...):
            line = {name: value for name, value in lines[index].items() if name != key or wrong is not ...}
            line = line if wrong is ... else {**line, key: wrong}
            path.write_text(written([*lines[:index], line, *lines[index + 1 :]]))
            (tmp_path / "hooks.jsonl").write_text(path.read_text())
            try:
                read(tmp_path)
            except CouldNotJudge as error:
                assert f"log.jsonl:{index + 1}: not a line of this log (" in str(error) and "\n" not in str(error), (
                    key,
                    wrong,
                )


def test_the_line_and_what_is_wrong_with_it_are_named(tmp_path: Path) -> None:
    lines = whole()
    lines[1]["node"] = ["n1"]
    ActLog(tmp_path).path.write_text(written(lines))
    with pytest.raises(
        CouldNotJudge, match=r"log\.jsonl:2: not a line of this log \(node: \['n1'\] is not of type 'string'\); fix it"
    ):
        ActLog(tmp_path).entries()


def test_what_a_later_version_has_added_is_passed_over(tmp_path: Path) -> None:
    lines = [*whole(), {**whole()[1], "id": "id-new", "action": "teleport", "warp": [1, {}]}]
    ActLog(tmp_path).path.write_text(written(lines))
    assert len(ActLog(tmp_path).entries()) == len(lines)
