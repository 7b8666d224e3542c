"""The site's hooks: what they are told and when, and that none of them changes what ``act`` does."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearfar.site.drain_policy import DrainSteps
from nearfar.slurm.act import state_directory
from nearfar.slurm.findings import Entry
from nearfar.slurm.telling import events, hook_process, hooks
from tests.support.node_results import leave
from tests.support.told import Told


@pytest.fixture
def site(tmp_path: Path) -> Told:
    return Told(tmp_path)


def test_a_finding_a_drain_and_a_release_are_told_once_each(site: Told) -> None:
    leave(site.results, "n1", "00000001", at=site.now - 7200, speed=27.2)
    leave(site.results, "n1", "00000002", at=site.now - 60, speed=27.1)
    assert site.act().problems == () and site.act().problems == ()

    [found], [drained] = site.told("on-finding"), site.told("on-drain")
    assert (found["schema"], found["event"], found["node"]) == ("nearfar-hook/1", "finding", "n1")
    fields = found["finding"]["fields"]
    assert (fields["value"], fields["limit"], fields["unit"], found["run"]) == (27.1, 52.6, "GB/s", "00000002")
    assert found["finding"]["hard"] is False and drained["finding"] == found["finding"]
    assert (drained["event"], drained["node"], drained["attempt"], drained["system"]) == ("drain", "n1", 1, "vm")
    assert drained["reason"] == "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=00000002"
    log = [json.loads(line) for line in (site.state / "log.jsonl").read_text().splitlines()]
    assert drained["id"] in [line["id"] for line in log if line["action"] == "drain" and line["outcome"] == "done"]

    leave(site.results, "n1", "00000003", at=time.time() + 60, job=None)
    assert site.act().problems == () and site.act().problems == ()
    [released] = site.told("on-release")
    assert (released["event"], released["node"], released["by_act"]) == ("release", "n1", True)
    assert released["why"] == "host_device_check passed in run 00000003"


def test_a_finding_says_why_it_stands(site: Told) -> None:
    site.wrong_data("n1", "00000001")
    leave(site.results, "n2", "00000002", at=site.now - 7200, speed=27.2)
    leave(site.results, "n2", "00000003", at=site.now - 60, speed=27.1)
    site.act()
    why = {one["node"]: one["why"] for one in site.told("on-finding")}
    assert why == {"n1": "hard evidence stands at once", "n2": "confirmed by run 00000002"}


def test_a_release_by_act_and_by_somebody_else(site: Told) -> None:
    site.wrong_data("n1", "00000001")
    site.wrong_data("n2", "00000002")
    site.act()
    assert [one["node"] for one in site.told("on-drain")] == ["n1", "n2"]
    site.slurm.resume("n2")
    site.act()
    [released] = site.told("on-release")
    assert (released["node"], released["by_act"]) == ("n2", False)


def test_told_again_with_the_same_id_where_the_last_act_was_killed_before_it_could_write_that_down(site: Told) -> None:
    site.wrong_data("n1", "00000001")
    site.act()
    memory = site.state / "hooks.jsonl"
    memory.write_text("".join(line for line in memory.read_text().splitlines(True) if '"told"' not in line))
    site.act()
    first, again = site.told("on-drain")
    assert first == again


def test_what_was_before_a_hook_was_switched_on_is_told_only_where_it_still_stands(site: Told) -> None:
    wanted, site.hooks = site.hooks, {}
    site.wrong_data("n1", "00000001")
    site.act()
    assert not (site.state / "hooks.jsonl").exists()
    site.hooks = wanted
    site.act()
    assert site.told("on-drain") == [] and [one["node"] for one in site.told("on-finding")] == ["n1"]
    site.hooks = {}
    site.act()
    site.wrong_data("n2", "00000002")
    site.act()
    site.hooks = wanted
    site.act()
    assert site.told("on-drain") == [], "n2 was drained while the hook was off"


def _forking(site: Told) -> str:
    return site.program("forking", f"sleep 600 & echo $! > {site.folder}/child; echo said; sleep 600")


BAD: dict[str, tuple[Callable[[Told], str], str]] = {
    "hangs": (lambda site: site.program("bad", "echo I wait; exec sleep 600"), "it did not end within 0.5 s: I wait"),
    "ignores SIGTERM": (lambda site: site.program("bad", "trap '' TERM; while :; do :; done"), "it did not end within"),
    "fails": (lambda site: site.program("bad", "echo no route to host >&2; echo more; exit 7"), "exit code 7: no route to"),
    "is killed": (lambda site: site.program("bad", "kill -9 $$"), "ended by signal 9"),
    "forks": (_forking, "it did not end within 0.5 s: said"),
    "closes its output and hangs": (lambda site: site.program("bad", "exec >&- 2>&-; sleep 600"), "it did not end within"),
    "writes gigabytes": (lambda site: site.program("bad", "exec yes 5 gigabytes"), "it wrote more than 1 MiB, and was ended: 5 gig"),
    "one line without end": (lambda site: site.program("bad", "exec cat /dev/zero"), "it wrote more than 1 MiB, and was ended: ???"),
    "is missing": (lambda site: str(site.folder / "nowhere"), "No such file or directory; write it"),
    "is not executable": (lambda site: site.program("bad", "true", 0o644), "not executable; chmod 0755"),
    "all may write": (lambda site: site.program("bad", "true", 0o757), "others can write to it (mode 0757); chmod go-w"),
    "is a directory": (lambda site: str(site.folder), "not a file; name a program"),
    "is no program": (lambda site: _binary(site), "cannot be started: Exec format error"),
}  # fmt: skip


def _binary(site: Told) -> str:
    path = site.folder / "bad"
    path.write_bytes(b"\x7fELF and no more")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("how", BAD)
def test_a_hook_that_is_bad_changes_nothing_that_act_does(site: Told, how: str) -> None:
    good, site.seconds = site.hooks["on-drain"], 0.5
    make, words = BAD[how]
    site.hooks["on-drain"] = make(site)
    site.wrong_data("n1", "00000001")
    site.wrong_data("n2", "00000002")
    told = site.act()
    assert all(site.slurm.states[name].drain for name in ("n1", "n2")) and not any(told.done.problems.values())
    [problem] = told.problems
    assert (
        problem.startswith("on-drain of n1: /")
        and words in problem
        and problem.endswith("; told again by the next act")
    )
    assert len(site.told("on-finding")) == 2, "the others are told"
    [failed] = [problem for action, problem in site.memory() if action == "failed"]
    assert failed is not None and len((site.state / "hooks.jsonl").read_text()) < 10_000
    if how == "forks":
        child = int((site.folder / "child").read_text())
        assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split(")")[1][:3]

    site.hooks["on-drain"], site.seconds = good, 5.0
    assert site.act().problems == ()
    assert [(one["node"], one["attempt"]) for one in site.told("on-drain")] == [("n2", 1), ("n1", 2)]


def test_a_hook_that_does_not_read_its_input_is_well(site: Told) -> None:
    site.hooks = {"on-drain": site.program("deaf", "exit 0")}
    site.wrong_data("n1", "00000001")
    assert site.act().problems == () and site.memory() == [("told", None)]


def test_a_hook_that_closes_its_output_before_it_reads_gets_the_whole_document(site: Told) -> None:
    program = site.program("quiet", 'exec >/dev/null 2>&1; sleep 0.2; cat > "$0.told"')
    document = b"x" * 300_000
    done = hook_process.call(program, "on-drain", document, 20.0)
    assert done.problem is None and (site.folder / "quiet.told").read_bytes() == document


def test_texts_that_a_hook_is_told_are_cut(site: Told) -> None:
    leave(site.results, "n1", "00000001", at=site.now - 60, wrong="w" * 200_000)
    site.act()
    assert [one["finding"]["reason"] for one in site.told("on-finding")] == ["w" * 2000]


def test_what_a_hook_leaves_behind_in_a_session_of_its_own_is_not_waited_for(site: Told) -> None:
    site.hooks = {"on-drain": site.program("leaves", "echo left; setsid sleep 20 & exit 0")}
    site.wrong_data("n1", "00000001")
    began = time.monotonic()
    assert site.act().problems == ()
    assert time.monotonic() - began < 18


def test_a_hook_finds_nothing_of_the_environment_of_act(site: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    site.hooks = {"on-drain": site.program("looks", 'env > "$0.env"')}
    site.wrong_data("n1", "00000001")
    site.act()
    names = {line.partition("=")[0] for line in (site.folder / "looks.env").read_text().splitlines()}
    assert names <= {"PATH", "LANG", "NEARFAR_HOOK", "HOME", "USER", "LOGNAME", "PWD", "SHLVL", "_", "OLDPWD"}


def test_all_hooks_together_have_an_end(site: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks.HookRun.__init__, "__defaults__", (0.0,))
    site.wrong_data("n1", "00000001")
    told = site.act()
    assert told.problems == () and site.told("on-drain") == []
    monkeypatch.undo()
    site.act()
    assert len(site.told("on-drain")) == 1


def test_an_event_that_fails_for_a_day_is_given_up(site: Told) -> None:
    site.hooks = {"on-drain": site.program("bad", "exit 1")}
    site.wrong_data("n1", "00000001")
    for _ in range(3):
        site.act()
    memory = site.state / "hooks.jsonl"
    lines = [json.loads(line) for line in memory.read_text().splitlines()]
    for line in lines:
        line["time"] = "2020-01-01T00:00:00.000000Z"
    memory.write_text("".join(json.dumps(line) + "\n" for line in lines))
    [problem] = site.act().problems
    assert problem.endswith("; given up") and site.act().problems == ()


def test_a_damaged_memory_is_told_and_no_hook_is_called(site: Told) -> None:
    site.act()
    (site.state / "hooks.jsonl").write_text("{}\n")
    site.wrong_data("n1", "00000001")
    told = site.act()
    assert site.slurm.states["n1"].drain and "hooks.jsonl:1: not a line of this log" in told.problems[0]
    assert told.problems[0].endswith("move the file away: all findings that stand are then told again")
    assert site.told("on-drain") == []


def test_another_act_that_is_at_the_hooks_is_left_to_it(site: Told) -> None:
    site.act()
    site.wrong_data("n1", "00000001")
    with hooks._lock(site.state) as free:
        assert free
        assert site.act().problems == () and site.slurm.states["n1"].drain
    assert site.told("on-drain") == []
    site.act()
    assert len(site.told("on-drain")) == 1


def test_a_hook_that_is_switched_on_while_another_act_tells_misses_nothing(site: Told) -> None:
    wanted, site.hooks = site.hooks, {}
    site.act()
    site.hooks = wanted
    site.wrong_data("n1", "00000001")
    with hooks._lock(site.state):
        assert site.act().problems == () and site.slurm.states["n1"].drain
    site.act()
    assert len(site.told("on-drain")) == 1


def test_which_hooks_there_are_is_written_down_under_the_lock_of_act(
    site: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hosts that add a line to a file on NFS at once write over each other's."""
    monkeypatch.setattr(state_directory, "_PATIENCE", 0.1)
    with state_directory.locked(state_directory.prepare(site.state)):
        blocked = hooks.HookRun(site.options())
        blocked.switch_on()
        assert len(blocked.problems) == 1 and not (site.state / "hooks.jsonl").exists()
    hooks.HookRun(site.options()).switch_on()
    with state_directory.locked(site.state):
        known = hooks.HookRun(site.options())
        known.switch_on()
        assert known.problems == [], "nothing is to be written down"


def test_a_hook_that_was_switched_on_while_the_clock_was_ahead_misses_nothing(
    site: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.time
    with monkeypatch.context() as ahead:
        ahead.setattr(time, "time", lambda: real() + 86400)
        hooks.HookRun(site.options()).switch_on()
    site.wrong_data("n1", "00000001")
    site.act()
    site.act()
    assert len(site.told("on-drain")) == 1


def test_a_slow_figure_that_stands_again_is_told_again(site: Told) -> None:
    site.hooks, site.steps = {"on-finding": site.hooks["on-finding"]}, DrainSteps("observe", "observe")
    for run, (before, speed) in enumerate(((9000, 27.2), (8000, 27.1)), 1):
        leave(site.results, "n1", f"0000000{run}", at=site.now - before, speed=speed)
    site.act()
    site.act()
    assert [one["run"] for one in site.told("on-finding")] == ["00000002"]
    leave(site.results, "n1", "00000003", at=site.now - 6000)
    site.act()
    for run, before in ((4, 4000), (5, 2000)):
        leave(site.results, "n1", f"0000000{run}", at=site.now - before, speed=27.0)
    site.act()
    site.act()
    assert [one["run"] for one in site.told("on-finding")] == ["00000002", "00000005"]


def _line(action: str, outcome: str, at: float, name: str, **more: Any) -> Entry:
    return Entry(action, outcome, at, name, "n1", more)


def test_a_drain_of_which_the_log_has_no_end_counts_once_it_was_seen() -> None:
    begun = _line("drain", "begun", 1.0, "a", reason="r")
    assert list(events.drains_and_releases([begun])) == []
    assert list(events.drains_and_releases([begun, _line("drain", "refused", 2.0, "a")])) == []
    [seen] = events.drains_and_releases([begun, _line("drain_seen", "done", 20.0, "b")])
    assert (seen.id, seen.at, seen.more["reason"]) == ("a", 20.0, "r")
    again = [_line("drain", "begun", 3.0, "c", reason="r"), _line("drain", "done", 4.0, "c")]
    assert [one.id for one in events.drains_and_releases([begun, *again, _line("drain_seen", "done", 20.0, "d")])] == [
        "c"
    ]


def test_a_release_says_why() -> None:
    [resumed] = events.drains_and_releases(
        [_line("resume", "begun", 1.0, "a", why="it passed"), _line("resume", "done", 2.0, "a")]
    )
    assert (resumed.hook, resumed.more) == ("on-release", {"by_act": True, "why": "it passed"})
    [retested] = events.drains_and_releases([_line("release", "done", 2.0, "b", reservation="r")])
    assert retested.more["why"] == "its retest passed"
