"""Who is blamed for a slow pair of nodes: only who is slow with a node that is well with others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from nearfar.slurm.sweep import pairing
from nearfar.slurm.sweep.pairing import Judged, Pair


def nodes(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


def both_rounds(names: Sequence[str], slow: Callable[[Pair], bool]) -> tuple[dict[str, Judged], list[dict[Pair, str]]]:
    """The verdicts on all nodes, where ``slow`` says what measuring a pair shows."""
    rounds = [{pair: "FAIL" if slow(pair) else "PASS" for pair in pairing.first(names)}]
    rounds.append({pair: "FAIL" if slow(pair) else "PASS" for pair in pairing.again(names, rounds[0])})
    return pairing.judge(names, rounds), rounds


@given(st.integers(3, 40), st.data())
def test_slow_nodes_are_blamed_and_their_partners_are_not(count: int, data: st.DataObject) -> None:
    """As long as one pair of the first round has no slow node."""
    names = nodes(count)
    bad = data.draw(st.sets(st.sampled_from(names[2:]), max_size=count - 2))
    found, _ = both_rounds(names, lambda pair: bool(bad & set(pair.nodes)))
    assert {name for name, judged in found.items() if judged.verdict == "FAIL"} == bad
    assert all(found[name].verdict == "PASS" for name in set(names) - bad)


@given(st.integers(2, 20))
def test_the_first_round_has_disjoint_pairs_and_the_odd_one_has_its_turn(count: int) -> None:
    names = nodes(count)
    measured = [node for pair in pairing.first(names) for node in pair.nodes]
    assert len(measured) == len(set(measured)) == count - count % 2
    found, _ = both_rounds(names, lambda pair: False)
    assert all(judged.verdict == "PASS" for judged in found.values())


def test_nobody_is_blamed_for_what_lies_between_two_good_nodes() -> None:
    found, rounds = both_rounds(nodes(6), lambda pair: set(pair.nodes) == {"n2", "n3"})
    assert {judged.verdict for judged in found.values()} == {"PASS"}
    assert pairing.together_alone(found, rounds) == [Pair("n2", "n3")]
    assert "not with n3" in found["n2"].words


def test_without_a_node_that_passed_nobody_is_blamed() -> None:
    found, rounds = both_rounds(nodes(4), lambda pair: True)
    assert rounds[1] == {} and {judged.verdict for judged in found.values()} == {"INDETERMINATE"}
    assert "neither is blamed" in found["n0"].words


def test_a_lone_node_is_not_measured() -> None:
    found, _ = both_rounds(["n0"], lambda pair: False)
    assert (found["n0"].verdict, "no second node" in found["n0"].words) == ("INDETERMINATE", True)


def test_what_could_not_be_judged_twice_is_no_failure() -> None:
    one, two = Pair("n0", "n1"), Pair("n2", "n3")
    rounds = [{one: "PASS", two: "INDETERMINATE"}]
    second = dict.fromkeys(pairing.again(nodes(4), rounds[0]), "INDETERMINATE")
    found = pairing.judge(nodes(4), [*rounds, second])
    assert [found[name].verdict for name in nodes(4)] == ["PASS", "PASS", "INDETERMINATE", "INDETERMINATE"]
