"""What others did to a measurement, and what of its figures it explains."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from nearfar import measurement
from nearfar.base import NOT_JUDGED, CouldNotJudge, site_file
from nearfar.cells import parse
from nearfar.measurement import Document
from nearfar.topology import Gpu, Node, NumaNode, Package, node_to_document
from nearfar.verdict import Baseline, CaseInfo, Verdict, disturbances, judge, of_one_run, verdict_file
from nearfar.verdict.references import Reference

CPUS = tuple(range(32))
SUBJECT = CaseInfo("host_device_check", "s", "gpu", "system", "n", "2026-11-20T09:00:00Z")
#: What the healthy node has, GB/s.
HEALTHY = {"g": 400.0, "c": 200.0, "n": 55.5}
BUSY = {
    "mean": {"others": 24.0, "own": 0.5, "steal": 0.0},
    "busiest": [{"pid": 7, "command": "stream", "user": "x", "cpus": 23.9}],
}


def node(gpus: int = 2, switch: bool = False) -> Node:
    """A machine with one NUMA node of 32 CPUs; each GPU behind its own bridge, or all behind one switch."""
    bridges = [("0000:00:01.0",) if switch else (f"0000:0{i}:01.0",) for i in range(gpus)]
    made = [Gpu(i, f"0000:{i + 1}1:00.0", numa_node=0, package=0, uplinks=bridges[i]) for i in range(gpus)]
    peers = {(a, b): "NV18" for a in range(gpus) for b in range(a + 1, gpus)}
    return Node("n", (Package(0, CPUS),), (NumaNode(0, 0, CPUS, 1 << 38),), tuple(made), peers=peers)


def document(results: list[dict[str, Any]], machine: dict[str, Any] | None = None, **more: Any) -> Document:
    where = more.pop("node", node())
    raw = {
        "schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": "nearfar-copy"}, "node": node_to_document(where),
        "results": results, "skipped": [], "failed": [], **({} if machine is None else {"machine": machine}), **more,
    }  # fmt: skip
    return measurement.document.from_raw(raw)


def lone(cell: str, value: float, quantity: str = "copy") -> dict[str, Any]:
    return visited(cell, [[value] * 6] * 3, quantity)


def visited(cell: str, visits: list[list[float]], quantity: str = "copy") -> dict[str, Any]:
    """A lone cell's result of these samples, its visits a second apart."""
    samples = [sample for visit in visits for sample in visit]
    ranked = sorted(samples)
    plateau, middle = ranked[min(len(ranked) - 1, math.floor(0.9 * len(ranked)))], ranked[len(ranked) // 2]
    rate = {
        "unit": "GB/s", "plateau": plateau, "interval": [plateau * 0.999, plateau * 1.001], "steadiness": min(1.0, middle / plateau),
        "median": middle, "mad": 0.0, "ci": [middle, middle], "min": ranked[0], "max": ranked[-1], "n": len(samples), "samples": samples,
    }  # fmt: skip
    return {
        "quantity": quantity, "cell": cell, "bytes": 1 << 28, "converged": True, "verified": {"bytes": 1, "copies": 1, "seen": 1},
        "visits": [{"at": float(i), "seconds": 0.1, "n": len(visit)} for i, visit in enumerate(visits)],
        "flows": [{"flow": cell, "rate": rate}],
    }  # fmt: skip


def together(cell: str, shares: list[float]) -> dict[str, Any]:
    rates = [
        {"unit": "GB/s", "median": v, "mad": 0.0, "ci": [v, v], "min": v, "max": v, "n": 6}
        for v in (*shares, sum(shares))
    ]
    flows = [{"flow": flow, "rate": rate} for flow, rate in zip(cell.split("+"), rates)]
    return {
        "quantity": "copy", "cell": cell, "bytes": 1 << 28, "converged": True, "verified": True, "flows": flows, "total": rates[-1],
    }  # fmt: skip


def judged(doc: Document, **more: Any) -> Verdict:
    """By tuned references of what the healthy node has, less 5 %; sums of two paths are 110."""
    figures = measurement.metrics(doc)
    references: dict[str, Reference | None] = {}
    for each in figures:
        value = (
            110.0 if each.total else HEALTHY[str(each.cell)[0]] if each.cell.flows[0].kind != "host" else HEALTHY["n"]
        )
        judged_here = each.quantity in ("copy", "stream") and (each.total or each.flow is None)
        references[each.name] = Reference(value, -0.05, None, "GB/s", "tuned", "n = 30") if judged_here else None
    found = judge(doc, references, subject=SUBJECT, metrics=figures, **more)
    jsonschema.validate(verdict_file.to_raw(found), site_file.schema("verdict-2"))
    return found


def word(found: Verdict, subject: str) -> str:
    return next(m.verdict for m in found.metrics if m.subject == subject and m.flow is None)


# -- others on the machine ---------------------------------------------------------------------------------------------


def test_a_slow_path_of_a_busy_machine_says_nothing_of_the_node_and_names_who_was_busy() -> None:
    found = judged(document([lone("n0:g0", 35.0), lone("g0:n0", 55.4), lone("g0:g1", 300.0)], BUSY))
    slow = found.metrics[0]
    assert (slow.verdict, slow.disturbance) == ("INDETERMINATE", "cpus")
    assert slow.reason is not None
    assert "24.0 of 32 CPUs" in slow.reason and "(stream of x 23.9)" in slow.reason
    assert "expected at least 52.7" in slow.reason
    assert word(found, "g0:n0") == "PASS"
    assert word(found, "g0:g1") == "FAIL"  # no CPU has a part in it


@pytest.mark.parametrize(
    "machine", [None, {"mean": {"others": 1.5, "own": 0.5}}, {"mean": {"others": 0.1, "own": 8.0, "steal": 0.1}}]
)  # fmt: skip
def test_little_use_by_others_excuses_nothing(machine: dict[str, Any] | None) -> None:
    assert judged(document([lone("n0:g0", 35.0)], machine)).verdict == "FAIL"


@pytest.mark.parametrize(("value", "expected"), [(9.0, "INDETERMINATE"), (3.0, "DEGRADED")])
def test_others_make_a_latency_longer_and_never_shorter(value: float, expected: str) -> None:
    doc = document([lone("n0:g0", 35.0)], BUSY)
    entry = judged(doc).metrics[0]
    bounds = replace(entry.reference, value=5.0, lowest=4.0, highest=6.0, unit="us")
    latency = replace(entry, unit="us", value=value, verdict="DEGRADED", reason="", reference=bounds, disturbance="")
    assert [found.verdict for found in disturbances.apply([latency], [doc], "own")] == [expected]


def test_steal_time_is_named() -> None:
    found = judged(document([lone("n0:g0", 35.0)], {"mean": {"others": 0.0, "own": 0.5, "steal": 0.3}}))
    assert found.verdict == "INDETERMINATE"
    assert "the hypervisor withheld 0.30 CPUs of 1.0 that were wanted" in found.reasons[0]


def on_gpu(gpu: int | None, pci: str = "0000:11:00.0") -> dict[str, Any]:
    process = {"gpu": gpu, "pci": pci, "pid": 42, "name": "python3", "when": "both"}
    return {"mean": {"others": 0.2, "own": 0.5}, "gpu_processes": [process]}


@pytest.mark.parametrize("machine", [on_gpu(0), on_gpu(None)])
def test_a_process_on_a_gpu_explains_figures_of_that_gpu(machine: dict[str, Any]) -> None:
    found = judged(document([lone("n0:g0", 35.0), lone("n0:g1", 35.0)], machine))
    assert [word(found, f"n0:g{i}") for i in (0, 1)] == ["INDETERMINATE", "FAIL"]
    assert found.metrics[0].code == "figure.disturbed"
    assert any("GPU 0: python3 (pid 42); " in reason for reason in found.reasons)


def test_processes_of_one_program_are_named_once_without_their_path_with_their_user() -> None:
    one = {**on_gpu(0)["gpu_processes"][0], "name": "/opt/site/bin/train", "user": "alice"}
    machine = {"mean": {"others": 0.2, "own": 0.5}, "gpu_processes": [one, {**one, "pid": 43}]}
    (reason,) = judged(document([lone("n0:g0", 35.0)], machine)).reasons
    assert "GPU 0: train of alice (pid 42, 43); " in reason
    nameless = {**machine, "gpu_processes": [{**one, "name": ""}]}
    (reason,) = judged(document([lone("n0:g0", 35.0)], nameless)).reasons
    assert "a process of alice (pid 42); " in reason and reason.endswith("run again when they have ended")


def test_it_explains_those_behind_the_same_switch_too() -> None:
    found = judged(document([lone("n0:g0", 35.0), lone("n0:g1", 35.0)], on_gpu(0), node=node(switch=True)))
    assert [word(found, f"n0:g{i}") for i in (0, 1)] == ["INDETERMINATE", "INDETERMINATE"]


def test_wrong_data_and_errors_stand_on_a_busy_machine() -> None:
    failed = [{"cell": "n0:g1", "reason": "wrong data", "code": "wrong_data"}]
    found = judged(document([lone("n0:g0", 35.0)], BUSY, failed=failed))
    assert found.verdict == "FAIL"


def test_many_figures_of_one_disturbance_are_one_reason() -> None:
    found = judged(document([lone("n0:g0", 35.0), lone("n0:g1", 36.0), lone("g0:n0", 37.0)], BUSY))
    assert len(found.reasons) == 1
    assert found.reasons[0].endswith("run again when stream is gone (and 2 more figures)")


def test_of_several_looks_those_in_quiet_count() -> None:
    quiet, busy = document([lone("n0:g0", 35.0)]), document([lone("n0:g0", 35.0)], BUSY)
    failed = judged(quiet).metrics
    assert disturbances.apply(failed, [busy, quiet, quiet], "shared")[0].verdict == "FAIL"
    assert disturbances.apply(failed, [busy, busy, quiet], "shared")[0].verdict == "INDETERMINATE"


# -- unrelated paths ---------------------------------------------------------------------------------------------------


def fallen(gpus: int = 2, **more: Any) -> Document:
    cells = [lone(f"n0:g{i}", 40.0) for i in range(gpus)] + [lone(f"g{i}:n0", 55.4) for i in range(gpus)]
    return document(cells, node=node(gpus, **more))


def test_unrelated_paths_that_fall_together_on_a_shared_host_are_the_hosts() -> None:
    found = judged(fallen(), host="shared")
    assert found.verdict == "INDETERMINATE"
    assert {m.disturbance for m in found.metrics if m.verdict == "INDETERMINATE"} == {"host"}
    assert "(n0:g0 by 28 %, n0:g1 by 28 %)" in found.reasons[0]


def test_on_an_own_host_they_fail_and_say_that_no_part_is_to_blame() -> None:
    found = judged(fallen(), host="own")
    lone = [m for m in found.metrics if m.subject in ("n0:g0", "n0:g1")]
    assert {(m.verdict, m.code, m.disturbance) for m in lone} == {("FAIL", "figure.fell_together", "own_host")}
    assert all(m.bounded for m in lone)
    (other,) = judged(document([CHANNEL]), host="own").metrics
    assert (other.verdict, other.code) == ("FAIL", "figure.beyond_reference"), "host memory alone is judged as ever"


def test_paths_behind_one_switch_are_related() -> None:
    assert judged(fallen(switch=True), host="shared").verdict == "FAIL"


def test_one_gpu_alone_tells_no_host_from_its_link_unless_stream_fell_too() -> None:
    assert judged(fallen(1), host="shared").verdict == "FAIL"
    results = [lone("n0:g0", 40.0), lone("c0:n0/triad", 140.0, "stream")]
    assert judged(document(results, node=node(1)), host="shared").verdict == "INDETERMINATE"
    results = [lone("n0:g0", 40.0), lone("c0:n0/triad", 199.0, "stream")]
    assert judged(document(results, node=node(1)), host="shared").verdict == "FAIL"


def test_one_slow_gpu_among_good_ones_is_no_host() -> None:
    doc = document([lone("n0:g0", 40.0), lone("n0:g1", 55.4), lone("n0:g2", 55.5)], node=node(3))
    assert word(judged(doc, host="shared"), "n0:g0") == "FAIL"


def test_nor_is_it_where_paths_between_gpus_fell_too() -> None:
    doc = document([lone("n0:g0", 40.0), lone("n0:g1", 40.0), lone("g0:g1", 250.0)])
    assert judged(doc, host="shared").verdict == "FAIL"


@pytest.mark.parametrize("shares, verdict", [([45.0, 46.0], "INDETERMINATE"), ([36.0, 55.0], "FAIL")])
def test_a_sum_that_falls_evenly_is_the_hosts(shares: list[float], verdict: str) -> None:
    assert judged(document([together("n0:g0+n0:g1", shares)]), host="shared").verdict == verdict


CHANNEL, NVLINK = lone("c0:n0/triad", 140.0, "stream"), lone("g0:g1", 300.0)
SHARE = together("g0:n0+g1:n0", [30.0, 55.0])


@pytest.mark.parametrize(
    ("slow", "excused"),
    [
        (CHANNEL, {"c0:n0/triad"}),
        (together("n0:g0+g1:n0", [30.0, 55.0]), {"n0:g0+g1:n0"}),
        (lone("g0:g1/staged", 20.0), {"g0:g1/staged"}),
        (SHARE, set()),
        (lone("g0:n0", 30.0), set()),
        (NVLINK, set()),
        (lone("c1:n1/triad", 140.0, "stream"), set()),
        (lone("n1:g0", 30.0), set()),
    ],
)
def test_a_check_that_finds_the_host_disturbed_excuses_its_memory_in_the_others(
    slow: dict[str, Any], excused: set[str]
) -> None:
    other = judged(document([slow]), host="shared")
    assert other.verdict == "FAIL", "by itself"
    for host, verdict, kind in (("shared", "INDETERMINATE", "host"), ("own", "FAIL", "own_host")):
        beside = judged(fallen(), host=host)
        of_beside, found = of_one_run([beside, replace(other, check="b_check")])
        told = [m for m in found.metrics if "host_device_check of the same run found" in str(m.reason)]
        assert {m.subject for m in told} == excused
        assert {(m.verdict, m.disturbance) for m in told} <= {(verdict, kind)}
        assert of_beside is beside
        assert found.verdict == (verdict if excused else "FAIL")
        assert found.by_itself == ("FAIL" if excused else None)
        first = of_one_run([beside, replace(other, check="b_check", by_itself="DEGRADED")])[1].by_itself
        assert first == "DEGRADED", "the first verdict stays"


def test_other_checks_explain_no_latency_and_nothing_of_their_own() -> None:
    found = judged(document([lone("n0:g0", 40.0), lone("n0:g1", 40.0), lone("g0:n0", 30.0)]), host="shared")
    assert [word(found, cell) for cell in ("n0:g0", "g0:n0")] == ["INDETERMINATE", "FAIL"]
    slow = judged(fallen(), host="own")
    slow = replace(slow, metrics=tuple(replace(m, quantity="latency.copy", verdict="FAIL") for m in slow.metrics))
    assert of_one_run([found, slow]) == [found, slow]


def test_a_sum_that_falls_evenly_explains_nothing_of_other_checks() -> None:
    """A link that is a little slow looks the same in it."""
    total = judged(document([together("n0:g0+n0:g1", [45.0, 46.0])]), host="shared")
    link = judged(document([lone("n0:g0", 45.0), lone("n0:g1", 55.4)]), host="shared")
    assert (total.verdict, link.verdict) == ("INDETERMINATE", "FAIL")
    assert of_one_run([total, link]) == [total, link]


def test_a_modelled_or_missing_document_is_not_disturbed() -> None:
    assert judge(None, {}, subject=SUBJECT, host="shared", asked=[parse("n0:g0")]).verdict in (
        "not judged",
        "INDETERMINATE",
    )


# -- steadiness --------------------------------------------------------------------------------------------------------


def path(generator: random.Random, faulty: bool, value: float = 55.5, number: int = 6) -> list[list[float]]:
    """Visits of a path; a faulty one moves 5.6 % less in every other visit."""
    visits = [[value * (1 - abs(generator.gauss(0, 0.001))) for _ in range(6)] for _ in range(number)]
    return [[s * 0.944 for s in v] if faulty and i % 2 else v for i, v in enumerate(visits)]


def come_and_go(gpus: int, faulty: int | None, noisy_h2d: bool = False) -> Document:
    generator = random.Random(5)
    results = []
    for gpu in range(gpus):
        h2d = gpu == faulty or (noisy_h2d and gpu == 0)
        results.append(visited(f"n0:g{gpu}", path(generator, h2d)))
        results.append(visited(f"g{gpu}:n0", path(generator, gpu == faulty)))
    return document(results, node=node(gpus))


@pytest.mark.parametrize("gpus", [2, 4])
def test_a_fault_in_half_of_the_visits_is_degraded_on_a_shared_host(gpus: int) -> None:
    found = judged(come_and_go(gpus, 1), host="shared")
    words = {m.subject: m.verdict for m in found.metrics if m.quantity == "copy"}
    assert {subject for subject, verdict in words.items() if verdict == "DEGRADED"} == {"n0:g1", "g1:n0"}
    assert "below 53.8 GB/s in 3 of 6 rounds" in found.reasons[0]
    assert {m.code for m in found.metrics if m.verdict == "DEGRADED"} == {"figure.low_visits"}


@pytest.mark.parametrize("faulty, noisy", [(None, False), (None, True)])
def test_a_noisy_direction_alone_is_described_on_a_shared_host(faulty: int | None, noisy: bool) -> None:
    assert judged(come_and_go(2, faulty, noisy), host="shared").verdict == "PASS"


def test_with_one_gpu_nothing_is_alike_on_a_shared_host() -> None:
    assert judged(come_and_go(1, 0), host="shared").verdict == "PASS"


def test_low_visits_of_all_gpus_are_no_gpus_fault() -> None:
    generator = random.Random(6)
    cells = [cell for gpu in range(2) for cell in (f"n0:g{gpu}", f"g{gpu}:n0")]
    assert judged(document([visited(cell, path(generator, True)) for cell in cells]), host="shared").verdict == "PASS"


def test_low_visits_after_the_alike_paths_had_settled_are_not_compared() -> None:
    generator = random.Random(7)
    steady = [visited(cell, path(generator, False, number=3)) for cell in ("n0:g0", "g0:n0")]
    later = [visited(cell, path(generator, False, number=3) + [[50.0] * 6] * 2) for cell in ("n0:g1", "g1:n0")]
    assert judged(document([*steady, *later]), host="shared").verdict == "PASS"


def test_on_an_own_host_steadiness_and_median_have_limits() -> None:
    mostly_low = [[53.9] * 6 if i % 3 else [55.5] * 6 for i in range(6)]
    found = judged(document([visited("n0:g0", mostly_low)], node=node(1)), host="own")
    assert found.verdict == "DEGRADED"
    assert found.metrics[0].code == "figure.unsteady" and "steadiness 0.971" in found.reasons[0]
    lower = [[52.0] * 6 if i % 3 else [55.5] * 6 for i in range(6)]
    found = judged(document([visited("n0:g0", lower)], node=node(1)), host="own")
    assert found.verdict == "DEGRADED"
    assert found.metrics[0].code == "figure.median_below" and "52.0, below its bound 52.7" in found.reasons[0]
    assert judged(document([visited("n0:g0", lower)], node=node(1)), host="shared").verdict == "PASS"


@pytest.mark.parametrize("visits, verdict", [(2, "PASS"), (3, "DEGRADED")])
def test_three_visits_are_enough_to_be_unsteady_and_two_are_not(visits: int, verdict: str) -> None:
    mostly_low = [[55.5] * 6, [53.9] * 12, [53.9] * 6]
    assert judged(document([visited("n0:g0", mostly_low[:visits])], node=node(1)), host="own").verdict == verdict


def test_where_others_were_busy_unsteadiness_is_theirs() -> None:
    lower = [[52.0] * 6 if i % 3 else [55.5] * 6 for i in range(6)]
    found = judged(document([visited("n0:g0", lower)], BUSY, node=node(1)), host="own")
    assert (found.verdict, found.metrics[0].disturbance) == ("INDETERMINATE", "cpus")


def test_a_run_where_nothing_settled_has_one_reason() -> None:
    results = [lone(f"n0:g{i}", 52.0) for i in range(2)]
    for result in results:
        result["converged"] = False
        result["flows"][0]["rate"].update({"ci": [50.0, 54.0]})
        for rate in (result["flows"][0]["rate"], result.get("total") or {}):
            for key in ("plateau", "interval", "steadiness"):
                rate.pop(key, None)
    found = judged(document(results))
    assert found.verdict == "INDETERMINATE"
    assert len(found.reasons) == 1
    assert found.reasons[0].startswith("none of the 2 figures ")


@pytest.mark.parametrize("host, expected", [("own", "DEGRADED"), ("shared", "not judged")])
def test_what_one_of_several_flows_gets_on_a_shared_host_is_the_moments(host: str, expected: str) -> None:
    doc = document([together("n0:g0+c0:n0/triad", [36.0, 62.0])])
    (share,) = [m for m in measurement.metrics(doc) if str(m.flow) == "n0:g0"]
    past = {share.name: Baseline((52.0, 51.8, 51.9, 52.1, 51.7, 52.0), "2026-11-01")}
    found = judged(doc, past=past, host=host)
    assert next(m.verdict for m in found.metrics if m.name == share.name) == expected


# -- error counters ----------------------------------------------------------------------------------------------------


def counted(name: str, grown: int, seconds: float = 5.0) -> dict[str, Any]:
    counter = {"gpu": 0, "pci": "0000:11:00.0", "name": name, "before": 7, "after": 7 + grown}
    return {
        "looks": [{"at": seconds, "others": 0.0, "own": 0.5}],
        "mean": {"others": 0.0, "own": 0.5},
        "counters": [counter],
    }


@pytest.mark.parametrize(
    "name, grown, verdict, words",
    [
        ("pcie_replays", 0, "PASS", ""), ("pcie_replays", 1, "DEGRADED", "GPU 0: 1 PCIe replay "),
        ("pcie_replays", 80, "DEGRADED", "80 PCIe replays"), ("pcie_replays", 81, "FAIL", "81 PCIe replays"),
        ("nvlink_replays", 3, "DEGRADED", "3 NVLink replays"), ("nvlink_recoveries", 2, "FAIL", "2 times"),
        ("nvlink_crc_flit_errors", 20, "DEGRADED", "20 NVLink CRC flit errors"), ("nvlink_crc_flit_errors", 600, "FAIL", "600"),
        ("nvlink_crc_data_errors", 500, "PASS", ""), ("nvlink_ecc_data_errors", 900, "PASS", ""),
    ],
)  # fmt: skip
def test_link_errors_count_at_once(name: str, grown: int, verdict: str, words: str) -> None:
    found = judged(document([lone("n0:g0", 55.5)], counted(name, grown)), host="shared")
    assert found.verdict == verdict
    assert words in (found.reasons[0] if found.reasons else "")
    assert all(each.hard == (verdict == "FAIL") for each in found.findings)


def test_replays_that_the_driver_counted_under_load_count_where_the_run_has_no_counter() -> None:
    under_load = [{"index": 0, "throttle": [], "replays": 3}]
    assert judged(document([lone("n0:g0", 55.5)], gpus_under_load=under_load)).verdict == "DEGRADED"
    found = judged(document([lone("n0:g0", 55.5)], counted("pcie_replays", 3), gpus_under_load=under_load))
    assert [(each.code, each.fields["errors"]) for each in found.findings] == [("pcie.replays", 3)]


def test_a_counter_that_went_back_is_said_and_judged_neither_way() -> None:
    found = judged(document([lone("n0:g0", 55.5)], counted("pcie_replays", -5)))
    assert found.verdict == "PASS"
    (finding,) = found.findings
    assert (finding.verdict, finding.code) == (NOT_JUDGED, "counter.reset")
    assert judged(document([lone("n0:g0", 55.5)], counted("nvlink_crc_data_errors", -5))).findings == ()


@pytest.mark.parametrize("load", [{"replays": -5}, {"uncorrected_errors": -3}])
def test_fewer_errors_than_none_are_no_document(load: dict[str, int]) -> None:
    with pytest.raises(CouldNotJudge, match="less than the minimum of 0"):
        document([lone("n0:g0", 55.5)], gpus_under_load=[{"index": 0, **load}])


def test_whoever_names_a_process_does_not_write_the_reason() -> None:
    named = {"pid": 7, "command": "\n<b>\x1b[31m" + 200 * "x", "user": "a\rb", "cpus": 9.5}
    found = judged(document([lone("n0:g0", 20.0)], {"mean": {"others": 9.5, "own": 0.5}, "busiest": [named]}))
    assert found.verdict == "INDETERMINATE"
    assert found.reasons[0].isprintable() and len(found.reasons[0]) < 400 and "of a?b 9.5" in found.reasons[0]
