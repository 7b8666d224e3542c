"""mpi_check under a real ReFrame, with a fake program and a fake launcher: two pairs of ranks on Keeneland's node."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from nearfar import report
from nearfar.run import run_file
from tests.conftest import CHECKOUT
from tests.support.launched_checks import judged, partition

#: Stands in for nearfar-contention: the document of both pairs, as bad as the case says.
FAKE_PROGRAM = f"""#!{sys.executable}
import json, os, sys
from pathlib import Path
sys.path.insert(0, {str(CHECKOUT)!r})
from tests.mpi.test_numa_pairs import raw
case = os.environ["FAKE_CASE"]
words = sys.argv[1:]
assert words[words.index("--between") + 1] == "0-0,0-1", words
assert os.environ["FAKE_RANKS"] == "4", os.environ["FAKE_RANKS"]
if case == "refused":
    print("nearfar-contention: rank 0 on n: --between: n has no cores on NUMA node 1\\n-----", file=sys.stderr)
    sys.exit(2)
document = raw(cpus=("2", "4")) if case == "misplaced" else raw()
document["node"]["gpus"] = []  # those of the node at hand are others
for result in document["results"]:
    if case == "slow" and result["cell"] == "n0-n1/stream_1MiB":
        for rate in (result["total"], result["flows"][0]["rate"]):
            rate.update(median=2.0, ci=[1.9, 2.1])
if case == "half":
    document["results"] = document["results"][:3]
Path(next(w for w in words if w.startswith("--json=")).partition("=")[2]).write_text(json.dumps(document))
"""
REFERENCES = """
provenance: {tuned: {date: 2026-11-20, stamp: {}, n: 6, runs: [one], command: test}}
mpi_check:
  same_numa_node.pingpong_8B: [0.4, null, 0.3, us]
  openmpi.across_packages.stream_1MiB: [4.0, -0.3, null, GB/s]
  across_packages_over_same_numa_node.n0_n1.pingpong_8B: [2.0, null, 0.25, '1']
"""
#: Case -> the verdict, and what is said.
CASES = {
    "good": ("PASS", ""),
    "slow": ("FAIL", "1 MiB stream of messages, host memory, n0 (beside g0) and n1 (beside g1, g2): across packages"),
    "misplaced": ("INDETERMINATE", "n0-n1/pingpong_8B binding: a rank ran on CPUs '4', not on those of NUMA node 1"),
    "half": ("INDETERMINATE", "n0-n1/pingpong_8B"),
    "refused": ("INDETERMINATE", "nearfar-contention: rank 0 on n: --between: n has no cores on NUMA node 1"),
}


def asked(folder: Path, partitions: str, program: bool = True) -> tuple[dict[str, dict[str, Any]], str]:
    """The verdict of each partition, and what ReFrame said."""
    return judged(
        folder, partitions, "mpi_check", "-S", "mpi_check.look_spacing=0",
        programs={"nearfar-contention": FAKE_PROGRAM} if program else {}, references={"strict": REFERENCES},
    )  # fmt: skip


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, Any]], str, Path]:
    folder = tmp_path_factory.mktemp("mpi")
    found, said = asked(folder, "".join(partition(case, case, ", references: strict") for case in CASES))
    return found, said, folder / "run"


@pytest.mark.parametrize("case", CASES)
def test_verdicts(outcome: tuple[dict[str, dict[str, Any]], str, Path], case: str) -> None:
    found, said, _ = outcome
    assert case in found, said
    verdict, words = CASES[case]
    assert found[case]["verdict"] == verdict, found[case]["reasons"]
    assert words in " ".join([*found[case]["reasons"], ""])


def test_references_of_the_mpi_judge_its_times_and_no_ratio_of_them(
    outcome: tuple[dict[str, dict[str, Any]], str, Path],
) -> None:
    metrics = {metric["name"]: metric["verdict"] for metric in outcome[0]["good"]["metrics"]}
    judged_ones = {name for name, verdict in metrics.items() if verdict == "PASS"}
    assert {"same_numa_node.n0_n0.pingpong_8B", "across_packages.n0_n1.stream_1MiB"} <= judged_ones
    assert metrics["across_packages_over_same_numa_node.n0_n1.pingpong_8B"] == "not judged"


def test_the_page_has_the_pairs_and_what_the_wrong_one_costs(
    outcome: tuple[dict[str, dict[str, Any]], str, Path],
) -> None:
    folder = outcome[2]
    run_file.adopt(folder)
    report.build(folder)
    page = (folder / "index.html").read_text()
    assert "n0-n1/pingpong_8B" in page and "n0-n1/stream_1MiB" in page
    assert "over same numa node 2.00" in page and "over same numa node 0.50" in page
    lines = report.summary(folder, every=True)
    assert re.search(r"^FAIL +mpi@slow\+system +across packages stream 1MiB +2\.00 GB/s +4\.00 +50 %$", lines, re.M), (
        lines
    )


def test_no_mpi_is_indeterminate_and_says_what_to_install(tmp_path: Path) -> None:
    found, said = asked(tmp_path, partition("p", "good"), program=False)
    assert found["p"]["verdict"] == "INDETERMINATE", said
    assert "nearfar-contention was not built, because no MPI was found: install an MPI" in found["p"]["reasons"][0]
