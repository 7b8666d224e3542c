"""Modelled nodes beside the published figures of their type; reasons that many cells share."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from nearfar import report
from nearfar.base import Finding
from nearfar.base.errors import NearfarError
from nearfar.measurement import Unmeasured
from nearfar.model.prediction import load_node_type
from nearfar.report import headline
from nearfar.report.blocks import Group, Table, Text
from nearfar.report.explanations import Explained
from nearfar.report.figures import Figure
from nearfar.report.page import Section
from nearfar.report.page import section as section_of
from nearfar.report.sections import unmeasured
from nearfar.verdict import run_directory
from tests.data.runs import modelled
from tests.report.test_report import Page, change
from tests.support.verdicts import judged

SYSTEMS = ("keeneland", "dl160", "summit", "sierra", "pop-four-gpus")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("modelled")
    return {name: modelled.write(place / name, name, noise=0.0) for name in SYSTEMS}


@pytest.fixture(scope="module")
def pages(runs: dict[str, Path]) -> dict[str, Page]:
    return {name: Page(report.build(folder)) for name, folder in runs.items()}


def section(folder: Path) -> Section:
    return section_of(0, run_directory.read(folder).nodes[0], Explained())


def published(folder: Path) -> Group:
    return next(
        each for each in section(folder).blocks if isinstance(each, Group) and each.anchor.endswith("published")
    )


def line(folder: Path) -> str:
    first = published(folder).blocks[0]
    assert isinstance(first, Text)
    return first.sentences[0]


def words(folder: Path) -> str:
    tables = (each for each in published(folder).blocks if isinstance(each, Table))
    return " ".join(entry.words for one in tables for each in one.rows for entry in each.entries)


def figures(folder: Path) -> dict[str, Figure]:
    return {
        figure.pretty: figure for own in section(folder).figures.values() for figure in own if figure.published_beside
    }


def told(figure: Figure) -> tuple[float | None, str, str]:
    """What was published, and the model's value and share."""
    assert figure.value is not None and figure.share is not None
    return figure.expected, f"{figure.value:.2f}", "input" if figure.basis == "input" else f"{100 * figure.share:.1f} %"


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_holds_of_every_modelled_page(pages: dict[str, Page], name: str) -> None:
    page = pages[name]
    assert [i for i, count in Counter(page.ids).items() if count > 1] == []
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert all(page.places)
    assert "Beside the published figures" in page.text
    assert load_node_type(name, [modelled.SITE]).source in page.text


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_modelled_figure_with_a_published_counterpart_stands_beside_it(runs: dict[str, Path], name: str) -> None:
    shown = section(runs[name])
    found = [f for own in shown.figures.values() for f in own if f.reference and f.reference.origin == "published"]
    assert bool(found) == (name not in ("dl160", "pop-four-gpus"))
    own = [f for f in found if f.basis == "input"]
    assert (f" {len(own)} inputs of the model left out" in line(runs[name])) == bool(found)
    assert bool(found) or line(runs[name]).startswith("No figure was published")
    # In the maps: the published figure and the difference, in place of a share.
    assert all(f.against.startswith(f"published {f.expected:g}") for f in found)
    assert all(f.against == f"published {f.expected:g}, input" for f in own)


def test_summits_published_tables(runs: dict[str, Path]) -> None:
    found = figures(runs["summit"])
    assert told(found["n0→g0"]) == (45.93, "45.93", "input")
    assert told(found["n0→g2 + g2→n0"]) == (77.36, "77.36", "input")
    six = "g0→n0 + g3→n1 + g1→n0 + g4→n1 + g2→n0 + g5→n1"
    assert told(found[six]) == (268.05, "274.60", "102.4 %")
    # Package 1's pairs have their own mean.
    assert told(found["g3→g4 /staged"])[:2] == (25.84, "25.84")
    assert "Peer access off, both directions, across (mean): g0→g3 /staged + g3→g0 /staged" in words(runs["summit"])
    assert "predicted, which differ by −1.2 % to +2.4 % from what was published" in line(runs["summit"])


def test_sierras_published_tables(runs: dict[str, Path]) -> None:
    found = figures(runs["sierra"])
    four = "n0→g0 + g0→n0 + n1→g2 + g2→n1 + n0→g1 + g1→n0 + n1→g3 + g3→n1"
    assert told(found[four]) == (283.08, "278.30", "98.3 %")
    shown = section(runs["sierra"])
    left_out = unmeasured.gaps(next(check for check in shown.run.checks if check.name == "peer_check"), "")
    # Who drives a copy was not published: reads (g0:g1@g1) are left out, as on Summit.
    assert shown.figures["peer_check"] and all("@" in cell for gap in left_out for cell, _ in gap.cells)


def test_all_gpus_of_keeneland_at_once(runs: dict[str, Path]) -> None:
    """What nobody knows bounds from above: 16.2 was published, 17.1 is the best case, and contradicts nothing."""
    three = figures(runs["keeneland"])["n0→g0 + n1→g1 + n1→g2"]
    assert told(three) == (16.2, "17.10", "105.6 %") and three.basis == "upper bound"
    ramp = section(runs["keeneland"]).figures["saturation_check"]
    bound = next(f for f in ramp if f.pretty == "n0→g0 + n1→g1 + n1→g2")
    assert (bound.written, bound.against) == ("≤ 17.1", "published 16.2")
    verdicts = [c.verdict for c in run_directory.read(runs["keeneland"]).nodes[0].checks if c.verdict is not None]
    assert {v.verdict for v in verdicts} <= {"PASS", "not judged"}
    # The sharing cells too.
    sharing = next(c for c in section(runs["keeneland"]).run.checks if c.name == "sharing_check")
    assert section(runs["keeneland"]).figures["sharing_check"]
    assert not any("memory" in gap.why for gap in unmeasured.gaps(sharing, ""))


def test_nothing_predicted_is_not_praised(pages: dict[str, Page]) -> None:
    assert (
        "No figure predicted; 1 as upper bounds, +5.6 % from what was published. 28 inputs of the model left out"
        in pages["keeneland"].text
    )


def test_what_has_no_counterpart_says_why(pages: dict[str, Page]) -> None:
    text = " ".join(pages["keeneland"].text.split())
    assert "cannot be as it is printed: 16 MB in 13.955 µs would be 1147 GB/s" in text
    assert "figures 3 and 4" in text and "not how it grows with the size" in text
    assert "about a third of the bandwidth each17.10, 1.90 a task, upper bound" in text
    text = " ".join(pages["dl160"].text.split())
    assert "all GPUs share the one uplink; simultaneous transfers divide it8.00, 2.00 a flow, upper bound" in text
    assert "switch:0000:02:00.0.down" in text


def test_what_the_page_predicts_has_the_made_up_fault(runs: dict[str, Path]) -> None:
    node = run_directory.read(runs["keeneland"]).nodes[0]
    shown = section_of(0, node, Explained(), ["g0.h2d=0.5"])
    group = next(each for each in shown.blocks if isinstance(each, Group) and each.anchor.endswith("published"))
    found = [e.words for one in group.blocks if isinstance(one, Table) for each in one.rows for e in each.entries]
    assert not any(each.startswith("17.10, 1.90 a task") for each in found) and any("0.95 a task" in w for w in found)


def test_a_made_up_fault_that_slows_nothing_has_no_why(tmp_path: Path) -> None:
    folder = modelled.write(tmp_path / "run", "summit", {"n0.memory": 0.995}, noise=0.0)
    change(folder / "run.json", degraded=["n0.memory=0.995"])
    page = Page(report.build(folder))
    assert "the made-up fault slows no figure of these checks; nothing was measured" in page.text
    assert "<h2>Why</h2>" not in page.source and "<ol>\n</ol>" not in page.source


@pytest.mark.parametrize("name", ["pop-four-gpus"])
def test_a_reason_that_all_cells_share_is_said_once_a_check(
    pages: dict[str, Page], runs: dict[str, Path], name: str
) -> None:
    shown = section(runs[name])
    nothing = {check.name: unmeasured.nothing(unmeasured.gaps(check, "")) for check in shown.run.checks}
    assert all(nothing.values())
    text = " ".join(pages[name].text.split())
    assert text.count(str(nothing["host_device_check"]).partition(":")[0]) == 1
    # Nothing is captioned that is not there.
    assert "On each GPU's link, in GB/s" not in text and "to the largest of its map" not in text
    assert "No figure here" not in text
    # Every cell is still named, and can be linked to.
    assert all(f"row.s0.host_device.cell.n0_g{gpu}" in pages[name].ids for gpu in range(4))


def test_reasons_are_grouped_by_what_is_not_known(runs: dict[str, Path]) -> None:
    check = next(c for c in run_directory.read(runs["pop-four-gpus"]).nodes[0].checks if c.name == "peer_check")
    gap = next(gap for gap in unmeasured.gaps(check, "s0") if "alone" in gap.why)
    assert gap.state == "skipped" and gap.why.endswith("are not known: no figure of this flow alone is given")
    check = next(c for c in run_directory.read(runs["pop-four-gpus"]).nodes[0].checks if c.name == "host_device_check")
    gap = unmeasured.gaps(check, "s0")[0]
    assert unmeasured.nothing([gap]) == f"all {len(gap.cells)} cells were skipped: {gap.why}"


def test_failures_come_first_and_are_no_mere_skip(tmp_path: Path) -> None:
    failed, skipped = (Unmeasured("n0:g0", "lost", "lost"),), (Unmeasured("n0:g1", "busy", "busy"),)
    verdict = judged("host_device_check", verdict="FAIL", missing=("n0:g2",), failed=failed, skipped=skipped)
    check = run_directory.CheckRecord("host_device_check", tmp_path, verdict)
    found = unmeasured.gaps(check, "s0")
    assert [(gap.state, gap.why, [what for what, _ in gap.cells]) for gap in found] == [
        ("failed", "lost", ["n0:g0"]), ("skipped", "busy", ["n0:g1"]), ("missing", "asked for, and not reported", ["n0:g2"]),
    ]  # fmt: skip
    assert unmeasured.nothing(found) is None and unmeasured.nothing([]) is None


def test_a_check_without_cells_says_why(tmp_path: Path, runs: dict[str, Path]) -> None:
    note = Finding("cells", "not judged", "one GPU: there is no pair to measure")
    verdict = judged("peer_check", verdict="not judged", findings=(note,))
    check = run_directory.CheckRecord("peer_check", tmp_path, verdict)
    node = run_directory.read(runs["summit"]).nodes[0]
    assert headline.check_line(check, node) == "no figure: one GPU: there is no pair to measure"


def test_the_slowest_transfer_is_the_line_of_its_check(tmp_path: Path, runs: dict[str, Path]) -> None:
    words = "n0→g1: worst of 1,000: 16.2 times the median, at 12.3 s (visit 4)"
    verdict = judged("tail_check", findings=(Finding("slowest transfer", "not judged", words),))
    check = run_directory.CheckRecord("tail_check", tmp_path, verdict)
    assert headline.check_line(check, run_directory.read(runs["summit"]).nodes[0]) == words


def test_skips_of_a_modelled_document_name_each_capacity(runs: dict[str, Path]) -> None:
    folder = runs["pop-four-gpus"] / "pop-four-gpus-modelled"
    document = json.loads((folder / "host_device_check" / "document.json").read_text())
    skip = next(entry for entry in document["skipped"] if entry["cell"] == "n0:g0")
    names = ["g0.h2d", "n0.memory"]
    assert skip["reason"] == f"{', '.join(names)} are not known: the node type does not give it"
    assert [entry["capacity"] for entry in skip["unknown"]] == names


def test_a_best_case_says_what_it_hangs_on(runs: dict[str, Path]) -> None:
    document = json.loads((runs["dl160"] / "dl160-modelled" / "host_device_check" / "document.json").read_text())
    result = next(entry for entry in document["results"] if entry["cell"] == "n0:g0")
    assert result["basis"] == "upper bound"
    names = ["g0.h2d", "n0.memory", "switch:0000:02:00.0.down"]
    assert [entry["capacity"] for entry in result["unknown"]] == names


# Site files


NODE = """node_type: mine
description: a node
source: a person
xml: keeneland.xml
published:
  {published}
"""


@pytest.mark.parametrize(
    "published, words",
    [
        ("cells: [{what: all, cell: 'n0:g9', value: 1}]", "published: cell 'n0:g9': the XML has no g9"),
        ("cells: [{what: all, cell: n0, value: 1}]", "cell 'n0', column "),
        ("cells: [{what: all, cell: 'n0:g0'}]", "published.cells.0"),
        ("not_modelled: [{what: HPL}]", "why"),
        ("penalty: 13", "penalty"),
    ],
)
def test_what_was_published_is_checked(tmp_path: Path, published: str, words: str) -> None:
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "mine.yaml").write_text(NODE.format(published=published))
    (tmp_path / "nodes" / "keeneland.xml").write_text((modelled.SITE / "nodes" / "keeneland.xml").read_text())
    with pytest.raises(NearfarError, match=r"mine\.yaml:") as raised:
        load_node_type("mine", [tmp_path])
    assert words in str(raised.value)
