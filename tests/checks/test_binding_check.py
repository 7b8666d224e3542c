"""binding_check under a real ReFrame: the programs of a site's file, and what comes of what they cost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from nearfar.base.verdicts import NOT_JUDGED
from tests.conftest import CHECKOUT
from tests.cost.fakes import SEEDED
from tests.support.launched_checks import judged

#: Takes half as long again as launched where its case says so.
APP = f"""#!{sys.executable} -S
{SEEDED}
if sys.argv[1] == "broken":
    sys.exit("no input file")
slow = sys.argv[1] == "slow" and scheme == "default"
print("Loop time of", (15 if slow else 10) * random.uniform(0.99, 1.01))
"""
#: Program -> its bound, the verdict of its finding, and its code.
CASES = {
    "good": ("20%", "PASS", "binding.within"),
    "slow": ("20%", "FAIL", "binding.beyond"),
    "told": ("", NOT_JUDGED, "binding.cost"),
    "broken": ("20%", "INDETERMINATE", None),
}
#: The same program as a file of site/applications/ has it.
APPLICATION = """application: named
description: the stand-in of this test
get: it is made by this test
run:
  command: [app, good]
  fom: 'Loop time of (\\S+)'
  expect: '^Loop'
  schemes: [default, right]
  threads_per_rank: 1
  no_gpus: true
  warm_up: 0
  runs: 8
  budget: 60
"""


def partition(folder: Path, case: str) -> str:
    """A line of the system file: a partition with one program."""
    bound = f", at_most: '{CASES[case][0]}'" if CASES[case][0] else ""
    program = (
        f"{{name: app, command: ['{folder}/bin/app', {case}], fom: 'Loop time of (\\S+)', schemes: [default, right], "
        f"threads_per_rank: 1, no_gpus: true, warm_up: 0, runs: 8, budget: 60{bound}}}"
    )
    return f"  - {{name: {case}, node_type: keeneland, features: [programs], programs: [{program}]}}\n"


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, Any]], str]:
    folder = tmp_path_factory.mktemp("binding")
    named = folder / "site" / "applications" / "named.yaml"
    named.parent.mkdir(parents=True)
    named.write_text(APPLICATION)
    lines_of_named = "  - {name: named, node_type: keeneland, features: [programs], programs: [{application: named, at_most: 20%}]}\n"
    none = "  - {name: none, node_type: keeneland, features: [programs]}\n"
    lines = "".join(partition(folder, case) for case in CASES) + lines_of_named + none
    return judged(folder, lines, "binding_check", "-c", str(CHECKOUT / "checks" / "long"), programs={"app": APP})


@pytest.mark.parametrize("case", CASES)
def test_verdicts(outcome: tuple[dict[str, dict[str, Any]], str], case: str) -> None:
    found, said = outcome
    assert case in found, said
    _, verdict, code = CASES[case]
    assert found[case]["verdict"] == verdict, found[case]["reasons"]
    (finding,) = (each for each in found[case]["findings"] if each["subject"] == "program/app")
    if code is None:
        assert "no input file" in finding["reason"]
    else:
        fields = finding["fields"]
        assert (finding["code"], fields["program"], fields["reference"]) == (code, "app", "right")
        assert fields["bound"] == (20 if CASES[case][0] else None) and fields["costs"][0].startswith("default ")
    assert ("app.default" in {metric["name"] for metric in found[case]["metrics"]}) == (case != "broken")


def test_a_partition_without_programs_is_told_how(outcome: tuple[dict[str, dict[str, Any]], str]) -> None:
    verdict = outcome[0]["none"]
    assert verdict["verdict"] == NOT_JUDGED and verdict["findings"][0]["code"] == "cells.no_program"


def test_an_application_is_named_by_the_partition(outcome: tuple[dict[str, dict[str, Any]], str]) -> None:
    found, said = outcome
    assert "named" in found, said
    assert found["named"]["verdict"] == "PASS", found["named"]["reasons"]
    assert [metric["name"] for metric in found["named"]["metrics"]] == ["named.default"]
