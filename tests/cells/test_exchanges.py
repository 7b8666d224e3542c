"""One to all, all to one, disjoint pairs and halves of the GPUs: which cells, what they should be, what is predicted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.cells import (
    ALL_TO_ONE,
    ONE_TO_ALL,
    ONE_WAY,
    PAIRS,
    Cell,
    Exchange,
    bisection,
    decode_cell,
    encode_cell,
    exchange_of,
    exchanges,
    flow_class,
    parse,
    peer_matrix,
)
from nearfar.measurement.document import from_raw
from nearfar.model.calibration import calibrate, measured_cells
from nearfar.model.diagnosis import diagnose
from nearfar.model.prediction import NodeType, load_node_type, modelled_document, predict
from nearfar.model.prediction.node_types import implied_capacities
from nearfar.topology import Node, parse_hwloc_xml
from tests.cells.test_peer_cells import SUMMIT, node, words
from tests.conftest import CHECKOUT
from tests.measurement.test_peer_figures import H200, document, expected, figures, judged

#: Up to here a run measures all of it; with more GPUs representatives.
COUNTS = {2: 0, 3: 6, 4: 13, 6: 20, 8: 13, 16: 8}


def of_pattern(cells: list[Cell], pattern: str) -> list[Exchange]:
    return [e for e in map(exchange_of, cells) if e is not None and e.pattern == pattern]


def test_four_gpus_behind_a_switch() -> None:
    cells, skips = exchanges(node(1, 4))
    assert words(cells) == [
        "g0:g1@g1+g0:g2@g2+g0:g3@g3", "g1:g0@g0+g1:g2@g2+g1:g3@g3", "g2:g0@g0+g2:g1@g1+g2:g3@g3",
        "g3:g0@g0+g3:g1@g1+g3:g2@g2",
        "g1:g0+g2:g0+g3:g0", "g0:g1+g2:g1+g3:g1", "g0:g2+g1:g2+g3:g2", "g0:g3+g1:g3+g2:g3",
        "g0:g1+g1:g0+g2:g3+g3:g2", "g0:g2+g2:g0+g1:g3+g3:g1", "g0:g3+g3:g0+g1:g2+g2:g1",
        "g0:g2+g1:g3", "g2:g0+g3:g1",
    ]  # fmt: skip
    assert skips == []


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("link", ["NV18", None])
def test_a_run_stays_short(count: int, link: str | None) -> None:
    known = node(2, count // 2, link) if count % 2 == 0 else node(1, count, link)
    cells, _ = exchanges(known)
    if link:
        assert len(cells) == COUNTS[count]
    assert len(cells) <= 30


@given(
    packages=st.integers(1, 4),
    each=st.integers(1, 4),
    link=st.sampled_from(["NV18", None]),
    hidden=st.sets(st.integers(0, 15), max_size=3),
)
def test_what_holds_of_every_node(packages: int, each: int, link: str | None, hidden: set[int]) -> None:
    known = node(packages, each, link)
    known = replace(known, gpus=tuple(replace(gpu, visible=gpu.index not in hidden) for gpu in known.gpus))
    cells, skips = exchanges(known)
    assert len(set(cells)) == len(cells)
    assert not set(cells) & set(peer_matrix(known)[0])
    for cell in cells:
        assert exchange_of(cell) is not None, f"{cell} is no exchange"
        drivers = [flow.driver or flow.source for flow in cell.flows]
        assert len(set(drivers)) == len(drivers), f"{cell}: two flows of one engine: one of them would get nothing"
        assert not {gpu for flow in cell.flows for gpu in flow.gpus} & hidden, f"{cell} has a hidden GPU"
        assert decode_cell(encode_cell(cell)) == cell
    for skip in skips:
        exchange = exchange_of(skip.cell)
        assert exchange is not None and skip.code == ("denied" if exchange.hub in hidden else "representative")
    pairs = Counter(pair for e in of_pattern(cells, PAIRS) for pair in e.pairs)
    for exchange in of_pattern(cells, PAIRS) + of_pattern(cells, ONE_WAY):
        gpus = [gpu for pair in exchange.pairs for gpu in pair]
        assert len(set(gpus)) == len(gpus), f"{exchange}: a GPU is in two pairs"
    assert max(pairs.values(), default=0) <= 2, "a pair has its round, and may be in the halves' cell"


@pytest.mark.parametrize("count", range(4, 9))
def test_rounds_are_a_tournament(count: int) -> None:
    cells = exchanges(node(1, count))[0]
    rounds = of_pattern(cells, PAIRS)[: count - 1 + count % 2]
    assert len(rounds) == count - 1 + count % 2
    assert all(len(e.pairs) == count // 2 for e in rounds), "every GPU is in a pair; of an odd number one waits"
    assert sorted(pair for e in rounds for pair in e.pairs) == list(combinations(range(count), 2))


def test_a_round_has_pairs_of_one_class() -> None:
    cells = exchanges(SUMMIT)[0]
    for cell in cells:
        exchange = exchange_of(cell)
        assert exchange is not None
        if exchange.pattern == PAIRS:
            assert len({flow_class(SUMMIT, flow) for flow in cell.flows}) == 1
    # NVLink joins the three GPUs of a package: one to all means these.
    assert "g0:g1@g1+g0:g2@g2" in words(cells) and "g3:g0@g0+g4:g0" not in words(cells)
    classes = Counter(flow_class(SUMMIT, cell.flows[0]) for cell in cells if of_pattern([cell], PAIRS))
    assert classes == {"NV2": 3, "SYS_off": 3}


def test_halves_are_the_packages() -> None:
    assert words(bisection(node(2, 3))) == [
        "g0:g3+g1:g4+g2:g5", "g3:g0+g4:g1+g5:g2", "g0:g3+g3:g0+g1:g4+g4:g1+g2:g5+g5:g2",
    ]  # fmt: skip
    mixed = node(2, 2)
    mixed = replace(mixed, gpus=tuple(replace(gpu, package=gpu.index % 2) for gpu in mixed.gpus))
    assert words(bisection(mixed))[0] == "g0:g1+g2:g3"
    assert words(bisection(node(2, 2, known=False)))[0] == "g0:g2+g1:g3"
    assert bisection(node(1, 3)) == []


def test_a_hidden_gpu_is_denied_and_the_others_go_on() -> None:
    known = node(1, 4)
    known = replace(known, gpus=(*known.gpus[:3], replace(known.gpus[3], visible=False)))
    cells, skips = exchanges(known)
    assert words(cells)[0] == "g0:g1@g1+g0:g2@g2"
    assert [(str(skip.cell), skip.code) for skip in skips] == [
        ("g3:g0@g0+g3:g1@g1+g3:g2@g2", "denied"), ("g0:g3+g1:g3+g2:g3", "denied"),
    ]  # fmt: skip


def test_many_gpus_have_representatives() -> None:
    cells, skips = exchanges(node(2, 8))
    assert {e.hub for e in of_pattern(cells, ONE_TO_ALL)} == {e.hub for e in of_pattern(cells, ALL_TO_ONE)} == {0, 8}
    assert len(skips) == 28 and {skip.code for skip in skips} == {"representative"}
    assert skips[0].reason == "represented by GPU 0's (same package)"


@pytest.mark.parametrize(
    "cell, exchange",
    [
        ("g0:g1@g1+g0:g2@g2", Exchange(ONE_TO_ALL, 0)),
        ("g1:g0+g2:g0", Exchange(ALL_TO_ONE, 0)),
        ("g0:g1+g0:g2", None),
        ("g1:g0@g0+g2:g0@g0", None),
        ("g0:g2+g1:g3", Exchange(ONE_WAY, pairs=((0, 2), (1, 3)))),
        ("g2:g0+g3:g1", Exchange(ONE_WAY, pairs=((2, 0), (3, 1)))),
        ("g3:g2+g0:g1+g2:g3+g1:g0", Exchange(PAIRS, pairs=((2, 3), (0, 1))[::-1])),
        ("g0:g1+g1:g0", None),
        ("g0:g1+g1:g2+g2:g0", None),
        ("g0:g1+g2:g3+g3:g2", None),
        ("g1:g0/staged+g2:g0/staged", None),
        ("g1:g0/sm+g2:g0/sm", None),
        ("n0:g0+n0:g1", None),
        ("g0:g1", None),
    ],
)
def test_which_exchange_a_cell_is(cell: str, exchange: Exchange | None) -> None:
    assert exchange_of(parse(cell)) == exchange


@pytest.mark.parametrize("file", sorted((CHECKOUT / "tests/data/topologies").glob("*.xml")), ids=lambda f: f.stem)
def test_any_topology(file: Any) -> None:
    cells, skips = exchanges(parse_hwloc_xml(file.read_text()))
    assert len(cells) <= 30
    assert all(exchange_of(cell) is not None for cell in [*cells, *(skip.cell for skip in skips)])


# What they should be

ONE = "g0:g1@g1+g0:g2@g2+g0:g3@g3"
ALL = "g1:g0+g2:g0+g3:g0"
ROUND = "g0:g1+g1:g0+g2:g3+g3:g2"
HALF = "g0:g2+g1:g3"


def test_how_one_to_all_divides_blames_nobody() -> None:
    """Measured on four healthy H200s."""
    measured = {
        ONE: [133.0, 133.0, 133.0],
        "g1:g0@g0+g1:g2@g2+g1:g3@g3": [198.0, 100.8, 100.8],
        "g2:g0@g0+g2:g1@g1+g2:g3@g3": [95.0, 96.2, 200.2],
        "g3:g0@g0+g3:g1@g1+g3:g2@g2": [128.0, 127.3, 122.5],
    }
    found = expected(document(measured))
    assert {name for name, reference in found.items() if reference is not None and ".of." in name} == set()
    totals = [reference for name, reference in found.items() if name.endswith(".total")]
    assert {reference.origin for reference in totals if reference} <= {"siblings"}  # of the lanes nothing is asserted


@pytest.mark.parametrize("cell", [ONE, ALL, ROUND, HALF])
def test_what_many_carry_at_once_is_no_guess_from_their_lanes(cell: str) -> None:
    found = expected(document({cell: 390.0}))
    assert {reference.origin for reference in found.values() if reference is not None} <= {"siblings"}


def test_a_ceiling_is_that_of_the_lanes_that_flows_share() -> None:
    raw = document({ONE: 133.0, ALL: 133.0, ROUND: 390.0}).raw
    for result in raw["results"]:
        for flow in result["flows"]:
            flow["ceiling"] = 400.0
    totals = {len(m.cell.flows): m.ceiling for m in figures(from_raw(raw)).values() if m.total}
    assert totals == {3: 400.0, 4: 1600.0}
    meshed = replace(H200, peers=dict.fromkeys(H200.peers, "NV6"))
    assert {m.ceiling for m in figures(from_raw(raw), meshed).values() if m.total} == {1200.0, 1600.0}


def test_nothing_is_asserted_where_pairs_share_what_nobody_describes() -> None:
    for unknown in (
        replace(H200, peers={}),
        replace(H200, gpus=tuple(replace(g, nvlink_generation=3) for g in H200.gpus)),
    ):
        made = document({ONE: 20.0, ALL: 20.0, ROUND: 20.0, HALF: 20.0}, unknown)
        found = expected(made, node=unknown)
        assert {name for name, reference in found.items() if reference and reference.lowest is not None} == set()


def test_fairness_and_a_gpu_that_sends_too_little_in_all() -> None:
    ones = [str(cell) for cell in exchanges(H200)[0] if of_pattern([cell], ONE_TO_ALL)]
    rates: dict[str, Any] = {cell: [131.0, 130.0, 134.0] for cell in ones}
    assert judged(document(rates))["verdict"] == "PASS"
    found = figures(document(rates))
    assert found["NV18_fairness.g0_g1_at_g1__g0_g2_at_g2__g0_g3_at_g3"].value == pytest.approx(130 / 134)
    short = judged(document({**rates, ones[2]: [90.0, 90.0, 90.0]}))
    assert short["verdict"] == "DEGRADED"
    words = "GPU 2 to GPUs 0, 1, 3 at once, together: 270.0 GB/s, expected at least 355.5 GB/s (siblings: 395.0 GB/s, "
    assert any(r.startswith(words) for r in short["reasons"])


def test_of_a_round_the_sum_is_judged() -> None:
    made = judged(document({ROUND: [390.0, 390.0, 200.0, 390.0]}))
    slow = next(m for m in made["metrics"] if m["flow"] == "g2:g3")
    assert slow["reason"] == (
        "GPU 2 to GPU 3, of GPU pairs 0 and 1, 2 and 3 at once, both directions: 200.0 GB/s, not judged: the sum is judged"
    )


def test_a_site_may_say_what_a_class_carries() -> None:
    from nearfar.verdict.references import row_keys

    found = figures(document({ONE: 133.0, ROUND: 390.0, HALF: 390.0}))
    keys = {metric.name: row_keys(metric)[1:] for metric in found.values()}
    assert keys["NV18.g0_g1_at_g1__g0_g2_at_g2__g0_g3_at_g3.total"] == ["NV18.one_to_all.total"]
    assert keys["NV18.g0_g1_at_g1__g0_g2_at_g2__g0_g3_at_g3.of.g0_g2_at_g2"] == ["NV18.one_to_all.read"]
    assert keys["NV18.g0_g1__g1_g0__g2_g3__g3_g2.of.g3_g2"] == ["NV18.pairs.write"]
    assert keys["NV18.g0_g2__g1_g3.of.g1_g3"] == ["NV18.one_way.write"]
    assert keys["NV18.g0_g2__g1_g3.total"] == keys["NV18_fairness.g0_g2__g1_g3"] == []


# What is predicted, calibrated and blamed


def switched(value: float | None = None) -> NodeType:
    """Four GPUs behind an NVLink switch; ``value``: what each one's lanes carry each way."""
    capacities = {
        name: replace(c, value=value) if name.endswith((".out", ".in")) else c
        for name, c in implied_capacities(H200).items()
    }
    return NodeType("switched", H200, capacities)


def test_a_switch_limits_by_the_lanes_of_the_one() -> None:
    known = switched(394.0)
    for cell, limit in ((ONE, "g0.out"), (ALL, "g0.in")):
        prediction = predict(parse(cell), known)
        assert prediction.total == pytest.approx(394.0) and prediction.limited_by == (limit,)
        assert list(prediction.flows.values()) == pytest.approx([394.0 / 3] * 3)
    assert predict(parse(ROUND), known).total == pytest.approx(4 * 394.0)
    unknown = predict(parse(ONE), switched())
    assert (unknown.total, unknown.limited_by) == (pytest.approx(400.0), ("g0.out",)), "the lanes' payload at best"
    assert unknown.unknown


def test_pairs_with_lanes_of_their_own_add_up_and_those_through_the_host_are_not_guessed() -> None:
    summit = load_node_type("summit", [CHECKOUT / "site"])
    assert predict(parse("g0:g1+g1:g0+g3:g4+g4:g3"), summit).total == pytest.approx(92.66 + 93.1)
    across = predict(parse("g0:g3+g1:g4+g2:g5"), summit)
    assert across.unknown[0].source == "how flows between GPUs share their way is not described"
    skipped = modelled_document(summit, exchanges(SUMMIT)[0])["skipped"]
    assert {entry["code"] for entry in skipped} == {"unsupported"}


def peers_of(known: NodeType, **degrade: float) -> list[Any]:
    cells = [*peer_matrix(H200)[0], *exchanges(H200)[0]]
    direct = [cell for cell in cells if not cell.flows[0].staged]
    factors = {name.replace("_", "."): factor for name, factor in degrade.items()}
    return measured_cells(from_raw(modelled_document(known, direct, factors, noise=0.002, seed=1)))


def test_what_leaves_and_what_enters_a_gpu_is_calibrated_apart() -> None:
    values = {f"g{g}.{way}": 390.0 + 2 * g + (5 if way == "in" else 0) for g in range(4) for way in ("out", "in")}
    known = switched()
    known = replace(known, capacities={n: replace(c, value=values.get(n)) for n, c in known.capacities.items()})
    found = calibrate(switched(), peers_of(known))
    for name in ("g0.out", "g3.out"):
        assert found.estimates[name].value == pytest.approx(values[name], rel=0.02), name
    assert not found.unexplained


@pytest.mark.parametrize("factor", [0.5, 0.89])
def test_a_gpu_with_fewer_lanes_is_blamed(factor: float) -> None:
    known = switched(395.0)
    found = diagnose(known, peers_of(known, g2_out=factor, g2_in=factor), peers_of(known))
    (blame,) = found.sets[0]
    assert blame.part.name == "g2.nvlink" and blame.factor == pytest.approx(factor, rel=0.02)
    assert not found.unexplained


def test_real_all_to_one_and_pairs_pass() -> None:
    """Four H200s: what a switch carried. One to all was written then, and one flow got everything."""
    from nearfar import measurement

    real = measurement.load(CHECKOUT / "tests/data/h200-x4/peer_groups.json")
    seen: Node = real.node
    metrics = [m for m in measurement.metrics(real, seen) if exchange_of(m.cell) is not None]
    assert {str(m.cell) for m in metrics} == {ALL, "g0:g2+g1:g3+g2:g0+g3:g1", "g0:g1+g2:g3"}
    from nearfar.verdict import references

    found = references.resolve(metrics, "peer_check", [], seen)
    bounds = [(m.value, r.degraded_below or 0.0) for m in metrics if (r := found[m.name]) is not None]
    assert all(value >= bound for value, bound in bounds)
