"""gemm_check and kernel_penalty_check under a real ReFrame, with fake programs on Keeneland's nodes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from nearfar.base.verdicts import NOT_JUDGED
from tests.conftest import CHECKOUT
from tests.support.launched_checks import judged

#: Stands in for nearfar-kernels: what its command line asks for, by the table made by hand, as bad as the case says.
FAKE_KERNELS = f"""#!{sys.executable}
import json, os, sys
from pathlib import Path
sys.path.insert(0, {str(CHECKOUT)!r})
from tests.support import kernel_documents as made
words, case = sys.argv[1:], os.environ["FAKE_CASE"]
assert "--json" in words and "--absent-fails" in words
if "--sustain" in words:
    assert words[words.index("--sustain") + 1] == "2" and words[words.index("--kernels") + 1] == "bf16gemm"
    print(json.dumps(made.raw(made.node_type(), made.sustained_of("g0", "g1", "g2"))))
    sys.exit()
names = words[words.index("--kernels") + 1].split(",") if "--kernels" in words else list(made.TABLE)
size = words[words.index("--size") + 1] if "--size" in words else "paper"
node, results, skipped = made.node_type(), [], []
for subject in Path(words[words.index("--cells") + 1]).read_text().split():
    slow = 1.5 if case == "more" and subject != "g0.n0" and subject.startswith("g0") else 1.0
    for name in names:
        if name in made.TABLE:
            results += made.results_of(node, subject, name, size, slower=slow)
every = names if "--kernels" in words else made.kernels.KERNELS
skipped = [
    {{"cell": f"g{{gpu}}.n{{numa}}/{{name}}", "code": "unsupported", "reason": "not by hand"}}
    for gpu in range(3) for numa in range(2) for name in every if name not in made.TABLE
]
print(json.dumps(made.raw(node, results, skipped=skipped)))
"""
FAKE_COPY = f"""#!{sys.executable}
import json, os, sys
sys.path.insert(0, {str(CHECKOUT)!r})
from tests.support import kernel_documents as made
if os.environ["FAKE_CASE"] == "no_matrix":
    print("nearfar-copy: no GPU could be used", file=sys.stderr)
    sys.exit(3)
node = made.node_type()
print(json.dumps({{**made.raw(node, made.matrix_of(node)), "program": {{"name": "nearfar-copy"}}}}))
"""
REFERENCES = """
provenance: {tuned: {date: 2026-11-20, stamp: {}, n: 6, runs: [one], command: test}}
gemm_check:
  $index: ['$dev.gpu.model']
  'Tesla M2070': {device_local.sgemm_today_rate: [900.0, -0.05, null, GFLOP/s]}
"""


def asked(folder: Path, check: str, *cases: str) -> tuple[dict[str, dict[str, Any]], str]:
    """The verdict of each case's partition, and what ReFrame said."""
    lines = [
        f"  - {{name: {case}, node_type: keeneland, features: [gpu], env_vars: {{FAKE_CASE: {case}}}, references: strict}}\n"
        for case in cases
    ]
    return judged(
        folder, "".join(lines), check, "-c", str(CHECKOUT / "checks" / "long"),
        programs={"nearfar-kernels": FAKE_KERNELS, "nearfar-copy": FAKE_COPY}, references={"strict": REFERENCES},
    )  # fmt: skip


@pytest.fixture(scope="module")
def penalties(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, Any]], str]:
    return asked(tmp_path_factory.mktemp("penalties"), "kernel_penalty_check", "good", "more", "no_matrix")


def findings(verdict: dict[str, Any], item: str) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (each["verdict"], each["code"], each.get("fields", {}))
        for each in verdict["findings"]
        if each["subject"] == item
    ]


def test_the_links_explain_the_penalties(penalties: tuple[dict[str, dict[str, Any]], str]) -> None:
    found, said = penalties
    assert "good" in found, said
    names = {metric["name"] for metric in found["good"]["metrics"]}
    assert {"near.g0_n0.scan_paper_total", "off_socket_penalty.g0_n1.scan_paper_total"} <= names
    for path in ("g0.n1", "g1.n0", "g2.n0"):
        ((word, code, fields),) = findings(found["good"], path)
        assert (word, code, fields["kernels"]) == ("PASS", "penalty.explained", 5)
    assert found["good"]["verdict"] == "PASS", said


def test_more_than_the_link_is_said(penalties: tuple[dict[str, dict[str, Any]], str]) -> None:
    ((word, code, _),) = findings(penalties[0]["more"], "g0.n1")
    assert (word, code) == (NOT_JUDGED, "penalty.beyond_link")
    assert findings(penalties[0]["more"], "g1.n0")[0][0] == "PASS"


def test_without_a_matrix_the_penalties_stand_alone(penalties: tuple[dict[str, dict[str, Any]], str]) -> None:
    found = penalties[0]["no_matrix"]
    ((word, _, fields),) = findings(found, "matrix")
    assert word == NOT_JUDGED and "no GPU could be used" in fields["line"]
    ((word, code, _),) = findings(found, "penalty")
    assert (word, code) == (NOT_JUDGED, "penalty.no_matrix")


def test_a_rate_below_its_reference_fails(tmp_path: Path) -> None:
    found, said = asked(tmp_path, "gemm_check", "good")
    metrics = {metric["name"]: metric for metric in found["good"]["metrics"]}
    assert {metric["verdict"] for name, metric in metrics.items() if "sgemm" in name} == {"FAIL"}, said
    assert {metric["verdict"] for name, metric in metrics.items() if "dgemm" in name} == {NOT_JUDGED}
    assert "tuned: 900.0 GFLOP/s" in metrics["device_local.g0.sgemm_today_rate"]["reason"]


def test_gpus_at_full_load_are_judged_by_their_references(tmp_path: Path) -> None:
    """GPU 2 is slow; as long as the check says, each second is known."""
    row = "burn_check: {$index: ['$dev.gpu.model'], Tesla M2070: {device_local.bf16gemm_sustained_rate: [700000, -0.05, null, GFLOP/s]}}\n"
    partition = (
        "  - {name: load, node_type: keeneland, features: [gpu], env_vars: {FAKE_CASE: good}, references: mine}\n"
    )
    references = {"mine": REFERENCES.partition("gemm_check")[0] + row}
    verdicts, _ = judged(
        tmp_path, partition, "burn_check", "-S", "burn_check.sustain=2", programs={"nearfar-kernels": FAKE_KERNELS}, references=references
    )  # fmt: skip
    made = verdicts["load"]
    assert [(each["name"], each["verdict"]) for each in made["metrics"]] == [
        ("device_local.g0.bf16gemm_sustained_rate", "PASS"),
        ("device_local.g1.bf16gemm_sustained_rate", "PASS"),
        ("device_local.g2.bf16gemm_sustained_rate", "FAIL"),
    ]
    assert findings(made, "products") == [("PASS", "sustained.all_right", {"products": 3000, "gpus": 3, "seconds": 2})]
