"""The judge: figures, bounds and findings to verdicts with reasons that a technician understands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar import measurement, verdict
from nearfar.base import site_file, verdicts
from nearfar.base.verdicts import NOT_JUDGED, Finding, worst
from nearfar.cells import Skip, parse
from nearfar.measurement import Metric
from nearfar.model.prediction import link_ceiling
from nearfar.topology import Link, node_to_document
from nearfar.verdict import judgement, verdict_file
from nearfar.verdict import words as verdict_words
from nearfar.verdict.baseline import Baseline, worsening
from nearfar.verdict.document_findings import CaseInfo, KnownPath
from nearfar.verdict.references import Reference, resolve
from tests.verdict.test_references import CHECK, NODE, metric

SUBJECT = CaseInfo(CHECK, "local", "default", "system", "n", "2026-11-20T09:00:00Z")


def judge(*args: Any, **more: Any) -> dict[str, Any]:
    """The verdict as it is written."""
    found = verdict_file.to_raw(judgement.judge(*args, **more))
    jsonschema.validate(found, site_file.schema("verdict-2"))
    return found


def rate(value: float, **more: Any) -> dict[str, Any]:
    return {
        "unit": "GB/s",
        "median": value,
        "mad": 0.0,
        "ci": [value, value],
        "min": value,
        "max": value,
        "n": 6,
        **more,
    }


def document(values: dict[str, float], **more: Any) -> measurement.Document:
    """A measured document of lone cells."""
    results = [
        {"quantity": "copy", "cell": cell, "bytes": 1 << 28, "converged": True, "verified": True,
         "flows": [{"flow": cell, "rate": rate(value)}]} for cell, value in values.items()
    ]  # fmt: skip
    raw = {"schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": "nearfar-copy"},
           "node": node_to_document(NODE), "results": results, "skipped": [], "failed": [], **more}  # fmt: skip
    return measurement.document.from_raw(raw)


def judged(doc: measurement.Document, **more: Any) -> dict[str, Any]:
    metrics = measurement.metrics(doc, NODE)
    return judge(doc, resolve(metrics, CHECK, [], NODE), subject=SUBJECT, metrics=metrics, **more)


def by_name(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(m for m in found["metrics"] if m["name"] == name)


def test_all_good() -> None:
    found = judged(document({f"n0:g{i}": 55.5 for i in range(4)}), asked=[parse("n0:g0")])
    assert (found["verdict"], found["reasons"], found["missing"]) == ("PASS", [], [])
    assert found["metrics"][0]["reference"]["origin"] == "prediction"


def test_figures_beside_an_aggressor_are_never_green() -> None:
    found = judged(document({f"n0:g{i}": 55.5 for i in range(4)}, aggressor=["n0:g0"]))
    assert found["verdict"] == "INDETERMINATE"
    assert [(each["code"], each["fields"].get("cells")) for each in found["findings"]] == [
        ("document.aggressor", ["n0:g0"]),
        ("references.siblings_only", None),
    ]


def test_an_interrupted_run_is_never_green() -> None:
    found = judged(document({f"n0:g{i}": 55.5 for i in range(4)}, interrupted=True))
    assert found["verdict"] == "INDETERMINATE"
    assert [each["code"] for each in found["findings"]] == ["program.interrupted", "references.siblings_only"]


def test_a_plateau_is_judged_and_the_median_stands_beside_it() -> None:
    raw = document({f"n0:g{i}": 55.5 for i in range(4)}).raw
    for result in raw["results"]:
        figure = result["flows"][0]["rate"]
        figure.update(median=50.0, ci=[48.0, 52.0], min=45.0, plateau=55.5, interval=[55.3, 55.7], steadiness=0.901)
    metric = judged(measurement.document.from_raw(raw))["metrics"][0]
    assert (metric["verdict"], metric["value"], metric["interval"]) == ("PASS", 55.5, [55.3, 55.7])
    assert (metric["plateau"], metric["median"], metric["steadiness"]) == (55.5, 50.0, 0.901)


def test_a_cpu_that_costs_more_than_its_like_is_named() -> None:
    raw = document({f"n0:g{i}": 55.5 for i in range(4)}).raw
    tried = [
        {"cpus": cpu, "median": time} for cpu, time in (("0", 9.5), ("8", 15.0), ("16", 9.6), ("8", 14.0), ("24", 9.7))
    ]
    flow = {"flow": "n0:g0", "rate": {**rate(9.5), "unit": "us"}, "tried": tried}
    raw["results"].append({"quantity": "latency.copy", "cell": "n0:g0", "converged": True, "flows": [flow]})
    finding, _ = judged(measurement.document.from_raw(raw))["findings"]
    assert (finding["subject"], finding["code"], finding["fields"]["time"]) == ("cpu8", "cpu.slow", 14.0)


def test_a_slow_path_is_a_sentence() -> None:
    values = {f"{a}:{b}": 55.4 for i in range(4) for a, b in (("n0", f"g{i}"), (f"g{i}", "n0"))}
    found = judged(document({**values, "g2:n0": 27.1}))
    assert found["verdict"] == "FAIL"
    (reason,) = found["reasons"]
    assert reason.startswith("GPU 2, device to host into NUMA node 0: 27.1 GB/s, expected ")
    assert reason.endswith("; the other direction is fine")
    assert "below 29.2 GB/s it is broken" in reason


def test_alone_a_broken_path_is_told_by_its_link() -> None:
    (reason,) = judged(document({"g2:n0": 27.1, "n0:g2": 55.4}))["reasons"]
    assert "expected at least 29.2 GB/s (prediction: 58.4 GB/s; PCIe 5.0 x16 carries 58.4 GB/s of payload" in reason
    assert "below half of it a path is broken" in reason


def test_the_siblings_sentence() -> None:
    values = [metric(f"g{i}:n0", 27.1 if i == 2 else 55.4) for i in range(4)] + [
        metric(f"n0:g{i}", 55.4) for i in range(4)
    ]
    reference = Reference(55.4, None, None, "GB/s", "siblings", "median of 3", 52.6, "55.4 ± 2.8 (siblings)")
    found = judge(None, {m.name: reference for m in values}, subject=SUBJECT, metrics=values)
    assert found["reasons"] == [
        "GPU 2, device to host into NUMA node 0: 27.1 GB/s, expected 55.4 ± 2.8 (siblings); the other direction is fine"
    ]
    assert found["verdict"] == "DEGRADED"


def test_both_directions_slow() -> None:
    found = judged(document({"n0:g0": 20.0, "g0:n0": 20.0}))
    assert all(reason.endswith("; the other direction too") for reason in found["reasons"])


@pytest.mark.parametrize(
    "value, word",
    [(60.0, "FAIL"), (55.0, "PASS"), (52.0, "DEGRADED"), (50.0, "DEGRADED"), (49.9, "FAIL"), (58.0, "PASS")],
)
def test_bounds(value: float, word: str) -> None:
    reference = Reference(
        54.0, 50.0 / 54 - 1, 58.0 / 54 - 1 + 1e-12, "GB/s", "published", "a paper", 53.0, "at least 53.0"
    )
    measured = metric("n0:g0", value)
    found = judge(None, {measured.name: reference}, subject=SUBJECT, metrics=[measured])
    assert by_name(found, "near.n0_g0")["verdict"] == word


def test_no_reference_is_said_and_accepts_nothing() -> None:
    measured = metric("c0:n0/triad", 100.0, "local")
    found = judge(None, {}, subject=SUBJECT, metrics=[measured])
    assert (found["verdict"], found["reasons"], found["metrics"][0]["verdict"]) == (NOT_JUDGED, [], NOT_JUDGED)
    assert found["metrics"][0]["reason"].endswith("not judged: no reference")
    assert judge(None, {}, subject=SUBJECT, metrics=[measured], acceptance=True)["verdict"] == "INDETERMINATE"


def test_one_judged_figure_makes_a_check_judged() -> None:
    """What has no reference beside it counts neither way."""
    good, other = metric("n0:g0", 55.0), metric("c0:n0/triad", 100.0, "local")
    reference = {good.name: Reference(55.0, -0.05, None, "GB/s", "tuned", "tuned")}
    found = judge(None, reference, subject=SUBJECT, metrics=[good, other], must_judge=True)
    assert (found["verdict"], [m["verdict"] for m in found["metrics"]]) == ("PASS", ["PASS", NOT_JUDGED])
    slow = judge(None, reference, subject=SUBJECT, metrics=[replace(good, value=20.0, interval=None), other])
    assert slow["verdict"] == "FAIL"


@pytest.mark.parametrize(
    "note, word",
    [
        (Finding("history", NOT_JUDGED, "a file of the history cannot be read"), NOT_JUDGED),
        (Finding("node", "PASS", "matches the file"), "PASS"),
        (Finding("g0.clocks", "DEGRADED", "held down"), "DEGRADED"),
    ],
)
def test_a_note_makes_nothing_judged_and_a_comparison_does(note: Finding, word: str) -> None:
    measured = metric("c0:n0/triad", 100.0, "local")
    assert judge(None, {}, subject=SUBJECT, metrics=[measured], findings=[note])["verdict"] == word
    found = judge(None, {}, subject=SUBJECT, metrics=[measured], findings=[note], must_judge=True)
    assert found["verdict"] == ("PASS" if word == "PASS" else "INDETERMINATE"), "a sweep wants an answer"


def test_where_something_has_to_be_judged_it_says_what_to_do() -> None:
    measured = metric("c0:n0/triad", 100.0, "local")
    (finding,) = judge(None, {}, subject=SUBJECT, metrics=[measured], must_judge=True)["findings"]
    assert (finding["code"], finding["fields"]) == ("check.no_references", {"figures": 1, "system": "local"})
    note = Finding("topology", NOT_JUDGED, "topology not compared: unreviewed: mine.yaml")
    (reason,) = judge(None, {}, subject=SUBJECT, findings=[note], must_judge=True)["reasons"]
    assert reason == "none of its figures was judged: topology not compared: unreviewed: mine.yaml"


def test_parts_of_one_explain_and_a_site_that_tuned_everything_is_accepted() -> None:
    """Efficiencies are no rate and no time: nothing tunes them, and the figures that they are derived from are judged."""
    rate, share = metric("n0:g0", 55.0), replace(metric("n0:g1", 0.98), unit="1", quantity="saxpy.load_balance")
    reference = {rate.name: Reference(55.0, -0.05, None, "GB/s", "tuned", "tuned")}
    assert judge(None, reference, subject=SUBJECT, metrics=[rate, share], acceptance=True)["verdict"] == "PASS"


def test_siblings_alone_accept_nothing() -> None:
    measured = metric("n0:g0", 55.0)
    reference = Reference(55.0, None, None, "GB/s", "siblings", "", 52.0, "55.0 ± 3.0 (siblings)", accepts=False)
    for acceptance, word in ((False, "PASS"), (True, "INDETERMINATE")):
        found = judge(None, {measured.name: reference}, subject=SUBJECT, metrics=[measured], acceptance=acceptance)
        assert found["verdict"] == word


def test_an_unsettled_figure_on_its_bound_proves_nothing() -> None:
    reference = Reference(55.0, -0.05, None, "GB/s", "tuned", "tuned")
    for ci, converged, plateau, word in (
        ((50.0, 54.0), False, None, "INDETERMINATE"),
        ((50.0, 54.0), False, 51.0, "FAIL"),
        ((50.0, 54.0), True, None, "FAIL"),
        ((50.0, 51.0), False, None, "FAIL"),
    ):
        measured = metric("n0:g0", 51.0, interval=ci, converged=converged, plateau=plateau)
        found = judge(None, {measured.name: reference}, subject=SUBJECT, metrics=[measured])
        assert found["verdict"] == word, (ci, converged, plateau)


def test_a_figure_of_unverified_data_and_one_that_is_none() -> None:
    for measured in (metric("n0:g0", 55.0, verified=False), metric("n0:g0", float("inf"))):
        assert judge(None, {}, subject=SUBJECT, metrics=[measured])["verdict"] == "INDETERMINATE"


@pytest.mark.parametrize(
    "code, word, hard",
    [("wrong_data", "FAIL", True), ("lost", "FAIL", True), ("absent", "FAIL", True), ("uncorrectable", "FAIL", True),
     ("hang", "FAIL", True), ("placement", "INDETERMINATE", False), ("error", "INDETERMINATE", False)],
)  # fmt: skip
def test_failed_cells(code: str, word: str, hard: bool) -> None:
    found = judged(document({}, failed=[{"cell": "n0:g3", "reason": "the reason", "code": code}]))
    assert (found["verdict"], found["findings"][0]["hard"]) == (word, hard)
    assert found["findings"][0]["code"] == f"cell.{code}" and found["reasons"][0].startswith("n0:g3: the reason")


@pytest.mark.parametrize(
    "load, word, found",
    [
        ({"uncorrected_errors": 0, "throttle": ["sw_power_cap"]}, NOT_JUDGED, []),
        ({"uncorrected_errors": None, "throttle": []}, NOT_JUDGED, []),
        ({"uncorrected_errors": 2}, "FAIL", [("memory.uncorrectable", True, {"gpu": 1, "errors": 2})]),
        ({"throttle": ["hw_thermal"]}, "DEGRADED", [("clocks.throttled", False, {"gpu": 1, "causes": ["hw_thermal"]})]),
    ],
)  # fmt: skip
def test_what_the_driver_said_under_load(load: dict[str, Any], word: str, found: list[object]) -> None:
    verdict = judged(document({}, gpus_under_load=[{"index": 1, **load}]))
    assert verdict["verdict"] == word
    assert [(f["code"], f["hard"], f["fields"]) for f in verdict["findings"]] == found
    assert len(verdict["reasons"]) == len(found)


@pytest.mark.parametrize(
    "code, word",
    [("representative", "INDETERMINATE"), ("unsupported", NOT_JUDGED), ("denied", "INDETERMINATE"), ("busy", "INDETERMINATE"),
     ("mig", "INDETERMINATE"), ("budget", "INDETERMINATE"), ("memlock", "INDETERMINATE"), ("interrupted", "INDETERMINATE")],
)  # fmt: skip
def test_skipped_cells(code: str, word: str) -> None:
    skips = [{"cell": f"n0:g{i}", "reason": "GPU 3 is busy", "code": code} for i in range(5)]
    found = judged(document({}, skipped=skips))
    assert found["verdict"] == word
    assert len(found["skipped"]) == 5
    if word != NOT_JUDGED:
        assert [each["code"] for each in found["findings"]] == [
            "cells.left_out" if code == "representative" else "cells.skipped"
        ]
        assert found["reasons"][0].endswith(": n0:g0, n0:g1, n0:g2 and 2 more: GPU 3 is busy")


@pytest.mark.parametrize(
    "known, kind, word, code",
    [
        (None, "measured", NOT_JUDGED, None),
        (KnownPath("the site says NV18"), "measured", "INDETERMINATE", "cells.skipped"),
        (KnownPath("the site says NV18", link=True), "measured", "FAIL", "link.missing"),
        (KnownPath("the site says NV18", link=True), "modelled", NOT_JUDGED, None),
    ],
)  # fmt: skip
def test_unsupported_is_expected_only_where_nobody_says_that_it_is_there(
    known: KnownPath | None, kind: str, word: str, code: str | None
) -> None:
    skips = [{"cell": cell, "reason": "no peer access", "code": "unsupported"} for cell in ("g0:g1", "g1:g0")]
    exists = {} if known is None else {parse(cell): known for cell in ("g0:g1", "g1:g0")}
    for acceptance in (False, True):
        found = judged(
            document({}, skipped=skips, kind=kind),
            kind=kind,
            exists=exists,
            acceptance=acceptance,
            asked=[parse("g1:g0")],
        )
        nothing = ["cells.all_skipped"] * (kind == "measured")
        assert [each["code"] for each in found["findings"]] == [code] * (code is not None) + nothing
        assert found["verdict"] == ("INDETERMINATE" if word == NOT_JUDGED and kind == "measured" else word)
        assert found["findings"][0]["hard"] == (word == "FAIL") if code else True


def test_only_links_that_were_denied_are_evidence() -> None:
    skips = [{"cell": "g0:g1", "reason": "the driver is busy", "code": "busy"}]
    found = judged(document({}, skipped=skips), exists={parse("g0:g1"): KnownPath("the site says NV18", link=True)})
    assert found["verdict"] == "INDETERMINATE"


def test_a_skip_of_all_counts_as_one_of_what_must_exist() -> None:
    skips = [{"cell": "", "reason": "no driver", "code": "unsupported"}]
    found = judged(document({"n0:g0": 55.0}, skipped=skips), exists={parse("n0:g1"): KnownPath("it is of the node")})
    assert found["reasons"] == ["not measured: all that was asked for: no driver (it is of the node)"]


@pytest.mark.parametrize(
    "started, word",
    [
        ("2026-11-20T08:55:00Z", "PASS"), ("2026-11-19T09:00:00Z", "PASS"), ("2026-11-20T09:05:00Z", "PASS"),
        ("2026-11-19T08:59:59Z", "INDETERMINATE"), ("2026-11-20T09:05:01Z", "INDETERMINATE"),
        ("1970-01-01T00:00:00Z", "INDETERMINATE"), ("yesterday", "INDETERMINATE"),
    ],
)  # fmt: skip
def test_a_document_is_of_the_day_of_its_verdict(started: str, word: str) -> None:
    found = judged(document({"n0:g0": 55.5}, started=started))
    assert found["verdict"] == word
    assert word == "PASS" or started in found["reasons"][0]
    modelled = judged(document({"n0:g0": 55.5}, started=started, kind="modelled"), kind="modelled")
    assert modelled["verdict"] == "PASS", "what is predicted has no day"


def test_each_cell_is_answered_by_what_was_asked_of_it() -> None:
    made = document({"n0:g0": 55.5})
    made.raw["results"][0].update(quantity="latency.copy")
    made.raw["results"][0]["flows"][0]["rate"].update(unit="us")
    made = measurement.document.from_raw(made.raw)
    asked = [parse("n0:g0"), parse("g0:n0")]
    found = judged(made, asked=asked, quantities=lambda _: ["copy"])
    assert found["missing"] == ["n0:g0", "g0:n0"]
    assert found["reasons"] == ["requested but not measured: n0:g0 (copy), g0:n0"]
    found = judged(made, asked=asked[:1], quantities=lambda _: ["latency.copy", "latency.chase"])
    assert found["reasons"] == ["requested but not measured: n0:g0 (latency.chase)"]
    assert judged(made, asked=asked[:1])["verdict"] == NOT_JUDGED


def test_nothing_is_made_of_a_figure_that_is_none() -> None:
    """The far path is not slow because the near one is a thousandfold; a slow one beside good figures is."""
    far = metric("n0:g1", 0.001, "off_socket_over_near", verified=True)
    bound = Reference(1.0, -0.5, None, "1", "prediction", "")
    for near, word in ((metric("n1:g1", 55_000.0), "INDETERMINATE"), (metric("n1:g1", 55.0), "FAIL")):
        found = judge(None, {far.name: bound}, subject=SUBJECT, metrics=[near, far])
        assert by_name(found, far.name)["verdict"] == word
    assert by_name(found, far.name)["reason"].startswith(
        "GPU 1, host to device from NUMA node 0: ratio of the off_socket to the near path"
    )


def test_a_cell_that_nothing_is_said_about() -> None:
    found = judged(document({"n0:g0": 55.0}), asked=[parse("n0:g0"), parse("g0:n0"), parse("n0:g1@n0")])
    assert found["missing"] == ["g0:n0", "n0:g1"]
    assert found["verdict"] == "INDETERMINATE"
    assert found["reasons"] == ["requested but not measured: g0:n0, n0:g1"]


def test_the_worst_comes_first() -> None:
    findings = [
        Finding("a", "DEGRADED", "a bit slow"),
        Finding("b", "FAIL", "broken", True),
        Finding("c", "INDETERMINATE", "who knows"),
    ]
    found = judgement.judge(document({}), {}, subject=SUBJECT, findings=findings)
    assert found.verdict == "FAIL"
    assert found.reasons == ("broken", "who knows", "a bit slow")
    assert verdict.headline(found) == "FAIL: broken; who knows; a bit slow"


def test_worst() -> None:
    assert worst([]) == worst([NOT_JUDGED]) == NOT_JUDGED
    assert worst([NOT_JUDGED, "PASS"]) == "PASS"
    assert [word for word in verdicts.ORDER if verdicts.passes(word)] == ["DEGRADED", "PASS", NOT_JUDGED]
    assert [word for word in verdicts.ORDER if verdicts.good(word)] == ["DEGRADED", "PASS"]
    assert worst(["PASS", "DEGRADED", "INDETERMINATE"]) == "INDETERMINATE"
    assert worst(["INDETERMINATE", "FAIL"]) == "FAIL"


def beside_past(measured: Metric, *values: float) -> dict[str, Any]:
    wide = Reference(measured.value, -0.9, 0.9, measured.unit, "tuned", "tuned")
    past = {measured.name: Baseline(values, "2026-11-01")}
    return judge(None, {measured.name: wide}, past, subject=SUBJECT, metrics=[measured])


def test_worse_than_its_own_past() -> None:
    found = beside_past(metric("n0:g0", 50.0), 55.0, 55.1, 54.9, 55.0, 55.0)
    assert found["verdict"] == "DEGRADED"
    assert found["metrics"][0]["code"] == "figure.worse_than_history"
    assert "55.0 GB/s (5 nights from 2026-11-01 on)" in found["reasons"][0]
    assert found["metrics"][0]["baseline"] == {"median": 55.0, "n": 5, "since": "2026-11-01", "worse": "night"}


@pytest.mark.parametrize(
    "value, past, why",
    [
        (50.0, [55.0, 55.1, 54.9, 55.0], "four nights are no past"),
        (53.6, [55.0, 55.1, 54.9, 55.0, 55.0], "within the slack of 3 %"),
        (50.0, [55.0, 49.0, 60.0, 52.0, 58.0], "it varies by more"),
        (50.5, [55.0, 55.1, 50.0, 55.0, 55.0], "it was as low before"),
    ],
)
def test_what_is_not_clearly_worse_than_its_past(value: float, past: list[float], why: str) -> None:
    assert beside_past(metric("n0:g0", value), *past)["verdict"] == "PASS", why


def test_a_figure_without_a_reference_can_be_worse_than_its_past() -> None:
    measured = metric("n0:g0", 50.0)
    past = {measured.name: Baseline((55.0,) * 5, "2026-11-01")}
    found = judge(None, {}, past, subject=SUBJECT, metrics=[measured])
    assert found["verdict"] == "DEGRADED"
    good = judge(None, {}, {measured.name: Baseline((50.0,) * 5, "2026-11-01")}, subject=SUBJECT, metrics=[measured])
    assert (good["verdict"], "not judged: no reference" in good["metrics"][0]["reason"]) == (NOT_JUDGED, True)


def test_more_time_than_in_the_past_is_worse() -> None:
    slow = replace(metric("n0:g0", 8.0), unit="us", quantity="latency.copy")
    assert beside_past(slow, 6.0, 6.1, 6.0, 5.9, 6.0)["verdict"] == "DEGRADED"
    assert beside_past(replace(slow, value=4.0, interval=(4.0, 4.0)), 6.0, 6.1, 6.0, 5.9, 6.0)["verdict"] == "PASS"


@given(
    st.lists(st.floats(50.0, 56.0), min_size=5, max_size=40),
    st.floats(1.0, 60.0),
    st.floats(0.0, 5.0),
)
def test_what_it_has_had_before_is_never_worse_than_its_past(past: list[float], value: float, more: float) -> None:
    known = Baseline(tuple(past), "2026-11-01")
    assert not any(worsening(metric("n0:g0", each), known) for each in past)
    if not worsening(metric("n0:g0", value), known):
        assert not worsening(metric("n0:g0", value + more), known), "more of a rate is never worse"


@pytest.mark.parametrize(
    "cell, path_class, flow, total, words",
    [
        ("n0:g1", "near", None, False, "GPU 1, host to device from NUMA node 0"),
        ("n0:g1/sm", "near", None, False, "GPU 1, host to device from NUMA node 0 (/sm)"),
        ("n0:g1+g1:n0", "near", "g1:n0", False, "GPU 1, device to host into NUMA node 0, both directions at once"),
        ("n0:g1+g1:n0", "near", None, True, "GPU 1, both directions at once with NUMA node 0, together"),
        ("n1:g0", "off_socket_over_near", None, False, "GPU 0, host to device from NUMA node 1: ratio of the off_socket to the near path"),
        ("c0:n1/triad", "off_socket", None, False, "NUMA node 0's cores, memory of NUMA node 1, STREAM triad"),
        ("c0:n0/triad+c1:n1/triad", "local", None, True, "memory of all 2 NUMA nodes at once, STREAM triad"),
    ],
)  # fmt: skip
def test_figures_in_words(cell: str, path_class: str, flow: str | None, total: bool, words: str) -> None:
    assert verdict_words.describe(metric(cell, 1.0, path_class, flow, total)) == words


def test_cells_that_were_left_out_beforehand_count_like_skipped_ones() -> None:
    for code, word in (("denied", "INDETERMINATE"), ("representative", NOT_JUDGED)):
        found = judged(document({}), left_out=[Skip(parse("n0:g1"), "GPU 1 is hidden", code)])
        assert (found["verdict"], found["left_out"][0]["code"]) == (word, code)


@pytest.mark.parametrize("value, wanted", [(58.0, "PASS"), (58.9, "PASS"), (166.4, "INDETERMINATE")])
def test_what_no_link_carries_is_not_green(value: float, wanted: str) -> None:
    """PCIe 5 x16 carries 58.4 GB/s of payload to a GPU."""
    raw = document({"n0:g0": value}).raw
    raw["results"][0]["flows"][0]["ceiling"] = 58.4
    found = judged(measurement.document.from_raw(raw))
    assert found["verdict"] == wanted
    if wanted != "PASS":
        assert found["reasons"][0].startswith(
            f"GPU 0, host to device from NUMA node 0: {value:.4g} GB/s, above what its link can carry, 58.4"
        )


@pytest.mark.parametrize("rate, wanted", [(24.25, "PASS"), (24.8, "INDETERMINATE")])
def test_a_lane_of_nvlink_2_carries_what_a_dgx1_has(rate: float, wanted: str) -> None:
    """V100s in a DGX-1: 24.25 GB/s a lane and direction."""
    gpus = tuple(replace(gpu, nvlinks=6, nvlink_generation=2) for gpu in NODE.gpus[:2])
    node = replace(NODE, gpus=gpus, peers={(0, 1): "NV1"})
    measured = metric("g0:g1", rate, "NV1", ceiling=link_ceiling(Link("nvlink", 2, 1)))
    found = judge(None, resolve([measured], "peer_check", [], node), subject=SUBJECT, metrics=[measured])
    assert found["metrics"][0]["verdict"] == wanted


@pytest.mark.parametrize(("samples", "word"), [(1, "INDETERMINATE"), (6, "FAIL")])
def test_a_sample_or_two_that_did_not_settle_fail_nobody(samples: int, word: str) -> None:
    raw = document({f"n0:g{i}": 55.5 for i in range(4)}).raw
    raw["results"][1]["converged"] = False
    raw["results"][1]["flows"][0]["rate"] = rate(20.0, n=samples)
    found = judged(measurement.document.from_raw(raw))
    assert [m["verdict"] for m in found["metrics"] if m["subject"] == "n0:g1" and m["unit"] == "GB/s"] == [word]


def test_an_acceptance_without_references_says_what_to_do() -> None:
    doc = document({"n0:g0": 55.5, "g0:n0": 55.4})
    metrics = measurement.metrics(doc, NODE)
    by_siblings = Reference(55.5, None, None, "GB/s", "siblings", "like it", degraded_below=50.0, accepts=False)
    for references in ({}, {each.name: by_siblings for each in metrics}):
        found = judge(doc, references, subject=SUBJECT, metrics=metrics, acceptance=True)
        assert found["verdict"] == "INDETERMINATE"
        (finding,) = found["findings"]
        assert (finding["code"], finding["fields"]["figures"]) == ("check.not_accepted", 2)
        assert found["reasons"][0] == finding["reason"] and len(found["reasons"]) == 3
    tuned = Reference(55.5, -0.1, None, "GB/s", "tuned", "n = 4")
    found = judge(doc, {each.name: tuned for each in metrics}, subject=SUBJECT, metrics=metrics, acceptance=True)
    assert (found["verdict"], found["findings"]) == ("PASS", [])


def test_a_number_beyond_all_floats_is_no_figure(tmp_path: Path) -> None:
    (tmp_path / "verdict.json").write_text('{"value": 1e999, "other": NaN, "good": 1e3}')
    assert verdict_file.load_object(tmp_path / "verdict.json") == {"value": None, "other": None, "good": 1000.0}
