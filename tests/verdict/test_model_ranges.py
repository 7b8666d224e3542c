"""Figures of healthy GPUs of a model: whom they judge, and what their files may not say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nearfar.base import NearfarError
from nearfar.measurement import SubjectMetric
from nearfar.site import lint
from nearfar.topology import Gpu, Link, Node, NumaNode, Package
from nearfar.verdict import judge
from nearfar.verdict.document_findings import CaseInfo
from nearfar.verdict.references import Reference, ReferenceFile, known_checks, model_ranges, resolve
from tests.conftest import CHECKOUT
from tests.verdict.test_references import metric

GEN5 = Link("pcie", 1, 16, 5, 16)
GPUS = tuple(
    Gpu(
        i, f"0000:{i + 1:02x}:00.0", name="Some GPU", numa_node=0, package=0, link=GEN5, nvlinks=18, nvlink_generation=4
    )
    for i in range(2)
)
NODE = Node("n", (Package(0, (0, 1)),), (NumaNode(0, 0, (0, 1), 1 << 37),), GPUS, peers={(0, 1): "NV18"})
SUBJECT = CaseInfo("host_device_check", "s", "p", "e", "n", "2026-11-20T00:00:00Z")
FILE = """\
gpu_models: [Some GPU]
source: a data sheet
expect:
  link: {kind: pcie, gen: 5, width: 16}
  nvlinks: 18
  nvlink_generation: 4
healthy:
  - figures:
      sole.h2d: [55.0, 55.6]
      NV18.write: [394.0, 396.0]
    n: 2
    machine: virtual machine
    source: measured with nearfar
    command: nearfar-copy
    date: "2026-11-22"
  - figures:
      sole.h2d: [54.0, 55.2]
    n: 1
    machine: bare metal
    source: https://example.org/1
    command: nvbandwidth 0.8
    date: "2024-05"
"""


def ranges(tmp_path: Path, text: str = FILE) -> model_ranges.ModelRanges:
    (tmp_path / "gpus").mkdir(exist_ok=True)
    (tmp_path / "gpus" / "some.yaml").write_text(text)
    return model_ranges.read([tmp_path])


def one(tmp_path: Path, cell: str, value: float, path_class: str = "sole", node: Node = NODE) -> Reference | None:
    measured = metric(cell, value, path_class)
    return resolve([measured], SUBJECT.check, [], node, ranges=ranges(tmp_path))[measured.name]


def word(tmp_path: Path, cell: str, value: float, path_class: str = "sole", acceptance: bool = False) -> str:
    measured = metric(cell, value, path_class)
    found = resolve([measured], SUBJECT.check, [], NODE, ranges=ranges(tmp_path))
    return judge(None, found, subject=SUBJECT, metrics=[measured], acceptance=acceptance).verdict


def test_all_machines_together_less_a_margin(tmp_path: Path) -> None:
    reference = one(tmp_path, "n0:g0", 55.0)
    assert reference is not None and reference.origin == "model"
    assert reference.degraded_below == pytest.approx(54.0 * 0.95)
    assert reference.lowest == pytest.approx(0.5 * 58.45, abs=0.1)  # half of what the link carries
    assert (
        "54.0 to 55.6 GB/s on 3 machines" in reference.note
        and "bare metal, nvbandwidth, 2024-05: https://example.org/1" in reference.note
    )


@pytest.mark.parametrize(
    "cell, value, path_class, expected",
    [
        ("n0:g0", 54.0, "sole", "PASS"), ("n0:g0", 51.5, "sole", "PASS"), ("n0:g0", 51.0, "sole", "DEGRADED"),
        ("n0:g0", 29.0, "sole", "FAIL"),
        # Of a near path only sole ones are known: a wider margin.
        ("n0:g0", 49.0, "near", "PASS"), ("n0:g0", 48.0, "near", "DEGRADED"),
        ("g0:g1", 380.0, "NV18", "PASS"), ("g0:g1", 370.0, "NV18", "DEGRADED"), ("g0:g1", 199.0, "NV18", "FAIL"),
        # Nobody published D2H: half of the link alone.
        ("g0:n0", 30.0, "sole", "PASS"), ("g0:n0", 28.0, "sole", "FAIL"),
    ],
)  # fmt: skip
def test_below_the_range_a_figure_is_degraded(
    tmp_path: Path, cell: str, value: float, path_class: str, expected: str
) -> None:
    assert word(tmp_path, cell, value, path_class) == expected


MEMORY = FILE.replace("healthy:\n", "memory: {bandwidth: 4800, source: a data sheet}\nhealthy:\n").replace(
    "      sole.h2d: [55.0, 55.6]\n", "      device_local.triad: [4370, 4390]\n"
)


def test_memory_is_judged_by_healthy_ones_and_broken_below_half_of_its_nominal_rate(tmp_path: Path) -> None:
    measured = metric("g0:g0/triad", 4380.0, "device_local")
    known = ranges(tmp_path, MEMORY)
    reference = resolve([measured], "gpu_memory_check", [], NODE, ranges=known)[measured.name]
    assert reference is not None and reference.origin == "model"
    assert (reference.degraded_below, reference.lowest) == (pytest.approx(4370 * 0.95), pytest.approx(2400))
    together = metric("g0:g0/triad+g1:g1/triad", 8000.0, "device_local")
    assert resolve([together], "gpu_memory_check", [], NODE, ranges=known)[together.name] is None


@pytest.mark.parametrize(
    "text, words",
    [
        (
            MEMORY.replace("[4370, 4390]", "[4370, 5000]"),
            "above what the memory, by its nominal rate, carries, 4800.0 GB/s",
        ),
        (FILE.replace("sole.h2d: [55.0", "device_local.triad: [55.0"), "give the model's memory"),
        (MEMORY.replace("device_local.triad", "device_local.quad"), "is not a property of a GPU model"),
    ],
)
def test_memory_that_cannot_be_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(NearfarError, match=words):
        ranges(tmp_path, text)


def test_what_only_tells_the_broken_accepts_nothing(tmp_path: Path) -> None:
    assert word(tmp_path, "n0:g0", 55.0, acceptance=True) == "PASS"
    assert word(tmp_path, "g0:n0", 55.0, acceptance=True) == "INDETERMINATE"


def test_another_link_or_model_is_not_judged_by_them(tmp_path: Path) -> None:
    narrow = replace(NODE, gpus=tuple(replace(gpu, link=Link("pcie", 1, 8, 5, 8)) for gpu in GPUS))
    other = replace(NODE, gpus=(replace(GPUS[0], name="Another GPU"), GPUS[1]))
    for node in (narrow, other):
        reference = one(tmp_path, "n0:g0", 26.0, node=node)
        assert reference is not None and reference.origin == "prediction"
    mixed = one(tmp_path, "g0:g1", 390.0, "NV18", node=other)
    assert mixed is not None and mixed.origin == "prediction"


def test_two_gpus_are_no_siblings_and_slow_together_they_are_told_by_their_model(tmp_path: Path) -> None:
    slow = [metric(f"n0:g{i}", 40.0, "sole") for i in range(2)]
    assert {r.origin for r in resolve(slow, SUBJECT.check, [], NODE).values() if r} == {"prediction"}
    found = resolve(slow, SUBJECT.check, [], NODE, ranges=ranges(tmp_path))
    assert judge(None, found, subject=SUBJECT, metrics=slow).verdict == "DEGRADED"


@pytest.mark.parametrize("value, plain, accepted", [(40.0, "PASS", "INDETERMINATE"), (27.0, "FAIL", "FAIL")])
def test_siblings_that_are_all_slow(value: float, plain: str, accepted: str) -> None:
    node = replace(NODE, gpus=tuple(replace(GPUS[0], index=i, pci=f"0000:{i + 1:02x}:00.0") for i in range(8)))
    slow = [metric(f"n0:g{i}", value, "sole") for i in range(8)]
    found = resolve(slow, SUBJECT.check, [], node)
    assert judge(None, found, subject=SUBJECT, metrics=slow).verdict == plain
    assert judge(None, found, subject=SUBJECT, metrics=slow, acceptance=True).verdict == accepted


@pytest.mark.parametrize(
    "old, new, line, words",
    [
        ("    source: measured with nearfar\n", "", 8, "the key 'source' is missing"),
        ("[55.0, 55.6]", "[55.6, 55.0]", 9, "sole.h2d: [low, high]: 55.6 is above 55"),
        (
            "[55.0, 55.6]",
            "[55.0, 75.6]",
            9,
            "sole.h2d: 75.6 GB/s is above what PCIe 5.0 x16 carries, 58.4 GB/s of payload",
        ),
        ("[394.0, 396.0]", "[394.0, 796.0]", 10, "NV18.write: 796 GB/s is above what NVLink 4 x18 carries, 400.0 GB/s"),
        ("[394.0, 396.0]", "[394.0, 404.0]", 10, "NV18.write: 404 GB/s is above what NVLink 4 x18 carries, 400.0 GB/s"),
        ("[55.0, 55.6]", "[55.0, .nan]", 9, "finite"),
        ("  link: {kind: pcie, gen: 5, width: 16}\n", "", 8, "give the model's link under expect"),
        ("sole.h2d: [55.0", "sole.both.total: [55.0", 9, "'sole.both.total' is not a property of a GPU model"),
    ],
)
def test_a_wrong_range(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    with pytest.raises(NearfarError) as caught:
        ranges(tmp_path, FILE.replace(old, new, 1))
    assert str(caught.value).startswith(f"{tmp_path}/gpus/some.yaml:{line}: ") and words in str(caught.value)
    assert any(words in str(each) for each in lint.lint([tmp_path]).complaints)


def test_an_unknown_kind_of_machine_is_not_named(tmp_path: Path) -> None:
    text = FILE.replace("machine: bare metal", "machine: not recorded").replace(
        "nvbandwidth 0.8", '"nvbandwidth: medians"'
    )
    about = [each.words for each in ranges(tmp_path, text)["Some GPU"]["sole.h2d"]]
    assert about == [
        "virtual machine, nearfar-copy, 2026-11-22: measured with nearfar",
        "nvbandwidth, 2024-05: https://example.org/1",
    ]


def test_a_sites_own_ranges_come_first(tmp_path: Path) -> None:
    (tmp_path / "gpus").mkdir()
    (tmp_path / "gpus" / "ours.yaml").write_text(FILE.replace("Some GPU", "NVIDIA H200"))
    both = model_ranges.read([tmp_path, CHECKOUT / "site"])["NVIDIA H200"]
    assert sum(each.machines for each in both["sole.h2d"]) == 3 and both["sole.h2d"][0].low == 55.0
    assert "NV18.read" in both


@pytest.mark.parametrize(
    "tuned, lower, least",
    [
        # From few hosts the row's own bound is far away, and the model's is nearer.
        (55.5, -0.4, 54.0 * 0.95),
        # A site whose machines are slower than those of the model is judged by itself,
        (50.0, -0.4, 50.0 * 0.92),
        # and so is one whose own bound is nearer.
        (55.5, -0.02, None),
    ],
)
def test_a_tuned_row_knows_no_less_than_its_model(
    tmp_path: Path, tuned: float, lower: float, least: float | None
) -> None:
    about = "degraded: -0.08, " if lower < -0.08 else ""
    path = tmp_path / "mine.yaml"
    path.write_text(
        "provenance:\n  tuned:\n    date: 2026-11-20\n    n: 1\n    stamp: {}\n    runs: [one]\n    command: nearfar tune\n    rows:\n"
        f"      host_device_check/Some GPU/sole.h2d: {{{about}n: 1, spread: 0.005}}\n"
        f"host_device_check:\n  $index: [$dev.gpu.model]\n  Some GPU:\n    sole.h2d: [{tuned}, {lower}, null, GB/s]\n"
    )
    measured = metric("n0:g0", 55.0, "sole")
    files = [ReferenceFile(path, known_checks())]
    found = resolve([measured], SUBJECT.check, files, NODE, ranges=ranges(tmp_path))[measured.name]
    assert found is not None and found.origin == "tuned"
    assert found.degraded_below == (None if least is None else pytest.approx(least))
    assert found.lowest == pytest.approx(tuned * (1 + lower))


def product(value: float) -> SubjectMetric:
    return SubjectMetric(
        name="device_local.g0.sgemm_today_rate", subject="g0.n0", words="GPU 0, sgemm", path_class="device_local", value=value,
        unit="GFLOP/s", quantity="kernel.sgemm.rate", verified=True,
        rows=("device_local.g0.sgemm_today_rate", "device_local.sgemm_today_rate"),
        gpus=(0,),
    )  # fmt: skip


@pytest.mark.parametrize(("value", "verdict"), [(49_000.0, "PASS"), (47_000.0, "DEGRADED"), (20_000.0, "DEGRADED")])
def test_what_a_gpu_computes_is_judged_on_the_first_day(tmp_path: Path, value: float, verdict: str) -> None:
    text = FILE.replace("      NV18.write: [394.0, 396.0]", "      device_local.sgemm_today_rate: [50000, 51000]")
    measured = product(value)
    found = resolve([measured], "gemm_check", [], NODE, ranges=ranges(tmp_path, text))
    reference = found[measured.name]
    assert reference is not None and reference.origin == "model" and reference.unit == "GFLOP/s"
    assert reference.degraded_below == pytest.approx(47_500), "5 % below the least"
    assert judge(None, found, subject=replace(SUBJECT, check="gemm_check"), metrics=[measured]).verdict == verdict


def test_products_of_one_size_alone_are_a_models(tmp_path: Path) -> None:
    with pytest.raises(NearfarError, match=r"'device_local.sgemm_paper_rate' is not a property of a GPU model"):
        ranges(tmp_path, FILE.replace("NV18.write", "device_local.sgemm_paper_rate"))
