"""Fleets as arrays: the twin says of the same figures what the real tune, judge, own past and ``act`` say."""

from __future__ import annotations

import random
from functools import cache

import pytest

np = pytest.importorskip("numpy")

from benchmarks.fleet import aims, draining, faults, judging, noise, rules, shares, trials, twin  # noqa: E402
from benchmarks.fleet.columns import columns  # noqa: E402
from benchmarks.fleet.faults import FLEET_FAULTS, ONSET  # noqa: E402
from benchmarks.fleet.trials import Case  # noqa: E402
from benchmarks.simulated_nights import Night, levels  # noqa: E402

HOSTS = ("own", "shared")
NIGHTS = 8


def case(host: str, n: int = 10, nights: int = NIGHTS) -> Case:
    return Case(host, n, nights, 1)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "DRAWS", 2000)
    monkeypatch.setattr(noise.tables, "__defaults__", (2000,))


@pytest.mark.parametrize("host", HOSTS)
def test_the_twin_has_the_judges_words_and_drains(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "AGREEING_NIGHTS", NIGHTS)
    monkeypatch.setattr(faults, "ONSET", 4)
    nodes = [trials.real_node(case(host, 0), number) for number in range(4)]
    found = trials.agreement_of(case(host, 0), nodes)
    assert found.nights == 4 * NIGHTS and found.words[judging.FAIL] >= NIGHTS and found.drains > 0
    assert (found.same_word, found.same_drain) == (found.nights, found.nights)
    assert found.same == found.figures


def beside_a_neighbour(nodes: int, nights: int, source: np.random.Generator) -> np.ndarray:
    """H2D, STREAM and sums with H2D lose a fifth on two nights in a row."""
    found = np.ones((1, nights, len(columns())))
    h2d = np.array(["n0:g" in each.path.cell or each.path.kind == "stream" for each in columns()])
    found[:, 3:5, h2d] = 0.8
    return found


@pytest.mark.parametrize("host", HOSTS)
def test_two_nights_beside_a_neighbour_drain_nobody(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "AGREEING_NIGHTS", NIGHTS)
    monkeypatch.setattr(trials, "FLEET_FAULTS", {"neighbour": faults.FleetFault(beside_a_neighbour)})
    nodes = [trials.real_node(case(host, 0), number) for number in range(4)]
    found = trials.agreement_of(case(host, 0), nodes)
    assert found.words[judging.FAIL] == 4, "two nodes, two nights"
    assert (found.same_word, found.same_drain) == (found.nights, found.nights)
    assert found.drains == 0


@cache
def whole_past(host: str, name: str) -> tuple[object, object]:
    own = case(host, 10, ONSET + 60)
    source = np.random.default_rng(2)
    fleet = trials.made(own, 20, source)
    left = FLEET_FAULTS[name].left(20, ONSET + 60, source)
    limits = rules.limits([rules.file_of(each) for each in trials.pools(own, 1, source)])
    seen = judging.measured(fleet, left, source)
    return seen, twin.judged(seen, limits.of(np.zeros(20, dtype=int)))


@pytest.mark.parametrize("host", HOSTS)
def test_a_slow_drift_is_found_by_the_own_past_alone(host: str) -> None:
    _, found = whole_past(host, "drift 0.1 %/week")
    column = next(number for number, each in enumerate(columns()) if each.path.cell == "n0:g0")
    assert found.past[:, ONSET:, column].any(axis=1).mean() >= 0.9
    assert not found.past[:, :ONSET, column].any()


def test_what_comes_and_goes_is_drained_by_its_nights() -> None:
    words = np.zeros((2, 30, len(columns())), dtype=np.int8)
    words[0, [3, 13, 23], 1] = judging.FAIL
    words[1, [3, 23], 1] = judging.FAIL
    standing = draining.confirmed(words, np.zeros(words.shape, dtype=bool), trials.POLICY).any(axis=2)
    assert np.nonzero(standing[0])[0].tolist() == [23, 24] and not standing[1].any()


def test_a_new_driver_fails_nobody() -> None:
    after = trials.after_driver(case("own", 10), 8, 1, rolling=False)[0]
    assert (after.healthy.fails.events, after.healthy.drains.events) == (0, 0)
    assert after.told == 1 and after.lane.events == after.lane.trials > 0


@pytest.mark.parametrize("host", HOSTS)
def test_the_tables_of_noise_are_those_of_the_documents(host: str) -> None:
    source, made = random.Random(1), noise.tables(host, np.random.default_rng(1))
    flat = dict.fromkeys(levels(source), 1.0)
    nights = [Night(flat, host, source).values() for _ in range(60)]
    for each in columns():
        if each.path.cell in ("n0:g0", "n0:g0+g0:n0"):
            drawn = made[each.path.kind].plateau
            seen = np.array([night[each.path.cell] / each.nominal for night in nights])
            assert abs(seen.mean() - drawn.mean()) < 5 * max(seen.std(), 1e-4) / 60**0.5


def test_nights_of_one_node_are_not_independent() -> None:
    happened = np.zeros((100, 50), dtype=bool)
    happened[3] = True
    share = shares.of_nights(happened, np.ones_like(happened))
    assert share.part == pytest.approx(0.01) and share.independent < 200
    nothing = shares.of_nights(happened & False, np.ones_like(happened))
    assert nothing.bounds[1] == pytest.approx(shares.of_nodes(np.zeros(100, dtype=bool)).bounds[1])


def test_an_aim_that_is_not_met_says_so() -> None:
    worse = aims.Aim(
        "FAIL", 1000, 1, {"own": shares.Share(0, 10_000, 10_000), "shared": shares.Share(50, 10_000, 10_000)}
    )
    assert worse.line()[2:] == ["shared", "**not met** in 1 of 2"]
    assert aims.Aim("FAIL", 1000, 1, {}).line()[3] == "not looked at"
