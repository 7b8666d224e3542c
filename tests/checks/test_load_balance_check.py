"""load_balance_check under a real ReFrame, with a fake program and a fake launcher."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from nearfar.base.verdicts import NOT_JUDGED
from tests.conftest import CHECKOUT
from tests.support.launched_checks import judged, partition

#: Stands in for `nearfar-kernels saxpy`: its document, as slow as the case says, and the words of a launcher around it.
FAKE_SAXPY = f"""#!{sys.executable}
import json, os, sys
from pathlib import Path
sys.path.insert(0, {str(CHECKOUT)!r})
from tests.mpi.test_load_balance import raw
case = os.environ["FAKE_CASE"]
assert sys.argv[sys.argv.index("--gpus") + 1].count(",") == 2, sys.argv
assert os.environ["FAKE_RANKS"] == "3" and sys.argv[1] == "saxpy"
print("=== a launcher's banner ===")
if case == "refused":
    print("nearfar-kernels: rank 0 on n: 3 ranks on this host and 2 GPUs: start one rank a GPU\\n-----", file=sys.stderr)
    sys.exit(2)
document = raw({{"slower": 0.8}}.get(case, 1.2))
document["node"]["gpus"] = []  # those of the node at hand are others
if case == "unknown":
    document["results"] = [r for r in document["results"] if r["cell"] == "saxpy/default"]
    document["skipped"] = [{{"cell": "saxpy/gpu", "code": "unsupported", "reason": "the system does not say what is near"}}]
if case == "died":
    document["failed"] = [{{"cell": "", "code": "error", "reason": "rank 1 on n died during saxpy/gpu"}}]
into = next(word for word in sys.argv if word.startswith("--json=")).partition("=")[2]
Path(into).write_text(json.dumps(document))
sys.exit(1 if document["failed"] else 0)
"""
#: The program of a machine without MPI.
WITHOUT_MPI = f"""#!{sys.executable}
import sys
said = "saxpy is for ranks, and nearfar-kernels was built without MPI: install an MPI with its mpicxx and build it again"
print(f"nearfar-kernels: {{said}}", file=sys.stderr)
sys.exit(2)
"""
#: Case -> the verdict, and a code and a field of its findings.
CASES = {
    "good": ("PASS", "balance.as_good", 1.2),
    "slower": ("DEGRADED", "balance.slower", 0.8),
    "unknown": (NOT_JUDGED, "balance.no_binding", "the system does not say what is near"),
    "died": ("INDETERMINATE", "cell.error", "rank 1 on n died during saxpy/gpu"),
    "refused": (
        "INDETERMINATE",
        "program.refused",
        "nearfar-kernels: rank 0 on n: 3 ranks on this host and 2 GPUs: start one rank a GPU",
    ),
}


def asked(folder: Path, partitions: str, program: str = FAKE_SAXPY) -> tuple[dict[str, dict[str, Any]], str]:
    """The verdict of each partition, and what ReFrame said."""
    programs = {"nearfar-kernels": program}
    return judged(
        folder, partitions, "load_balance_check", "-S", "load_balance_check.look_spacing=0", programs=programs
    )


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, Any]], str]:
    cases = "".join(partition(case, case) for case in CASES)
    one = "  - {name: one, node_type: titan, features: [gpu, ranks]}\n"
    return asked(tmp_path_factory.mktemp("load_balance"), cases + one)


@pytest.mark.parametrize("case", CASES)
def test_verdicts(outcome: tuple[dict[str, dict[str, Any]], str], case: str) -> None:
    found, said = outcome
    assert case in found, said
    verdict, code, field = CASES[case]
    assert found[case]["verdict"] == verdict, found[case]["reasons"]
    assert any(code == each["code"] and field in each["fields"].values() for each in found[case]["findings"])
    names = {metric["name"] for metric in found[case]["metrics"]}
    assert ("saxpy.default.load_balance" in names) == (case != "refused")


def test_one_gpu_is_a_note(outcome: tuple[dict[str, dict[str, Any]], str]) -> None:
    verdict = outcome[0]["one"]
    assert verdict["verdict"] == NOT_JUDGED
    assert [f["code"] for f in verdict["findings"]] == ["cells.one_gpu"]


def test_no_mpi_is_indeterminate_and_says_what_to_install(tmp_path: Path) -> None:
    found, said = asked(tmp_path, partition("p", "good"), program=WITHOUT_MPI)
    assert found["p"]["verdict"] == "INDETERMINATE", said
    assert "nearfar-kernels was built without MPI: install an MPI" in found["p"]["reasons"][0]
