"""Programs under schemes: what is measured, what is read back, and what fails, hangs, moves, stays behind, is interrupted."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from nearfar import cost
from nearfar.base import compiled
from nearfar.cost import measuring, words
from nearfar.cost.pairs import Penalty
from nearfar.cost.running import Ended
from nearfar.mpi import RankPlan

from . import fakes

NAMES = ("default", "right", "wrong")


@pytest.fixture(autouse=True)
def other_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CPU", str(fakes.cpus()[1]))


def measured(folder: Path, *does: str, names: tuple[str, ...] = NAMES, tell: Any = None, **plan: Any) -> cost.Measured:
    job = cost.Job(launched=False)
    starter = cost.launcher("none", Path("x"), 1, (), oversubscribe=False)
    runner = cost.Runner(fakes.program(folder, *does), starter, folder)
    figure = plan.pop("figure", None) or cost.figure_of_merit(r"time of loop: (\S+)", None, None)
    given = {"runs": 6, "warm_up": 0, "budget": 60.0, **plan}
    return cost.measure(
        cost.schemes_on(fakes.two_nodes(), names, job),
        runner,
        cost.Plan(figure, "right", tuple({"default"} & set(names)), **given),
        tell,
    )


def test_what_costs_is_said_with_its_interval_and_what_was_in_effect(tmp_path: Path) -> None:
    found = measured(tmp_path, "wrong=slow", at_most=0.2)
    first, second = fakes.cpus()
    penalty = found.penalty(found.of("wrong"))
    assert penalty is not None and penalty.interval is not None
    assert 0.4 < penalty.interval[0] < penalty.value < penalty.interval[1] < 0.6
    assert words.state(found, found.of("wrong")) == "dearer" and found.good is True
    for run in found.of("wrong").runs:
        assert [(each.rank, each.cpus, each.policy, each.unbound) for each in run.bindings] == [
            (0, (second,), "default", None)
        ]
    assert found.of("right").bindings[0].cpus == (first,)
    assert set(found.of("default").bindings[0].cpus) >= {first, second}


def test_every_block_has_one_run_of_each_in_another_order(tmp_path: Path) -> None:
    found = measured(tmp_path, runs=4)
    every = sorted((run for each in found.schemes for run in each.runs), key=lambda run: run.began)
    blocks = [[run.scheme for run in every if run.block == block] for block in (1, 2, 3, 4)]
    assert all(sorted(block) == sorted(NAMES) for block in blocks)
    assert [run.block for run in every] == [block for block in (1, 2, 3, 4) for _ in NAMES]
    assert len({tuple(block) for block in blocks}) > 1


def test_it_stops_when_all_is_settled_and_runs_no_more_of_what_is(tmp_path: Path) -> None:
    found = measured(tmp_path, "wrong=slow", "default=slow", runs=30)
    assert found.ended == "every difference is settled" and len(found.of("right").runs) == 6


def test_schemes_that_are_the_same_run_once(tmp_path: Path) -> None:
    found = measured(tmp_path, names=("right", "0", "wrong", "1", "far-far", "interleaved"), runs=1)
    same = {each.name: each.same_as for each in found.schemes}
    assert same == {
        "right": None,
        "0": "right",
        "wrong": None,
        "1": "wrong",
        "far-far": "wrong",
        "interleaved": "right",
    }
    assert not found.schemes[1].runs and "0, interleaved: the same CPUs and memory as right" in words.notes(found)[0]


def test_one_numa_node_and_nothing_to_compare(tmp_path: Path) -> None:
    found = measured(tmp_path, names=("right", "0"))
    assert found.ended == "no two schemes differ on this machine" and found.good is None
    # The way out is one that this machine has.
    assert ("--threads-per-rank" in words.next_step(found, subject())) == (len(found.reference.bindings[0].cpus) > 1)


def test_a_program_that_fails_under_one_scheme_is_left_out_there(tmp_path: Path) -> None:
    found = measured(tmp_path, "wrong=fail", "default=slow", names=NAMES)
    assert len(found.of("wrong").runs) == 1
    assert found.of("wrong").left_out == "ended with exit code 1: Segmentation fault in wrong"
    assert words.state(found, found.of("default")) == "dearer"
    assert any("wrong: left out: ended with exit code 1" in note for note in words.notes(found))


def test_one_that_fails_under_the_reference_ends_it(tmp_path: Path) -> None:
    found = measured(tmp_path, "right=fail")
    assert (
        "right, which the other schemes are compared with, ended with exit code 1" in found.ended and found.good is None
    )


@pytest.mark.parametrize(
    "does, said",
    [
        ("mute", "matches nothing in its output"),
        ("twice", "2 figures in its output"),
        ("tty", "it has no terminal and no input here"),
    ],
)
def test_no_figure_is_said(tmp_path: Path, does: str, said: str) -> None:
    found = measured(tmp_path, f"*={does}")
    assert said in found.ended and found.good is None


def test_a_program_that_binds_itself_is_noticed(tmp_path: Path) -> None:
    found = measured(tmp_path, "*=move", names=("right", "wrong"), runs=1)
    second = fakes.cpus()[1]
    assert f"the program binds itself: rank 0 ran on CPUs {second}" in str(words.moved(found.of("right")))
    assert words.moved(found.of("wrong")) is None  # it was there already
    assert found.good is None


def test_a_program_that_runs_for_long_is_ended_with_the_budget(tmp_path: Path) -> None:
    began = time.monotonic()
    found = measured(tmp_path, "*=hang", budget=1.5)
    assert time.monotonic() - began < 60
    assert "did not end within the" in found.ended and "--budget 8h" in found.ended


def test_what_a_run_leaves_behind_is_ended_and_named(tmp_path: Path) -> None:
    found = measured(
        tmp_path,
        "wrong=child",
        names=("right", "wrong"),
        runs=1,
        figure=cost.figure_of_merit(r"energy -(\S+)", None, None),
    )
    assert found.of("wrong").runs[0].left and not found.of("right").runs[0].left
    assert any("left processes behind, which were ended" in note for note in words.notes(found))


def test_it_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Ended] = []
    own = cost.Runner.run
    monkeypatch.setattr(cost.Runner, "run", lambda *words: seen.append(own(*words)) or seen[-1])
    measured(tmp_path, "*=child", names=("right", "wrong"), runs=2)
    children = [int(line.split()[1]) for each in seen for line in each.output.splitlines() if line.startswith("child")]
    assert len(children) == 4
    for child in children:
        assert gone(child), child


def gone(process: int) -> bool:
    """Whether a process ends within 20 s, though nobody may have waited for it: it was told to, and the machine may be busy."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_an_answer_that_changes_with_the_binding(tmp_path: Path) -> None:
    same = compiled(r"energy (\S+)", "--same")
    found = measured(tmp_path, "wrong=answer", answer=same, runs=1)
    assert words.answer(found) == "the answer changes with the binding: default -3.25; right -3.25; wrong -3.5"
    assert found.good is None and "answer" in words.next_step(found, subject())
    assert measured(tmp_path, answer=same, runs=1).answer_difference is None


def subject() -> cost.Subject:
    return cost.Subject(("./app",), "no launcher", "none", 1, "n", 2, 0)


@pytest.mark.parametrize("within", [True, False])
def test_interrupted_it_keeps_what_it_has(tmp_path: Path, within: bool) -> None:
    def tell(found: cost.Measured, scheme: str, block: int, seconds: float, left: float | None) -> None:
        # Within a run: called while it runs, after a second; between: before it begins.
        if block == 2 and (seconds > 0) == within:
            raise KeyboardInterrupt

    words_of_program = ["*=hang"] if within else []
    if within:
        found = measured(tmp_path, *words_of_program, tell=lambda *told: interrupt(told[3] > 0), runs=3)
        assert found.interrupted
    else:
        found = measured(tmp_path, tell=tell, runs=3)
        assert (
            found.interrupted
            and len(found.of("right").values) == 1
            and "interrupted" in words.next_step(found, subject())
        )
    assert found.good is None
    left = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and of_this(pid, tmp_path)]
    assert not [pid for pid in left if not gone(pid)]


def interrupt(now: bool) -> None:
    if now:
        raise KeyboardInterrupt


def of_this(process: str, folder: Path) -> bool:
    """Whether a process is the fake program of this test."""
    try:
        return str(folder / "fake.py").encode() in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def test_a_binding_that_cannot_be_had_leaves_the_scheme_out(tmp_path: Path) -> None:
    scheme = cost.Scheme("elsewhere", 1, (RankPlan(cpus=(4000,)),))
    starter = cost.launcher("none", Path("x"), 1, (), oversubscribe=False)
    ended = cost.Runner(["true"], starter, tmp_path).probe(scheme, 10)
    assert ended.problem == f"rank 0 on {os.uname().nodename}: cannot be bound to CPUs 4000: Invalid argument"


def test_budget_over_and_nothing_settled(tmp_path: Path) -> None:
    found = measured(tmp_path, runs=3)
    assert found.ended == "3 runs were made of each that is not settled (--runs)"
    assert words.state(found, found.of("wrong")) == "fewer than 6 pairs" and found.good is None
    assert "not settled: --runs 6 --budget 120s" in words.next_step(found, subject())
    assert measuring.MOST_FAILURES == 2


@pytest.mark.parametrize(
    "interval, step",
    [
        ((-0.8, 1.3), "nothing has to change for the bound; whether right costs less is not settled"),
        ((-0.005, 0.005), "nothing to change: what the launcher does is as good as right"),
        ((-0.3, -0.1), "nothing to change: what the launcher does is better than right"),
    ],
)
def test_within_its_bound_is_not_as_good_as_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interval: tuple[float, float], step: str
) -> None:
    found = measured(tmp_path, names=("right", "default"), runs=1, at_most=5.0)
    penalty = Penalty(6, sum(interval) / 2, interval, *interval)
    monkeypatch.setattr(found, "penalty", lambda each: penalty)
    assert words.next_step(found, subject()) == step
