"""A drain's reason: short, and read back as it was written."""

from __future__ import annotations

import re
from math import inf, nan

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearfar.base import Finding
from nearfar.slurm.drains import reasons

FIGURE = st.floats(1e-3, 1e7)


@pytest.mark.parametrize(
    ("blamed", "cell", "part"),
    [
        (["g2.link"], "g2:n0", "g2.link"), (["g1.link", "g2.link"], "g2:n0+n0:g2", "g2.link"), (["g1.link"], "g2:n0", None),
        (["n0.memory"], "c0:n0/triad", "n0.memory"), (["p0-p1"], "g2:n0", "p0-p1"), (["g12.link"], "g1:n0", None), ([], "g2:n0", None),
    ],
)  # fmt: skip
def test_the_part_that_a_finding_is_about(blamed: list[str], cell: str, part: str | None) -> None:
    assert reasons.part_of(blamed, low(cell=cell)) == part


WORDS = st.text(min_size=1, max_size=200)


def low(subject: str = "sole.g2_n0", code: str = "", hard: bool = False, **more: object) -> Finding:
    fields = {"cell": "g2:n0", "class": "sole", "value": 27.1, "limit": 52.6, "unit": "GB/s", **more}
    return Finding(subject, "FAIL", "", hard, code, fields)


@pytest.mark.parametrize(
    ("check", "finding", "part", "expected"),
    [
        ("host_device_check", low(), "g2.link", "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s g2.link run=8f3a"),
        ("host_device_check", low(subject="near.g2_n1", cell="g2:n1", **{"class": "near"}), None,
         "nearfar: FAIL host_device d2h g2 n1 27.1<52.6 GB/s run=8f3a"),
        ("latency_check", low(subject="near_latency_chase.n0_g1", cell="n0:g1", **{"class": "near_latency_chase"}, value=1.562,
                              limit=1.5619, unit="µs"), None, "nearfar: FAIL latency near_latency_chase.n0_g1 1.562>1.5619 us run=8f3a"),
        ("peer_check", low(subject="NV18.g0_g1", cell="g0:g1", **{"class": "NV18"}, value=1562.4, limit=1600.0), None,
         "nearfar: FAIL peer NV18.g0_g1 1562<1600 GB/s run=8f3a"),
        ("load_balance_check", low(subject="eff", cell="gpu", **{"class": "x"}, value=0.5, limit=0.93, unit="1"), "p0",
         "nearfar: FAIL load_balance eff 0.5<0.93 ratio p0 run=8f3a"),
        ("topology_check", low(subject="g2", code="cell.absent", value=None, limit=None, hard=True), "g2.link",
         "nearfar: FAIL topology g2 cell.absent run=8f3a"),
    ],
)  # fmt: skip
def test_what_a_technician_reads(check: str, finding: Finding, part: str | None, expected: str) -> None:
    made = reasons.reason(check, finding, "8f3a", part)
    assert str(made) == expected
    assert reasons.read(expected) == made


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    check=WORDS, what=WORDS, run=WORDS, unit=WORDS, code=st.none() | WORDS, part=st.none() | WORDS,
    figures=st.none() | st.tuples(FIGURE, FIGURE), cell=st.none() | WORDS,
)  # fmt: skip
def test_every_reason_is_read_back(
    check: str, what: str, run: str, unit: str, code: str | None, part: str | None,
    figures: tuple[float, float] | None, cell: str | None,
) -> None:  # fmt: skip
    value, limit = figures or (None, None)
    finding = low(
        subject=what, value=value, limit=limit, unit=unit[:12], code=code or "", cell=cell, **{"class": what[:3]}
    )
    made = reasons.reason(check, finding, run, None if part is None else part[:20])
    text = str(made)
    assert reasons.read(text) == made, text
    assert len(text) <= reasons.LONGEST and text.isascii() and "\n" not in text
    if value is not None and limit is not None and value != limit:
        figures = re.search(r" ([^ ]+)([<>])([^ ]+) ", made.what)
        assert figures is not None
        assert (float(figures[1]) < float(figures[3])) == (figures[2] == "<") == (value < limit), text


@pytest.mark.parametrize("more", [{"unit": 120 * "x"}, {"value": -inf}, {"limit": inf}, {"value": nan},
                                  {"value": -1.2345678901234567e-300, "limit": -1.2345678901234566e-300, "unit": 99 * "x"}])  # fmt: skip
def test_a_reason_is_read_back_whatever_its_figures_are(more: dict[str, object]) -> None:
    made = reasons.reason(30 * "c", low(**more), 30 * "r", 60 * "p")
    assert reasons.read(str(made)) == made and len(str(made)) <= reasons.LONGEST


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=150))
def test_foreign_words_are_never_taken_for_ours(text: str) -> None:
    found = reasons.read(text)
    assert found is None or str(found) == text


@pytest.mark.parametrize(
    "text",
    [None, "", "nearfar:", "bad DIMM", "nearfar: FAIL x", "nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s run=8f3a, see ticket 12",
     "Nearfar: FAIL topology g2 run=8f3a", " nearfar: FAIL topology g2 run=8f3a", "nearfar: FAIL topology g2 run=8f3a\n",
     "nearfar: FAIL topology  g2 run=8f3a", "nearfar: FAIL topology " + 30 * "g2.x " + "run=8f3a"],
)  # fmt: skip
def test_what_is_not_ours(text: str | None) -> None:
    assert reasons.read(text) is None


@pytest.mark.parametrize("words", ["{}", "{} : reboot issued", "INC-4711 {}", "{}, called vendor"])
def test_ours_is_found_among_others_words(words: str) -> None:
    ours = "nearfar: FAIL topology g2 gpu.missing run=8f3a"
    assert reasons.find(words.format(ours)) == reasons.read(ours)
