"""The order of a run's reasons: causes first, what follows from them under them, none lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from nearfar import report
from nearfar.base import Finding
from nearfar.report import causes, headline
from nearfar.report.causes import ABSENT, FIGURE, GAP, OTHER, PART, VerdictReason, answered, reason_groups
from nearfar.report.explanations import Answer
from nearfar.verdict import run_directory
from tests.data.runs import golden, synthetic
from tests.report.test_report import Page

NODE = SimpleNamespace(name="a", folder=Path("a"), modelled=False)
OTHER_NODE = SimpleNamespace(name="b", folder=Path("b"), modelled=False)


def reason(verdict, text, kind=OTHER, cells=(), devices=(), hard=False, node=NODE, why=""):
    fields = {"cause": why} if why else {}
    return VerdictReason(
        Finding("x", verdict, text, hard, fields=fields), node, None, None, kind, tuple(cells), frozenset(devices)
    )


def told(groups):
    return [(group.cause.finding.reason, [each.finding.reason for each in group.follows]) for group in groups]


ABSENT_GPU = reason("FAIL", "GPU 3 is absent", ABSENT, devices=["g3"], hard=True)


def test_an_absent_gpu_explains_what_could_not_be_measured_with_it():
    skipped = reason("INDETERMINATE", "not measured: g0:g3", GAP, ["g0:g3", "g3:g0"])
    elsewhere = reason("INDETERMINATE", "not measured: g0:g1", GAP, ["g0:g1"])
    partly = reason("INDETERMINATE", "not measured: g0:g3, n0:g0", GAP, ["g0:g3", "n0:g0"])
    slow = reason("FAIL", "slow", FIGURE, ["g0:g1+g1:g3"])
    assert told(reason_groups([skipped, elsewhere, partly, slow, ABSENT_GPU])) == [
        ("GPU 3 is absent", ["not measured: g0:g3", "slow"]),
        ("not measured: g0:g1", []),
        ("not measured: g0:g3, n0:g0", []),
    ]


def test_what_prevented_several_checks_stands_once():
    hidden = [
        reason("INDETERMINATE", f"not measured: {cell}", GAP, [cell], why="GPU 1 is hidden")
        for cell in ("n0:g1", "g0:g1")
    ]
    busy = reason("INDETERMINATE", "not measured: n0:g2", GAP, ["n0:g2"], why="GPU 2 is busy")
    elsewhere = replace(hidden[0], node=OTHER_NODE)
    groups = reason_groups([*hidden, busy, elsewhere])
    cause = groups[0].cause.finding
    assert (cause.code, cause.fields["cause"]) == ("checks.same_gap", "GPU 1 is hidden")
    assert [len(group.follows) for group in groups] == [2, 0, 0]
    assert groups[0].words == "and 2 reasons that follow from it"


def test_gpus_that_do_not_answer_stand_once_for_all_checks():
    one = Finding("gpus", "INDETERMINATE", "no GPU answers", code="gpu.none")
    none = [VerdictReason(one, NODE, SimpleNamespace(name=name), kind=ABSENT) for name in ("peer_check", "tail_check")]
    assert told(reason_groups(none)) == [("no GPU answers", ["no GPU answers"] * 2)]


def test_an_absent_gpu_that_is_named_by_its_bus_address_is_the_one_that_programs_miss():
    named = reason("FAIL", "3 GPUs, expected 4: 0000:4b:00.0 is absent", ABSENT, hard=True)
    missed = reason("FAIL", "n0:g3: is not there", ABSENT, ["n0:g3"], ["g3"], hard=True)
    assert told(reason_groups([missed, named])) == [(named.finding.reason, [missed.finding.reason])]


def test_pairs_with_an_absent_gpu_follow_from_it():
    pair = reason("FAIL", "g0:g1, g1:g0: g1 is not on the bus", ABSENT, ["g0:g1", "g1:g0"], hard=True)
    sum_of_all = reason("FAIL", "g0:g3+g1:g2: g3 is not on the bus", ABSENT, ["g0:g3+g1:g2"], hard=True)
    elsewhere = reason("FAIL", "g0:g2: g2 is lost", ABSENT, ["g0:g2"], hard=True)
    unseen = reason("INDETERMINATE", "links not seen", GAP, devices=["g1", "g3"])
    count = reason("FAIL", "2 GPUs, expected 4", ABSENT, hard=True)
    slurms = reason("INDETERMINATE", "Slurm lists 4 GPUs, 2 answer", ABSENT)
    gone = [reason("FAIL", f"{name} is missing", ABSENT, devices=[name], hard=True) for name in ("g1", "g3")]
    (first, rest) = told(reason_groups([slurms, pair, sum_of_all, elsewhere, unseen, count, *gone]))
    assert (first[0], sorted(first[1])) == (
        "2 GPUs, expected 4",
        ["Slurm lists 4 GPUs, 2 answer", "g0:g1, g1:g0: g1 is not on the bus", "g0:g3+g1:g2: g3 is not on the bus",
         "g1 is missing", "g3 is missing", "links not seen"],
    )  # fmt: skip
    assert rest == ("g0:g2: g2 is lost", [])


def test_what_needs_a_missing_numa_node_follows_from_it():
    def finding(subject, code, **fields):
        whole = Finding(subject, "FAIL", code, True, code=code, fields=fields)
        return VerdictReason(whole, NODE, None, None, *causes.of_finding(whole, VERDICT))

    cells = ("c0:n1/triad", "c1:n0/triad")
    VERDICT = SimpleNamespace(
        failed=[SimpleNamespace(cell=cell, code="absent") for cell in cells], skipped=(), left_out=(), document={}
    )
    package = finding("packages", "packages.count", expected=2, found=1)
    missing, added = finding("n1", "numa.missing"), finding("n7", "numa.unexpected")
    absent = [finding(cell, "cell.absent", cells=[cell]) for cell in cells]
    assert told(reason_groups([*absent, added, package, missing])) == [
        ("packages.count", ["cell.absent", "cell.absent", "numa.missing"]), ("numa.unexpected", []),
    ]  # fmt: skip
    assert [len(group.follows) for group in reason_groups([*absent, missing])] == [2]


def test_a_pair_accuses_the_gpu_that_is_off_the_bus():
    gpus = [{"index": index, "on_bus": index != 3} for index in range(4)]
    failed = [SimpleNamespace(cell="g2:g3", code="absent")]
    verdict = SimpleNamespace(failed=failed, skipped=(), left_out=(), document={"node": {"gpus": gpus}})
    assert causes.of_finding(Finding("g2:g3", "FAIL", ""), verdict) == (ABSENT, ("g2:g3",), {"g3"})


def test_figures_that_nothing_accepts_stand_once():
    node = SimpleNamespace(**vars(NODE), system="redwood")

    def about(subject, code, verdict="INDETERMINATE", **fields):
        return VerdictReason(Finding(subject, verdict, subject, code=code, fields=fields), node, None, None)

    found = [about("n0:g0", "figure.like_siblings"), about("n0:g1", "figure.not_broken"),
             about("copies", "check.not_accepted", figures=2), about("memory", "check.not_accepted", figures=1)]  # fmt: skip
    (group,) = reason_groups(found)
    assert group.cause.finding.reason.startswith("3 figures without a reference good enough to accept a node")
    assert (len(group.follows), group.words) == (4, "")
    assert len(reason_groups([*found, about("n0:g2", "figure.beyond_reference", "FAIL")])) == 2


def test_missing_nics_stand_once():
    def nic(name):
        return VerdictReason(
            Finding(name, "FAIL", name, True, code="nic.missing", fields={"nic": name}), NODE, None, None
        )

    (group,) = reason_groups([nic("mlx5_0"), nic("mlx5_1")])
    assert (group.cause.finding.reason, len(group.follows), group.cause.finding.hard) == (
        "2 NICs are missing: mlx5_0, mlx5_1: check their driver, then reseat them", 2, True,
    )  # fmt: skip
    assert [len(alone.follows) for alone in reason_groups([nic("mlx5_0")])] == [0]


def test_a_narrow_link_explains_slowness_and_no_gap_nor_wrong_data():
    link = reason("FAIL", "PCIe x8", PART, devices=["g2"], hard=True)
    slow = reason("FAIL", "slow", FIGURE, ["n0:g2"])
    wrong = reason("FAIL", "wrong data", OTHER, ["n0:g2"], hard=True)
    gap = reason("INDETERMINATE", "not measured", GAP, ["n0:g2"])
    assert told(reason_groups([slow, wrong, gap, link])) == [
        ("PCIe x8", ["slow"]),
        ("wrong data", []),
        ("not measured", []),
    ]


def test_a_cause_explains_nothing_worse_than_itself_and_nothing_of_another_node():
    link = reason("DEGRADED", "sleepy", PART, devices=["g2"])
    slow = reason("FAIL", "slow", FIGURE, ["n0:g2"])
    there = reason("DEGRADED", "slow there", FIGURE, ["n0:g2"], node=OTHER_NODE)
    assert told(reason_groups([link, slow, there])) == [("slow", []), ("sleepy", []), ("slow there", [])]


def test_a_part_that_the_diagnosis_names_stands_before_its_figures():
    slow = [reason("FAIL", "a", FIGURE, ["n0:g2"]), reason("DEGRADED", "b", FIGURE, ["n0:g2+g2:n0"])]
    rest = reason("FAIL", "c", FIGURE, ["n0:g1"])
    answer = Answer("the link is slow", frozenset({"n0:g2", "n0:g2+g2:n0"}))
    groups = reason_groups([*slow, rest], {"a": answer})
    assert told(groups) == [("the link is slow", ["a", "b"]), ("c", [])]
    assert (groups[0].cause.finding.verdict, groups[0].words) == ("FAIL", "and 2 figures that follow from it")
    assert groups[0].worst is slow[0]
    # One figure says by itself what one part would explain.
    lone = {"a": Answer("the link is slow", frozenset({"n0:g2"}), lone=True)}
    assert told(reason_groups([slow[0], rest], lone)) == [("a", []), ("c", [])]
    assert answered(reason_groups([slow[0], rest], lone)) == {"a"} and not answered(reason_groups([rest], lone))
    # Without a part that is named nothing is folded away.
    assert told(reason_groups(slow, {"a": Answer("cannot be told")})) == [("a", []), ("b", [])]


def test_a_named_part_keeps_other_devices_from_suspicion():
    slow = reason("FAIL", "a", FIGURE, ["n0:g1"])
    cells = {"b": "n0:g0+g0:n0", "c": "n1:g0", "d": "n0:g0"}
    rest = [reason("FAIL", name, FIGURE, [cell]) for name, cell in cells.items()]
    memory = Answer("explained by n0.memory", frozenset({"n0:g1"}), parts=("n0.memory",))
    assert told(reason_groups([slow, *rest], {"a": memory}))[1:] == [("b", []), ("c", []), ("d", [])]
    # What does not go through the part is laid to what it has in common.
    link = Answer("explained by g1.link", frozenset({"n0:g1"}), parts=("g1.link",))
    assert [follows for _, follows in told(reason_groups([slow, *rest], {"a": link}))] == [["a"], ["b", "c", "d"]]


def test_figures_out_of_bounds_that_share_one_gpu_stand_under_it():
    slow = [reason("FAIL" if n == 1 else "DEGRADED", f"n{n}:g9", FIGURE, [f"n{n}:g9"]) for n in range(4)]
    elsewhere = reason("DEGRADED", "g1:g2", FIGURE, ["g1:g2"])
    (shared, alone) = reason_groups([*slow, elsewhere])
    assert (shared.cause.finding.reason, shared.cause.finding.verdict, shared.words) == (
        "4 of 5 figures out of bounds go through GPU 9", "FAIL", "",
    )  # fmt: skip
    assert shared.worst is slow[1] and set(map(id, shared.follows)) == set(map(id, slow)) and alone.cause is elsewhere
    # Two are no pattern, and where a memory is in all of them too, the GPU is not named.
    assert told(reason_groups(slow[:2])) == [("n1:g9", []), ("n0:g9", [])]
    same_memory = [reason("DEGRADED", text, FIGURE, ["n0:g9"]) for text in "abc"]
    assert [text for text, _ in told(reason_groups(same_memory))] == ["a", "b", "c"]


def test_gpus_that_are_absent_stand_before_a_package_that_is():
    package = reason("FAIL", "1 processor package, the site's file says 2", hard=True)
    gone = reason("FAIL", "none of the 16 GPUs is on the PCI bus", ABSENT, hard=True)
    assert told(reason_groups([package, gone])) == [(gone.finding.reason, []), (package.finding.reason, [])]


@pytest.mark.parametrize("write", [synthetic.broken, lambda d: golden.write(d, slow={"g2:n0": 0.5, "n0:g2": 0.5})])
def test_no_reason_is_lost(tmp_path, write):
    folder = write(tmp_path / "run")
    page = Page(report.build(folder))
    run = run_directory.read(folder)
    for check in (check for node in run.nodes for check in node.checks):
        for text in check.verdict.reasons:
            assert text.partition(": ")[2] in page.text
    flat = [each for group in headline.reasons(run) for each in (group.cause, *group.follows)]
    assert len(flat) == len({id(each) for each in flat})
    assert page.text.count("that follow from it") >= 1


def test_one_reason_follows():
    group = causes.ReasonGroup(ABSENT_GPU, (reason("INDETERMINATE", "x", GAP, ["g3:n0"]),))
    assert group.words == "and 1 reason that follows from it"
