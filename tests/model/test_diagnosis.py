"""Which part broke: simulated faults on node types, documents through the whole chain, and what cannot be told apart."""

from __future__ import annotations

import importlib.util
import json
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from benchmarks.fault_trials import BANDS, Trials, kind_of, wilson
from benchmarks.telling_cells import telling_cells
from nearfar.base.errors import CouldNotJudge
from nearfar.cells import parse
from nearfar.cli import main
from nearfar.measurement import load, merge
from nearfar.measurement.document import from_raw
from nearfar.model.calibration import measured_cells, node_type_of
from nearfar.model.diagnosis import (
    DegradedPart,
    Diagnosis,
    SlowCell,
    as_json,
    diagnose,
    healthy_runs,
    parts_of,
    repair,
    sentence,
)
from nearfar.model.diagnosis.responses import Responses
from nearfar.model.prediction import NodeType, load_node_type, modelled_document, predict
from nearfar.model.prediction.compiled import CompiledCell
from nearfar.model.prediction.node_types import implied_capacities
from nearfar.topology import Gpu, node_from_document
from tests.data.runs.modelled import cells_of
from tests.data.runs.synthetic import Document, make_node

CHECKOUT = Path(__file__).parents[2]
SITE = [CHECKOUT / "site"]
H200 = Path(__file__).parents[1] / "data" / "h200-x4"
KINDS = ["direction", "link", "memory", "package link", "peer link", "switch uplink"]

_spec = importlib.util.spec_from_file_location("localisation", CHECKOUT / "benchmarks" / "localisation.py")
localisation = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(localisation)


@cache
def trials():
    return {node_type.name: Trials(node_type, seed=11) for node_type in localisation.node_types()}


@cache
def summit():
    return trials()["summit"].node_type


def modelled(node_type, cells=None, factors=None, noise=0.0, seed=0):
    cells = telling_cells(node_type.node) if cells is None else list(map(parse, cells))
    return measured_cells(from_raw(modelled_document(node_type, cells, factors, noise, seed)))


# The solver


@pytest.mark.parametrize("name", ["summit", "keeneland", "dl160", "eight-gpus"])
def test_compiled_cells_have_the_rates_of_predict(name):
    one = trials()[name]
    for cell, rates in zip(one.responses.cells, one.responses.healthy):
        predicted = predict(cell.cell, one.node_type)
        if predicted.unknown:
            continue  # predict takes the peak of what nobody knows, the search no limit
        assert rates == pytest.approx([predicted.flows[flow] for flow in cell.flows], rel=1e-6)


def test_unequal_speeds_share_a_full_capacity_unequally():
    cell = CompiledCell(parse("n0:g0+g0:n0+n0:g1+g1:n0+n0:g2+g2:n0"), summit())
    values = {"n0.memory": 120.0, **{f"g{g}.h2d": 45.0 for g in range(3)}, **{f"g{g}.d2h": 45.0 for g in range(3)}}
    rates = cell.rates(values, [1, 2, 1, 2, 1, 2])
    assert sum(rates) == pytest.approx(120)
    assert rates[1] == pytest.approx(2 * rates[0])


# Parts


def test_parts_of_a_node():
    parts = {part.name: part for part in parts_of(summit())}
    assert set(parts["g2.link"].capacities) == {"g2.h2d", "g2.d2h", "g2.both"}
    assert set(parts["p0-p1.link"].capacities) == {"p0-p1", "p1-p0"}
    assert parts["g2.d2h"].capacities == ("g2.d2h",)
    assert {"n0.memory", "g0-g1.link"} <= set(parts)
    assert "switch:0000:02:00.0" in {part.name for part in parts_of(trials()["dl160"].node_type)}
    assert "g0.nvlink" in {part.name for part in parts_of(trials()["eight-gpus"].node_type)}


def test_every_kind_of_part_is_tried():
    kinds = {kind_of(part) for one in trials().values() for part in one.parts}
    assert kinds == set(KINDS)


# Simulated faults: a look at what benchmarks/localisation.py measures with thousands

PER_BAND = 25


@pytest.mark.parametrize(("misfit", "sharing"), [(0.0, 0.0), (0.03, 0.10)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_single_fault_is_named(kind, misfit, sharing):
    places = [(one, p) for one in trials().values() for p, part in enumerate(one.parts)
              if kind_of(part) == kind and one.responses.figures[p]]  # fmt: skip
    outcomes = []
    for band in BANDS:
        for at in range(PER_BAND):
            one, place = places[at % len(places)]
            machine = one.machine(misfit, sharing)  # another each time: few are hard to tell parts apart on
            outcomes.append(one.outcome(machine, {place: one.random.uniform(*band)}))
    separable = [outcome for outcome in outcomes if outcome.separable]
    assert len(separable) >= 0.8 * len(outcomes)
    assert sum(outcome.named for outcome in separable) >= (0.9 if misfit else 0.98) * len(separable)
    assert sum(outcome.added for outcome in separable) <= 1


def test_double_faults_are_named():
    outcomes = []
    for one in trials().values():
        machine = one.machine()
        for _ in range(8):
            a, b = one.two_parts()
            factors = {a: one.random.uniform(0.3, 0.95), b: one.random.uniform(0.3, 0.95)}
            outcomes.append(one.outcome(machine, factors))
    separable = [outcome for outcome in outcomes if outcome.separable]
    assert len(separable) >= 30
    assert sum(outcome.named for outcome in separable) >= 0.9 * len(separable)


@pytest.mark.parametrize(("misfit", "sharing"), [(0.0, 0.0), (0.03, 0.10)])
def test_noise_is_no_fault(misfit, sharing):
    alarms = sum(one.false_alarm(one.machine(misfit, sharing)) for one in trials().values() for _ in range(40))
    assert alarms == 0


def test_wilsons_bounds():
    low, high = wilson(990, 1000)
    assert low == pytest.approx(0.9834, abs=5e-4)
    assert high == pytest.approx(0.9940, abs=5e-4)
    assert wilson(0, 0) == (0.0, 1.0)


# What a whole direction lost


def slowed(cells, direction, factor):
    """The cells with their host flows of a direction at a factor."""
    found = []
    for one in cells:
        factors = [factor if f.kind == "host" and f.direction == direction else 1.0 for f in one.cell.flows]
        rates = tuple(rate * own for rate, own in zip(one.rates, factors))
        scale = sum(rates) / sum(one.rates)
        found.append(replace(one, rates=rates, total=one.total * scale, interval=tuple(end * scale for end in one.interval),
                             intervals=tuple((low * own, high * own) for (low, high), own in zip(one.intervals, factors))))  # fmt: skip
    return found


def links(node_type, direction, factor):
    """All GPUs' links to the host with a direction at a factor."""
    return {name: factor for name in node_type.capacities if re.fullmatch(rf"g\d+\.{direction}", name)}


@cache
def six_types():
    return {**{name: one.node_type for name, one in trials().items()}, "bridged": bridges(4)}


def after(node_type, seed, direction="h2d", factor=0.97, faults=None, by_flow=True):
    """The diagnosis of a node whose direction has a factor of healthy, in every flow or by the capacity of all links."""
    lost = {} if by_flow else links(node_type, direction, factor)
    ill = modelled(node_type, None, {**lost, **(faults or {})}, 0.005, 2 * seed)
    ill = slowed(ill, direction, factor) if by_flow else ill
    return diagnose(node_type, ill, modelled(node_type, None, None, 0.005, 2 * seed + 1))


SIX = ["summit", "sierra", "keeneland", "dl160", "eight-gpus", "bridged"]


@pytest.mark.parametrize("by_flow", [True, False])
@pytest.mark.parametrize("direction", ["h2d", "d2h"])
@pytest.mark.parametrize("name", SIX)
def test_a_direction_that_all_gpus_lost_blames_no_part(name, direction, by_flow):
    for seed in range(2):
        found = after(six_types()[name], seed, direction, by_flow=by_flow)
        assert (found.sets, found.undetermined, found.bad, found.degraded) == ((), (), (), False)
        assert [finding.code for finding in found.common] == [f"common.{direction}"]
        assert found.common[0].fields["percent"] == pytest.approx(-3.0, abs=0.7)
        assert as_json(found, "modelled", name, "x")["findings"][0]["fields"] == found.common[0].fields


def test_a_fault_beside_what_a_direction_lost_is_named():
    found = after(summit(), 1, faults={"g2.h2d": 0.8})
    assert [[blame.part.name for blame in blames] for blames in found.sets] == [["g2.h2d"]]
    assert found.sets[0][0].factor == pytest.approx(0.8, rel=0.02)
    assert [finding.code for finding in found.common] == ["common.h2d"]
    assert sentence(found).startswith("all host-to-device paths −")


@pytest.mark.parametrize("factor", [0.8, 0.995])
def test_a_large_loss_and_a_small_one_are_localised_as_faults(factor):
    found = after(six_types()["dl160"], 1, factor=factor)
    assert found.common == ()
    assert [blames[0].part.name for blames in found.sets] == (["switch:0000:02:00.0.down"] if factor < 0.9 else [])


@pytest.mark.parametrize(("part", "factor"), [("switch:0000:02:00.0.down", 0.8), ("n0.memory", 0.36)])
def test_a_part_that_all_gpus_share_is_no_change_of_a_direction(part, factor):
    dl160 = trials()["dl160"].node_type
    ill = modelled(dl160, None, {part: factor}, 0.005, 2)
    lone = [
        one.total / well.total
        for one, well in zip(ill, modelled(dl160))
        if one.cell.lone and one.cell.flows[0].kind == "host"
    ]
    assert min(lone) > 0.9, "so little that it could be one"
    found = diagnose(dl160, ill, modelled(dl160, None, None, 0.005, 1))
    assert ([[blame.part.name for blame in blames] for blames in found.sets], found.common) == ([[part]], ())


def test_one_gpu_has_no_whole_direction():
    node = node_from_document(make_node("one", gpus=[0]))
    values = {"g0.h2d": 55.5, "g0.d2h": 55.4, "g0.both": 100.0, "n0.memory": 200.0, "g0.memory": 3000.0}
    capacities = {name: replace(one, value=values.get(name)) for name, one in implied_capacities(node).items()}
    one_gpu = NodeType("one", node, capacities)
    assert after(one_gpu, 1, factor=0.92).common == ()


def test_of_two_gpus_both_have_to_lose():
    ill = from_host("ill", ["a", "b"], cells=("n0:g0", "n0:g1", "g0:n0", "g1:n0"))
    well = unscaled(ill)
    assert told(ill, [well]).common == ()
    node_type, cells = node_type_of(well.node, "some"), measured_cells(well)
    found = diagnose(node_type, slowed(cells, "h2d", 0.95), healthy_runs(well, [well]))
    assert (found.bad, [each.fields["percent"] for each in found.common]) == ((), [-5.0])


# From figures to words


@pytest.mark.parametrize(
    ("factors", "parts"),
    [
        ({"g2.d2h": 0.5}, {"g2.d2h": 0.5}),
        ({"g1.h2d": 0.8, "g1.d2h": 0.8, "g1.both": 0.8}, {"g1.link": 0.8}),
        ({"n1.memory": 0.7}, {"n1.memory": 0.7}),
        ({"p0-p1": 0.6, "p1-p0": 0.6}, {"p0-p1.link": 0.6}),
        ({"g3:g4": 0.5, "g4:g3": 0.5, "g3:g4+g4:g3": 0.5}, {"g3-g4.link": 0.5}),
        ({"g0.h2d": 0.7, "n1.memory": 0.8}, {"g0.h2d": 0.7, "n1.memory": 0.8}),
    ],
)
def test_the_part_its_factor_and_what_it_explains(factors, parts):
    found = diagnose(summit(), modelled(summit(), None, factors, 0.005, 2), modelled(summit(), None, None, 0.005, 1))
    (blames,) = found.sets
    assert {blame.part.name for blame in blames} == set(parts)
    for blame in blames:
        assert blame.factor == pytest.approx(parts[blame.part.name], rel=0.02)
        assert blame.low < blame.factor < blame.high
    assert found.bad
    assert not found.unexplained
    assert found.degraded


def test_a_healthy_node_blames_nothing():
    found = diagnose(summit(), modelled(summit(), None, None, 0.005, 2), modelled(summit(), None, None, 0.005, 1))
    assert (found.sets, found.bad, found.degraded) == ((), (), False)


def test_without_a_healthy_run_siblings_tell():
    found = diagnose(summit(), modelled(summit(), None, {"g4.h2d": 0.6}, 0.005, 2))
    assert [blame.part.name for blame in found.sets[0]] == ["g4.h2d"]
    assert found.origins["siblings"] > 50


@pytest.mark.parametrize(("part", "factor"), [("g2.d2h", 0.5), ("g2.d2h", 0.8), ("n0.memory", 0.6)])
def test_flows_of_one_cell_are_no_siblings(part, factor):
    """Nothing but the node is known. Where one of several flows is slow, the others take what it leaves."""
    eight = trials()["eight-gpus"].node_type
    cells = [str(cell) for check, asked in cells_of(eight.node).items() if check != "peer_check" for cell in asked]
    found = diagnose(node_type_of(eight.node, "eight"), modelled(eight, cells, {part: factor}, 0.005, 1))
    assert [[blame.part.name for blame in blames] for blames in found.sets] == [[part]]
    assert found.sets[0][0].factor == pytest.approx(factor, rel=0.03)
    assert not found.unexplained
    # All GPUs at once have no like cell: nothing but these flows themselves would say what they should carry.
    assert any(len({gpu for flow in cell.flows for gpu in flow.gpus}) == 8 for cell in found.left_out)


def test_siblings_that_the_node_type_expects_to_differ_are_not_bad():
    # The published figures of g2's and g5's link differ from those of the other GPUs.
    assert not diagnose(summit(), modelled(summit(), None, None, 0.003, 2)).degraded


def test_one_slow_path_of_many_through_its_parts_is_explained_by_none():
    well, ill = modelled(summit()), modelled(summit())
    ill = [replace(one, rates=(one.rates[0] * 0.7,), total=one.total * 0.7, intervals=((1, 1),), interval=(1, 1))
           if str(one.cell) == "n0:g3" else one for one in ill]  # fmt: skip
    found = diagnose(summit(), ill, well)
    assert found.sets == ()
    assert [str(bad.cell) for bad in found.unexplained] == ["n0:g3"]
    assert found.bad[0].ratio == pytest.approx(0.7)


def test_parts_that_the_cells_cannot_tell_apart_are_a_set():
    # One flow alone: its direction, the memory; the other direction of the link was not measured, and is not blamed.
    cells = ["n0:g0"]
    found = diagnose(summit(), modelled(summit(), cells, {"g0.h2d": 0.5}), modelled(summit(), cells))
    names = {blames[0].part.name for blames in found.sets}
    assert {"g0.h2d", "n0.memory"} == names
    assert all(len(blames) == 1 for blames in found.sets)


def test_a_direction_that_was_not_measured_is_not_blamed():
    cells = [f"n{node}:g{gpu}" for node in (0, 1) for gpu in range(6)]
    found = diagnose(summit(), modelled(summit(), cells, {"g2.h2d": 0.6, "g2.both": 0.6}), modelled(summit(), cells))
    assert [[blame.part.name for blame in blames] for blames in found.sets] == [["g2.h2d"]]
    assert found.sets[0][0].part.capacities == ("g2.h2d",)


def bridges(gpus):
    """A node type with that many GPUs, two behind each PCI bridge, whose uplinks carry less than both GPUs ask."""
    raw = make_node("bridged", packages=2, gpus=[place * 2 // gpus for place in range(gpus)], cores=32)
    for place, gpu in enumerate(raw["gpus"]):
        gpu["uplinks"] = [gpu["uplinks"][0], f"0000:f{place // 2}:00.0"]
    node = node_from_document(raw)
    values = {"g*.h2d": 25.0, "g*.d2h": 25.5, "g*.both": 45.0, "g*.memory": 4000.0, "n*.memory": 180.0, "p0-p1": 150.0, "p1-p0": 150.0,
              "switch:*.up": 26.5, "switch:*.down": 26.0, "switch:*.both": 50.0}  # fmt: skip

    def known(name):
        return next(value for pattern, value in values.items() if re.fullmatch(pattern.replace("*", ".+"), name))

    capacities = {name: replace(one, value=known(name)) for name, one in implied_capacities(node).items()}
    return NodeType("bridged", node, capacities)


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("gpus", [4, 8])
def test_one_direction_of_a_bridge_at_half(gpus, way):
    node_type = bridges(gpus)
    name = f"switch:0000:f1:00.0.{way}"
    ill = modelled(node_type, None, {name: 0.5}, 0.005, 2)
    found = diagnose(node_type, ill, modelled(node_type, None, None, 0.005, 1))
    assert [[blame.part.name for blame in blames] for blames in found.sets] == [[name]]
    assert found.sets[0][0].factor == pytest.approx(0.5, rel=0.03)
    assert not found.unexplained


@pytest.mark.parametrize("way", ["up", "down"])
def test_one_direction_of_the_bridge_of_four_gpus_at_half(way):
    dl160 = trials()["dl160"].node_type
    name = f"switch:0000:02:00.0.{way}"
    ill = modelled(dl160, None, {name: 0.5}, 0.005, 2)
    found = diagnose(dl160, ill, modelled(dl160, None, None, 0.005, 1))
    assert [[blame.part.name for blame in blames] for blames in found.sets] == [[name]]


def test_a_degraded_part_is_described_in_plain_words():
    part = parts_of(summit())[0]

    def blame(factor, unknown=()):
        return DegradedPart(part, factor, factor, factor, {"g0.h2d": 40 * factor}, {"g0.h2d": 40.0}, unknown)

    def words(*sets, bad=()):
        return sentence(Diagnosis(sets, bad, 12, {"run": 12}, ()))

    link = "GPU 0's host NVLink runs at"
    assert words((blame(0.5),)) == f"{link} half speed (20.0 of 40.0 GB/s)"
    assert words((blame(0.25, ("g0.h2d",)),)) == f"{link} a quarter of its speed (10.0 of at least 40.0 GB/s)"
    assert words((blame(0.6),), (blame(0.7),)) == (
        f"either {link} 60 % of its speed (24.0 of 40.0 GB/s) or {link} 70 % of its speed (28.0 of 40.0 GB/s)"
    )
    slow = (SlowCell(parse("n0:g0"), 0.5, True), SlowCell(parse("n1:g3"), 0.5, False))
    assert words((blame(0.5),), bad=slow).endswith(" GB/s); this does not explain 1 of 2 slow cells")


@pytest.mark.parametrize("part, words", [
    ("g2.h2d", "devices/0000:3b:00.0/current_link_*`), then reseat or replace GPU 2 (0000:3b:00.0, slot 21)"),
    ("g2.nvlink", "the lanes of GPU 2 (0000:3b:00.0, slot 21) and their errors (`nvidia-smi nvlink -s -i 0000:3b:00.0`"),
    ("g0-g1.link", "`nvidia-smi topo -m` of GPU 0 (0000:1b:00.0) and GPU 1 (0000:2b:00.0)"),
    ("g0.memory", "`nvidia-smi -q -i 0000:1b:00.0 -d ECC,ROW_REMAPPER`, then reset or replace GPU 0"),
    ("switch:0000:81:00.0.up", "devices/0000:81:00.0/current_link_*`), then its riser"),
    ("n1.memory", "the DIMMs of NUMA node 1"),
    ("p0-p1", "between packages 0 and 1"),
    ("g0-g9.link", None), ("g3.memory", None), ("else", None),
])  # fmt: skip
def test_a_repair_has_the_addresses_of_its_part(part, words):
    addresses = ("0000:1b:00.0", "0000:2b:00.0", "0000:3b:00.0", "0000:4b:00.0")
    gpus = [Gpu(index, pci) for index, pci in enumerate(addresses)]
    gpus[2:] = replace(gpus[2], slot="21"), replace(gpus[3], vendor="amd")
    found = repair(part, replace(summit().node, gpus=tuple(gpus)))
    assert found == "" if words is None else words in found


def test_a_part_whose_factor_is_unknown_is_not_named():
    # Six GPUs at once are slowed by a direction and a memory; beside these, this part of g2's link may be anything.
    cells = ["g0:n0", "n1:g0", "g1:g0", "c0:n0/triad", "n1:g4+g4:n1", "n1:g5+g5:n1",
             "n0:g0+g0:n0+n0:g1+g1:n0+n0:g2+g2:n0+n1:g3+g3:n1+n1:g4+g4:n1+n1:g5+g5:n1"]  # fmt: skip
    ill = modelled(summit(), cells, {"n1.memory": 0.42, "g1.h2d": 0.45}, 0.005, 2)
    found = diagnose(summit(), ill, modelled(summit(), cells, None, 0.005, 1))
    assert [[blame.part.name for blame in blames] for blames in found.sets] == [["n1.memory"]]
    assert "0.000" not in sentence(found)
    assert len(found.unexplained) < len(found.bad)


def test_parts_that_explain_equally_with_unknown_factors_are_listed_and_not_named():
    part, other = parts_of(summit())[:2]
    wide = [(DegradedPart(one, 0.5, 0.0, 1.0, {}, {}, ()),) for one in (part, other)]
    assert not wide[0][0].certain
    slow = (SlowCell(parse("n0:g0"), 0.5, False),)
    found = Diagnosis((), slow, 12, {"run": 12}, (), tuple(wide))
    words = "either GPU 0's host NVLink or GPU 0's host NVLink from host to device is slow; these cells cannot tell them apart"
    assert sentence(found) == f"{words}: 1 cell slow"
    assert as_json(found, "modelled", "summit", "x")["undetermined"] == [[part.name], [other.name]]


# What a healthy run is trusted to


def from_host(hostname, uuids, factor=1.0, cells=("n0:g0", "n0:g1", "n0:g2")):
    node = {**make_node(hostname, gpus=[0] * len(uuids))}
    for gpu, uuid in zip(node["gpus"], uuids):
        gpu["uuid"] = uuid
    made = Document(node, "nearfar-copy", seed=len(hostname))
    for cell in cells:
        made.add({cell: 55.0 * factor * (0.92 if hostname == "ill" and cell == "n0:g1" else 1.0)}, 58.4)
    return from_raw(made.raw)


def told(document, healthy):
    node_type = node_type_of(document.node, "some")
    return diagnose(node_type, measured_cells(document), healthy_runs(document, healthy))


def test_a_healthy_run_of_the_same_machine_is_trusted_more_than_one_of_another():
    ill = from_host("ill", ["a", "b", "c"])
    before = told(replace(ill), [unscaled(ill)])
    assert [str(one.cell) for one in before.bad] == ["n0:g1"]
    assert before.origins == {"run": 3}
    other = told(ill, [from_host("other", ["d", "e", "f"])])
    assert (other.bad, other.origins) == ((), {"machines": 3})
    assert str(other.lowest.cell) == "n0:g1"
    assert "nothing is clearly slow; the lowest, n0:g1 has 92%" in sentence(other)


def unscaled(ill):
    """The same machine in good state."""
    raw = json.loads(json.dumps(ill.raw))
    for result in raw["results"]:
        if result["cell"] == "n0:g1":
            result["flows"][0]["rate"] = raw["results"][0]["flows"][0]["rate"]
    return from_raw(raw)


def test_the_host_name_alone_is_no_same_machine():
    ill = from_host("ill", ["a", "b", "c"])
    swapped = unscaled(from_host("ill", ["a", "b", "x"]))
    assert told(ill, [swapped]).origins == {"machines": 3}


def test_five_machines_are_better_than_one():
    ill = from_host("ill", ["a", "b", "c"])
    five = [from_host(f"host{n}", [f"{n}a", f"{n}b", f"{n}c"], 1 + 0.001 * n) for n in range(5)]
    assert not told(ill, five[:1]).bad
    assert [str(one.cell) for one in told(ill, five).bad] == ["n0:g1"]
    # The same other machine five times is still one.
    assert not told(ill, [five[0]] * 5).bad


def test_machines_that_differ_are_trusted_as_they_vary():
    ill = from_host("ill", ["a", "b", "c"])
    five = [from_host(f"host{n}", [f"{n}a", f"{n}b", f"{n}c"], 0.94 + 0.03 * n) for n in range(5)]
    assert not told(ill, five).bad


def test_nothing_compared_is_said():
    nothing = Diagnosis((), (), 0, {}, ())
    assert sentence(nothing) == "nothing was compared: no figure has a healthy one to compare it with"


def test_a_capacity_that_nobody_knows_can_still_be_blamed():
    node_type = load_node_type("keeneland", SITE)
    far = {
        f"{a}:{b}": 0.5
        for n, gpus in (("n0", "12"), ("n1", "0"))
        for g in gpus
        for a, b in ((n, f"g{g}"), (f"g{g}", n))
    }
    found = diagnose(node_type, modelled(node_type, None, far, 0.003), modelled(node_type))
    (blame,) = found.sets[0]
    assert blame.part.name == "p0-p1.link"
    assert set(blame.unknown) == {"p0-p1", "p1-p0"}
    assert blame.now["p0-p1"] == pytest.approx(4.9 / 2, rel=0.15)


def test_a_figure_that_varies_between_healthy_runs_is_not_bad():
    def scaled(cells, factor):
        return [
            replace(one, rates=tuple(rate * factor for rate in one.rates), total=one.total * factor) for one in cells
        ]

    cell = "n0:g0+n0:g1+n0:g2"
    runs = [one for factor in (0.92, 1.0, 1.05) for one in scaled(modelled(summit(), [cell]), factor)]
    low = scaled(modelled(summit(), [cell]), 0.9)
    well = modelled(summit(), ["n0:g0", "n0:g1", "n0:g2"])
    assert diagnose(summit(), well + low, well + modelled(summit(), [cell])).degraded
    assert not diagnose(summit(), well + low, well + runs).degraded


def test_nothing_to_compare_with():
    node_type = load_node_type("dl160", SITE)
    slow = [replace(one, cell=parse("n0:g0")) for one in modelled(summit(), ["n0:g0"])]
    with pytest.raises(CouldNotJudge, match="give nearfar diagnose a healthy run"):
        diagnose(node_type, slow)


# A real node


@cache
def real():
    names = ("host_device_check.json", "saturation.json", "stream.json", "peers.json", "peer_groups.json")
    return merge([load(H200 / name) for name in names])


def test_the_real_node_is_healthy_by_its_siblings_and_beside_itself():
    node_type = node_type_of(real().node, "h200")
    cells = measured_cells(real())
    assert not diagnose(node_type, cells).degraded
    assert not diagnose(node_type, cells, cells).degraded


@pytest.mark.parametrize(
    ("part", "crossing", "factor"),
    [("g2.d2h", "g2:n0", 0.6), ("g1.h2d", "n0:g1", 0.85)],
)
def test_a_slow_direction_laid_over_real_figures(part, crossing, factor):
    """The flow at its factor, where it was not slower already; what it leaves to others is not modelled here."""
    flow = parse(crossing).flows[0]
    alone = next(one.total for one in measured_cells(real()) if one.cell.lone and one.cell.flows[0] == flow)
    slow = []
    for one in measured_cells(real()):
        rates = tuple(min(rate, alone * factor) if f == flow else rate for f, rate in zip(one.cell.flows, one.rates))
        scale = sum(rates) / one.total
        slow.append(replace(one, rates=rates, total=sum(rates), interval=tuple(end * scale for end in one.interval)))
    found = diagnose(node_type_of(real().node, "h200"), slow, measured_cells(real()))
    (blame,) = found.sets[0]
    assert blame.part.name == part
    assert blame.factor == pytest.approx(factor, rel=0.03)


# The command


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    node_type = load_node_type("summit", SITE)
    cells = telling_cells(node_type.node)
    for name, factors in {"well": {}, "ill": {"g2.d2h": 0.5}}.items():
        document = modelled_document(node_type, cells, factors, 0.005, len(name))
        (folder / f"{name}.json").write_text(json.dumps(document))
    return folder


def run(capsys, *words):
    code = main(["diagnose", *map(str, words)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_command(capsys, documents):
    code, out, err = run(capsys, "--node", "summit", documents / "ill.json", "--healthy", documents / "well.json")
    assert (code, err) == (1, "")
    assert "g2.d2h is degraded to 0." in out
    assert "GPU 2's host NVLink from device to host" in out
    assert "(modelled)" in out.splitlines()[0]
    code, out, _ = run(capsys, "--node", "summit", documents / "well.json")
    assert (code, out.splitlines()[-1]) == (0, "nothing is slow")


def test_the_command_in_json(capsys, documents):
    words = ("--node", "summit", documents / "ill.json", "--healthy", documents / "well.json", "--json")
    code, out, _ = run(capsys, *words)
    found = json.loads(out)
    assert code == 1
    assert found["sets"][0][0]["part"] == "g2.d2h"
    low, high = found["sets"][0][0]["interval"]
    assert low < 0.5 < high or math.isclose(found["sets"][0][0]["factor"], 0.5, rel_tol=0.02)
    assert all(slow["explained"] for slow in found["slow"])


def test_a_measured_run_beside_a_modelled_one_is_refused(capsys, documents):
    code, _, err = run(capsys, H200 / "saturation.json", "--healthy", documents / "well.json")
    assert code == 2
    assert "is modelled" in err


def test_a_document_that_ends_early(capsys, tmp_path):
    (tmp_path / "half.json").write_text('{"schema": "nearfar-measurement/2",')
    code, _, err = run(capsys, tmp_path / "half.json")
    assert code == 3
    assert len(err.splitlines()) == 1


def test_responses_leave_out_what_nobody_can_predict():
    node_type = load_node_type("dl160", SITE)
    responses = Responses(node_type, telling_cells(node_type.node), parts_of(node_type))
    assert responses.cells == []
    assert responses.left_out
