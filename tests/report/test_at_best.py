"""What is known only "upper bound", since nobody knows a capacity that it crosses, says so wherever it stands."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from nearfar import report
from nearfar.report import headline
from nearfar.report.explanations import Explained
from nearfar.report.page import Section
from nearfar.report.page import section as section_of
from nearfar.verdict import run_directory
from tests.conftest import CHECKOUT
from tests.data.runs import modelled
from tests.report.test_report import Page

NAME = "redwood"
_XML = CHECKOUT / "tests" / "data" / "topologies" / "constructed-eight-gpus-nvswitch.xml"
_LINKS = "\n".join(f"  g{gpu}: {{kind: pcie, gen: 5, width: 16}}" for gpu in range(8))
_KNOWN = "\n".join(
    f"  g{gpu}.{way}: {{value: {rate}, source: a log}}"
    for gpu in range(8)
    for way, rate in (("h2d", 55.3), ("d2h", 55.2), ("out", 397.5), ("in", 397.5))
)
#: Eight GPUs whose links and lanes are known, and neither the link between the packages nor both directions at once.
NODE = f"""node_type: {NAME}
description: eight GPUs
source: a test
xml: {_XML.name}
nvlinks: 18
links:
{_LINKS}
capacities:
{_KNOWN}
  n0.memory: {{value: 180, peak: 307.2, source: assumed}}
  n1.memory: {{value: 180, peak: 307.2, source: assumed}}
"""


def eight_gpus(place: Path) -> Path:
    """A run of that node."""
    site = place / "site"
    (site / "nodes").mkdir(parents=True)
    shutil.copy(_XML, site / "nodes")
    (site / "nodes" / f"{NAME}.yaml").write_text(NODE)
    return modelled.write(place / "run", NAME, noise=0.0, sites=(site, modelled.SITE))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return eight_gpus(tmp_path_factory.mktemp("at_best"))


@pytest.fixture(scope="module")
def section(run: Path) -> Section:
    return section_of(0, run_directory.read(run).nodes[0], Explained())


@pytest.fixture(scope="module")
def page(run: Path) -> Page:
    return Page(report.build(run))


def test_far_over_near_is_at_best_where_the_far_path_is(section: Section, page: Page) -> None:
    found = section.figures["host_device_check"]
    ratio = next(figure for figure in found if figure.name == "off_socket_over_near.n1_g0")
    assert (ratio.value, ratio.best_case) == (1.0, "upper bound")
    assert next(figure for figure in found if figure.name == "near.n0_g0").best_case == ""
    far = next(figure for figure in found if figure.name == "off_socket.n1_g0")
    place = page.source.partition(f'id="{far.anchor}"')[2].partition("</td>")[0]
    assert "<b>≤ 55.3</b>" in place and "of near" not in place, "a bound is never compared, so not shown as near"
    assert "off socket: 1.00" not in page.text


def test_an_upper_bound_is_compared_with_nothing(section: Section, page: Page) -> None:
    figures = [figure for found in section.figures.values() for figure in found if figure.best_case]
    assert {figure.written == "unknown" for figure in figures if figure.is_ratio} == {True}
    assert {figure.written[:2] for figure in figures if not figure.is_ratio} == {"≤ "}
    pageable = replace(figures[0], derived="", subject="n0:g0/pageable")
    assert pageable.written == "unknown", "the figure of pinned memory is none of pageable memory"
    for place in page.source.split("<td")[1:]:
        place = place.partition("</td>")[0]
        if "upper bound" in place or "unknown" in place:
            assert not re.search(r">[↓↑]?\s*[0-9.]+<", place.partition(">")[2]), place
            assert "of the peak" not in place and " alone" not in place, place


def test_a_line_marks_each_figure_that_is_at_best_and_no_other(section: Section) -> None:
    lines = {check.name: headline.check_line(check, section.run) for check in section.run.checks}
    assert lines["host_device_check"].startswith("near H2D 55.3, D2H 55.2, both ≤ 110.5, off socket H2D ≤ 55.3, ")
    assert "≤" not in lines["peer_check"].partition("staged")[0], "its lanes are known"


def test_totals_of_several_gpus_and_maps_of_many_pairs_say_it(section: Section, page: Page) -> None:
    totals = [
        f for f in section.figures["saturation_check"] if f.is_total and f.path_class == "off_socket" and not f.derived
    ]
    assert totals and {f.best_case for f in totals} == {"upper bound"}
    for total in totals:
        place = page.source.partition(f'id="{total.anchor}"')[2].partition("</td>")[0]
        assert "<small>upper bound</small>" in place and "<b>≤ " in place, total.name


def test_rows_of_like_figures_never_mix_what_is_known_with_what_is_at_best(section: Section) -> None:
    rows = [row for row in section.rows if len(row) > 1]
    assert rows, "parts that are limited each by its own link are alike"
    assert all(len({figure.basis for figure in row}) == 1 for row in rows)
