"""A delivery beside its order, itself and the outside: which node is accepted, refused, or measured again, and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from nearfar import delivery
from nearfar.base import Finding, NearfarError, conforms
from nearfar.delivery import ACCEPTED, AGAIN, REFUSED, DeliveredNode, Delivery, Expected, figures
from nearfar.history.tuning import NodeFigure, Pool
from nearfar.site import Order, Promise
from nearfar.verdict import run_directory
from nearfar.verdict.references import ReferenceFile, known_checks
from tests.conftest import CHECKOUT
from tests.data.runs import nightly

SITE = [CHECKOUT / "site"]
HEALTHY = tuple(f"n{number}" for number in range(1, 7))
EXPECT = {"gpus": 4, "gpu_model": "NVIDIA H200", "link": {"kind": "pcie", "gen": 5, "width": 16}}
H2D = Promise("host_device_check", "sole.h2d", 54.0, "GB/s", "12")
Change = Callable[[dict[str, Any]], None]


def order(nodes: Sequence[str] | None, **parts: Any) -> Order:
    whole = {
        "count": len(nodes or HEALTHY),
        "expect": EXPECT,
        "nodes": None if nodes is None else tuple(nodes),
        "system": "redwood",
    }
    return Order("rack", "offer 114", **{**whole, **parts})


class Measured:
    """Run directories of a delivery under construction."""

    def __init__(self, folder: Path, files: Sequence[ReferenceFile] = ()) -> None:
        self.folder, self.files, self.runs = folder, files, list[Path]()

    def run(self, *nodes: str, factor: float = 1.0, day: int = 20, change: Change | None = None, **parts: Any) -> Path:
        at = f"{len(self.runs) // 60:02}:{len(self.runs) % 60:02}:00"
        made = nightly.run(
            self.folder, dict.fromkeys(nodes, factor), f"2026-11-{day}", change=change, files=self.files, at=at, **parts
        )  # fmt: skip
        self.runs.append(made)
        return made

    def assess(self, ordered: Order, accept_degraded: Sequence[str] = ()) -> Delivery:
        return delivery.assess(ordered, [run_directory.read(run) for run in self.runs], SITE, accept_degraded)


def node_of(decided: Delivery, name: str) -> DeliveredNode:
    return next(node for node in decided.nodes if node.name == name)


def edit(**parts: Any) -> Change:
    """Parts of the node in a raw document; ``gpu0_…`` of its first GPU."""

    def change(raw: dict[str, Any]) -> None:
        for key, value in parts.items():
            gpu, _, inner = key.partition("_")
            if gpu == "gpu0":
                raw["node"]["gpus"][0][inner] = value
            elif key == "software":
                raw["node"]["software"] |= value
            else:
                raw["node"][key] = value

    return change


def without_gpu(raw: dict[str, Any]) -> None:
    raw["node"]["gpus"].pop()
    raw["results"] = [result for result in raw["results"] if "g3" not in result["cell"]]


def change_file(path: Path, change: Change) -> None:
    raw = json.loads(path.read_text())
    change(raw)
    path.write_text(json.dumps(raw))


def disturbed(run: Path, node: str) -> None:
    """A figure that the judge could not judge."""
    said = {"verdict": "INDETERMINATE", "reason": "a job ran", "code": "figure.disturbed", "disturbance": "gpu"}
    change_file(run / node / "host_device_check/verdict.json", lambda raw: raw["metrics"][0].update(said))


#: A kind of node, with its decision and the code that says why.
KINDS = {
    "well": (ACCEPTED, None),
    "measured_twice": (ACCEPTED, None),
    "repaired": (ACCEPTED, None),
    "busy_then_well": (ACCEPTED, None),
    "other_bios": (ACCEPTED, None),
    "waived": (ACCEPTED, None),
    "slow_link": (REFUSED, "delivery.outlier"),
    "below_promise": (REFUSED, "delivery.promise"),
    "degraded": (REFUSED, "delivery.outlier"),
    "gpu_lost": (REFUSED, "gpu.count"),
    "other_model": (REFUSED, "gpu.model"),
    "other_driver": (REFUSED, "delivery.software"),
    "other_serial": (REFUSED, "delivery.serial"),
    "other_product": (REFUSED, "delivery.product"),
    "wrong_host": (REFUSED, "delivery.wrong_host"),
    "stranger": (REFUSED, "delivery.not_ordered"),
    "never_seen": (AGAIN, "delivery.not_measured"),
    "unfinished": (AGAIN, "delivery.no_verdict"),
    "quick": (AGAIN, "delivery.check_missing"),
    "case_missing": (AGAIN, "delivery.check_missing"),
    "wrong_data_once": (REFUSED, "cell.wrong_data"),
    "busy": (AGAIN, "figure.disturbed"),
    "other_system": (AGAIN, "delivery.other_system"),
    "failed_once": (AGAIN, "delivery.failed_before"),
    "twin_a": (AGAIN, "delivery.same_board"),
    "twin_b": (AGAIN, "delivery.same_board"),
    "swapped": (AGAIN, "delivery.check_missing"),
}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Delivery:
    """A delivery with a node of each kind."""
    made = Measured(tmp_path_factory.mktemp("kinds"))
    both = {"checks": ("host_device_check", "host_memory_check")}
    known: dict[str, Any] = {
        "product": "GX-8",
        "software": {"bios": "1.4"},
        "settings": {"turbo": "on"},
        "gpu0_serial": "s1",
    }
    slow = nightly.slow_gpu

    def measure(node: str, *changes: Change, **parts: Any) -> Path:
        def change(raw: dict[str, Any]) -> None:
            for each in (edit(**known), *changes):
                each(raw)

        return made.run(node, change=change, **{**both, **parts})

    for node in (*HEALTHY, "well"):
        measure(node)
    for day in (20, 21):
        measure("measured_twice", day=day)
    measure("repaired", slow(2, 0.5))
    measure("repaired", edit(gpu0_uuid="GPU-new"), day=21)
    disturbed(measure("busy_then_well"), "busy_then_well")
    measure("busy_then_well", day=21)
    measure("other_bios", edit(software={"bios": "1.2"}))
    measure("waived", slow(1, 0.962))
    measure("slow_link", slow(2, 0.5))
    measure("below_promise", slow(1, 0.85))
    measure("degraded", slow(1, 0.962))
    measure("gpu_lost", without_gpu)
    measure("other_model", edit(gpu0_name="NVIDIA H100 NVL"))
    measure("other_driver", edit(software={"driver": "570.1"}))
    measure("other_serial", edit(gpu0_serial="s2"))
    measure("other_product", edit(product="GX-4"))
    wrong = measure("elsewhere")
    (wrong / "elsewhere").rename(wrong / "wrong_host")
    for check in both["checks"]:
        change_file(wrong / "wrong_host" / check / "verdict.json", lambda raw: raw.update(node="wrong_host"))
    measure("stranger")
    (measure("unfinished") / "unfinished/host_memory_check/verdict.json").unlink()
    measure("quick", lambda raw: raw["program"].update(quick=True), lambda raw: raw["node"].pop("settings"))
    change_file(
        measure("case_missing") / "run.json", lambda raw: raw["missing_cases"].append({"check": "burn_check", "modelled": False})
    )  # fmt: skip
    wrong_data = {"subject": "g0", "verdict": "FAIL", "reason": "wrong data", "hard": True, "code": "cell.wrong_data"}
    change_file(
        measure("wrong_data_once") / "wrong_data_once/host_device_check/verdict.json", lambda raw: raw["findings"].append(wrong_data)
    )  # fmt: skip
    for day in (21, 22):
        measure("wrong_data_once", day=day)
    disturbed(measure("busy"), "busy")
    measure("other_system", system="local")
    measure("failed_once", slow(2, 0.5))
    measure("failed_once", day=21)
    for twin in ("twin_a", "twin_b"):
        measure(twin, lambda raw: [gpu.update(uuid=f"GPU-twin{gpu['index']}") for gpu in raw["node"]["gpus"][:2]])
    measure("swapped")
    measure("swapped", edit(gpu0_uuid="GPU-swapped"), day=21, checks=("host_device_check",))
    ordered = order(
        [*HEALTHY, *(node for node in KINDS if node != "stranger")], product="GX-8", software={"driver": "580.159.04", "nic": "1.0"},
        serials={"other_serial": ("s1",)}, promised=(Promise("host_device_check", "sole.h2d", 50.5, "GB/s", "12"),),
    )  # fmt: skip
    return made.assess(ordered, ["waived"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_decision_about_each_kind_of_node(kinds: Delivery, kind: str) -> None:
    decision, code = KINDS[kind]
    node = node_of(kinds, kind)
    why = [finding.code for finding in (*node.evidence, *node.missing)]
    assert node.decision == decision, (node.decision, why)
    assert (code in why) if code else why == []


def test_a_swapped_node_is_one_sentence(kinds: Delivery) -> None:
    said = [f.reason for f in node_of(kinds, "twin_a").missing if f.code == "delivery.same_board"]
    assert said == ["the same GPUs are in twin_b (GPU-twin0, GPU-twin1): measure these nodes again at the same time"]


def test_a_delivery_names_what_its_nodes_have_in_common(kinds: Delivery) -> None:
    said = {finding.code: finding.reason for finding in kinds.findings}
    assert said["delivery.not_seen"].startswith("ordered but never measured: never_seen")
    assert said["delivery.strangers"].startswith("measured but not ordered: stranger")
    assert said["delivery.boards_changed"].startswith("repaired, swapped: ")
    assert "28 of 29 nodes have BIOS 1.4, 1 has 1.2 (other_bios)" in " ".join(
        f.reason for f in kinds.findings if f.code == "delivery.unlike"
    )
    assert "nic" in said["delivery.not_read"]
    unread = [f.reason for f in kinds.findings if f.code == "delivery.settings_not_read"]
    assert any(
        words.startswith("not read on any node: ") and "CPU governor" in words and "turbo" not in words
        for words in unread
    )
    assert any(words == "not read on quick: turbo" for words in unread), "where only some nodes tell it"
    assert "delivery.slow" not in said
    assert [finding.code for finding in node_of(kinds, "waived").waived] and kinds.counts[ACCEPTED] == 12
    assert kinds.against == ("order", "itself", "outside")
    assert "no references" in said["delivery.no_references"]
    unrun = said["delivery.not_run"]
    assert "burn_check" in unrun and "host_device_check" not in unrun and "quick_check" not in unrun


def test_an_order_without_gpus_misses_no_check_of_gpus(tmp_path: Path) -> None:
    made = Measured(tmp_path)
    made.run("n1")
    found = made.assess(order(None, expect={"gpus": 0}))
    unrun = next(f.reason for f in found.findings if f.code == "delivery.not_run")
    assert "mpi_check" in unrun and "burn_check" not in unrun and "osu_check" in unrun


def test_the_document_holds_to_its_schema(kinds: Delivery) -> None:
    raw = json.loads(delivery.text(kinds))
    assert conforms("delivery-1")(raw)
    node = next(each for each in raw["nodes"] if each["name"] == "measured_twice")
    assert node["found"]["gpus"] == 4 and len(node["runs"]) == 2 and node["gpus"][0]["serial"] == "s1"
    figure = next(each for each in raw["figures"] if (each["row"], each["gpu_model"]) == ("sole.h2d", "NVIDIA H200"))
    assert [each["origin"] for each in figure["expected"]] == ["order", "model", "ceiling", "itself", "itself"]


def test_a_delivery_of_which_nothing_was_measured() -> None:
    found = delivery.assess(order(HEALTHY), [], SITE)
    assert found.counts == {ACCEPTED: 0, REFUSED: 0, AGAIN: 6} and found.findings[0].code == "delivery.not_seen"
    with pytest.raises(NearfarError, match="n9: neither ordered nor measured"):
        delivery.assess(order(HEALTHY), [], SITE, ["n9"])


def test_a_delivery_slow_as_a_whole_does_not_accept_itself(tmp_path: Path) -> None:
    """References that were tuned from the very nodes pass them all."""
    text = (
        (CHECKOUT / "site/references/h200-vm.yaml")
        .read_text()
        .replace("[55.51,", "[38.8,")
        .replace("[55.37,", "[38.8,")
    )
    (tmp_path / "tuned.yaml").write_text(text.replace("[102.1,", "[71.0,"))
    made = Measured(tmp_path / "runs", [ReferenceFile(tmp_path / "tuned.yaml", known_checks())])
    made.run(*HEALTHY, factor=0.7)
    found = made.assess(order(HEALTHY, promised=(H2D,)))
    assert found.findings[0].code == "delivery.slow"
    assert found.findings[0].reason.startswith(
        "sole.h2d: 6 of 6 nodes are slow, 38.8 GB/s (median): promised 54.0 GB/s (offer 114, page 12), healthy"
    )
    assert {node.decision for node in found.nodes} == {REFUSED} and "references" in found.against
    assert any(figure.reference is not None for figure in found.figures), "the record says what the runs were judged by"


def test_what_no_node_has_as_ordered_is_said_first(tmp_path: Path) -> None:
    made = Measured(tmp_path)
    made.run(*HEALTHY, factor=0.7, change=edit(software={"bios": "1.2"}))
    found = made.assess(order(HEALTHY, software={"bios": "1.4"}, expect={"gpus": 4, "gpu_model": "NVIDIA H100 NVL"}))
    first, second, third = (finding.reason for finding in found.findings[:3])
    assert first.startswith(
        "6 of 6 nodes are not as ordered: GPU 0 at 0000:00:06.0 is a NVIDIA H200, expected NVIDIA H100 NVL"
    )
    assert second.startswith("6 of 6 nodes are not as ordered: bios is 1.2, ordered 1.4")
    assert "6 of 6 nodes are slow" in third


def test_nothing_to_compare_with_accepts_nobody(tmp_path: Path) -> None:
    made = Measured(tmp_path)
    made.run("n1", "n2", change=lambda raw: [gpu.update(name="NVIDIA X1") for gpu in raw["node"]["gpus"]])  # type: ignore[func-returns-value]
    found = made.assess(order(None, expect={"gpus": 4}, count=2))
    assert {node.decision for node in found.nodes} == {AGAIN}
    assert "delivery.unjudged" in [finding.code for finding in found.nodes[0].missing]
    assert found.against == ("order",)


def test_two_halves_of_nodes_do_not_accept_each_other(tmp_path: Path) -> None:
    made = Measured(tmp_path)
    unknown: Change = lambda raw: [gpu.update(name="NVIDIA X1") for gpu in raw["node"]["gpus"]]  # type: ignore[func-returns-value]  # noqa: E731
    made.run(*HEALTHY[:3], change=unknown)
    made.run(*HEALTHY[3:], factor=0.7, change=unknown)
    found = made.assess(order(None, expect={"gpus": 4}, count=8))
    said = {finding.code: finding.reason for finding in found.findings}
    assert "they differ more than healthy nodes do, from 38.8" in said["delivery.not_alike"] and said[
        "delivery.count"
    ].startswith("measured: 6 nodes, ordered: 8")
    assert {node.decision for node in found.nodes} == {AGAIN}


def test_a_repaired_node_measured_again_leaves_the_others_accepted(tmp_path: Path) -> None:
    made = Measured(tmp_path)
    made.run(*HEALTHY[1:])
    made.run("n1", factor=0.8)
    for day, decision in ((21, AGAIN), (22, ACCEPTED)):
        made.run("n1", day=day)
        found = made.assess(order(HEALTHY, promised=(H2D,)))
        assert {node.name: node.decision for node in found.nodes} == {
            **dict.fromkeys(HEALTHY, ACCEPTED),
            "n1": decision,
        }


def test_what_is_expected_of_times_and_published_figures() -> None:
    """Published rows of the node type bound DEGRADED; a promised time is an upper bound."""
    promised = Promise("latency_check", "near_latency_copy.h2d", 8.0, "us", "13")
    known = figures.outside(order(None, expect={}, system="summit", promised=(promised,)), SITE)

    def expected(check: str, row: str, unit: str, kind: str, *values: float) -> tuple[list[Expected], list[Finding]]:
        own = tuple(NodeFigure(f"n{at}", row, (value,)) for at, value in enumerate(values))
        pool = Pool(check, "Tesla V100-SXM2-16GB", row, unit, kind, True, "", None, 0, own)
        figure = figures.compared(pool, known, 10)
        outer = [each for each in figure.expected if each.origin != "itself"]
        return outer, [finding for _, finding in figures.of_nodes(pool, figure)]

    (published, *_), findings = expected("host_device_check", "near.h2d", "GB/s", "lone", 45.9, 45.8, 46.0, 44.9)
    assert (published.origin, published.value, published.bound) == ("published", 45.92, pytest.approx(45.0, rel=1e-3))
    assert [finding.code for finding in findings] == ["delivery.unhealthy"] and "published 45.9 GB/s" in findings[
        0
    ].reason
    (time,), findings = expected("latency_check", "near_latency_copy.h2d", "us", "latency", 7.9, 8.0, 8.05, 8.9)
    assert (time.origin, time.bound) == ("order", pytest.approx(8.08))
    assert [finding.code for finding in findings] == ["delivery.promise"] and "8.90 us, promised 8.00 us" in findings[
        0
    ].reason
