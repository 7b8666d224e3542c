"""``nearfar predict`` as a user meets it: tables, documents, and one line for every mistake."""

from __future__ import annotations

import io
import json
import re
import shutil

import pytest
import yaml

from nearfar.cells import parse
from nearfar.cli import main
from nearfar.measurement import loads
from nearfar.model.prediction import check_endpoints, load_node_type
from tests.conftest import CHECKOUT


@pytest.fixture(autouse=True)
def own_site(monkeypatch):
    monkeypatch.delenv("NEARFAR_SITE", raising=False)


def predict(capsys, *words):
    code = main(["predict", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_issues_example(capsys):
    code, out, err = predict(capsys, "--node", "summit", "n0:g0+n0:g1+n0:g2+n1:g3+n1:g4+n1:g5")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("summit (modelled): ")
    assert out.splitlines()[2].split()[-1] == "274.60"
    # Cells and flows as they are typed: a person may copy them.
    assert ["n0:g0", "45.77", "g0.h2d,", "n0.memory"] in [line.split() for line in out.splitlines()]


def test_what_nobody_measured_is_expected_from_published_nodes(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path))
    xml = CHECKOUT / "tests/data/topologies/constructed-eight-gpus-nvswitch.xml"
    assert main(["detect", "--xml", str(xml), "--site", "eight"]) == 0
    capsys.readouterr()
    code, out, _ = predict(capsys, "--node", "eight", "n0:g0", "g0:n1", "g0:g1", "g0:g1/staged", "n0:g0/pageable")
    rows = {line.split()[0]: line for line in out.splitlines()[2:7]}
    assert code == 0
    for cell, ceiling in {"n0:g0": 58.45, "g0:g1": 400.0}.items():
        typical, least, greatest = re.search(r"([\d.]+) \(([\d.]+) to ([\d.]+)\)", rows[cell]).groups()
        assert 0.79 * ceiling < float(least) < float(typical) < float(greatest) <= ceiling, rows[cell]
    assert "unknown" in rows["g0:g1/staged"] and " to " in rows["g0:g1/staged"], (
        "its own figure is unknown, others' are not"
    )
    assert " to " not in rows["n0:g0/pageable"], "no published node says what pageable memory carries"
    assert "g0.d2h: {value: null" in out and "g5." not in out, "the keys are those of what was asked"


def test_without_cells_the_whole_matrix(capsys):
    code, out, _ = predict(capsys, "--node", "keeneland", "--json")
    document = loads(out)
    assert code == 0
    assert document.kind == "modelled"
    assert len(document.results) == 18
    # Both directions at once were not published: what each carries alone bounds them.
    bases = [result.basis for result in document.results]
    assert (bases.count("input"), bases.count("upper bound"), document.skipped) == (12, 6, ())


def test_cells_from_a_file_and_from_standard_input(capsys, tmp_path, monkeypatch):
    path = tmp_path / "cells.txt"
    path.write_text("# two\nn0:g0\nn0:g1\n")
    _, out, _ = predict(capsys, "--node", "keeneland", "g0:n0", "--cells", str(path), "--json")
    assert [result["cell"] for result in json.loads(out)["results"]] == ["g0:n0", "n0:g0", "n0:g1"]
    monkeypatch.setattr("sys.stdin", io.StringIO("n1:g1\n"))
    _, out, _ = predict(capsys, "--node", "keeneland", "--cells", "-")
    assert "n1:g1" in out


def test_a_file_without_cells_is_not_the_matrix(capsys, tmp_path):
    (tmp_path / "none").write_text("# nothing\n")
    code, out, _ = predict(capsys, "--node", "keeneland", "--cells", str(tmp_path / "none"), "--json")
    assert code == 0
    assert json.loads(out)["results"] == []


def test_what_is_assumed_says_so(capsys):
    """A published figure is an input, that of a like part taken for it is assumed."""
    _, out, _ = predict(capsys, "--node", "summit", "n0:g0", "n1:g3", "g0:n0", "g3:n1")
    told = {line.split()[0]: line.split()[2] for line in out.splitlines()[2:]}
    assert told["n1:g3"] == "assumed" and told["n0:g0"] == "input", out


def test_what_an_assumed_capacity_limits_is_assumed(capsys, tmp_path, monkeypatch):
    whole = (CHECKOUT / "site/nodes/summit.yaml").read_text()
    (tmp_path / "nodes").mkdir()
    given, n = re.subn(r"(?m)^  n0\.memory: \{value: 137.*(peak_place: .*?,) kind: derived.*(source: )(&stream).*$",
                       r"  n0.memory: {value: 7, peak: 170, \1 kind: assumed, \2\3 a like server}", whole)  # fmt: skip
    assert n == 1
    text = given.replace("node_type: summit", "node_type: mine")
    (tmp_path / "nodes/mine.yaml").write_text(text)
    shutil.copy(CHECKOUT / "site/nodes/summit.xml", tmp_path / "nodes")
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path))
    _, out, err = predict(capsys, "--node", "mine", "n0:g0+n0:g1")
    assert "7.00 assumed" in out, out + err


def test_unknown_capacities_are_told(capsys):
    _, out, _ = predict(capsys, "--node", "keeneland", "n0:g0+g0:n0")
    assert "≤ 12.00" in out
    assert "g0.both is not known: no figure of both directions at once is published" in out
    _, out, _ = predict(capsys, "--node", "keeneland", "g0:g2")
    assert "unknown" in out


def test_shared_flows_show_each_tasks_part(capsys):
    _, out, _ = predict(capsys, "--node", "keeneland", "n0:g0/x3")
    assert "3 × 1.90" in out
    assert "5.70" in out


def test_a_fault(capsys):
    _, out, _ = predict(capsys, "--node", "summit", "g0:n0", "--degrade", "g0.d2h=0.5")
    assert "22.98" in out or "22.97" in out


def test_a_node_without_gpus(capsys):
    code, out, _ = predict(capsys, "--node", "jaguarpf")
    assert code == 0
    assert "no GPUs" in out


def test_the_same_seed_gives_the_same_document(capsys):
    words = ["--node", "summit", "--json", "--noise", "0.01", "--seed", "7"]
    one, other = (json.loads(predict(capsys, *words)[1])["results"] for _ in range(2))
    assert one == other


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--node", "sumit", "n0:g0"], "unknown node type 'sumit' (did you mean 'summit'?)"),
        (["--node", "summit", "n0:q"], "cell 'n0:q', column 4: expected an endpoint"),
        (["--node", "summit", "n0:g9"], "node type summit has no g9; it has: g0, g1"),
        (["--node", "summit", "n0:g0", "--degrade", "g9.h2d=0.5"], "its parts: g0.link to g5.link"),
        (["--node", "summit", "n0:g0", "--degrade", "g0.h2d"], "expected PART=FACTOR"),
        (["--node", "summit", "n0:g0", "--degrade", "g0.h2d=half"], "expected PART=FACTOR"),
        (["--node", "summit", "n0:g0", "--noise", "0.1"], "needs --json"),
        (["--node", "summit", "--noise", "-1", "--json"], "standard deviation"),
        (["--node", "summit", "--noise", "1e308", "--json"], "a number from 0 to 1"),
        (["--node", "summit", "--cells", "/nowhere/cells"], "/nowhere/cells: cannot read cells"),
    ],
)
def test_mistakes_are_one_line_and_exit_two(capsys, words, message):
    code, out, err = predict(capsys, *words)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_node_type_without_capacities_gets_a_block_to_paste(capsys, tmp_path, monkeypatch):
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    shutil.copy(CHECKOUT / "site/nodes/keeneland.xml", nodes / "bare.xml")
    head = "node_type: bare\ndescription: nothing is known of it\nsource: made up\nxml: bare.xml\n"
    (nodes / "bare.yaml").write_text(head + "capacities: {}\n")
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path))
    assert main(["predict", "--node", "bare"]) == 0
    before, _, block = capsys.readouterr().out.partition("bare.yaml:\n")
    keys = set(yaml.safe_load(block)["capacities"])
    assert keys == set(load_node_type("bare", [tmp_path]).capacities)
    values = [line for line in block.splitlines() if "value:" in line]
    assert all(re.search(r"  # GB/s: nearfar-(copy|stream) \S+$", line) for line in values)
    for line in values:  # and what measures a value is a cell that this node has
        check_endpoints(load_node_type("bare", [tmp_path]).node, parse(line.split()[-1]), "bare")
    (nodes / "bare.yaml").write_text(head + block)
    assert main(["predict", "--node", "bare"]) == 0
    after = capsys.readouterr().out.partition("bare.yaml:\n")[0]
    assert [line for line in after.splitlines() if " known: " not in line] == [
        line for line in before.splitlines() if " known: " not in line
    ]
    assert main(["lint", str(nodes)]) == 0, capsys.readouterr().out


def test_a_node_that_is_not_here_by_its_xml_alone(capsys):
    xml = str(CHECKOUT / "tests/data/topologies/constructed-eight-gpus-nvswitch.xml")
    code, out, err = predict(capsys, "--node", xml, "n0:g0", "g0:g1")
    rows = {line.split()[0]: line.split() for line in out.splitlines()}
    assert (code, err) == (0, "") and "add to" not in out
    assert rows["n0:g0"][2] == "58.45" and 50 < float(rows["n0:g0"][3]) < 58, "PCIe 5 is known of the GPU's model"
    assert rows["g0:g1"][2] == "400.00" and 360 < float(rows["g0:g1"][3]) < 400


def test_a_superchip_by_its_xml_alone(capsys):
    """Measured on nodes of four GH200: 420 GB/s near, 75 far (JUPITER, a user's README)."""
    xml = str(CHECKOUT / "tests/data/topologies/constructed-grace-hopper.xml")
    code, out, err = predict(capsys, "--node", xml, "n0:g0", "n1:g0")
    rows = {line.split()[0]: line.split() for line in out.splitlines()}
    assert (code, err) == (0, "") and 400 < float(rows["n0:g0"][3]) < 440, (
        "450 GB/s of C2C are known of the GPU's model"
    )
    assert "(" not in " ".join(rows["n1:g0"]), "what joins two Graces is not known"


def test_a_published_node_by_its_name(capsys):
    code, out, err = predict(capsys, "--node", "dgx-1v", "g0:g3")
    assert (code, err) == (0, "") and out.startswith("dgx-1v (modelled): DGX-1") and "add to" not in out


@pytest.mark.parametrize(
    ("text", "says"), [(None, "cannot be read: No such file"), ("<topology", "hwloc XML: "), ("", "hwloc XML: ")]
)
def test_an_xml_that_is_none_is_one_line(text, says, tmp_path, capsys):
    file = tmp_path / "node.xml"
    if text is not None:
        file.write_text(text)
    code, out, err = predict(capsys, "--node", str(file))
    assert (code, out, err.count("\n")) == (2, "", 1) and f"{file}: " in err and says in err
