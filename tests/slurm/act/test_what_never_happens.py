"""Each guarantee of docs/reference/states.md, ``NEVER``, has tests."""

from __future__ import annotations

import ast
import sys

import pytest

from tests.conftest import CHECKOUT

sys.path.insert(0, str(CHECKOUT / "setup"))

from node_state_tables import NEVER

#: The tests of each guarantee, in the same order.
TESTS = [
    (
        "act/test_histories.py::test_no_finding_is_lost_whatever_happens",
        "act/test_clear.py::test_what_we_drained_is_in_use_and_what_others_drained_is_not",
    ),
    (
        "act/test_killed_in_drains.py::test_the_next_call_fills_the_cap",
        "act/test_judge_nodes.py::test_what_always_holds",
    ),
    (
        "drains/test_caps.py::test_no_drain_of_ours_leaves_fewer_than_the_floor",
        "act/test_judge_nodes.py::test_what_always_holds",
    ),
    (
        "act/test_act.py::test_a_passing_run_resumes_nothing",
        "act/test_retest.py::test_in_use_again_only_after_it_passed",
        "act/test_retest_killed.py::test_killed_at_every_step",
    ),
    (
        "act/test_histories.py::test_no_finding_is_lost_whatever_happens",
        "act/test_act.py::test_another_program_s_drain_and_resume_closes_nothing",
    ),
    (
        "act/test_act.py::test_findings_that_are_not_believed",
        "act/test_admin_host.py::test_a_result_of_another_cluster_is_refused",
        "findings/test_intake.py::test_a_directory_that_somebody_can_put_another_in_the_place_of",
    ),
    (
        "act/test_judge_nodes.py::test_runs_that_could_not_be_judged_never_act",
        "findings/test_confirmation.py::test_what_confirms_nothing",
        "act/test_judge_nodes.py::test_a_site_that_says_nothing_is_only_observed",
    ),
    ("findings/test_intake.py::test_pairs_of_nodes_never_drain",),
    (
        "act/test_transitions.py::test_many_nodes_at_once_are_held_but_wrong_data_is_not",
        "findings/test_shared_faults.py::test_whichever_part_it_is_on_each_node",
    ),
    (
        "act/test_node_states.py::test_a_state_that_is_not_known_is_left_alone_and_told",
        "act/test_act.py::test_a_slurmctld_that_is_away_and_comes_back",
    ),
    (
        "act/test_admin_host.py::test_on_a_full_disk_nothing_is_drained_that_is_not_written_down",
        "act/test_admin_host.py::test_of_two_hosts_without_locks_the_second_drains_nothing",
    ),
]


@pytest.mark.parametrize(("guarantee", "tests"), list(zip(NEVER, TESTS, strict=True)))
def test_its_tests_are_there(guarantee: str, tests: tuple[str, ...]) -> None:
    for name in tests:
        file, _, test = name.partition("::")
        tree = ast.parse((CHECKOUT / "tests/slurm" / file).read_text(encoding="utf-8"))
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, (guarantee, name)
