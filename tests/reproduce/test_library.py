"""The library of published nodes: each is read, predicted and has its source, and the table says what the model lacks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median

import pytest

from nearfar import cli
from nearfar.base import NearfarError
from nearfar.model.prediction import link_ceiling
from nearfar.model.published_nodes import published_nodes
from nearfar.model.typical import load_experience
from nearfar.reproduce.library import comparisons
from nearfar.site.lint import lint
from tests.conftest import CHECKOUT

SITE = [CHECKOUT / "site"]

NODE = """
node: small
description: two GPUs with NVLink
source: https://example.org/small
state: healthy
state_source: an example
topology:
  packages: [[0], [1]]
  gpu_model: Tesla V100-SXM2-16GB
  gpus: [0, 1]
  link: {kind: pcie, gen: 3, width: 16}
  nvlinks: 6
  nvlink_generation: 2
captures:
  - tool: some tool
    date: "2020-01"
    figures:
      "n{near}:g{a}": [12.0, 12.2]
      "g{a}:g{b}": [[null, 140], [141, null]]
      "all n{near}:g{a}": [11.0, 11.5]
      "all g{a}:n{near}+n{near}:g{a} of g{a}:n{near}": {least: 9.0, greatest: 11.0}
      "n1:g0": 9.5
"""


def made(tmp_path: Path, text: str) -> list[Path]:
    folder = tmp_path / "site" / "published-nodes" / "small"
    folder.mkdir(parents=True)
    (folder / "node.yaml").write_text(text)
    return [tmp_path / "site"]


def test_every_node_is_read_predicted_and_has_its_source() -> None:
    nodes = published_nodes(SITE)
    for node in nodes:
        assert node.node_type.source and node.figures, node.name
        assert all(each.figures for each in comparisons([node])), node.name
    complaints = [c for c in lint(SITE).complaints if "published-nodes" in str(c.file)]
    assert complaints == []


def test_patterns_become_cells_with_their_values(tmp_path: Path) -> None:
    (node,) = published_nodes(made(tmp_path, NODE))
    figures = {str(figure): figure.value for figure in node.figures}
    assert figures["n0:g0"] == 12.0 and figures["n1:g1"] == 12.2 and figures["n1:g0"] == 9.5
    assert figures["g1:g0"] == 141
    assert figures["n0:g0+n1:g1 of n1:g1"] == 11.5
    assert figures["g0:n0+n0:g0+g1:n1+n1:g1 of g1:n1"] == 10.0
    far = next(each for each in comparisons([node]) if each.kind == "far host memory, one way")
    assert far.figure == "off_socket h2d" and far.most == pytest.approx(14.6, abs=0.1)
    assert far.typical is None and not far.in_range, "a node alone has no others to learn from"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("source: https://example.org/small\n", "", "the key 'source' is missing"),
        ('    date: "2020-01"\n', "", "the key 'date' is missing"),
        ('"2020-01"', '"2093-01"', "date: 2093-01 lies in the future"),
        ("[12.0, 12.2]", "[12.0]", "give a list of 2 entries"),
        ("[12.0, 12.2]", "[12.0, 17.0]", "n1:g1: 17 GB/s is above the line rate of PCIe 3.0 x16"),
        ("gpus: [0, 1]", "gpus: [0, 2]", "no package has NUMA node 2"),
        ("n1:g0", "n2:g0", "the topology has no n2"),
        ('"n1:g0"', "5", "5: cell '5', column 1"),
        ('"n1:g0": 9.5', '"n1:g0": .inf', "expected a finite number, found Infinity"),
        ("n{near}", "n{far}", "{far}: a pattern has {a}, {b} and {near}"),
        ("  nvlinks: 6", "  links: {g9: {kind: pcie, gen: 3, width: 8}}", "links: g9: this node's GPUs are g0 to g1"),
        ("  nvlinks: 6", "  chips: [[[0], [1]]]", "chips: [0]: switches has no such group"),
        ("  nvlinks: 6", "  pairs: {NV2: [[0, 0]]}", "pairs: NV2: give pairs by NVLink lanes"),
    ],
)
def test_lint_names_what_is_wrong_with_a_node(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in NODE
    complaints = lint(made(tmp_path, NODE.replace(old, new))).complaints
    assert any(says in complaint.message for complaint in complaints), complaints


def test_the_command_prints_classes_and_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "--nodes"]) == 0
    printed = capsys.readouterr().out
    assert "median error" in printed and "near h2d" in printed and "in range" in printed
    assert cli.main(["reproduce", "--nodes", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["node"] for row in document["rows"]} == set(document["nodes"])
    assert cli.main(["reproduce", "--nodes", "joubert2019"]) == 2


def test_nodes_are_predicted_from_the_others_as_well_as_the_manual_says() -> None:
    """The error of a figure of a node that nothing was learnt from; benchmarks/studies/prediction.md has what is outside and why."""
    every = comparisons(published_nodes(SITE))
    counted = [each for each in every if each.counted]
    assert sum(each.kind == "set aside" for each in every) <= 8
    errors = [abs(1 - each.ratio) for each in counted if each.ratio is not None]
    assert median(errors) <= 0.040, f"{median(errors):.3f}"
    assert sum(error <= 0.15 for error in errors) >= 0.85 * len(counted)
    assert sum(each.in_range for each in counted) >= 0.88 * len(counted)
    wide = [each for each in counted if each.typical and each.expected and each.expected[1] > 1.42 * each.typical]
    assert not wide, wide


def test_no_capture_is_above_what_its_link_carries() -> None:
    """An RX 7900 XTX reaches 29.0 GB/s into host memory over PCIe 4.0 x16."""
    for node in published_nodes(SITE):
        for figure in (each for each in node.figures if each.cell.lone and each.cell.flows[0].kind == "host"):
            gpu = node.node_type.node.gpu(figure.cell.flows[0].gpus[0])
            ceiling = None if gpu is None else link_ceiling(gpu.link)
            assert ceiling is None or figure.value <= ceiling, (node.name, str(figure))


def test_both_ways_across_packages_carry_twice_one_way() -> None:
    every = {(each.node.name, each.figure): each for each in comparisons(published_nodes(SITE))}
    one, both = (every["turin-rtx-x6-mixed", f"SYS_off {way}"] for way in ("write", "both"))
    assert both.typical == pytest.approx(2 * (one.typical or 0), rel=0.01)
    assert one.in_range and both.in_range


def test_kernels_have_a_share_of_their_own_of_the_link() -> None:
    """H100, H800 and H200 by kernels: 35, 38 and 51 GB/s from host memory, 53 into it."""
    every = {(each.node.name, each.figure): each for each in comparisons(published_nodes(SITE))}
    for figure, least, most in (("near h2d /sm", 33, 47), ("near d2h /sm", 50, 57.6)):
        typical = every["h100-sxm-x8-kernels", figure].typical
        assert typical is not None and least < typical < most, (figure, typical)


def test_the_shares_are_those_of_the_published_nodes() -> None:
    """``site/typical.yaml`` is what they give."""
    from benchmarks import typical

    assert (CHECKOUT / "site" / "typical.yaml").read_text() == typical.text(), "run python benchmarks/typical.py"


def test_a_node_of_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NearfarError, match="use one name for both"):
        published_nodes(made(tmp_path, NODE.replace("node: small", "node: other")))


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (
            "{typical: .nan, nodes: 1}",
            ":3: shares.far.typical: expected a finite number, found NaN",
        ),
        (f"{{typical: {'9' * 400}, nodes: 1}}", "expected a finite number"),
        ("{typical: 0.9, least: 0.8, greatest: 1, nodes: 1}", ":3: shares.far: unknown key"),
    ],
)
def test_typical_shares_without_sense_are_refused(tmp_path: Path, entry: str, says: str) -> None:
    (tmp_path / "typical.yaml").write_text(f"# ours\nshares:\n  far: {entry}\n")
    with pytest.raises(NearfarError, match=re.escape(says)):
        load_experience((tmp_path,))
