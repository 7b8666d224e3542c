"""Pages of runs with many GPUs: maps of pairs, tables of ramps, curves; from synthetic run directories."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from nearfar import report
from nearfar.cells import parse
from nearfar.report import terminal
from nearfar.report.charts import CellGaps, CurveLine, over_sizes
from nearfar.report.sections import cell_maps
from tests.data.runs import many_gpus
from tests.report.test_report import Page


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every scenario, built."""
    place = tmp_path_factory.mktemp("runs")
    return {name: report.build(write(place / name)) for name, write in many_gpus.SCENARIOS.items()}


@pytest.fixture(scope="module")
def pages(runs: dict[str, Path]) -> dict[str, Page]:
    return {name: Page(path) for name, path in runs.items()}


@pytest.mark.parametrize("name", many_gpus.SCENARIOS)
def test_what_holds_of_every_page(pages: dict[str, Page], runs: dict[str, Path], name: str) -> None:
    page = pages[name]
    assert [i for i, count in Counter(page.ids).items() if count > 1] == []
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert all(page.places)
    assert not page.tags["script"] and not page.loaded
    assert len(report.summary(runs[name].parent, colour=False).splitlines()) <= terminal.MOST_LINES


def test_four_gpus_of_a_virtual_machine(pages: dict[str, Page], runs: dict[str, Path]) -> None:
    page = pages["virtual_machine"]
    for words in ("written by the source", "read by the destination", "both directions at once", "peer access off",
                  "of direct", "One GPU more at a time", "Tasks that share every GPU"):  # fmt: skip
        assert words in page.text
    assert "spread over packages" not in page.text and "Across the package link" not in page.text
    # A broken pair, a slow one, and a pair of whose directions one is slow, each in its map.
    assert any(place.startswith("✕") and "FAIL" in place and "49 % of 400.0" in place for place in page.places)
    assert any(place.startswith("▼") and "88 % of 400.0" in place for place in page.places)
    assert re.search(r"← 340\.\d", " ".join("".join(page.text.split("\n")).replace("\u202f", " ").split()))
    # Many at once: one GPU sends too little to all others; how it divides is no reason to call a total unjudged.
    for words in ("One GPU with all other GPUs", "Disjoint pairs at once", "Half with half"):
        assert words in page.text
    assert any(
        re.search(r"^▼.*310\.2.*DEGRADED.*each .*fairness 0\.95.*78 % of 397\.0", place) for place in page.places
    )
    assert any(re.search(r"^✓.*397\.\d.*100 % of 39\d\.\d", place) for place in page.places)
    # The flows passed, the sum of them was compared with nothing.
    assert any(re.search(r"^–.*156\d.*99 % of 1579 alone", place) for place in page.places)
    # What the host side carries is shown and not judged; what each GPU had stands beside it.
    assert any(re.search(r"196\.\d.*each .*fairness 0\.89.*% of 22\d\.\d alone", place) for place in page.places)
    assert any("the slowest has 0.05 of 1/4" in place for place in page.places)
    said = report.summary(runs["virtual_machine"].parent, colour=False, every=True)
    assert re.search(r"DEGRADED +NV18 one to all, 4 GPUs: [^ ]+ [^G]* +310\.2 GB/s +397\.0 +78 %", said)
    assert re.search(r"not judged +saturation +H2D, 4 GPUs 196\.8, .* GB/s.*; not judged: no reference", said)
    assert re.search(r"4 tasks a GPU: task over its fair share 0\.05", said)


def test_two_packages(pages: dict[str, Page]) -> None:
    page = pages["two_packages"]
    for words in ("spread over packages", "The GPUs of one package", "Across the package link"):
        assert words in page.text
    assert page.text.count("GPUs at once") >= 2
    # A map of which most was not measured is a line with how many were, why not, and the measured pairs.
    assert "24 of 56 have a figure; – skipped (32): peer access is refused" in page.text
    assert sum("skipped" in place for place in page.places) < 20
    assert "SYS_off" in page.text
    assert not any("not run" in place for place in page.places)


def test_a_check_that_measured_nothing_says_so(pages: dict[str, Page]) -> None:
    page = pages["nothing_measured"]
    assert "nothing was measured: every cell was skipped" in page.text
    assert "? INDETERMINATE" in page.text
    assert "✓ PASS" not in page.text.split("GPU ↔ GPU")[0]


def test_figures_that_only_explain_are_not_counted_as_not_judged(runs: dict[str, Path]) -> None:
    folder = runs["virtual_machine"].parent
    every = [m for path in folder.glob("*/*/verdict.json") for m in json.loads(path.read_text())["metrics"]]
    explaining = [m for m in every if m.get("code") == "figure.judged_elsewhere"]
    assert explaining
    shown = re.search(r"of (\d+) measured figures", Page(runs["virtual_machine"]).text)
    assert shown is not None and int(shown.group(1)) == len(every) - len(explaining)


@pytest.mark.parametrize(
    "cell, pair",
    [
        ("g0:g1", ("write", 0, 1)),
        ("g1:g0@g0", ("read", 1, 0)),
        ("g1:g0+g0:g1", ("pair", 0, 1)),
        ("g1:g0/staged", ("staged", 1, 0)),
        ("g1:g0@g0/sm", ("sm_read", 1, 0)),
        ("g0:g1+g2:g3", None),
        ("g0:g1@g1+g1:g0@g0", None),
        ("g0:g1/x2", None),
        ("n0:g0", None),
    ],
)
def test_which_pair_a_cell_is_of(cell: str, pair: tuple[str, int, int] | None) -> None:
    found = cell_maps.maps([], CellGaps({parse(cell): ("skipped", "busy")}), [0], [0, 1, 2, 3], True)
    shown = [
        (m.key, m.rows[r], m.columns[c])
        for m in found
        for r, row in enumerate(m.places)
        for c, place in enumerate(row)
        if place.reason == "busy" and m.row_kind == m.column_kind
    ]
    assert shown == ([] if pair is None else [pair])


def test_curves() -> None:
    found = {"H2D": 110.0, "D2H": 109.0}
    lines = [CurveLine(name, name, at, ((1024, 9.0), (1 << 20, high))) for at, (name, high) in enumerate(found.items())]
    drawn = over_sizes(lines, "GB/s", "Rate over size", "a transfer")
    assert 'class="series h2d"' in drawn and 'class="series d2h"' in drawn
    labels = [float(y) for y in re.findall(r'y="([\d.]+)" class="label"', drawn)]
    assert abs(labels[0] - labels[1]) >= 14
    assert over_sizes([CurveLine("H2D", "H2D", 0, ((1024, 9.0),))], "GB/s", "Rate", "a transfer") == ""
