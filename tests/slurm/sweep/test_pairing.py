"""Who is blamed for a slow pair of nodes: only who is slow with a node that is well with other partners."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.base.verdicts import NOT_JUDGED
from nearfar.slurm.results import Pair
from nearfar.slurm.sweep import pair_rounds
from nearfar.slurm.sweep.pair_rounds import NodeVerdict


def nodes(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


def all_rounds(
    names: Sequence[str], slow: Callable[[Pair], bool]
) -> tuple[dict[str, NodeVerdict], list[dict[Pair, str]]]:
    """The verdicts on all nodes, where ``slow`` says what measuring a pair shows."""
    rounds = list[dict[Pair, str]]()
    for _ in range(pair_rounds.ROUNDS):
        chosen = pair_rounds.next_round(names, together(rounds))
        rounds.append({pair: "FAIL" if slow(pair) else "PASS" for pair in chosen})
    return judged(names, rounds), rounds


def together(rounds: Sequence[dict[Pair, str]]) -> dict[Pair, str]:
    return {pair: verdict for each in rounds for pair, verdict in each.items()}


def judged(names: Sequence[str], rounds: Sequence[dict[Pair, str]]) -> dict[str, NodeVerdict]:
    return {name: pair_rounds.judge(name, together(rounds)) for name in names}


@given(st.integers(3, 40), st.data())
def test_slow_nodes_are_blamed_and_their_partners_are_not(count: int, data: st.DataObject) -> None:
    """As long as one pair of the first round has no slow node."""
    names = nodes(count)
    bad = data.draw(st.sets(st.sampled_from(names[2:]), max_size=count - 2))
    found, _ = all_rounds(names, lambda pair: bool(bad & set(pair)))
    assert {name for name, judged in found.items() if judged.verdict == "FAIL"} == bad
    assert all(found[name].verdict == "PASS" for name in set(names) - bad)


@given(st.integers(2, 20))
def test_the_first_round_has_disjoint_pairs_and_the_odd_one_has_its_turn(count: int) -> None:
    names = nodes(count)
    measured = [node for pair in pair_rounds.next_round(names, {}) for node in pair]
    assert len(measured) == len(set(measured)) == count - count % 2
    found, _ = all_rounds(names, lambda pair: False)
    assert all(judged.verdict == "PASS" for judged in found.values())


def test_nobody_is_blamed_for_what_lies_between_two_good_nodes() -> None:
    found, _ = all_rounds(nodes(6), lambda pair: set(pair) == {"n2", "n3"})
    assert {judged.verdict for judged in found.values()} == {"PASS"}
    assert "not with n3" in found["n2"].words


def test_without_a_node_that_passed_nobody_is_blamed() -> None:
    found, rounds = all_rounds(nodes(4), lambda pair: True)
    assert [sorted("+".join(sorted(pair)) for pair in each) for each in rounds] == [
        ["n0+n1", "n2+n3"],
        ["n0+n2", "n1+n3"],
        ["n0+n3", "n1+n2"],
    ]
    assert {judged.verdict for judged in found.values()} == {"INDETERMINATE"}
    assert "neither is blamed" in found["n0"].words


@pytest.mark.parametrize("bad", [{"n0", "n2"}, {"n0", "n3"}])
def test_where_every_pair_has_a_slow_node_partners_are_changed(bad: set[str]) -> None:
    found, rounds = all_rounds(nodes(4), lambda pair: bool(bad & set(pair)))
    assert {name for name, judged in found.items() if judged.verdict == "FAIL"} == bad, rounds
    assert {judged.verdict for name, judged in found.items() if name not in bad} == {"PASS"}


def test_one_measurement_alone_blames_nobody() -> None:
    """The odd node of three has a second partner before it is blamed; of two nodes neither ever is."""
    found, rounds = all_rounds(nodes(3), lambda pair: "n2" in pair)
    assert [list(each) for each in rounds] == [[Pair("n0", "n1")], [Pair("n0", "n2")], [Pair("n1", "n2")]]
    assert found["n2"].verdict == "FAIL" and found["n2"].words.startswith(
        "MPI between nodes is too slow or wrong with n0 and n1"
    )
    only = judged(nodes(3), rounds[:2])["n2"]
    assert (only.verdict, "to confirm it" in only.words) == ("INDETERMINATE", True)
    assert {each.verdict for each in all_rounds(nodes(2), lambda pair: True)[0].values()} == {"INDETERMINATE"}


@given(st.integers(2, 12), st.data())
def test_who_is_well_with_somebody_is_never_blamed(count: int, data: st.DataObject) -> None:
    """Whatever the pairs show: a blamed node is slow with two, one of whom is well with a third, and well with nobody."""
    words = st.sampled_from(["PASS", "DEGRADED", "FAIL", "INDETERMINATE", NOT_JUDGED])
    names, rounds = nodes(count), list[dict[Pair, str]]()
    for _ in range(pair_rounds.ROUNDS):
        chosen = pair_rounds.next_round(names, together(rounds))
        assert not {frozenset(pair) for pair in chosen} & {frozenset(p) for each in rounds for p in each}
        rounds.append({pair: data.draw(words) for pair in chosen})
    shown = [(pair, verdict) for each in rounds for pair, verdict in each.items()]
    well = {node for pair, verdict in shown if verdict in ("PASS", "DEGRADED") for node in pair}
    works = {node for pair, verdict in shown if verdict == NOT_JUDGED for node in pair}
    for name, each in judged(names, rounds).items():
        assert (each.verdict == "PASS") == (name in well), "what nobody judged is not well"
        slow = {*(n for pair, v in shown if v == "FAIL" and name in pair for n in pair)} - {name}
        assert (each.verdict == "FAIL") == (len(slow) >= 2 and bool(slow & well) and name not in well | works)


def test_pairs_of_which_nothing_was_judged_are_no_answer() -> None:
    """MPI works and nothing says how fast it should be: nobody is blamed, and nobody passes."""
    rounds = [{Pair("n0", "n1"): NOT_JUDGED}]
    assert pair_rounds.next_round(nodes(2), rounds[0]) == [], "measuring again would say nothing new"
    for name, partner in (("n0", "n1"), ("n1", "n0")):
        verdict = judged(nodes(2), rounds)[name]
        assert verdict.verdict == "INDETERMINATE"
        assert verdict.words.startswith(
            f"MPI between nodes works with {partner}, and no figure of it was judged: nearfar tune"
        )


def test_a_lone_node_is_not_measured() -> None:
    found, _ = all_rounds(["n0"], lambda pair: False)
    assert (found["n0"].verdict, "no second node" in found["n0"].words) == ("INDETERMINATE", True)


def test_what_could_not_be_judged_twice_is_no_failure() -> None:
    one, two = Pair("n0", "n1"), Pair("n2", "n3")
    rounds = [{one: "PASS", two: "INDETERMINATE"}]
    rounds.append(dict.fromkeys(pair_rounds.next_round(nodes(4), rounds[0]), "INDETERMINATE"))
    assert pair_rounds.next_round(nodes(4), together(rounds)) == []
    found = judged(nodes(4), rounds)
    assert [found[name].verdict for name in nodes(4)] == ["PASS", "PASS", "INDETERMINATE", "INDETERMINATE"]
