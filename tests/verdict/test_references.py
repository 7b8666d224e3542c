"""What a figure should be: the order of origins, their bounds, and what a reference file may not say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nearfar.base.errors import NearfarError
from nearfar.cells import parse
from nearfar.measurement import Metric
from nearfar.model.prediction import load_node_type
from nearfar.topology import Gpu, Link, Node, NumaNode, Package, peer_class
from nearfar.verdict import judge, references
from nearfar.verdict.document_findings import CaseInfo
from nearfar.verdict.references import ReferenceFile, resolve, row_keys
from tests.conftest import CHECKOUT

CHECK = "host_device_check"
SUBJECT = CaseInfo(CHECK, "s", "p", "e", "n", "2026-11-20T00:00:00Z")
GEN5 = Link("pcie", 1, 16, 5, 16)
MEMORY = 1 << 37
NODE = Node(
    "n", (Package(0, (0, 1)), Package(1, (2, 3))), (NumaNode(0, 0, (0, 1), MEMORY), NumaNode(1, 1, (2, 3), MEMORY)),
    tuple(Gpu(i, f"0000:{i + 1:02x}:00.0", name="H200", numa_node=i // 4, package=i // 4, link=GEN5) for i in range(8)),
)  # fmt: skip
#: Of PCIe 5 x16: 63.0 GB/s × 256 / 276.
CEILING_H2D = 58.4


def metric(
    cell: str, value: float, path_class: str = "near", flow: str | None = None, total: bool = False, **more: Any
) -> Metric:
    from nearfar.cells import metric_name, split_class

    parsed = parse(cell)
    one = None if flow is None else parse(flow).flows[0]
    unit = more.pop("unit", "1" if path_class.endswith("_over_near") else "GB/s")
    quantity = "ratio" if unit == "1" else "stream" if parsed.flows[0].kind == "stream" else "copy"
    quantity = more.pop("quantity", quantity)
    defaults: dict[str, Any] = {
        "interval": (value, value),
        "converged": True,
        "verified": True,
        "ceiling": None,
        "limited_by": (),
    }
    return Metric(
        name=metric_name(path_class, parsed, one, total), cell=parsed, flow=one, total=total,
        **dict(zip(("path_class", "derived"), split_class(path_class))), value=value,
        unit=unit, quantity=quantity, **{**defaults, **more},
    )  # fmt: skip


def reference_file(tmp_path: Path, text: str, name: str = "refs.yaml") -> ReferenceFile:
    path = tmp_path / name
    path.write_text(text)
    return ReferenceFile(path, [CHECK, "host_memory_check"])


TUNED = """\
provenance: {tuned: {date: 2026-11-20, n: 4, stamp: {driver: "580.1", cuda: "13.0"}}}
host_device_check:
  $index: [$dev.gpu.model]
  H200:
    near.h2d: [55.5, -0.02, null, GB/s]
    off_socket_over_near.h2d: [0.97, -0.03, 0.03, "1"]
"""
PUBLISHED = """\
provenance: {published: {source: "a paper"}}
host_device_check:
  $index: [$dev.gpu.model]
  H.*:
    near.h2d: [54.0, -0.05, 0.05, GB/s]
    near.d2h: [53.0, -0.05, 0.05, GB/s]
    near.n0_g3: [50.0, -0.05, 0.05, GB/s]
host_memory_check:
  local.triad: [300, -0.1, null, GB/s]
"""


def one(measured: Metric, *files: ReferenceFile, kind: str = "measured", **more: Any) -> references.Reference | None:
    return resolve([measured], CHECK, files, NODE, kind=kind, **more)[measured.name]


def test_the_order_of_origins(tmp_path: Path) -> None:
    tuned, published = reference_file(tmp_path, TUNED, "a.yaml"), reference_file(tmp_path, PUBLISHED, "b.yaml")
    h2d, d2h = metric("n0:g0", 55.5), metric("g0:n0", 55.5)
    assert one(h2d, tuned, published).origin == "tuned"
    assert (one(d2h, tuned, published).origin, one(d2h, tuned, published).value) == ("published", 53.0)
    assert one(d2h, tuned).origin == "prediction"
    assert one(h2d).origin == "prediction"


def test_the_most_precise_row_counts(tmp_path: Path) -> None:
    published = reference_file(tmp_path, PUBLISHED)
    assert one(metric("n0:g3", 50.0), published).value == 50.0
    assert one(metric("n0:g1", 50.0), published).value == 54.0


def test_a_tuned_reference_of_other_software_is_stale_and_used(tmp_path: Path) -> None:
    tuned = reference_file(tmp_path, TUNED)
    same = one(metric("n0:g0", 55.5), tuned, stamp={"driver": "580.1", "cuda": "13.0", "kernel": "6"})
    other = one(metric("n0:g0", 55.5), tuned, stamp={"driver": "590.2", "cuda": "13.0"})
    assert (same.stale, other.stale) == (False, True)
    assert "with driver 580.1; what driver 590.2 does to the fleet is not known" in other.note
    assert other.value == 55.5


def test_absolute_bounds_are_reframes(tmp_path: Path) -> None:
    from reframe.utility.sanity import reference_bounds

    reference = one(metric("n0:g0", 55.5), reference_file(tmp_path, TUNED))
    assert reference.lowest == reference_bounds(reference.value, reference.lower, reference.upper)[0]


@pytest.mark.parametrize(
    "cell, path_class, link",
    [
        ("n0:g0", "near", GEN5), ("g0:n0", "near", GEN5), ("n0:g0", "sole", Link("pcie", 4, 16)), ("n0:g0", "near", Link("pcie", 2, 16)),
        ("n0:g0", "near", Link("nvlink", 2, 2)),
    ],
)  # fmt: skip
def test_a_lone_path_below_half_of_its_link_is_broken(cell: str, path_class: str, link: Link) -> None:
    node = replace(NODE, gpus=(replace(NODE.gpus[0], link=link),))
    measured = metric(cell, 1.0, path_class)
    reference = resolve([measured], CHECK, [], node)[measured.name]
    assert (reference.origin, reference.degraded_below, reference.highest) == ("prediction", None, None)
    assert reference.lowest == pytest.approx(0.5 * reference.value)
    assert not reference.accepts


def test_the_present_state_of_a_link_expects_nothing() -> None:
    """An idle GPU shows generation 1; the reference is that of what device and slot allow."""
    assert one(metric("n0:g0", 55.0)).value == pytest.approx(CEILING_H2D, abs=0.1)


def test_no_limit_is_invented() -> None:
    bare = replace(NODE, gpus=(replace(NODE.gpus[0], link=Link("pcie")),))
    superchip = replace(NODE, gpus=(replace(NODE.gpus[0], link=Link("c2c", speed=450.0)),))
    for cell, node in (
        ("n0:g0", bare), ("n0:g0", superchip), ("n0:g0/pageable", NODE), ("n0:g0/x4", NODE), ("n0:g0/sm", NODE), ("n0:g0+g0:n0", NODE),
        ("n0:g0+n0:g1", NODE), ("c0:n0/triad", NODE),
    ):  # fmt: skip
        measured = metric(cell, 5.0, total="+" in cell, path_class="local" if cell[0] == "c" else "near")
        assert resolve([measured], CHECK, [], node)[measured.name] is None, cell


@pytest.mark.parametrize(
    "path_class", ["off_socket", "on_socket", "unknown", "off_socket_over_near", "on_socket_over_near"]
)
def test_far_memory_is_not_judged_by_the_gpus_link(path_class: str) -> None:
    """A published node had 0.31 and 0.20 of its near paths off socket, and nobody calls it broken."""
    assert one(metric("n1:g0", 0.2, path_class)) is None


def test_siblings_can_show_degraded_and_never_fail() -> None:
    values = [300.0, 301.0, 299.0, 200.0]
    measured = [metric(f"c{i}:n{i}/triad", v, "local") for i, v in enumerate(values)]
    found = resolve(measured, "host_memory_check", [], NODE)
    slow = found[measured[3].name]
    assert (slow.origin, slow.value, slow.lower, slow.upper) == ("siblings", 300.0, None, None)
    assert slow.degraded_below == pytest.approx(285.0)
    assert slow.degraded_words == "at least 285.0 GB/s (siblings: 300.0 GB/s, median of 3 like it in this node)"
    assert all(r is None for r in resolve(measured[:3], "host_memory_check", [], NODE).values())


def test_siblings_are_of_the_same_model_link_and_class() -> None:
    gpus = [replace(g, name="old" if g.index == 0 else g.name, link=Link("pcie")) for g in NODE.gpus]
    node = replace(NODE, gpus=tuple(gpus))
    measured = [metric(f"n{i // 4}:g{i}", 50.0) for i in range(8)] + [
        metric(f"n1:g{i}", 40.0, "off_socket") for i in range(3)
    ]
    found = resolve(measured, CHECK, [], node)
    assert found["near.n0_g0"] is None
    assert found["near.n0_g1"].value == 50.0
    assert found["off_socket.n1_g1"] is None


@pytest.mark.parametrize("stamp, bound", [(None, None), ({"driver": "590.2", "cuda": "13.0"}, 0.95 * 55.5)])
def test_siblings_judge_only_what_no_tuned_reference_does(
    tmp_path: Path, stamp: dict[str, str] | None, bound: float | None
) -> None:
    loose = TUNED.replace("[55.5, -0.02", "[55.5, -0.3")
    measured = [metric(f"n0:g{i}", 55.5 if i else 50.0) for i in range(4)]
    slow = resolve(measured, CHECK, [reference_file(tmp_path, loose)], NODE, stamp=stamp)["near.n0_g0"]
    assert (slow.origin, slow.value, slow.stale) == ("tuned", 55.5, stamp is not None)
    assert slow.degraded_below == (None if bound is None else pytest.approx(bound))


def test_crossings_of_packages_one_way_are_no_siblings_of_the_other() -> None:
    """Four P100 of a POWER8 S822LC, public diagnostic log: 20.3 GB/s from package 0 to 1, 24.5 back, and nothing is broken."""
    gpus = tuple(replace(gpu, package=gpu.index // 2, numa_node=gpu.index // 2) for gpu in NODE.gpus[:4])
    node = replace(NODE, gpus=gpus, peers={(0, 1): "NV2", (2, 3): "NV2"})
    rates = {(0, 0): 35.4, (1, 1): 35.4, (0, 1): 20.3, (1, 0): 24.5}
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    measured = [metric(f"g{a}:g{b}", rates[a // 2, b // 2], peer_class(node, a, b)) for a, b in pairs]
    found = resolve(measured, "peer_check", [], node)
    judged = judge(None, found, subject=SUBJECT, metrics=measured).metrics
    assert [each.name for each in judged if each.verdict == "DEGRADED"] == []
    assert sum(each.reference is not None for each in judged) == 12
    # One pair that is slower than the others of its direction still is.
    measured[1] = metric("g0:g2", 15.0, "SYS_off")
    assert found["SYS_off.g0_g2"].value == 20.3
    judged = judge(None, resolve(measured, "peer_check", [], node), subject=SUBJECT, metrics=measured).metrics
    assert [each.name for each in judged if each.verdict == "DEGRADED"] == ["SYS_off.g0_g2"]


def test_staged_copies_below_one_switch_are_no_siblings_of_others() -> None:
    """Eight A100 with NVLink on a board, two below each PCIe switch: 10.7 GB/s through host memory below one, 17.4 between two."""
    gpus = tuple(replace(gpu, package=0, numa_node=0, uplinks=(f"switch:{gpu.index // 2}",)) for gpu in NODE.gpus[:4])
    node = replace(NODE, gpus=gpus, peers={(a, b): "NV12" for a in range(4) for b in range(a + 1, 4)})
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    measured = [metric(f"g{a}:g{b}/staged", 10.7 if a // 2 == b // 2 else 17.4, "NV12") for a, b in pairs]
    judged = judge(None, resolve(measured, "peer_check", [], node), subject=SUBJECT, metrics=measured).metrics
    assert [each.name for each in judged if each.verdict == "DEGRADED"] == []
    assert all(each.reference is not None for each in judged)


def test_lanes_between_packages_are_siblings_both_ways() -> None:
    """NVLink does not lead through the packages."""
    gpus = tuple(replace(gpu, package=gpu.index // 2) for gpu in NODE.gpus[:4])
    node = replace(NODE, gpus=gpus)
    measured = [metric(f"g{a}:g{b}", 300.0, "NV18") for a, b in ((0, 1), (0, 2), (2, 0), (3, 1))]
    assert all(resolve(measured, "peer_check", [], node).values())


@pytest.mark.parametrize("value, codes", [(40.0, ["references.siblings_only"]), (20.0, [])])
def test_passing_by_siblings_or_half_a_link_alone_is_said(value: float, codes: list[str]) -> None:
    measured = [metric(f"n{i // 4}:g{i}", value) for i in range(8)]
    verdict = judge(None, resolve(measured, CHECK, [], NODE), subject=SUBJECT, metrics=measured)
    assert [finding.code for finding in verdict.findings] == codes
    assert verdict.verdict == ("PASS" if codes else "FAIL")
    assert [finding.fields["figures"] for finding in verdict.findings] == [8] * len(codes)


def test_passing_by_a_reference_needs_no_word_on_siblings(tmp_path: Path) -> None:
    measured = [metric(f"n{i // 4}:g{i}", 55.5) for i in range(8)]
    found = resolve(measured, CHECK, [reference_file(tmp_path, TUNED)], NODE)
    assert judge(None, found, subject=SUBJECT, metrics=measured).findings == ()


def test_modelled_figures_meet_published_ones_alone(tmp_path: Path) -> None:
    tuned, published = reference_file(tmp_path, TUNED, "a.yaml"), reference_file(tmp_path, PUBLISHED, "b.yaml")
    assert one(metric("n0:g0", 55.5), tuned, published, kind="modelled").origin == "published"
    assert one(metric("n0:g0", 55.5), tuned, kind="modelled") is None


@pytest.mark.parametrize(
    "system, bounds",
    [
        ("theirs", (54.0 * 0.95, None, None, None)),  # the system that the figures are of: FAIL below
        (
            "ours",
            (CEILING_H2D / 2, None, 54.0 * 0.95, None),
        ),  # another machine of the type: FAIL where a path is broken
        (None, (CEILING_H2D / 2, None, 54.0 * 0.95, None)),
    ],
)
def test_published_figures_fail_the_system_they_are_of(
    tmp_path: Path, system: str | None, bounds: tuple[float | None, ...]
) -> None:
    published = reference_file(tmp_path, PUBLISHED.replace("{source", "{system: theirs, source"))
    found = one(metric("n0:g0", 55.5), published, system=system)
    actual = (found.lowest, found.highest, found.degraded_below, found.degraded_above)
    assert actual == tuple(b if b is None else pytest.approx(b, abs=0.03) for b in bounds)
    assert found.accepts


@pytest.mark.parametrize("system, word", [("theirs", "FAIL"), ("ours", "DEGRADED")])
def test_published_times_and_ratios_fail_likewise(tmp_path: Path, system: str, word: str) -> None:
    rows = """\
provenance: {published: {source: a paper, system: theirs}}
host_device_check:
  $index: [$dev.gpu.model]
  H200:
    near_latency_copy.h2d: [6.0, -0.1, 0.1, us]
    off_socket_over_near.h2d: [0.97, -0.03, 0.03, "1"]
"""
    published = reference_file(tmp_path, rows)
    slow, fast = (metric("n0:g0", t, "near_latency_copy", unit="us", quantity="latency.copy") for t in (7.0, 5.0))
    far = metric("n1:g0", 0.5, "off_socket_over_near")
    for measured, wanted in ((slow, word), (fast, "PASS"), (far, word)):
        found = resolve([measured], CHECK, [published], NODE, system=system)
        (judged,) = judge(None, found, subject=SUBJECT, metrics=[measured]).metrics
        assert judged.verdict == wanted, measured


@pytest.mark.parametrize(
    "change, line, words",
    [
        (("host_device_check", "host_device_chek"), 2, "a check that does not exist (did you mean 'host_device_check'?)"),
        (("[55.5, -0.02, null, GB/s]", "[55.5, 0.02, null, GB/s]"), 5, "0.02"),
        (("[55.5, -0.02, null, GB/s]", "[55.5, -0.02]"), 5, "expected [value, lower, upper, unit]"),
        (("[55.5, -0.02, null, GB/s]", "[fast, -0.02, null, GB/s]"), 5, 'expected a number, found "fast"'),
        (("date: 2026-11-20, n: 4, ", ""), 1, "the key 'date' is missing"),
        (("provenance", "provenence"), 1, "provenence"),
        (("$index: [$dev.gpu.model]", "$index: [$system]"), 3, "$dev.gpu.model"),
    ],
)  # fmt: skip
def test_a_wrong_reference_file(tmp_path: Path, change: tuple[str, str], line: int, words: str) -> None:
    with pytest.raises(NearfarError) as caught:
        reference_file(tmp_path, TUNED.replace(*change))
    assert str(caught.value).startswith(f"{tmp_path}/refs.yaml:{line}: "), str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "row, refused",
    [
        ("near.h2d: [800, -0.02, null, GB/s]", True),
        ("near.h2d: [63.1, -0.02, null, GB/s]", True),
        ("near.h2d: [62.9, -0.02, null, GB/s]", False),
        ("near.both.total: [110, -0.02, null, GB/s]", False),
        ("near.both.total: [127, -0.02, null, GB/s]", True),
        ("on_socket_over_near.h2d: [90, -0.02, null, '1']", False),
    ],
)  # fmt: skip
def test_a_reference_above_the_line_rate(tmp_path: Path, row: str, refused: bool) -> None:
    file = reference_file(tmp_path, TUNED.replace("near.h2d: [55.5, -0.02, null, GB/s]", row))
    if not refused:
        one(metric("n0:g0", 55.0), file)
        return
    with pytest.raises(NearfarError, match=r"refs.yaml:5: .*above the line rate of PCIe 5.0 x16"):
        one(metric("n0:g0", 55.0), file)


def test_the_shipped_references_agree_with_their_node_types() -> None:
    directories = [CHECKOUT / "site"]
    for name in ("keeneland", "summit", "sierra", "titan"):
        node = load_node_type(name, directories).node
        for file in references.find(name, name, directories):
            resolve([], CHECK, [file], node)
            assert file.origin == "published"


def test_the_same_file_serves_reframes_own_ref() -> None:
    """ReFrame's reader of `$ref` takes the shipped files as they are."""
    from reframe.core.pipeline import _ReferenceDict

    reader = object.__new__(_ReferenceDict)
    reader._ReferenceDict__test_entry_name = CHECK
    read = reader._read_ref_file(str(CHECKOUT / "site/references/keeneland.yaml"))
    assert read["$index"] == ("$dev.gpu.model",)
    assert read["Tesla M2070"]["near.h2d"] == (5.7, -0.01, 0.01, "GB/s")


@pytest.mark.parametrize(
    "cell, path_class, flow, total, key",
    [
        ("n0:g0", "near", None, False, "near.h2d"),
        ("g0:n1@n0", "off_socket", None, False, "off_socket.d2h"),
        ("n0:g0/sm", "near", None, False, "near.h2d.sm"),
        ("n0:g0+g0:n0", "near", "g0:n0", False, "near.both.d2h"),
        ("n0:g0+g0:n0", "sole", None, True, "sole.both.total"),
        ("c0:n0/triad", "local", None, False, "local.triad"),
        ("c0:n0/triad+c1:n1/triad", "local", None, True, "all.triad"),
    ],
)  # fmt: skip
def test_row_keys(cell: str, path_class: str, flow: str | None, total: bool, key: str) -> None:
    assert row_keys(metric(cell, 1.0, path_class, flow, total))[-1] == key


def test_rows_of_latencies_and_of_gpu_pairs_are_no_rates_of_a_host_link(tmp_path: Path) -> None:
    rows = "    sole_latency_copy.h2d: [6.2, null, 0.1, us]\n    NV18.both.total: [780, -0.05, null, GB/s]\n"
    head = "provenance: {tuned: {date: 2026-11-20, n: 4}}\nhost_device_check:\n  $index: [$dev.gpu.model]\n  H200:\n"
    reference_file(tmp_path, head + rows).check_line_rates({"H200": GEN5})
    with pytest.raises(NearfarError, match=r"sole_latency_copy\.h2d: is in 'us', found 'GB/s'"):
        reference_file(tmp_path, head + rows.replace("us]", "GB/s]"))
    with pytest.raises(NearfarError, match=r"NV18\.both\.total: is in 'GB/s', found 'us'"):
        reference_file(tmp_path, head + rows.replace("GB/s]", "us]"))


def test_a_row_of_its_own_provenance_says_so(tmp_path: Path) -> None:
    text = TUNED.replace("n: 4,", 'n: 4, rows: {"host_device_check/H200/near.h2d": {n: 12}},')
    text = text.replace('off_socket_over_near.h2d: [0.97, -0.03, 0.03, "1"]', "near.d2h: [55.2, -0.02, null, GB/s]")
    tuned = reference_file(tmp_path, text)
    note = one(metric("n0:g0", 55.5), tuned).note
    assert note == "tuned 2026-11-20, n = 12"
    back = one(metric("g0:n0", 55.2), tuned).note
    assert back == "tuned 2026-11-20, n = 4"


def test_what_kernels_copy_both_ways_is_no_sibling_of_what_copy_engines_do() -> None:
    """Two healthy H100s: 781 GB/s by their engines, 678 by kernels that read."""
    asked = [references.question_of(parse(cell), None, True) for cell in ("g0:g1+g1:g0", "g0:g1@g1/sm+g1:g0@g0/sm")]
    assert asked == ["both.total", "both.sm.total"]
