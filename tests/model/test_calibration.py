"""Capacities from measured cells: real documents, modelled nodes read back, what cannot be told apart, what is refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fault_trials import completed
from benchmarks.telling_cells import telling_cells
from nearfar.base.errors import CouldNotJudge, NearfarError
from nearfar.cells import parse
from nearfar.cli import main
from nearfar.measurement import load, merge
from nearfar.measurement.document import from_raw
from nearfar.model.calibration import MeasuredCell, calibrate, measured_cells, node_type_of
from nearfar.model.calibration.inference import AT_LEAST, CLASS, KNOWN
from nearfar.model.prediction import load_node_type, modelled_document, predict
from tests.conftest import CHECKOUT

SITE = [Path(__file__).parents[2] / "site"]
H200 = Path(__file__).parents[1] / "data" / "h200-x4"
DOCUMENTS = [H200 / name for name in ("host_device_check.json", "saturation.json", "stream.json")]


def measured(text, *rates, within=0.002):
    cell, total = parse(text), sum(rates)
    around = tuple((rate * (1 - within), rate * (1 + within)) for rate in rates)
    return MeasuredCell(cell, rates, around, total, (total * (1 - within), total * (1 + within)))


def modelled(node_type, cells):
    return measured_cells(from_raw(modelled_document(node_type, cells)))


def summit():
    return completed(load_node_type("summit", SITE), {"p0-p1": 64, "p1-p0": 64})


# Real figures


@pytest.fixture(scope="module")
def h200():
    document = merge([load(path) for path in DOCUMENTS])
    return calibrate(node_type_of(document.node, "h200"), measured_cells(document))


def test_four_h200s_singles_stream_and_one_saturating_cell_a_direction_predict_the_rest(h200):
    several = [c for c in h200.comparisons if not c.calibrates]
    assert len(several) >= 6
    for comparison in several:
        assert abs(comparison.deviation) <= 0.10
        for rate, predicted in zip(comparison.measured.rates, comparison.predicted):
            assert predicted == pytest.approx(rate, rel=0.12), str(comparison.measured.cell)
    inputs = {str(c.measured.cell) for c in h200.comparisons if c.calibrates and not c.measured.cell.lone}
    one_gpu = {f"n0:g{g}+g{g}:n0" for g in range(4)}
    down, up = "n0:g0+n0:g1+n0:g2+n0:g3", "g0:n0+g1:n0+g2:n0+g3:n0"
    both = "n0:g0+g0:n0+n0:g1+g1:n0+n0:g2+g2:n0+n0:g3+g3:n0"
    assert inputs == one_gpu | {down, up, both}


def test_four_h200s_capacities(h200):
    assert h200.estimates["g2.h2d"].kind == KNOWN
    assert h200.estimates["g2.h2d"].value == pytest.approx(55.5, rel=0.005)
    memory = h200.node_type.capacities["n0.memory"]
    assert memory.write_weight > 1.2 * memory.read_weight
    assert memory.read_share == pytest.approx(0.66, abs=0.02)
    assert not h200.unexplained


def test_a_pair_that_fills_the_memory_is_evidence_of_the_memory():
    """Both directions of g0 carry all that STREAM has from the far memory, and its link carries more with the near one."""
    cells = [
        measured("c1:n1/triad", 60.0), measured("n0:g0", 45.0), measured("g0:n0", 45.0), measured("n0:g0+g0:n0", 40.0, 40.0),
        measured("n1:g0", 44.0), measured("g0:n1", 44.0), measured("n1:g0+g0:n1", 30.0, 30.0),
    ]  # fmt: skip
    found = calibrate(node_type_of(summit().node, "narrow"), cells)
    assert found.estimates["n1.memory"].value == pytest.approx(60.0)
    assert parse("n1:g0+g0:n1") in found.estimates["n1.memory"].cells


# Modelled nodes, read back


def test_summits_capacities_come_back_from_its_cells():
    node_type = summit()
    found = calibrate(node_type, modelled(node_type, telling_cells(node_type.node)))
    # What GPUs do in their own memory is none of the cells that tell.
    for name in [name for name, capacity in node_type.capacities.items() if capacity.value is not None]:
        estimate, capacity = found.estimates[name], node_type.capacities[name]
        assert estimate.kind == KNOWN, name
        assert estimate.value == pytest.approx(capacity.value, rel=0.005)
    assert not found.unexplained
    for comparison in found.comparisons:
        assert abs(comparison.deviation) < 0.01


def test_summits_published_table_from_calibrated_capacities():
    node_type = load_node_type("summit", SITE)
    found = calibrate(node_type, modelled(node_type, telling_cells(node_type.node)))
    cell = parse("n0:g0+g0:n0+n1:g3+g3:n1+n0:g1+g1:n0+n1:g4+g4:n1+n0:g2+g2:n0+n1:g5+g5:n1")
    assert predict(cell, found.node_type).total == pytest.approx(278.07, rel=0.03)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(4, 7), min_size=2, max_size=2),
    st.floats(1.1, 2.0),
    st.floats(6, 40),
    st.floats(4, 20),
    st.sampled_from(["keeneland", "dl160"]),
)
def test_an_interval_holds_the_truth_and_a_lower_bound_is_none_above_it(links, both, memory, shared, name):
    truth = completed(
        load_node_type(name, SITE),
        {"g*.h2d": links[0], "g*.d2h": links[1], "g*.both": both * max(links), "n*.memory": memory, "p*-p*": shared,
         "switch:*.up": shared, "switch:*.down": shared, "switch:*.both": 1.8 * shared},
    )  # fmt: skip
    found = calibrate(truth, modelled(truth, telling_cells(truth.node)))
    for estimate in found.estimates.values():
        capacity = truth.capacities.get(estimate.name)
        if capacity is None or capacity.value is None:
            continue
        if estimate.kind == KNOWN:
            assert estimate.value == pytest.approx(capacity.value, rel=0.025)
        else:
            assert estimate.low <= capacity.value * 1.0001


@settings(max_examples=25, deadline=None)
@given(st.floats(0.4, 1.0))
def test_the_share_of_a_read_beside_its_gpus_write_comes_back(share):
    truth = summit()
    memories = {f"n{n}.memory": replace(truth.capacities[f"n{n}.memory"], read_share=share) for n in (0, 1)}
    truth = replace(truth, capacities={**truth.capacities, **memories})
    three = parse("n0:g0+g0:n0+n0:g1+g1:n0+n0:g2+g2:n0")
    cells = [*telling_cells(truth.node), three]
    found = calibrate(truth, modelled(truth, cells)).node_type.capacities["n0.memory"]
    reads, writes = predict(three, truth), predict(parse("g0:n0"), truth)
    told = all(reads.flows[f] < 0.98 * writes.total for f in three.flows if f.direction == "d2h")
    assert found.read_share == pytest.approx(share if told else 1.0, abs=0.01)


# What these cells cannot tell


def test_a_link_and_a_memory_that_only_one_flow_crosses_are_a_class():
    node_type = summit()
    found = calibrate(node_type, [measured("n0:g0", 45.9)])
    assert found.estimates["g0.h2d"].kind == CLASS
    assert set(found.estimates["g0.h2d"].members) == {"g0.h2d", "n0.memory, read"}
    # Alone the flow carries what it was measured to carry, whichever of the two it is.
    assert predict(parse("n0:g0"), found.node_type).total == pytest.approx(45.9)


def test_what_was_never_full_is_a_lower_bound():
    found = calibrate(summit(), [measured("n0:g0", 45.9), measured("n0:g1", 45.9), measured("n0:g0+n0:g1", 45.9, 45.9)])
    assert found.estimates["g0.h2d"].kind == KNOWN
    assert found.estimates["n0.memory, read"].kind == AT_LEAST
    assert found.estimates["n0.memory, read"].low == pytest.approx(91.8)


def test_a_cell_that_asks_more_than_was_ever_seen_is_marked():
    cells = [measured("n0:g0", 45.9), measured("n0:g1", 45.9), measured("n0:g0+n0:g1", 45.9, 45.9)]
    mixed = measured("n0:g0+g0:n0+n0:g1+g1:n0", 40, 40, 40, 40)
    back = [measured("g0:n0", 45.9), measured("g1:n0", 45.9), measured("g0:n0+g1:n0", 45.9, 45.9)]
    found = calibrate(summit(), [*cells, *back, mixed])
    comparison = found.comparisons[-1]
    assert not comparison.calibrates
    assert "n0.memory" in comparison.hangs_on


def test_the_best_case_stays_below_what_links_can_carry():
    document = load(H200 / "saturation.json")
    node_type = node_type_of(document.node, "h200")
    found = calibrate(node_type, measured_cells(document))
    best = [one for one in found.comparisons if not one.calibrates]
    assert best and all(one.hangs_on for one in best), "one GPU alone leaves the links of the others open"
    for one in best:
        for flow, rate in zip(one.measured.cell.flows, one.predicted):
            peak = node_type.capacities[f"g{flow.gpus[0]}.{flow.direction}"].peak
            assert rate <= peak, f"{one.measured.cell}: {flow} is predicted above its link's {peak:.1f} GB/s"
    two = next(one for one in best if str(one.measured.cell) == "n0:g0+n0:g1")
    assert sum(two.predicted) == pytest.approx(55.5 + 58.4, abs=0.2)


def test_the_best_case_is_no_prediction_that_agrees(capsys, tmp_path):
    _, out, _ = run(capsys, H200 / "saturation.json")
    assert "7 totals, all as upper bounds: some capacity was never saturated" in out
    assert "within 10 %" not in out
    document = json.loads((H200 / "host_device_check.json").read_text())
    document["results"] = [r for r in document["results"] if r["cell"] not in ("g1:n0", "n0:g1+g1:n0")]
    (tmp_path / "some.json").write_text(json.dumps(document))
    _, out, _ = run(capsys, tmp_path / "some.json", H200 / "stream.json", H200 / "saturation.json")
    assert re.search(r"^2 of 2 totals within 10 %", out, re.MULTILINE), out
    assert "5 more only as upper bounds: some capacity was never saturated" in out


def test_gpus_behind_one_uplink():
    node_type = load_node_type("dl160", SITE)
    cells = [measured(f"n{g % 2}:g{g}", 5.2) for g in range(4)]
    cells += [measured("c0:n0/triad", 14), measured("c1:n1/triad", 14)]
    found = calibrate(node_type, [*cells, measured("n0:g0+n1:g1+n0:g2+n1:g3", 1.5, 1.5, 1.5, 1.5)])
    uplink = found.estimates["switch:0000:02:00.0.down"]
    assert (uplink.kind, uplink.value) == (KNOWN, pytest.approx(6.0))
    assert found.estimates["g0.h2d"].value == pytest.approx(5.2)


# What is refused, and what is only noisy


def test_contradictory_figures_are_refused():
    with pytest.raises(CouldNotJudge, match=r"n0:g0 carries 45\.00 GB/s in n0:g0\+n0:g1 but 30\.00 alone"):
        calibrate(summit(), [measured("n0:g0", 30.0), measured("n0:g1", 45.0), measured("n0:g0+n0:g1", 45.0, 45.0)])
    with pytest.raises(CouldNotJudge, match=r"above its link's line rate of 51\.56"):
        calibrate(summit(), [measured("n0:g0", 60.0)])


def test_noisy_figures_are_not():
    cells = [measured("n0:g0", 44.0), measured("n0:g1", 45.0), measured("n0:g0+n0:g1", 45.0, 45.5, within=0.05)]
    assert calibrate(summit(), cells).estimates["n0.memory, read"].low == pytest.approx(90.5)


def test_without_a_single_flow_or_with_an_endpoint_that_is_not_there():
    with pytest.raises(CouldNotJudge, match="no figure of a flow alone"):
        calibrate(summit(), [measured("n0:g0+n0:g1", 45, 45)])
    with pytest.raises(NearfarError, match="has no g9"):
        calibrate(summit(), [measured("n0:g9", 45)])


# The command


def run(capsys, *words):
    code = main(["calibrate", *map(str, words)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_command(capsys):
    code, out, err = run(capsys, *DOCUMENTS)
    assert (code, err) == (0, "")
    assert "totals within 10 %" in out
    assert "a byte written" in out
    code, out, _ = run(capsys, *DOCUMENTS, "--json")
    found = json.loads(out)
    assert found["capacities"]["g0.h2d"]["kind"] == "interval"
    assert {cell["cell"] for cell in found["cells"] if not cell["calibrates"]} >= {"n0:g0+n0:g1"}


def test_the_yaml_is_a_node_types(capsys, tmp_path):
    _, out, _ = run(capsys, *DOCUMENTS, "--yaml")
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    (nodes / "own.xml").write_text((H200 / "lstopo.xml").read_text())
    (nodes / "own.yaml").write_text(f"node_type: own\ndescription: d\nsource: s\nxml: own.xml\n{out}")
    assert set(yaml.safe_load(out)) == {"capacities", "stream"}
    total = predict(parse("n0:g0+g0:n0+n0:g1+g1:n0"), load_node_type("own", [tmp_path])).total
    assert total == pytest.approx(182.2, rel=0.10)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["nothing.json"], 2, "nothing.json: cannot be read: No such file or directory"),
        ([H200 / "README.md"], 3, "README.md:1:1: "),
        ([H200], 2, "h200-x4: no document.json in it"),
        (["--node", "sumit", DOCUMENTS[0]], 2, "unknown node type 'sumit'"),
        ([H200 / "stream.json", "--json", "--yaml"], 2, ""),
    ],
)
def test_what_it_stops_on_is_one_line(capsys, words, code, says):
    try:
        found, _, err = run(capsys, *words)
    except SystemExit as error:
        found, err = error.code, says
    assert found == code
    assert says in err
    assert len(err.splitlines()) <= 1


def test_the_table_of_the_docs_is_what_the_command_prints(capsys):
    """Measured, predicted, deviation and shares of each row of benchmarks/studies/calibration.md."""
    page = (CHECKOUT / "benchmarks/studies/calibration.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| (?:\d|both,).* \|$", page.partition("## Four H200s")[2], re.MULTILINE)
    _, out, _ = run(capsys, *DOCUMENTS)
    predictions = out.partition("all other cells: predictions")[2].splitlines()[1:]
    printed = [re.split(r"\s{2,}", line.strip())[1:5] for line in predictions if line.startswith("  ")]
    told = [[cell.strip() for cell in row.strip("|").split("|")][1:5] for row in table]
    assert len(told) == 6
    assert [[c.replace("−", "-").replace(" %", "%") for c in row] for row in told] == printed


@pytest.mark.parametrize(
    "folder, words", [("h200-x4", "17 of 17"), ("h200-x4-earlier/744da397", "12 of 12"), ("h200-x2", "6 of 7")]
)
def test_the_counts_of_the_docs_are_what_the_command_prints(capsys, folder, words):
    page = " ".join((CHECKOUT / "benchmarks/studies/calibration.md").read_text(encoding="utf-8").split())
    _, out, _ = run(capsys, *sorted((H200.parent / folder).glob("*_check.json")))
    within, worst = re.search(r"(\d+ of \d+) totals within 10 %, the worst ([+-][\d.]+)%", out).groups()
    assert within == words
    assert within in page and (f"the worst {worst} %" in page or f"{worst[1:]} % too high" in page), worst


def test_both_directions_of_a_shared_uplink():
    """Four GPUs behind one uplink carry no more both ways at once than it was seen to."""
    node_type = load_node_type("dl160", SITE)
    uplink = "switch:0000:02:00.0.both"
    cells = [measured(f"n{g % 2}:g{g}", 5.2) for g in range(4)] + [measured(f"g{g}:n{g % 2}", 5.4) for g in range(4)]
    cells += [measured("c0:n0/triad", 30), measured("c1:n1/triad", 30)]
    cells += [measured(f"n{g % 2}:g{g}+g{g}:n{g % 2}", 4.5, 4.5) for g in range(4)]
    every = "+".join(f"n{g % 2}:g{g}+g{g}:n{g % 2}" for g in range(4))
    found = calibrate(node_type, [*cells, measured(every, *[1.25] * 8)])
    estimate = found.estimates[uplink]
    assert (estimate.kind, estimate.value) == (KNOWN, pytest.approx(10.0))
    assert predict(parse(every), found.node_type).total == pytest.approx(10.0)
    assert predict(parse("n0:g0+g0:n0"), found.node_type).total == pytest.approx(9.0)
    # Where one GPU has all of it, four have no more: the two are not told apart.
    found = calibrate(node_type, [*cells, measured(every, *[1.125] * 8)])
    assert predict(parse("n0:g0+g0:n0"), found.node_type).total == pytest.approx(9.0)
    four = predict(parse(every), found.node_type)
    assert four.total == pytest.approx(9.0) or four.basis == "upper bound"


def test_one_core_is_not_what_all_of_them_carry():
    """Documents of two H200s: STREAM by all cores, and by parts of them."""
    raw = json.loads((CHECKOUT / "tests/data/h200-x2-memory/memory_kernels_check.json").read_text())
    document = from_raw(raw)
    found = calibrate(node_type_of(document.node, "two"), measured_cells(document))
    assert set(found.node_type.stream[0, 0]) == {"copy", "scale", "add"}, "triad was asked of parts of the cores alone"
    assert found.node_type.caps[parse("c0:n0/triad/one")].value == pytest.approx(17.1, abs=0.1)
    assert max(abs(one.deviation or 0.0) for one in found.comparisons) < 0.01
