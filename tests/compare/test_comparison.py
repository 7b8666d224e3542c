"""Runs compared: pairs of figures, what changed beside them, what one side alone has, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from nearfar.base import CouldNotJudge, NearfarError
from nearfar.compare import compare, shown
from nearfar.measurement import Unmeasured
from nearfar.report.blocks import shown_lines
from tests.compare.made_runs import copies, copy, latency, make_run, node_json

CHECK = "host_device_check"


def test_what_is_slower_is_found_worst_first(tmp_path: Path) -> None:
    before = make_run(tmp_path, 1, {CHECK: copies(), "latency_check": [latency(1.0)]})
    after = make_run(tmp_path, 2, {CHECK: copies(0.95, "n0_g0"), "latency_check": [latency(1.2)]})
    found = compare([before], [after])
    assert [(one.metric.name, one.worse) for one in found.significant] == [
        ("near_latency_chase.n0_g0", True), ("near.n0_g0", True),
    ]  # fmt: skip
    assert [one.metric.name for one in found.beyond(0.10)] == ["near_latency_chase.n0_g0"]
    assert len(found.tested) == 9 and not found.settings and not found.only_one and not found.notes


def test_no_change_is_no_change(tmp_path: Path) -> None:
    first, second = (make_run(tmp_path, number, {CHECK: copies()}) for number in (1, 2))
    assert not compare([first], [second]).significant


def test_software_boards_and_settings_that_changed(tmp_path: Path) -> None:
    first = node_json(settings={"persistence": "on"}) | {"settings": {"bios": "1.2", "turbo": "on"}}
    before = make_run(tmp_path, 1, {CHECK: copies()}, machine=first)
    machine = node_json(
        "590.4", uuid="GPU-new", serial="s9", ecc=False, link={"kind": "pcie", "max_gen": 5, "max_width": 8},
        settings={"persistence": "off"},
    ) | {"settings": {"bios": "1.4"}}  # fmt: skip
    after = make_run(tmp_path, 2, {CHECK: copies()}, machine=machine, version="1.1")
    found = compare([before], [after])
    assert [(one.of, one.what, one.before, one.after) for one in found.settings] == [
        ("software", "driver", "580.1", "590.4"),
        ("software", "nearfar-copy", "1.0", "1.1"),
        ("g0", "board", "H200 GPU-0 serial s0", "H200 GPU-new serial s9"),
        ("g0", "widest link", "generation 5 x16", "generation 5 x8"),
        ("node", "BIOS", "1.2", "1.4"),
        ("g0", "persistence mode", "on", "off"),
        ("g0", "ECC", "on", "off"),
    ]
    assert any("different versions" in note for note in found.notes)


def test_a_part_that_is_gone_is_said(tmp_path: Path) -> None:
    machine = node_json()
    del machine["gpus"][3]
    machine["peers"] = []
    runs = make_run(tmp_path, 1, {CHECK: copies()}), make_run(tmp_path, 2, {CHECK: copies()}, machine=machine)
    assert [(one.of, one.what, one.before, one.after) for one in compare([runs[0]], [runs[1]]).settings] == [
        ("node", "GPUs", "4", "3"),
        ("g3", "board", "H200 GPU-3 serial s3", "none"),
        ("g0-g3", "link", "NV18", "none"),
    ]


def test_a_board_that_moved_is_said(tmp_path: Path) -> None:
    moved = node_json()
    moved["gpus"][0]["uuid"], moved["gpus"][1]["uuid"] = "GPU-1", "GPU-0"
    runs = make_run(tmp_path, 1, {CHECK: copies()}), make_run(tmp_path, 2, {CHECK: copies()}, machine=moved)
    notes = compare([runs[0]], [runs[1]]).notes
    assert "g0 is the board that was g1: figures are paired by place" in notes and len(notes) == 2


def test_what_one_side_alone_has_is_told_with_its_reason(tmp_path: Path) -> None:
    before = make_run(tmp_path, 1, {CHECK: copies(), "peer_check": [copy("near.n0_g9", 50.0)]})
    there = [metric for metric in copies() if "g3" not in metric.name]
    reason = (Unmeasured("n0:g3", "g3 is used by others", "busy"),)
    after = make_run(tmp_path, 2, {CHECK: there}, skipped=reason)
    found = {one.names: (one.side, one.check, one.why) for one in compare([before], [after]).only_one}
    assert found == {
        ("near.n0_g3",): ("before", CHECK, "g3 is used by others"),
        ("near.g3_n0",): ("before", CHECK, "not measured there"),
        ("near.n0_g9",): ("before", "peer_check", "the check was not run there"),
    }


def test_another_path_class_is_a_reason(tmp_path: Path) -> None:
    before = make_run(tmp_path, 1, {CHECK: [*copies(), copy("near.n1_g0", 50.0)]})
    after = make_run(tmp_path, 2, {CHECK: [*copies(), copy("off_socket.n1_g0", 50.0)]})
    assert {one.why for one in compare([before], [after]).only_one} == {
        "there its path class is off_socket, not near", "there its path class is near, not off_socket",
    }  # fmt: skip


def test_units_that_differ_are_not_compared(tmp_path: Path) -> None:
    before = make_run(tmp_path, 1, {CHECK: copies()})
    after = make_run(tmp_path, 2, {CHECK: [*copies()[1:], copy("near.n0_g0", 55000.0, unit="MB/s")]})
    found = compare([before], [after])
    assert found.notes == (f"{CHECK} near.n0_g0 is not compared: GB/s before, MB/s after",) and len(found.tested) == 7


def test_sets_of_runs_and_repetitions(tmp_path: Path) -> None:
    before = [make_run(tmp_path, number, {CHECK: copies()}) for number in (1, 2, 3)]
    after = [make_run(tmp_path, 4, {CHECK: copies(0.99, "n0_g0"), f"{CHECK}@repeat2": copies(0.99, "n0_g0")})]
    (found,) = compare(before, after).significant
    assert (found.before.runs, found.after.runs, found.metric.name) == (3, 2, "near.n0_g0")


def test_nodes_pair_by_name_and_are_tested_together_too(tmp_path: Path) -> None:
    names = ("n1", "n2", "n3")
    before = make_run(tmp_path, 1, {CHECK: copies()}, nodes=[*names, "n8"])
    after = make_run(tmp_path, 2, {CHECK: copies(0.95, "n0_g0")}, nodes=[*names, "n9"])
    found = compare([before], [after])
    assert found.nodes == tuple((name, name) for name in names)
    assert sum(one.across for one in found.significant) == 1 and sum(not one.across for one in found.significant) == 3
    assert found.notes == ("only before, and left out: n8", "only after, and left out: n9")


def test_what_changed_on_many_nodes_stands_once(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(6)]
    before = make_run(tmp_path, 1, {CHECK: copies()}, nodes=names)
    after = make_run(tmp_path, 2, {CHECK: copies()[1:]}, nodes=names, machine=node_json("590.4"))
    (after / "n5" / "node.json").write_text(json.dumps(node_json(ecc=False)))
    lines = shown_lines(shown(compare([before], [after])))
    assert "  n0, n1, n2, n3 and 1 more: driver  580.1 → 590.4" in lines
    assert any(line.split() == ["n5:", "g0", "ECC", "on", "→", "off"] for line in lines)
    assert f"  only before  1 figure of {CHECK} of all 6 nodes: not measured there" in lines


def test_two_nodes_of_one_run_by_their_folders(tmp_path: Path) -> None:
    run = make_run(tmp_path, 1, {CHECK: copies()}, nodes=["n1", "n2"])
    found = compare([run / "n1"], [run / "n2"])
    assert found.nodes == (("n1", "n2"),) and found.notes == ("two nodes are compared: n1 before, n2 after",)


def test_other_systems_are_compared_and_said(tmp_path: Path) -> None:
    runs = [make_run(tmp_path, number, {CHECK: copies()}, system=f"s{number}") for number in (1, 2)]
    assert compare(runs[:1], runs[1:]).notes == ("different systems: s1 before, s2 after",)


def test_a_quick_run_cannot_tell(tmp_path: Path) -> None:
    runs = [make_run(tmp_path, number, {CHECK: copies()}, quick=number == 2) for number in (1, 2)]
    found = compare(runs[:1], runs[1:])
    assert not found.tested and len(found.doubtful) == 8


def test_what_is_refused(tmp_path: Path) -> None:
    run, other = (make_run(tmp_path, number, {CHECK: copies()}) for number in (1, 2))
    with pytest.raises(NearfarError, match=r"run1: is named twice"):
        compare([run], [run])
    with pytest.raises(NearfarError, match=r"run1: is named twice"):
        compare([run, run], [other])
    with pytest.raises(NearfarError, match=r"run1/n: is named twice"):
        compare([run, other], [run / "n"])
    shutil.copytree(run, tmp_path / "copied")
    with pytest.raises(NearfarError, match=r"copied: is the same run as .*run1"):
        compare([run], [tmp_path / "copied"])
    with pytest.raises(NearfarError, match=r"run\.json: not there; name a run directory"):
        compare([run], [tmp_path])
    with pytest.raises(NearfarError, match="no node is on both sides"):
        compare([make_run(tmp_path, 3, {CHECK: copies()}, nodes=["a", "b"])], [run])


def test_a_run_without_verdicts_is_refused(tmp_path: Path) -> None:
    run, empty = (make_run(tmp_path, number, {CHECK: copies()}) for number in (1, 2))
    (empty / "n" / CHECK / "verdict.json").unlink()
    with pytest.raises(NearfarError, match=r"run2: no check left a verdict\.json"):
        compare([run], [empty])
    (empty / "n" / CHECK / "verdict.json").write_text('{"schema": "nearfar-verdict/2"')
    with pytest.raises(NearfarError, match=r"verdict\.json:1: not a whole JSON document"):
        compare([run], [empty])


def test_nothing_in_common_could_not_be_compared(tmp_path: Path) -> None:
    run = make_run(tmp_path, 1, {CHECK: copies()})
    with pytest.raises(
        CouldNotJudge, match="no figure is on both sides; before has figures of host_device_check; after has"
    ):
        compare([run], [make_run(tmp_path, 2, {"peer_check": copies()})])
    busy = (Unmeasured("", "g0 is used by 1 other process", "busy"),)
    with pytest.raises(CouldNotJudge, match=r"after has no figure .g0 is used by 1 other process\)"):
        compare([run], [make_run(tmp_path, 3, {CHECK: []}, skipped=busy)])
    with pytest.raises(CouldNotJudge, match="GB/s before, MB/s after"):
        alone = make_run(tmp_path, 4, {CHECK: [copy("near.n0_g0", 1.0)]})
        compare([alone], [make_run(tmp_path, 5, {CHECK: [copy("near.n0_g0", 1.0, unit="MB/s")]})])


def test_modelled_runs_are_refused_and_modelled_nodes_left_out(tmp_path: Path) -> None:
    run = make_run(tmp_path, 1, {CHECK: copies()})
    modelled = make_run(tmp_path, 2, {CHECK: copies()}, kind="modelled")
    with pytest.raises(CouldNotJudge, match="run2: every node of it is modelled"):
        compare([run], [modelled])
    both = make_run(tmp_path, 3, {CHECK: copies()})
    shutil.copytree(modelled / "n", both / "keeneland-modelled")
    assert any("is modelled, not measured" in note for note in compare([run], [both]).notes)
