"""The measurement document: what is accepted, what is refused with which line, merging, metrics and ratios."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar import measurement
from nearfar.base.errors import CouldNotJudge, NearfarError
from nearfar.measurement import consistency, dump, load, loads, machine_uses, merge, metrics
from nearfar.measurement.document import from_raw
from nearfar.topology import node_from_document

NODE = {
    "hostname": "host",
    "packages": [{"index": 0, "cpus": "0-3"}, {"index": 1, "cpus": "4-7"}],
    "numa_nodes": [
        {"index": 0, "package": 0, "cpus": "0-3", "memory": 1 << 30, "kind": "host"},
        {"index": 1, "package": 1, "cpus": "4-7", "memory": 1 << 30, "kind": "host"},
    ],
    "gpus": [
        {"index": 0, "pci": "0000:1b:00.0", "numa_node": 0, "package": 0},
        {"index": 1, "pci": "0000:8b:00.0", "numa_node": 1, "package": 1},
    ],
}


def rate(value, half=0.0):
    return {"unit": "GB/s", "median": value, "ci": [value - half, value + half], "n": 9}


def result(cell, *values, quantity="copy", **rest):
    flows = cell.split("+")
    rates = [value if isinstance(value, dict) else rate(value) for value in values]
    entry = {
        "quantity": quantity,
        "cell": cell,
        "bytes": 1 << 28,
        "converged": True,
        "verified": True,
        "flows": [{"flow": flow, "rate": r, "ceiling": 58.0} for flow, r in zip(flows, rates)],
    }
    if len(flows) > 1:
        entry["total"] = rate(sum(r["median"] for r in rates))
    return {**entry, **rest}


def document(*results, **rest):
    return {
        "schema": "nearfar-measurement/2",
        "kind": "measured",
        "program": {"name": "nearfar-copy"},
        "node": copy.deepcopy(NODE),
        "results": list(results),
        "skipped": [],
        "failed": [],
        **rest,
    }


def refused(raw, source="doc.json"):
    with pytest.raises(CouldNotJudge) as caught:
        loads(raw if isinstance(raw, str) else json.dumps(raw), source)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert message.startswith(source)
    return message


def test_from_a_file_and_from_text(tmp_path):
    raw = document(result("n0:g0", 55.5))
    path = tmp_path / "document.json"
    path.write_text(json.dumps(raw))
    for source in (path, str(path), json.dumps(raw)):
        found = load(source)
        assert found.raw == raw
        assert str(found.results[0].cell) == "n0:g0"
        assert found.results[0].flows[0].rate.median == 55.5
        assert found.node == node_from_document(NODE)
        assert found.kind == "measured"


def test_unknown_keys_are_ignored_and_kept():
    raw = document(result("n0:g0", 55.5, weather="fine"), more={"a": 1})
    raw["node"]["gpus"][0]["colour"] = "green"
    assert loads(json.dumps(raw)).raw == raw


def test_what_is_dumped_is_read_again():
    found = from_raw(document(result("n0:g0+g0:n0", 50, 51)))
    assert loads(dump(found)) == from_raw(found.raw, "<text>")


def test_a_missing_file_is_the_users_mistake(tmp_path):
    with pytest.raises(NearfarError, match=r"nowhere\.json: cannot be read: No such file") as refused:
        load(tmp_path / "nowhere.json")
    assert not isinstance(refused.value, CouldNotJudge)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.pop("results"), "/: 'results' is a required property"),
        (lambda d: d.update(kind="guessed"), "/kind: 'guessed' is not one of ['measured', 'modelled', 'foreign']"),
        (lambda d: d["results"][0]["flows"][0]["rate"].update(median="x"), "/results/0/flows/0/rate/median: 'x'"),
        (lambda d: d["results"][0]["flows"][0]["rate"].update(unit=""), "/results/0/flows/0/rate/unit"),
        (lambda d: d["results"][0].update(cell="n0:q"), "/results/0/cell: cell 'n0:q', column 4: expected an endpoint"),
        (lambda d: d["results"][0].update(cell="n0:g1"), "/results/0/flows: not the flows of cell 'n0:g1'"),
        (lambda d: d["results"][0]["flows"][0].update(flow="n0:g0+g0:n0"), "/results/0/flows/0/flow: 'n0:g0+g0:n0' is"),
        (lambda d: d["results"].append(result("n0:g0@n0", 3)), "/results/1: the same quantity, cell and size"),
        (lambda d: d["results"].append({**result("n0:g0+g0:n0", 1, 2), "total": None}), "/results/1/total"),
        (lambda d: d["failed"].append({"cell": "n0:g0", "reason": "gone", "code": "bad"}), "/failed/0/code: 'bad'"),
        (lambda d: d["skipped"].append({"cell": "n0:g0", "reason": ""}), "/skipped/0/reason"),
        (lambda d: d["node"].update(gpus="none"), "/node"),
    ],
)
def test_faults_are_named_by_file_and_json_pointer(change, words):
    raw = document(result("n0:g0", 55.5))
    change(raw)
    assert words in refused(raw)


def test_a_total_is_required_of_several_flows():
    raw = document(result("n0:g0+g0:n0", 50, 51))
    del raw["results"][0]["total"]
    assert "/results/0: 'total' is missing" in refused(raw)


def test_a_skip_of_everything():
    found = from_raw(document(skipped=[{"cell": "", "reason": "no driver", "code": "missing_library"}]))
    assert [s.cell for s in found.skipped] == [""]


def test_other_and_foreign_schemas():
    for other in ("nearfar-measurement/1", "nearfar-measurement/3"):
        assert f"is of schema {other}, this nearfar reads nearfar-measurement/2 alone" in refused(
            document(schema=other)
        )
    for other in ("nearfar-verdict/1", None, 1, "nearfar-measurement/x"):
        assert "not a measurement document" in refused(document(schema=other))
    assert "not a measurement document" in refused("[]")


def test_half_a_document():
    text = json.dumps(document(result("n0:g0", 55.5)), indent=1)
    for cut in range(1, len(text) - 1):
        message = refused(text[:cut], "d.json")
        assert "ends too early" in message or "not JSON" in message
    assert "ends too early" in refused(text[: len(text) // 2])
    assert "empty" in refused("")
    assert "not JSON" in refused('{"schema": oops}')


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_not_a_number_is_refused(word):
    text = json.dumps(document(result("n0:g0", 55.5))).replace("55.5", word, 1)
    assert f"{word} is not a number" in refused(text)


def test_nan_is_never_written():
    with pytest.raises(CouldNotJudge, match="not a finite number"):
        dump(document(result("n0:g0", float("nan"))))


@given(st.text(max_size=60))
def test_any_text_is_a_users_error(text):
    with pytest.raises(NearfarError) as caught:
        loads(text)
    assert len(str(caught.value).splitlines()) == 1


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
        max_leaves=8,
    ),
    st.sampled_from(["results", "node", "failed", "program", "gpus_under_load"]),
)
def test_any_value_in_the_place_of_a_part_is_read_or_refused(value, key):
    raw = document(result("n0:g0", 55.5))
    raw[key] = value
    try:
        loads(json.dumps(raw))
    except CouldNotJudge as error:
        assert len(str(error).splitlines()) == 1


# Merging


def test_merging_keeps_all_cells_and_the_last_word_on_each():
    first = from_raw(document(result("n0:g0", 50), result("g0:n0", 51), seconds=1.5))
    second = from_raw(document(result("n0:g0@n0", 52), result("n0:g1", 53), seconds=2.0))
    merged = merge([first, second])
    assert {str(r.cell): r.flows[0].rate.median for r in merged.results} == {"g0:n0": 51, "n0:g0": 52, "n0:g1": 53}
    assert merged.raw["seconds"] == 3.5


def test_sizes_stand_side_by_side():
    merged = merge([from_raw(document(result("n0:g0", 50))), from_raw(document(result("n0:g0", 5, bytes=1024)))])
    assert [r.bytes for r in merged.results] == [1 << 28, 1024]


def test_a_later_figure_replaces_a_failure_and_a_failure_a_figure():
    figure = document(result("n0:g0", 50))
    failure = document(failed=[{"cell": "n0:g0", "reason": "hung", "code": "hang"}])
    fixed = merge([from_raw(failure), from_raw(figure)])
    assert not fixed.failed
    assert len(fixed.results) == 1
    broken = merge([from_raw(figure), from_raw(failure)])
    assert [f.code for f in broken.failed] == ["hang"]
    assert not broken.results


def test_a_skip_erases_nothing_and_is_replaced_by_a_figure():
    figure = document(result("n0:g0", 50))
    skip = document(skipped=[{"cell": "n0:g0@n0", "reason": "no time", "code": "budget"}])
    for order in ([figure, skip], [skip, figure]):
        merged = merge([from_raw(raw) for raw in order])
        assert len(merged.results) == 1
        assert not merged.skipped
    assert len(merge([from_raw(skip), from_raw(skip)]).skipped) == 1


def test_other_nodes_are_not_merged():
    other = document()
    other["node"]["hostname"] = "elsewhere"
    with pytest.raises(NearfarError, match=r"b\.json: is of another node or kind than a\.json"):
        merge([from_raw(document(), "a.json"), from_raw(other, "b.json")])
    with pytest.raises(NearfarError, match="no documents"):
        merge([])


def test_what_aggressors_loaded_is_merged_with_its_like_alone():
    loaded = {**document(), "aggressor": ["n0:g0"]}
    with pytest.raises(NearfarError, match=r"b\.json: has other aggressors \(n0:g0\) than a\.json"):
        merge([from_raw(document(), "a.json"), from_raw(loaded, "b.json")])
    assert merge([from_raw(loaded), from_raw(loaded)]).aggressors == ("n0:g0",)


def machine(others):
    """What a run says of the machine, with one process of others."""
    look = {"others": others, "own": 2.0, "steal": 0.0, "iowait": 0.1, "free_memory": 1 << 30}
    return {
        "looks": [{"at": 0.5, **look}, {"at": 1.0, **look, "others": others / 2}],
        "mean": {**look, "others": 0.75 * others},
        "busiest": [{"pid": 7, "command": "stress) x", "user": "root", "cpus": others}],
        "memory": [{"numa_node": 0, "before": 5, "after": 6}],
        "gpu_processes": [{"gpu": None, "pci": "0000:1b:00.0", "pid": 9, "name": "python3", "when": "both"}],
        "counters": [{"gpu": 0, "pci": "0000:1b:00.0", "name": "pcie_replays", "before": 1, "after": 2}],
        "missing": [{"what": "steal", "why": "it is not counted"}],
        "of_a_later_version": {},
    }


def test_who_else_used_the_machine_is_read_and_kept_of_each_merged_document():
    assert machine_uses(document()) == []
    first, second = (from_raw(document(machine=machine(others), started=f"day {others}")) for others in (4.0, 1.0))
    (use,) = machine_uses(first.raw)
    assert (use.others, use.most_others, use.own, use.steal) == (3.0, 4.0, 2.0, 0.0)
    assert (use.busiest[0].command, use.busiest[0].cpus) == ("stress) x", 4.0)
    assert (use.gpu_processes[0].gpu, use.gpu_processes[0].name) == (None, "python3")
    merged = merge([merge([first, second]), from_raw(document())])
    assert "machine" not in merged.raw
    assert [entry["started"] for entry in merged.raw["machines"]] == ["day 4.0", "day 1.0"]
    assert [use.others for use in machine_uses(merged.raw)] == [3.0, 0.75]
    assert "machines" not in merge([from_raw(document())]).raw


@pytest.mark.parametrize("key, value", [("looks", [{"at": -1}]), ("busiest", {}), ("mean", {"others": "many"})])
def test_a_machine_that_is_none_is_refused_with_its_place(key, value):
    with pytest.raises(CouldNotJudge, match=f"/machine/{key}"):
        from_raw(document(machine={**machine(1.0), key: value}))


def test_one_quick_look_makes_the_merged_document_quick():
    quick = document()
    quick["program"] = {**quick["program"], "quick": True}
    assert merge([from_raw(document()), from_raw(quick)]).raw["program"]["quick"] is True
    assert "quick" not in merge([from_raw(document()), from_raw(document())]).raw["program"]


# Metrics


def by_name(raw, expected=None):
    return {metric.name: metric for metric in metrics(from_raw(raw), expected)}


def test_one_metric_for_a_lone_cell_and_one_each_for_several_flows():
    found = by_name(document(result("n0:g0", 55.5), result("n0:g0+g0:n0", 50, 51)))
    assert list(found) == [
        "near.n0_g0",
        "near.n0_g0__g0_n0.of.n0_g0",
        "near.n0_g0__g0_n0.of.g0_n0",
        "near.n0_g0__g0_n0.total",
    ]
    total = found["near.n0_g0__g0_n0.total"]
    assert (total.value, total.unit, total.ceiling, total.total, total.flow) == (101, "GB/s", 116.0, True, None)
    assert found["near.n0_g0"].interval == (55.5, 55.5)


def test_the_expected_node_gives_the_class():
    expected = node_from_document({**NODE, "gpus": [{"index": 0, "pci": "x", "numa_node": 1, "package": 1}]})
    raw = document(result("n0:g0", 40), result("n0:g1", 40))
    assert list(by_name(raw)) == ["near.n0_g0", "off_socket.n0_g1"]
    assert list(by_name(raw, expected)) == ["off_socket.n0_g0", "unknown.n0_g1"]


def test_ratios_of_far_over_near():
    both = result("n1:g0+g0:n1", 30, 20)
    found = by_name(
        document(
            result("n0:g0", rate(50, 1)),
            result("n1:g0", rate(40, 2), converged=False),
            result("n0:g0+g0:n0", 40, 40),
            both,
            result("n1:g0/sm", 33),
            result("n0:g1", 41),
        )
    )
    ratios = {name: metric for name, metric in found.items() if metric.quantity == "ratio"}
    assert {name: metric.value for name, metric in ratios.items()} == {
        "off_socket_over_near.n1_g0": 0.8,
        "off_socket_over_near.n1_g0__g0_n1.of.n1_g0": 0.75,
        "off_socket_over_near.n1_g0__g0_n1.of.g0_n1": 0.5,
        "off_socket_over_near.n1_g0__g0_n1.total": 0.625,
    }
    lone = ratios["off_socket_over_near.n1_g0"]
    assert lone.interval == pytest.approx((38 / 51, 42 / 49))
    assert (lone.unit, lone.converged, lone.verified) == ("1", False, True)


@pytest.mark.parametrize("unsettled", ["n0:g0", "n1:g0"])
def test_a_ratio_converged_where_both_figures_did(unsettled):
    cells = [result(cell, 40, converged=cell != unsettled) for cell in ("n0:g0", "n1:g0")]
    assert not by_name(document(*cells))["off_socket_over_near.n1_g0"].converged


@pytest.mark.parametrize(
    ("told", "verified"),
    [
        ({"bytes": 1 << 28, "copies": 37, "seen": 37}, True),
        ({"bytes": 1 << 28}, True),
        (True, True),
        (False, False),
        (None, None),
    ],
)
def test_what_was_compared_is_read_in_every_form(told, verified):
    assert loads(json.dumps(document(result("n0:g0", 55.5, verified=told)))).results[0].verified is verified


def test_a_latency_of_which_nothing_is_compared_hangs_together():
    raw = document(result("n0:g0", {**rate(2.1), "unit": "us"}, quantity="latency.copy"))
    del raw["results"][0]["verified"]
    (metric,) = metrics(loads(json.dumps(raw)))
    assert metric.verified is None and consistency.fault(metric) is None


def test_what_was_compared_has_bytes():
    refused(document(result("n0:g0", 55.5, verified={"copies": 3})))


@given(st.floats(1, 100), st.floats(0, 0.5), st.floats(1, 100), st.floats(0, 0.5))
def test_a_ratios_interval_holds_every_quotient(far, far_half, near, near_half):
    found = by_name(document(result("n0:g0", rate(near, near_half)), result("n1:g0", rate(far, far_half))))
    low, high = found["off_socket_over_near.n1_g0"].interval
    for f in (far - far_half, far, far + far_half):
        for n in (near - near_half, near, near + near_half):
            assert low * (1 - 1e-12) <= f / n <= high * (1 + 1e-12)


def test_of_several_sizes_the_largest_counts():
    found = by_name(document(result("n0:g0", 5, bytes=1024), result("n0:g0", 50), result("n0:g0", 7, bytes=2048)))
    assert [m.value for m in found.values()] == [50]


def test_stream_and_other_quantities():
    raw = document(
        result("c0:n0/triad", 70, quantity="stream"),
        result("c0:n1/triad", 30, quantity="stream"),
        result("c0:n0/triad+c1:n1/triad", 69, 68, quantity="stream"),
    )
    raw["results"].append(
        {
            **result("n0:g0", 1),
            "quantity": "mpi.latency",
            "cell": "two ranks",
            "flows": [{"flow": "x", "rate": rate(1)}],
        }
    )
    assert list(by_name(raw)) == [
        "local.c0_n0.triad",
        "off_socket.c0_n1.triad",
        "local.c0_n0.triad__c1_n1.triad.of.c0_n0.triad",
        "local.c0_n0.triad__c1_n1.triad.of.c1_n1.triad",
        "local.c0_n0.triad__c1_n1.triad.total",
    ]


def test_merged_documents_keep_what_any_of_them_knows_of_the_node() -> None:
    real = Path(__file__).parents[1] / "data" / "h200-x4"
    stream, copy = (load(real / f"{name}.json") for name in ("host_memory_check", "host_device_check"))
    assert stream.node.gpus[0].nvlinks is None and copy.node.gpus[0].nvlinks == 18
    assert [gpu.nvlinks for gpu in merge([stream, copy]).node.gpus] == [18] * 4


def test_without_samples_a_document_has_the_same_figures() -> None:
    for path in sorted((Path(__file__).parents[1] / "data").glob("h200-x*/*_check.json")):
        raw = json.loads(path.read_text())
        thin = measurement.without_samples(raw)
        assert '"samples"' not in json.dumps(thin) and '"visits"' not in json.dumps(thin)
        assert metrics(from_raw(thin)) == [dataclasses.replace(m, samples=()) for m in metrics(from_raw(raw))]


def test_the_name_of_a_check_s_document_stands_once() -> None:
    """Whoever reads or writes such a file takes the name from ``measurement.DOCUMENT``."""
    package = Path(measurement.__file__).parents[1]
    named = [path.relative_to(package) for path in package.rglob("*.py") if 'document.json"' in path.read_text()]
    assert named == [Path("measurement/run_documents.py")]
