"""The topology's findings: which cells load the links, when nothing is compared, and what each difference counts as."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.base.verdicts import NOT_JUDGED
from nearfar.cells import host_device_matrix
from nearfar.measurement.document import from_raw
from nearfar.model.prediction import load_node_type
from nearfar.question import topology_check
from nearfar.site import topology_diff
from nearfar.site.systems import Partition, System
from nearfar.topology import Link, node_to_document
from tests.conftest import CHECKOUT

KEENELAND = load_node_type("keeneland", [CHECKOUT / "site"])
NODE = KEENELAND.node
PARTITION = Partition("gpu", node_type="keeneland", features=("gpu",))
REVIEWED = System("mine", {"gpu": PARTITION}, file=Path("site/systems/mine.yaml"))


def loaded(width: int) -> object:
    under_load = [
        {"index": gpu.index, "link": {"gen": 2, "width": width if gpu.index == 1 else 16}} for gpu in NODE.gpus
    ]
    return from_raw({
        "schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": "nearfar-copy"}, "node": node_to_document(NODE),
        "results": [], "skipped": [], "failed": [], "gpus_under_load": under_load,
    })  # fmt: skip


def found(system: System, observed: object, document: object = None, acceptance: bool = False) -> list[tuple[str, str]]:
    findings = topology_diff.findings(system, PARTITION, KEENELAND, NODE, observed, document, acceptance)
    return [(f.subject, f.verdict) for f in findings]


def test_one_cell_from_near_memory_loads_each_gpu() -> None:
    cells = topology_check.loading_cells(NODE, host_device_matrix(NODE)[0])
    assert [str(cell) for cell in cells] == ["n0:g0", "n1:g1", "n1:g2"]


def test_as_described() -> None:
    assert found(REVIEWED, NODE, loaded(16)) == [("node", "PASS")], "it was compared, and is well"


def test_a_partition_that_says_nothing_of_its_nodes_is_compared_with_nothing() -> None:
    """What is expected was then read from the very node, and always agrees."""
    silent, telling = Partition("gpu", features=("gpu",)), Partition("gpu", expect={"gpus": 3})
    (note,) = topology_diff.findings(REVIEWED, silent, None, NODE, NODE, None, False)
    assert (note.subject, note.verdict) == ("topology", NOT_JUDGED)
    assert note.reason.endswith("does not describe what 'gpu' should have: give it a node_type, or `expect`")
    words = [f.verdict for f in topology_diff.findings(REVIEWED, telling, None, NODE, NODE, None, False)]
    assert words == ["PASS", NOT_JUDGED], "compared as far as the file says, with a note"


def test_a_missing_gpu_is_hard_evidence() -> None:
    fewer = replace(NODE, gpus=NODE.gpus[:2])
    findings = topology_diff.findings(REVIEWED, PARTITION, KEENELAND, NODE, fewer, None, False)
    assert ("g2", "FAIL") in [(f.subject, f.verdict) for f in findings]
    assert all(f.hard for f in findings)


def test_a_link_that_is_narrow_under_load() -> None:
    assert found(REVIEWED, NODE, loaded(8)) == [("g1.link.width", "FAIL")]


@pytest.mark.parametrize("acceptance, word", [(False, NOT_JUDGED), (True, "INDETERMINATE")])
def test_what_nobody_reviewed_is_not_compared(acceptance: bool, word: str) -> None:
    fewer = replace(NODE, gpus=NODE.gpus[:2])
    for system in (replace(REVIEWED, unreviewed=True), System("local", {"gpu": PARTITION})):
        assert found(system, fewer, acceptance=acceptance) == [("topology", word)]


def test_an_unreviewed_node_type_is_named() -> None:
    why = topology_diff.not_compared(REVIEWED, PARTITION, replace(KEENELAND, unreviewed=True))
    assert why is not None and "site/nodes/keeneland.yaml" in why


def test_undescribed_links_still_do_what_their_ends_allow() -> None:
    gpus = tuple(replace(gpu, link=Link("pcie", 1, 16, 2, 16)) for gpu in NODE.gpus)
    observed = replace(NODE, gpus=gpus)
    assert found(System("local", {}), observed, loaded(8)) == [("topology", NOT_JUDGED), ("g1.link.width", "DEGRADED")]


def test_a_remote_job_that_describes_no_node() -> None:
    assert found(REVIEWED, None) == [("topology", "INDETERMINATE")]


@pytest.mark.parametrize(
    "change, strange",
    [
        ({}, None), ({"uuid": "GPU-b"}, None), ({"uuid": None}, None), ({"uuid": "GPU-c"}, "0000:08:00.0"),
        ({"pci": "0000:ff:00.0"}, "0000:ff:00.0"),
    ],
)  # fmt: skip
def test_a_document_of_other_gpus_says_nothing_of_this_node(change: dict[str, str | None], strange: str | None) -> None:
    """One that another node's run left, or a program that was started elsewhere."""
    first, *rest = (replace(gpu, uuid="GPU-b", pci="0000:08:00.0") if gpu.index == 0 else gpu for gpu in NODE.gpus)
    here = replace(NODE, gpus=(first, *rest))
    there = replace(NODE, gpus=(replace(first, **change), *rest))  # type: ignore[arg-type]
    raw = {"schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": "nearfar-copy"}, "node": node_to_document(there),
           "results": [], "skipped": [], "failed": []}  # fmt: skip
    found = topology_diff.another_node(from_raw(raw), here)
    assert [f.verdict for f in found] == (["INDETERMINATE"] if strange else [])
    assert strange is None or (found[0].code, found[0].fields["gpus"]) == ("document.other_gpus", [strange])
    if "pci" in change:  # the program looked for it in vain
        raw["node"]["gpus"][0]["on_bus"] = False
        assert topology_diff.another_node(from_raw(raw), replace(NODE, gpus=tuple(rest))) == []
