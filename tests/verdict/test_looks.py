"""What several looks at a figure say together; the bounds that ReFrame gets say the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar import measurement
from nearfar.base import passes
from nearfar.verdict import Verdict, verdict_file
from nearfar.verdict.judgement import judge, needs_sanity
from nearfar.verdict.looks import LaterLook
from nearfar.verdict.references import Reference
from tests.verdict.test_references import NODE
from tests.verdict.test_verdict import SUBJECT, document

REFERENCE = Reference(55.5, -0.1, 0.1, "GB/s", "tuned", "n = 4")


def figures(value: float) -> dict[str, measurement.Metric]:
    found = {m.name: m for m in measurement.metrics(document({"n0:g0": value}), NODE)}
    assert len(found) == 1
    return found


def name() -> str:
    return next(iter(figures(1.0)))


def later(*values: float | None, asked: bool = True, **failed: object) -> list[LaterLook]:
    """Looks of these values; None: interrupted."""
    names = frozenset([name()] if asked else [])
    return [
        LaterLook(names, SUBJECT.time, problem="the second look was interrupted")
        if value is None
        else LaterLook(names, SUBJECT.time, document({"n0:g0": value}, **failed), figures(value))
        for value in values
    ]


def said(
    first: float, looks: list[LaterLook], earlier: Verdict | None = None, reference: Reference = REFERENCE
) -> Verdict:
    found = judge(
        document({"n0:g0": first}), {name(): reference}, subject=SUBJECT, metrics=list(figures(first).values()),
        later=looks, earlier=earlier,
    )  # fmt: skip
    assert verdict_file.from_raw(verdict_file.to_raw(found), verdict_file.Path("x")) == found
    return found


@pytest.mark.parametrize(
    "first, again, word, words",
    [
        (31.2, (31.0, 31.1), "FAIL", "3 measurements: 31.2, 31.0, 31.1 GB/s, all beyond 50.0"),
        (31.2, (55.0, 31.1), "FAIL", "2 of 3 beyond 50.0"),
        (
            31.2,
            (55.0, 55.2),
            "DEGRADED",
            "intermittent: 3 measurements: 31.2, 55.0, 55.2 GB/s, 1 of 3 beyond 50.0 GB/s (tuned: 55.5 GB/s)",
        ),
        (31.2, (31.0, None), "FAIL", "2 of 3 beyond 50.0"),
        (31.2, (55.0, None), "INDETERMINATE", "the second look was interrupted"),
        (31.2, (None, None), "INDETERMINATE", "the second look was interrupted"),
        (31.2, (70.0, 55.0), "FAIL", "2 of 3 beyond"),
        (31.2, (), "FAIL", "31.2 GB/s, expected at least 50.0"),
        (55.0, (), "PASS", ""),
    ],
)
def test_two_of_three(first: float, again: tuple[float | None, ...], word: str, words: str) -> None:
    found = said(first, later(*again))
    assert found.verdict == word
    assert words in " ".join(found.reasons)
    (entry,) = found.metrics
    assert [look.value for look in entry.looks] == ([first, *again] if again else [])
    assert entry.intermittent == (word == "DEGRADED")


@pytest.mark.parametrize(
    ("first", "again", "word", "value"),
    [
        (52.0, (55.0, 55.2), "PASS", 55.0),
        (52.0, (52.2, 55.2), "DEGRADED", 52.2),
        (52.0, (49.0, 49.5), "FAIL", 49.0),
        (52.0, (49.0, 55.0), "DEGRADED", 52.0),
        (52.0, (None, None), "DEGRADED", 52.0),
    ],
)
def test_a_degraded_figure_is_judged_by_the_middle_one(
    first: float, again: tuple[float | None, ...], word: str, value: float
) -> None:
    found = said(first, later(*again), reference=replace(REFERENCE, degraded_below=54.0))
    assert (found.verdict, found.metrics[0].value) == (word, value)


VALUES = st.one_of(st.none(), st.floats(20.0, 80.0))


@given(st.floats(20.0, 80.0), st.tuples(VALUES, VALUES), st.booleans(), st.one_of(st.none(), st.floats(20.0, 80.0)))
def test_the_bounds_say_what_the_verdict_says(
    first: float, again: tuple[float | None, float | None], measured: bool, before: float | None
) -> None:
    earlier = None if before is None else said(before, later(before, before))
    found = said(first, later(*again) if measured else [], earlier)
    (entry,) = found.metrics
    assert entry.value is not None and REFERENCE.lowest is not None and REFERENCE.highest is not None
    within = REFERENCE.lowest <= entry.value <= REFERENCE.highest
    if not needs_sanity(found):
        assert within == passes(found.verdict)


def unsettled(value: float, half: float = 0.64) -> measurement.Document:
    """A document whose figure did not converge: its interval is the value times 1 ± ``half``."""
    raw = document({"n0:g0": value}).raw
    raw["results"][0]["converged"] = False
    raw["results"][0]["flows"][0]["rate"].update(ci=[value * (1 - half), value * (1 + half)], min=value, max=value)
    return measurement.document.from_raw(raw)


@pytest.mark.parametrize(
    "first, again, settles, word, code, value",
    [
        (53.1, (52.8, 53.9), False, "PASS", "", 53.1),  # sharing_check on a healthy H100: 53.1 GB/s ± 64 %
        (53.1, (55.0, 55.2), True, "PASS", "", 55.0),
        (49.0, (55.0, 55.2), True, "PASS", "", 55.0),
        (45.0, (44.0, 46.0), False, "FAIL", "figure.beyond_reference", 45.0),
        (53.1, (44.0, 46.0), True, "FAIL", "figure.beyond_reference", 44.0),
        (53.1, (44.0, 55.0), True, "INDETERMINATE", "figure.unsettled", 53.1),
        (49.0, (55.0, 53.0), False, "INDETERMINATE", "figure.unsettled", 53.0),
        (53.1, (55.0, None), False, "INDETERMINATE", "figure.unsettled", 53.1),
    ],
)
def test_an_unsettled_figure_is_judged_by_all_measurements(
    first: float, again: tuple[float | None, ...], settles: bool, word: str, code: str, value: float
) -> None:
    def metrics(document: measurement.Document) -> list[measurement.Metric]:
        return list(measurement.metrics(document, NODE))

    made = [unsettled(each, 0.003 if settles else 0.64) if each else None for each in again]
    looks = [
        LaterLook(frozenset([name()]), SUBJECT.time, one, {m.name: m for m in metrics(one)}) if one else later(None)[0]
        for one in made
    ]
    doc = unsettled(first)
    found = judge(doc, {name(): REFERENCE}, subject=SUBJECT, metrics=metrics(doc), later=looks)
    (entry,) = found.metrics
    assert (found.verdict, entry.code, entry.value) == (word, code, value)
    assert [look.value for look in entry.looks] == [first, *again]
    assert verdict_file.from_raw(verdict_file.to_raw(found), verdict_file.Path("x")) == found


def test_hard_evidence_of_a_look_stands() -> None:
    wrong = [{"cell": "n0:g1", "reason": "GPU 1: wrong data", "code": "wrong_data"}]
    found = said(31.2, later(55.0, 55.0, failed=wrong))
    assert found.verdict == "FAIL" and found.findings[0].code == "cell.wrong_data"
    assert [finding.hard for finding in found.findings] == [True]


def test_running_again_takes_no_hard_evidence_back() -> None:
    wrong = [{"cell": "n0:g1", "reason": "GPU 1: wrong data", "code": "wrong_data"}]
    earlier = said(31.2, later(55.0, 55.0, failed=wrong))
    found = said(55.0, [], earlier)
    assert found.verdict == "FAIL" and found.findings[0].fields["before"]
    again = said(55.0, [], found)
    assert (again.verdict, again.reasons) == ("FAIL", found.reasons)


def test_a_retry_takes_no_confirmed_figure_back() -> None:
    earlier = said(31.2, later(31.0, 31.1))
    found = said(55.0, [], earlier)
    assert (found.verdict, found.metrics[0].verdict, found.metrics[0].value) == ("FAIL", "PASS", 55.0)
    assert found.reasons[0].endswith(
        "3 measurements: 31.2, 31.0, 31.1 GB/s, all beyond 50.0 GB/s (in an earlier run of this case)"
    )
    assert len(said(31.2, later(31.0, 31.1), earlier).reasons) == 1
    assert said(31.2, later(55.0, 55.1), said(55.3, [])).verdict == "DEGRADED"


@pytest.mark.parametrize("again, word", [((55.0, 55.1), "DEGRADED"), ((None, None), "INDETERMINATE")])
def test_a_retry_takes_no_doubt_about_a_figure_back(again: tuple[float | None, ...], word: str) -> None:
    earlier = said(31.2, later(*again))
    assert (earlier.verdict, said(55.0, [], earlier).verdict) == (word, word)
    assert said(31.2, later(31.0, 31.1), earlier).verdict == "FAIL"


def test_a_figure_that_was_not_asked_again_keeps_its_word() -> None:
    found = said(31.2, later(55.0, 55.0, asked=False))
    assert found.verdict == "FAIL" and found.metrics[0].looks == ()


def test_a_retry_takes_no_single_failure_back() -> None:
    earlier = said(31.2, [])
    assert said(31.0, [], earlier).verdict == said(55.0, [], earlier).verdict == "FAIL"
    assert said(55.0, [], replace(earlier, metrics=())).verdict == "PASS"


def test_a_figure_that_failed_and_is_not_there_any_more_still_fails() -> None:
    earlier = said(31.2, later(31.0, 31.1))
    found = judge(None, {}, subject=SUBJECT, earlier=earlier)
    assert found.verdict == "FAIL" and found.findings[0].code == "figure.failed_before" and needs_sanity(found)
    again = judge(None, {}, subject=SUBJECT, earlier=found)
    assert again.reasons == found.reasons


def disturbed(first: float, *again: float) -> Verdict:
    """The verdict on looks that were all made beside others."""
    busy = {"mean": {"others": 90.0, "own": 0.5}}
    looks = [
        LaterLook(frozenset([name()]), SUBJECT.time, document({"n0:g0": value}, machine=busy), figures(value))
        for value in again
    ]
    found = judge(
        document({"n0:g0": first}, machine=busy), {name(): REFERENCE}, subject=SUBJECT, metrics=list(figures(first).values()),
        later=looks,
    )  # fmt: skip
    assert (found.verdict, found.metrics[0].disturbance) == ("INDETERMINATE", "cpus")
    return found


def test_looks_that_others_disturbed_do_not_count_when_it_is_run_again() -> None:
    earlier = disturbed(31.2, 31.0, 31.1)
    assert said(55.0, [], earlier).verdict == "PASS"
    assert said(31.2, later(31.0, 31.1), earlier).verdict == "FAIL"
    assert said(31.2, later(55.0, 55.1), earlier).verdict == "DEGRADED"


@pytest.mark.parametrize("count, word", [(500, "FAIL"), (3, "DEGRADED")])
def test_errors_that_a_later_look_counted_count(count: int, word: str) -> None:
    counter = {"gpu": 0, "pci": NODE.gpus[0].pci, "name": "pcie_replays", "before": 0, "after": count}
    machine = {"mean": {"others": 0.0, "own": 0.5}, "counters": [counter]}
    found = said(31.2, later(55.0, 55.0, machine=machine))
    assert (found.verdict, len(found.findings)) == (word, 1) and f"{count} PCIe replays" in " ".join(found.reasons)
