"""What Prometheus is told of all nodes, after each ``act``."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.site.drain_policy import DrainCap
from nearfar.slurm.status import status_of
from tests.prometheus.test_text_files import samples
from tests.support.node_results import leave
from tests.support.told import Told


@pytest.fixture
def site(tmp_path: Path) -> Told:
    site = Told(tmp_path, tuple(f"n{number}" for number in range(1, 9)))
    site.metrics = tmp_path / "textfiles"
    site.metrics.mkdir()
    return site


def told(site: Told) -> dict[str, dict[str, float]]:
    """By metric the values by what its labels are besides the system."""
    assert site.act().problems == () and site.metrics is not None
    found = samples((site.metrics / "nearfar-fleet.prom").read_text())
    assert all(labels.pop("system") == "vm" for these in found.values() for labels, _ in these)
    return {name: {" ".join(labels.values()): value for labels, value in these} for name, these in found.items()}


def test_the_fleet(site: Told) -> None:
    site.cap = DrainCap(1, 1.0)
    leave(site.results, "n1", "00000001", at=site.now - 60)
    site.wrong_data("n2", "00000002")
    site.wrong_data("n3", "00000003")
    site.slurm.drain("n4", "bad DIMM")
    site.slurm.states["n5"] = replace(site.slurm.states["n5"], base="DOWN")
    leave(site.results, "n6", "00000006", at=site.now - 10 * 86400)
    (site.results / "s-00000001" / "sweep.json").write_text(json.dumps({"started": 1795165200.5, "level": "nightly"}))
    site.act()
    found = told(site)
    assert found["nearfar_fleet_nodes"] == {
        "decide": 1, "waits": 1, "to_test": 0, "returning": 0, "suspect": 0, "others": 2, "unjudged": 0, "not_measured": 3, "good": 1,
    }  # fmt: skip
    never = {"n6 not_measured", "n7 not_measured", "n8 not_measured"}
    assert set(found["nearfar_fleet_node"]) == {"n2 waits", "n3 decide", "n4 others", "n5 others", *never}
    assert found["nearfar_drains_held"] == {"cap": 1, "available": 0, "same_metric": 0}
    assert found["nearfar_fleet_open_findings"] == {"n2 host_device_check yes": 1, "n3 host_device_check yes": 1}
    assert (found["nearfar_fleet_hard_evidence"], found["nearfar_drains_stopped"]) == ({"": 2}, {"": 1})
    assert found["nearfar_drains"] == {"per_day": 1, "in_all": 1} and found["nearfar_drains_limit"] == {
        "per_day": 1,
        "in_all": 1,
    }
    assert found["nearfar_sweep_start_timestamp_seconds"] == {"s-00000001 nightly": 1795165200.5}
    assert time.time() - found["nearfar_act_last_run_timestamp_seconds"][""] < 60
    assert site.now - 61 < found["nearfar_fleet_last_result_timestamp_seconds"][""] <= site.now - 59
    assert found["nearfar_hook_events_waiting"] == {"on-finding": 0, "on-drain": 0, "on-release": 0}


def test_the_caps_and_the_floor_of_partitions(site: Told) -> None:
    site.cap = DrainCap(4, 0.25)
    for number, name in enumerate(site.slurm.states):
        site.slurm.states[name] = replace(site.slurm.states[name], partitions=("a", "b") if number < 4 else ("b",))
    site.wrong_data("n1", "00000001")
    site.slurm.drain("n8", "bad DIMM")
    first, then = told(site), told(site)
    assert first["nearfar_partition_nodes"] == {"a": 4, "b": 8}
    assert first["nearfar_partition_usable_nodes"] == {"a": 4, "b": 7}, "as act found them"
    assert then["nearfar_partition_usable_nodes"] == {"a": 3, "b": 6}
    assert first["nearfar_partition_usable_least_nodes"] == {"a": 2, "b": 4}
    assert first["nearfar_partition_drains"] == {"a per_day": 1, "a in_all": 1, "b per_day": 1, "b in_all": 1}
    assert first["nearfar_partition_drains_limit"] == {"a per_day": 1, "a in_all": 1, "b per_day": 2, "b in_all": 2}


def test_what_is_found_on_many_nodes_at_once(site: Told) -> None:
    site.cap = DrainCap(3, 0.2)
    for number in range(1, 5):
        leave(site.results, f"n{number}", f"0000000{number}", at=site.now - 60, speed=27.1)
    found = told(site)
    assert found["nearfar_fleet_shared_faults"] == {"": 1}
    assert found["nearfar_fleet_shared_fault_nodes"] == {"host_device_check sole.g_n no": 4}


def test_the_groups_are_those_of_status(site: Told) -> None:
    leave(site.results, "n1", "00000001", at=site.now - 60)
    site.wrong_data("n2", "00000002")
    seen = site.act().seen
    groups = status_of(seen, site.options()).by_group
    found = samples((site.folder / "textfiles/nearfar-fleet.prom").read_text())["nearfar_fleet_nodes"]
    assert {labels["state"]: value for labels, value in found} == {name: len(these) for name, these in groups.items()}


def test_a_node_that_died_while_drained_by_us_is_counted(site: Told) -> None:
    site.wrong_data("n2", "00000002")
    assert told(site)["nearfar_fleet_dead_nodes"] == {"": 0}
    state = site.slurm.states["n2"]
    for reason in (state.reason, "Not responding"):  # later versions of Slurm put their own in our reason's place
        dead = replace(state, base="DOWN", flags=state.flags | {"NOT_RESPONDING"}, reason=reason)
        site.slurm.states.update(n2=dead, n3=replace(site.slurm.states["n3"], base="DOWN"))
        assert told(site)["nearfar_fleet_dead_nodes"] == {"": 1}


def test_what_an_act_has_done_is_counted_by_itself(site: Told) -> None:
    site.wrong_data("n2", "00000002")
    first = told(site)
    assert first["nearfar_act_actions"] == {"drain": 1, "resume": 0, "comment": 0, "uncomment": 0}
    assert first["nearfar_drains"] == {"per_day": 1, "in_all": 1}, "what it has just done counts"
    assert told(site)["nearfar_act_actions"]["drain"] == 0


def test_events_that_wait_are_counted(site: Told) -> None:
    site.wrong_data("n1", "00000001")
    site.wrong_data("n2", "00000002")
    site.hooks = {"on-drain": site.program("bad", "exit 1"), "on-finding": site.hooks["on-finding"]}
    assert len(site.act().problems) == 1
    assert site.metrics is not None
    found = samples((site.metrics / "nearfar-fleet.prom").read_text())["nearfar_hook_events_waiting"]
    assert {labels["hook"]: value for labels, value in found} == {"on-drain": 2, "on-finding": 0}


@pytest.mark.parametrize("text", ["{", "[]", '{"started": "today"}', '{"started": NaN}'])
def test_a_sweep_that_cannot_be_read_is_left_out(site: Told, text: str) -> None:
    leave(site.results, "n1", "00000001", at=site.now - 60)
    (site.results / "s-00000001" / "sweep.json").write_text(text)
    assert "nearfar_sweep_start_timestamp_seconds" not in told(site)


def test_a_pipe_in_the_place_of_a_sweep_holds_nobody(site: Told) -> None:
    leave(site.results, "n1", "00000001", at=site.now - 60)
    os.mkfifo(site.results / "s-00000001" / "sweep.json")
    assert "nearfar_sweep_start_timestamp_seconds" not in told(site)


def test_a_directory_that_cannot_be_written_changes_nothing_that_act_does(site: Told) -> None:
    assert site.metrics is not None
    site.metrics.rmdir()
    site.wrong_data("n2", "00000002")
    [problem] = site.act().problems
    assert problem.startswith("metrics: ") and "no such directory" in problem and site.slurm.states["n2"].drain
