"""``nearfar tune`` as a user types it: what enters, what is refused, what is written, and that it is read as it was meant."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from nearfar import cli, history, report
from nearfar.base.files import file_lock
from nearfar.commands import tune
from nearfar.history.series import LESS_IS_BETTER
from nearfar.history.tuning import NodeFigure, Pool, limits, samples
from nearfar.mpi.osu.benchmarks import BENCHMARKS
from nearfar.verdict.references import ReferenceFile
from nearfar.verdict.references.reference_files import known_checks
from tests.data.runs import nightly
from tests.data.runs.nightly import Change

SITE = (
    "system: redwood\nhosts: ['gpu[001-064]']\npartitions:\n  - {name: gpu, node_type: h200-x4-vm, features: [gpu]}\n"
)
#: Ten nodes that differ a little.
NODES = {f"gpu{n:03}": 1 + 0.0005 * n for n in range(10)}
MODEL = "NVIDIA H200"


#: The histories that tests asked for, by what was asked: judging documents takes longer than tuning from them.
_MADE: dict[object, Path] = {}


def others_left_out(made: dict[str, Any]) -> dict[str, int]:
    """How many figures were left out by reason, but for those whose fact another one judges."""
    return {reason: count for reason, count in made["left_out"].items() if reason != "of what another figure judges"}


class World:
    """A site and its history in a directory of their own."""

    def __init__(
        self, folder: Path, kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.folder, self._kept, self._capsys = folder, kept, capsys
        self.site, self.history = folder / "site", folder / "history"
        (self.site / "systems").mkdir(parents=True)
        (self.site / "systems/redwood.yaml").write_text(SITE)
        monkeypatch.setenv("NEARFAR_SITE", str(self.site))
        monkeypatch.setenv("NEARFAR_HISTORY", str(self.history))
        self.file = self.site / "references/redwood.yaml"

    def nights(
        self,
        nodes: Mapping[str, float] = NODES,
        days: int = 3,
        change: Change | None = None,
        checks: tuple[str, ...] = ("host_device_check",),
    ) -> None:
        """Add nights to the history."""
        key = tuple(nodes.items()), days, change, checks
        if key not in _MADE:
            _MADE[key] = self._kept / f"{len(_MADE)}"
            for day in range(1, days + 1):
                varied = {node: factor * (1 + 0.0002 * (day % 2)) for node, factor in nodes.items()}
                run = nightly.run(_MADE[key] / "reports", varied, f"2026-11-{day:02}", checks, change)
                history.record(run, _MADE[key] / "history")
        shutil.copytree(_MADE[key] / "history", self.history, dirs_exist_ok=True)

    def tune(self, *words: str) -> tuple[int, str, str]:
        code = cli.main(["tune", "--system", "redwood", *words])
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def proposal(self, *words: str) -> dict[str, Any]:
        code, out, error = self.tune("--json", *words)
        assert out, error
        (one,) = json.loads(out)["files"]
        return {**one, "code": code}


@pytest.fixture
def world(tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    return World(tmp_path, kept, monkeypatch, capsys)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


def row(key: str) -> str:
    return f"host_device_check/{MODEL}/{key}"


def test_a_diff_is_shown_and_nothing_written(world: World) -> None:
    world.nights()
    code, diff, said = world.tune()
    assert code == 0
    assert diff.startswith(f"--- /dev/null\n+++ {world.file}\n")
    assert "+    budget: {node_nights: 1000, fail: 0.5, degraded: 3.0, figures: 12}\n" in diff
    assert re.search(rf"\+      {row('sole.h2d')}: {{n: 10, spread: \S+, degraded: -0.035\d?}}\n", diff)
    assert re.search(r"\+    sole.h2d: \[55.61?, -0.055, null, GB/s\]\n", diff)
    assert "10 hosts and 3 runs, 2026-11-01 to 2026-11-03, driver 580.159.04, cuda 13.0" in said
    assert re.search(rf"{row('sole.h2d')}: n = 10, spread 0.\d+ %: FAIL below 52.\d, DEGRADED below 53.7", said)
    assert "0.5 FAIL and 3 DEGRADED in 1,000 healthy node-nights, shared over 12 figures of a node" in said
    assert not world.file.exists()


def test_what_is_written_is_read_as_it_was_meant(world: World) -> None:
    world.nights(checks=("host_device_check", "host_memory_check"))
    made = world.proposal()
    assert world.tune("--apply")[0] == 0
    file = ReferenceFile(world.file, known_checks())
    assert file.origin == "tuned"
    tuned = file.provenance["tuned"]
    assert (str(tuned["date"]), str(tuned["first"]), tuned["n"]) == ("2026-11-03", "2026-11-01", 10)
    assert tuned["stamp"] == {"driver": "580.159.04", "cuda": "13.0", "mps": "off"}
    assert tuned["runs"] == ["20261101T020000", "20261102T020000", "20261103T020000"]
    assert tuned["command"] == "nearfar tune --system redwood"
    for key, limit in made["tuned"].items():
        check, *model, name = key.split("/")
        row = file.row(check, MODEL, [name])
        assert row is not None and row.place == (check, model[0] if model else None, name)
        reference = file.reference(row, tuned["stamp"])
        assert reference.value == limit["value"] and reference.lowest == pytest.approx(limit["bound"], rel=2e-4)
        assert reference.degraded_below == (limit["degraded"] and pytest.approx(limit["degraded"], rel=2e-4))
        assert reference.note == "tuned 2026-11-03, n = 10"
    assert "host_memory_check/local.triad" in made["tuned"], "a check without GPUs has no index"
    code, diff, said = world.tune()
    assert (code, diff) == (0, "") and "as it is already" in said


def test_both_bounds_judge_a_run(world: World) -> None:
    world.nights({node: NODES[node] for node in ("gpu000", "gpu001")})
    world.tune("--apply")
    files = [ReferenceFile(world.file, known_checks())]
    run = nightly.run(world.folder / "judged", {"gpu001": 0.6, "gpu002": 0.96}, "2026-11-20", files=files)
    judged, between = (
        json.loads((run / f"{node}/host_device_check/verdict.json").read_text()) for node in ("gpu001", "gpu002")
    )
    assert (judged["verdict"], between["verdict"]) == ("FAIL", "DEGRADED")
    assert "DEGRADED below" in report.build(run).read_text()


def held_down(raw: dict[str, Any]) -> None:
    raw["gpus_under_load"][0]["throttle"] = ["hw_thermal"]


def unconverged(raw: dict[str, Any]) -> None:
    for result in raw["results"]:
        result["converged"] = False


def unverified(raw: dict[str, Any]) -> None:
    raw["results"][0]["verified"] = False


def quick(raw: dict[str, Any]) -> None:
    raw["program"]["quick"] = True


def disturbed(raw: dict[str, Any]) -> None:
    raw["aggressor"] = ["n0:g1"]


def busy(raw: dict[str, Any]) -> None:
    raw["machine"] = {"mean": {"others": 30.0, "own": 0.5}}


def newer_driver(raw: dict[str, Any]) -> None:
    raw["node"]["software"]["driver"] = "590.1"


@pytest.mark.parametrize(
    "change, reason, count",
    [
        (held_down, "with clocks held down", 5 * 2),
        (unverified, "not verified", 1 * 2),
        (quick, "of --quick", 20 * 2),
        (disturbed, "beside other traffic", 20 * 2),
        (busy, "disturbed by other load", 20 * 2),
    ],
)
def test_what_never_enters(world: World, change: Callable[[dict[str, Any]], None], reason: str, count: int) -> None:
    world.nights(days=1)
    clean = world.proposal()
    world.nights({"gpu050": 0.5, "gpu051": 0.5}, days=1, change=change)
    made = world.proposal()
    assert made["left_out"][reason] == count, made["left_out"]
    lone = {key: limit["value"] for key, limit in made["tuned"].items() if "both" not in key}
    assert lone == {key: limit["value"] for key, limit in clean["tuned"].items() if "both" not in key}


@pytest.mark.parametrize("change, why", [(busy, "other processes used the CPUs"), (held_down, "with clocks held down")])
def test_disturbed_runs_are_named_where_they_stop_a_row(
    world: World, change: Callable[[dict[str, Any]], None], why: str
) -> None:
    world.nights({"gpu000": 1.0}, days=1)
    world.nights({f"gpu05{n}": 0.5 for n in range(7)}, days=1, change=change)
    found = world.proposal()["refused"][row("sole.h2d")]
    assert re.search(r"\d+ of its \d+ figures were disturbed, not verified, or had clocks held down \(", found), found
    named = re.search(r"\((\S+ of gpu05\d: .*); and 2 more\); the remaining ones are the best of them$", found)
    assert named, found
    each = named[1].split("; ")
    assert len(each) == 5 and all(re.fullmatch(rf"2026\S+ of gpu05\d: {why}", one) for one in each), each


def test_what_has_not_converged_enters(world: World) -> None:
    world.nights(change=unconverged)
    made = world.proposal()
    assert others_left_out(made) == {} and {limit["n"] for limit in made["tuned"].values()} == {10}


def test_only_the_software_that_most_hosts_had_last_enters(world: World) -> None:
    world.nights(days=2)
    world.nights(dict.fromkeys(NODES, 0.97), days=3, change=newer_driver)
    made = world.proposal()
    assert made["stamp"]["driver"] == "590.1"
    assert others_left_out(made) == {"of other software": 2 * 10 * 20}
    assert made["tuned"][row("sole.h2d")]["value"] == pytest.approx(53.8, abs=0.1)


def test_a_run_that_is_recorded_twice_counts_once(world: World) -> None:
    world.nights()
    before = world.proposal()
    assert cli.main(["history", "--compact"]) == 0
    world.nights()
    world.tune()
    made = world.proposal()
    assert len(list(world.history.rglob("*.parquet"))) == 31, "they are there, beside what they were merged into"
    assert {key: made[key] for key in ("figures", "tuned", "budget")} == {
        key: before[key] for key in ("figures", "tuned", "budget")
    }


def no_driver(raw: dict[str, Any]) -> None:
    raw["node"]["software"] = {"kernel": "6.1"}


def test_nodes_without_a_driver_are_of_any_driver(world: World) -> None:
    world.nights(days=1)
    world.nights({"cpu001": 1.0, "cpu002": 1.0}, days=2, checks=("host_memory_check",), change=no_driver)
    made = world.proposal()
    assert others_left_out(made) == {} and made["stamp"]["driver"] == "580.159.04"
    assert made["tuned"]["host_memory_check/local.triad"]["n"] == 2
    assert made["tuned"][row("sole.h2d")]["n"] == 10


def test_two_groups_are_refused_by_name(world: World) -> None:
    world.nights({node: 1.0 if n < 4 else 0.93 + 0.0001 * n for n, node in enumerate(NODES)}, days=1)
    why = world.proposal()["refused"][row("sole.h2d")]
    assert why.startswith("two groups of nodes: gpu000, gpu001, gpu002, gpu003 at 55."), why


def test_gpus_of_one_class_that_differ_are_refused_by_name(world: World) -> None:
    world.nights(days=1, change=nightly.slow_gpu(2, 0.93))
    why = world.proposal()["refused"][row("sole.h2d")]
    assert why.startswith("two groups of figures: sole.n0_g2 at 51.") and "on 10 of 10 nodes" in why, why


#: Four nodes, of which two have another unit, or moved nothing.
TORN = {"gpu001": 1.0, "gpu002": 1.001, "gpu003": 1000.0, "gpu004": 1001.0}


def staged_alone(raw: dict[str, Any]) -> None:
    raw["results"] = [result for result in raw["results"] if result["cell"].endswith("/staged")]


@pytest.mark.parametrize(
    "check, change, key",
    [
        ("host_memory_check", None, "local.triad"),
        ("peer_check", staged_alone, "NV18.write.staged"),
        ("host_device_check", None, "sole.h2d"),
    ],
)
def test_what_cannot_be_tunes_nothing_and_its_nodes_are_named(
    world: World, check: str, change: Change | None, key: str
) -> None:
    world.nights(TORN, days=1, checks=(check,), change=change)
    made = world.proposal()
    assert made["code"] == 3 and made["tuned"] == {}
    ((place, why),) = [(place, why) for place, why in made["refused"].items() if place.endswith(key)]
    assert "cannot be" in why and " of gpu003: " in why, (place, why)
    assert "that cannot be (of gpu003, gpu004)" in made["left_out"]


def test_one_bad_night_of_one_node_is_left_out_and_the_rest_tunes(world: World) -> None:
    world.nights(checks=("host_memory_check",))
    world.nights({"gpu000": 1000.0}, days=1, checks=("host_memory_check",))
    made = world.proposal()
    assert made["left_out"]["that cannot be (of gpu000)"] == 1
    (limit,) = made["tuned"].values()
    assert 185 < limit["value"] < 190


def test_a_median_lies_between_no_two_groups_however_few(world: World) -> None:
    """Three times as much can be: of few nodes nobody knows which half is right."""
    nodes = {"gpu001": 1.0, "gpu002": 1.001, "gpu003": 0.3, "gpu004": 0.3}
    world.nights(nodes, days=1, checks=("peer_check",), change=staged_alone)
    (why,) = world.proposal()["refused"].values()
    assert why == "two groups of nodes: gpu001, gpu002 at 37.8 GB/s; gpu003, gpu004 at 11.3 GB/s", why


def test_nothing_above_what_a_link_carries(world: World) -> None:
    world.nights(dict.fromkeys(NODES, 1.1), days=1)
    made = world.proposal()
    assert "above what its link can carry, 58.4" in made["refused"][row("sole.h2d")]


def test_a_clock_far_ahead_decides_nothing(world: World) -> None:
    world.nights(days=2)
    run = nightly.run(world.folder / "reports", {"gpu009": 1.0}, "2099-01-01", change=newer_driver)
    history.record(run, world.history)
    made = world.proposal()
    assert made["stamp"]["driver"] == "580.159.04" and made["ahead"] == ["gpu009"]
    assert others_left_out(made) == {"of other software": 20} and made["tuned"][row("sole.h2d")]["n"] == 10
    assert "times in the future, which decide nothing: of gpu009" in world.tune()[2]
    world.tune("--apply")
    assert str(yaml.safe_load(world.file.read_text())["provenance"]["tuned"]["date"]) == "2026-11-02"


def test_during_an_upgrade_the_software_of_most_hosts_counts(world: World) -> None:
    world.nights(days=3)
    one = nightly.run(world.folder / "reports", {"gpu001": 0.99}, "2026-11-08", change=newer_driver)
    history.record(one, world.history)
    assert world.proposal()["stamp"]["driver"] == "580.159.04"
    most = nightly.run(
        world.folder / "reports", {f"gpu{n:03}": 0.99 for n in range(2, 7)}, "2026-11-09", change=newer_driver
    )
    history.record(most, world.history)
    made = world.proposal()
    assert made["stamp"]["driver"] == "590.1" and made["tuned"][row("sole.h2d")]["n"] == 6


def same_boards(raw: dict[str, Any]) -> None:
    for gpu in raw["node"]["gpus"]:
        gpu["uuid"] = f"GPU-one-{gpu['index']}"


def test_host_names_with_the_same_boards_are_one_host(world: World) -> None:
    world.nights(
        {f"gpu{n:03}": 1.0 for n in range(6)},
        change=same_boards,
        days=1,
        checks=("host_device_check", "host_memory_check"),
    )
    made = world.proposal()
    assert {limit["n"] for limit in made["tuned"].values()} == {1}, "of the host's memory too"
    assert made["names"] == {f"gpu{n:03}": "gpu000" for n in range(1, 6)}
    assert "6 host names are 1 host: the same GPUs were measured under several names (of gpu000)" in world.tune()[2]


def test_boards_that_moved_belong_to_the_host_where_they_were_measured(world: World) -> None:
    def moved(raw: dict[str, Any]) -> None:
        number = {"gpu000": 1, "gpu001": 0}.get(raw["node"]["hostname"])
        if number is not None:
            raw["node"]["gpus"][0]["uuid"] = f"GPU-gpu{number:03}-0"

    world.nights(days=2)
    run = nightly.run(world.folder / "reports", NODES, "2026-11-09", change=moved)
    history.record(run, world.history)
    made = world.proposal()
    assert made["names"] == {} and made["tuned"][row("sole.h2d")]["n"] == 10


def test_what_failed_by_a_tuned_row_enters_the_next(world: World) -> None:
    """Left out, each tune would be made from the best of the last one's figures; what is far from the others' makes no limit."""
    world.nights()
    first = world.proposal()["tuned"][row("sole.h2d")]
    world.tune("--apply")
    files = [ReferenceFile(world.file, known_checks())]
    sick = nightly.run(world.folder / "reports", {"gpu030": 0.9, "gpu031": 0.96}, "2026-11-09", files=files)
    history.record(sick, world.history)
    made = world.proposal()
    again = made["tuned"][row("sole.h2d")]
    assert others_left_out(made) == {} and again["bound"] == pytest.approx(first["bound"], rel=0.005)
    assert set(again["aside"]) == {"gpu030", "gpu031"}


def test_checks_that_there_are_no_more_are_left_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.nights(days=1, checks=("host_device_check", "host_memory_check"))
    monkeypatch.setattr(samples, "known_checks", lambda: ("host_device_check",))
    made = world.proposal()
    assert others_left_out(made) == {"of a check that there is no more": 10}
    assert {key.split("/")[0] for key in made["tuned"]} == {"host_device_check"}


def test_a_third_of_bad_nodes_moves_no_limit(world: World) -> None:
    world.nights(days=1)
    alone = world.proposal()["tuned"][row("sole.h2d")]
    world.nights({f"gpu{n:03}": 0.944 for n in range(20, 24)}, days=1)
    made = world.proposal()["tuned"][row("sole.h2d")]
    assert made["bound"] == pytest.approx(alone["bound"], rel=0.003) and made["n"] == 14
    assert made["aside"] == [f"gpu{n:03}" for n in range(20, 24)]
    assert "their medians lie outside: gpu020 (" in world.tune()[2]


def tighter(text: str) -> str:
    """A tuned file of which a row expects more than its slack asks for."""
    lines = text.splitlines(keepends=True)
    changed = [
        re.sub(r"degraded: -0.035\d?", "degraded: -0.01", line) if row("sole.h2d") in line else line for line in lines
    ]
    assert changed != lines
    return "".join(changed)


def test_never_looser_than_today_unless_allowed(world: World) -> None:
    world.nights(days=1)
    world.tune("--apply")
    world.file.write_text("# Reviewed by Ada.\n" + tighter(world.file.read_text()))
    made = world.proposal()
    assert made["kept"] == {row("sole.h2d"): "53.7 would be looser than today's 55.1"}
    assert "degraded: -0.01}" in world.file.read_text()
    assert world.proposal("--allow-looser")["kept"] == {}
    world.tune("--allow-looser", "--apply")
    assert world.file.read_text().startswith("# Reviewed by Ada.\nprovenance:")
    assert "degraded: -0.01}" not in world.file.read_text()


def test_looser_by_other_software_needs_no_leave_and_is_told(world: World) -> None:
    """Rows of another driver are no word against what the new one reaches; how much less that is stands in the output."""
    world.nights(days=2)
    world.tune("--apply")
    world.nights(dict.fromkeys(NODES, 0.985), days=3, change=newer_driver)
    made = world.proposal()
    assert made["kept"] == {}
    ((change, parts),) = made["looser"].items()
    assert change == "driver 580.159.04 -> 590.1"
    assert parts[row("sole.h2d")] == pytest.approx(-0.016, abs=0.003)
    code, _, said = world.tune("--apply")
    assert code == 0 and re.search(
        r"\d limits looser than today's, by −\d.* because the software changed \(driver", said
    ), said
    # With the same software a limit that is looser needs leave as ever.
    world.file.write_text(tighter(world.file.read_text()))
    made = world.proposal()
    assert list(made["kept"]) == [row("sole.h2d")] and made["looser"] == {}


def test_a_file_of_one_bound_gets_two(world: World) -> None:
    """What was the one bound of a row from few nodes is its slack: two bounds are not looser than that."""
    world.nights(days=1)
    world.file.parent.mkdir()
    world.file.write_text(
        "provenance: {tuned: {date: 2026-11-01, n: 3}}\n"
        f"host_device_check:\n  $index: [$dev.gpu.model]\n  {MODEL}:\n    sole.h2d: [55.6, -0.04, null, GB/s]\n"
    )
    assert world.proposal()["kept"] == {}
    world.tune("--apply")
    assert re.search(r"sole.h2d: \[55.61, -0.055, null", world.file.read_text())


def test_rows_that_were_not_measured_stay_with_their_provenance(world: World) -> None:
    world.nights(days=1, checks=("host_device_check", "host_memory_check"))
    world.tune("--apply")
    before = world.file.read_text()
    world.nights(dict.fromkeys(NODES, 1.004), days=3, checks=("host_device_check",))
    _, diff, _ = world.tune("--apply", "--since", "2026-11-02")
    lines = [line for line in diff.splitlines() if line[0] in "+-"][2:]
    assert len(lines) == 2 * 2 * 3 and all("sole." in line for line in lines), diff
    assert set(before.splitlines()) - set(world.file.read_text().splitlines()) == {
        line[1:] for line in lines if line[0] == "-"
    }
    file = ReferenceFile(world.file, known_checks())
    stays, new = (
        file.row("host_memory_check", None, ["local.triad"]),
        file.row("host_device_check", MODEL, ["sole.h2d"]),
    )
    assert stays is not None and file.reference(stays, {}).note.startswith("tuned 2026-11-01, n = 10")
    assert new is not None and file.reference(new, {}).note.startswith("tuned 2026-11-03, n = 10")
    assert str(file.tuned["date"]) == "2026-11-01" and "stamp" not in new.provenance


def test_the_same_limits_from_later_runs_change_nothing(world: World) -> None:
    world.nights(days=1)
    world.tune("--apply")
    again = {node: factor * 1.0002 for node, factor in NODES.items()}
    history.record(nightly.run(world.folder / "reports", again, "2026-11-09"), world.history)
    code, diff, said = world.tune("--runs", "20261109*")
    assert (code, diff) == (0, "") and "as it is already" in said, diff


def test_a_file_edited_by_hand_is_kept_or_refused_in_one_line(world: World) -> None:
    world.nights(days=1)
    world.tune("--apply")
    head, body = world.file.read_text().split("host_device_check:", 1)
    edited = "host_device_check:" + body.replace("    sole.h2d", "    # ours\n    sole.h2d") + head
    world.file.write_text(edited)
    assert world.tune()[:2] == (0, "")
    world.nights(dict.fromkeys(NODES, 1.004), days=3)
    assert world.tune("--apply")[0] == 0
    assert (
        world.file.read_text().startswith("host_device_check:") and "    # ours\n    sole.h2d" in world.file.read_text()
    )
    world.file.write_text("host_device_check:" + body)
    code, diff, said = world.tune()
    assert (code, diff, len(said.splitlines())) == (2, "", 1) and "provenance" in said, said


def test_published_files_and_templates_are_not_touched(world: World) -> None:
    world.nights(days=1)
    world.file.parent.mkdir()
    world.file.write_text("provenance: {published: {source: a paper}}\n")
    code, _, said = world.tune()
    assert code == 2 and "holds published values; name another file with `references:`" in said
    world.file.write_text("{# generated #}\nprovenance: {tuned: {date: 2026-11-01, n: 3}}\n")
    code, _, said = world.tune()
    assert code == 2 and "is a template" in said


def test_the_new_file_stands_in_the_first_directory_of_the_site(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.nights(days=1)
    world.tune("--apply")
    before = "# Reviewed by Ada.\n" + tighter(world.file.read_text())
    world.file.write_text(before)
    own = world.folder / "own"
    own.mkdir()
    monkeypatch.setenv("NEARFAR_SITE", f"{own}:{world.site}")
    into = own / "references/redwood.yaml"
    assert world.proposal()["kept"] == {row("sole.h2d"): "53.7 would be looser than today's 55.1"}, (
        "today's still count"
    )
    world.nights(days=3)
    code, diff, said = world.tune("--apply")
    assert code == 0 and diff.startswith(f"--- {world.file}\n+++ {into}\n"), said
    assert f"{into}: a new file, which stands before {world.file}; that one is then not read\n" in said
    assert f"{into}: written" in said
    assert world.file.read_text() == before, "the file of the other directory is not touched"
    assert into.read_text().startswith("# Reviewed by Ada.\n") and "degraded: -0.01" in into.read_text()
    code, diff, said = world.tune()
    assert (code, diff) == (0, "") and f"{into}: as it is already" in said and "stands before" not in said


def test_two_tunes_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.nights(days=1)
    world.file.parent.mkdir()
    held = file_lock(world.file.with_name(".redwood.yaml.lock"))
    held.__enter__()
    monkeypatch.setattr(tune, "_PATIENCE", 0.1)
    code, _, said = world.tune("--apply")
    assert code == 3 and "held by another run" in said and not world.file.exists()
    monkeypatch.setattr(tune, "_PATIENCE", 60.0)
    second = threading.Timer(0.3, lambda: held.__exit__(None, None, None))
    second.start()
    assert world.tune("--apply")[0] == 0 and world.file.exists()


@pytest.mark.parametrize(
    "words, code, said",
    [
        (("--nodes", "gpu[001-003],gpu999"), 2, "no history of gpu999"),
        (("--nodes", "gpu[001"), 2, "not a node list such as"),
        (("--nodes", "gpu[1-99999999]"), 2, "--nodes gpu[1-99999999]: a list of 99,999,999 names; at most 100,000"),
        (("--runs", "20251101T020000"), 2, "no such run in the history"),
        (("--since", "tomorrow"), 2, "a day such as"),
        (
            ("--since", "2026-11-20"),
            3,
            "no run of redwood since 2026-11-20 00:00 UTC: the last of 1 run was 2026-11-01 02:00; give",
        ),
        (
            ("--since", "2030-01-01"),
            3,
            "no run of redwood since 2030-01-01 00:00 UTC: the last of 1 run was 2026-11-01 02:00; give",
        ),
        (("--since", "2030-01-01", "--nodes", "gpu001"), 3, "no run of redwood on these nodes since 2030-01-01"),
        (("--since", "2030-01-01", "--runs", "2026*"), 3, "no run of redwood since 2030-01-01"),
        (("--system", "redwod"), 2, "did you mean 'redwood'?"),
        (("--system", "keeneland"), 2, "all its partitions are modelled"),
        (
            ("--system", "local"),
            3,
            "no run of local (runs of: redwood); measure first, on each node: ./validate",
        ),
    ],
)
def test_wrong_words_are_told(world: World, words: tuple[str, ...], code: int, said: str) -> None:
    world.nights({"gpu001": 1.0, "gpu002": 1.0, "gpu003": 1.0}, days=1)
    found, out, error = world.tune(*words)
    assert (found, out) == (code, "") and said in error and len(error.splitlines()) == 1, error


@pytest.mark.parametrize("since", ["2026-11-01", "2030-01-01"], ids=["rows that are none of its", "no file at all"])
def test_runs_of_another_partition_are_no_figures(world: World, since: str) -> None:
    world.nights({"gpu001": 1.0}, days=1)
    (world.site / "systems/redwood.yaml").write_text(SITE.replace("name: gpu,", "name: fat,"))
    code, out, said = world.tune("--since", since)
    assert (code, out, len(said.splitlines())) == (3, "", 1), said
    assert ("none of its partitions (fat)" if since < "2030" else "no run of redwood since") in said


def test_runs_of_which_nothing_may_enter_are_counted(world: World) -> None:
    world.nights({"gpu001": 1.0}, days=1, change=quick)
    code, out, said = world.tune()
    assert (code, out, len(said.splitlines())) == (3, "", 1), said
    assert (
        "redwood.yaml could be tuned from: 1 run, none usable, because all was left out: 20 of --quick; choose other"
        in said
    )


def test_chosen_nodes_and_runs(world: World) -> None:
    world.nights()
    made = world.proposal("--nodes", "gpu[000-004]", "--runs", "20261101*", "reports/redwood/20261103T020000")
    assert made["runs"] == ["20261101T020000", "20261103T020000"]
    assert {limit["n"] for limit in made["tuned"].values()} == {5}
    assert "reports/redwood/20261103T020000 --nodes 'gpu[000-004]'" in made["diff"], "the command is part of it"


def test_one_node_has_near_limits(world: World) -> None:
    world.nights({"gpu001": 1.0})
    limit = world.proposal()["tuned"][row("sole.h2d")]
    assert limit["n"] == 1 and 0.93 * limit["value"] < limit["bound"] < limit["degraded"] < 0.97 * limit["value"]


def test_one_node_ten_thousand_times_is_one(world: World) -> None:
    figures = tuple(NodeFigure("n0", f"g{g}", tuple(55 + 0.01 * (run % 7) for run in range(10_000))) for g in range(4))
    found = limits.limit(Pool("c", "H200", "sole.h2d", "GB/s", "lone", True, "", None, 0, figures), 20)
    assert isinstance(found, limits.TunedLimit) and found.n == 1 and (found.bound or 0) < 0.95 * found.value


def test_a_slow_node_among_good_ones_is_named(world: World) -> None:
    world.nights({**NODES, "gpu031": 0.95}, days=1)
    _, _, said = world.tune()
    assert "their medians lie outside: gpu031" in said


def test_with_an_error_of_lint_nothing_is_written(world: World) -> None:
    """A row of today's that judges nothing stays in the new file: the site would not validate with it."""
    world.nights(days=1)
    world.tune("--apply")
    slip = world.file.read_text().replace("sole.h2d: ", "soel.h2d: ")
    world.file.write_text(slip)
    code, diff, said = world.tune()
    assert (code, "+    sole.h2d: " in diff) == (0, True)
    assert "(did you mean 'sole'?)" in said and "fix the files by hand" in said, said
    code, diff, said = world.tune("--apply")
    assert (code, diff, world.file.read_text()) == (2, "", slip), said
    assert said.count(f"nearfar: {world.file}:") == 1 and "nothing is written: with these references" in said, said
    world.file.write_text(slip.replace("soel.h2d: ", "sole.h2d: ").replace("-0.02", "-0.01"))
    assert world.tune("--apply", "--allow-looser")[0] == 0


def test_a_warning_of_lint_is_told_and_stops_nothing(world: World) -> None:
    world.nights(days=1)
    (world.site / "systems/redwood.yaml").write_text(SITE + "  - {name: cpu, features: [gpus]}\n")
    code, _, said = world.tune("--apply")
    assert code == 0 and world.file.exists()
    assert "warning: feature 'gpus': unused" in said, said


def test_each_check_has_an_mpi_of_its_own_and_only_the_newest_counts(world: World) -> None:
    def by_check(raw: dict[str, Any]) -> None:
        own = "MPICH 4" if raw["results"][0]["quantity"] == "stream" else "Open MPI 5"
        raw["mpi"] = {"library": "/lib/libmpi.so"}
        raw["node"]["software"]["mpi"] = own

    def older(raw: dict[str, Any]) -> None:
        raw["mpi"] = {"library": "Open MPI 4"}

    world.nights(days=1, change=by_check, checks=("host_device_check", "host_memory_check"))
    alone = world.proposal()
    assert not [reason for reason in alone["left_out"] if "MPI" in reason]
    assert {key.split("/")[0] for key in alone["tuned"]} == {"host_device_check", "host_memory_check"}
    run = nightly.run(world.folder / "reports", NODES, "2026-10-30", change=older)
    history.record(run, world.history)
    both = world.proposal()
    assert both["left_out"]["of another MPI"] > 0
    assert {key: limit["n"] for key, limit in both["tuned"].items()} == {k: v["n"] for k, v in alone["tuned"].items()}


def test_every_figure_of_osu_can_be_tuned() -> None:
    """Else no site that asks for them would ever be accepted."""
    units = {unit for benchmark in BENCHMARKS.values() for _, _, unit, _ in benchmark.columns}
    assert units <= {*samples.RATES, *LESS_IS_BETTER}, units
