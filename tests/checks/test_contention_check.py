"""contention_check and thread_split_check under a real ReFrame, with a fake program and a fake launcher."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from nearfar.base.verdicts import NOT_JUDGED
from tests.conftest import CHECKOUT
from tests.support.launched_checks import judged, partition

#: Stands in for nearfar-contention: a document of what its command line asks for, as bad as the case says.
FAKE_PROGRAM = f"""#!{sys.executable}
import json, os, sys
from pathlib import Path
sys.path.insert(0, {str(CHECKOUT)!r})
from nearfar.mpi import contention
from tests.mpi.test_contention_figures import raw, result
case = os.environ["FAKE_CASE"]
words = sys.argv[1:]
assert os.environ["OMPI_MCA_hwloc_base_binding_policy"] == "none"
print("=== a launcher's banner ===")
if case == "refused":
    print("nearfar-contention: rank 0 on n: 14 threads on n want a core each\\n-----", file=sys.stderr)
    sys.exit(2)
split = "--layout" in words
movers = int(words[words.index("--tasks") + 1])
assert int(os.environ["FAKE_RANKS"]) == (2 * movers if split else 9), os.environ["FAKE_RANKS"]
asked = ["together", "split"] if split else ["per_task"]
results = []
for cell in contention.subjects(asked, range(1, movers + 1) if split else [movers]):
    kind = "bandwidth" if "stream_" in cell else "latency"
    results.append(result(f"contention.mpi.{{kind}}", cell, 1.0, 1.25))
    results.append(result("contention.gpu.bandwidth", cell, 10.0, 9.0))
failed = [{{"cell": "", "code": "error", "reason": "rank 1 on n died during a window"}}] if case == "died" else []
if case == "killed":  # as MPICH's launcher ends a run: rank 0 at once, and only its own words name the rank that died
    failed = [{{"cell": "", "code": "error", "reason": "rank 0 (process 1 on n) was killed: its launcher says why"}}]
    print("= BAD TERMINATION\\n=   PID 4242 RUNNING AT n\\n=   EXIT CODE: 9\\nKilled (signal 9)", file=sys.stderr)
document = raw(*results, failed=failed)
document["mpi"] = {{"ranks": [{{"rank": rank, "pid": 4240 + rank}} for rank in range(9)]}}
Path(next(w for w in words if w.startswith("--json=")).partition("=")[2]).write_text(json.dumps(document))
sys.exit(1 if failed else 0)
"""
REFERENCES = """
provenance: {tuned: {date: 2026-11-20, stamp: {}, n: 6, runs: [one], command: test}}
contention_check:
  $index: ['$dev.gpu.model']
  'Tesla M2070': {within.per_task.pingpong_8B.mpi.latency_penalty: [0.05, null, 1.0, '1']}
"""
#: Case -> the verdict, and what is said.
CASES = {
    "good": (NOT_JUDGED, ""),  # penalties explain, unless the site has rows for them
    "died": ("INDETERMINATE", "rank 1 on n died during a window"),
    "killed": ("INDETERMINATE", "rank 2 on n was ended by signal 9"),
    "refused": ("INDETERMINATE", "nearfar-contention: rank 0 on n: 14 threads on n want a core each"),
}


def asked(folder: Path, check: str, partitions: str, program: bool = True) -> tuple[dict[str, dict[str, Any]], str]:
    """The verdict of each partition, and what ReFrame said."""
    return judged(
        folder, partitions, check, "-c", str(CHECKOUT / "checks" / "long"), "-S", "contention_check.fill=0",
        programs={"nearfar-contention": FAKE_PROGRAM} if program else {}, references={"strict": REFERENCES},
    )  # fmt: skip


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, Any]], str]:
    cases = "".join(partition(case, case) for case in CASES)
    strict = partition("strict", "good", ", references: strict")
    return asked(tmp_path_factory.mktemp("contention"), "contention_check", cases + strict)


@pytest.mark.parametrize("case", CASES)
def test_verdicts(outcome: tuple[dict[str, dict[str, Any]], str], case: str) -> None:
    found, said = outcome
    assert case in found, said
    verdict, words = CASES[case]
    assert found[case]["verdict"] == verdict, found[case]["reasons"]
    assert words in " ".join([*found[case]["reasons"], ""])
    names = {metric["name"] for metric in found[case]["metrics"]}
    assert ("within.per_task.3.pingpong_8B.mpi.latency_penalty" in names) == (case != "refused")


def test_a_site_may_bound_a_penalty_for_any_number_of_gpus(outcome: tuple[dict[str, dict[str, Any]], str]) -> None:
    found, said = outcome
    assert found["strict"]["verdict"] == "FAIL", (found["strict"]["reasons"], said)
    assert "MPI's latency, penalty" in found["strict"]["reasons"][0]


def test_threads_are_asked_together_and_split_on_two_packages(tmp_path: Path) -> None:
    found, said = asked(tmp_path, "thread_split_check", partition("p", "good"))
    assert found["p"]["verdict"] == NOT_JUDGED, said
    names = {metric["name"] for metric in found["p"]["metrics"]}
    assert "within.split.3.pingpong_1MiB.mpi.latency_penalty" in names and not found["p"]["missing"]


def test_no_mpi_is_indeterminate_and_says_what_to_install(tmp_path: Path) -> None:
    found, said = asked(tmp_path, "contention_check", partition("p", "good"), program=False)
    assert found["p"]["verdict"] == "INDETERMINATE", said
    assert "nearfar-contention was not built, because no MPI was found: install an MPI" in found["p"]["reasons"][0]
