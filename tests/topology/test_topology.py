"""Reading hwloc XML, path classes, shared uplinks, documents."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearfar.base.errors import NearfarError
from nearfar.topology import (
    Gpu,
    Link,
    Nic,
    Node,
    NumaNode,
    Package,
    format_cpu_list,
    host_class,
    nic_class,
    node_from_document,
    node_to_document,
    parse_cpu_list,
    parse_hwloc_xml,
    peer_class,
    shared_uplinks,
)
from nearfar.topology.bitmaps import parse_bitmap
from nearfar.topology.text import draw
from tests.support import construct_topologies

REAL = Path(__file__).parents[2].parent / "shared" / "topologies"


def real(name: str) -> Node:
    """A capture of a real node, from beside the checkout."""
    path = REAL / name
    if not path.is_file():
        pytest.skip(f"{path} is not there: captures of real nodes are kept beside the checkout")
    return parse_hwloc_xml(path.read_text(encoding="utf-8"))


def constructed(name: str) -> Node:
    path = construct_topologies.CAPTURES / f"constructed-{name}.xml"
    return parse_hwloc_xml(path.read_text(encoding="utf-8"))


def node_type(name: str) -> Node:
    return parse_hwloc_xml((construct_topologies.NODE_TYPES / f"{name}.xml").read_text(encoding="utf-8"))


def classes(node: Node) -> dict[int, list[str]]:
    """NUMA node -> the class of each GPU."""
    return {n.index: [host_class(node, n.index, g.index) for g in node.gpus] for n in node.host_numa_nodes}


# -- real captures ----------------------------------------------------------------------------------------------------


def test_sl390s_has_interleaved_cores_and_gpus_on_both_packages() -> None:
    node = real("hp-sl390s-g7-3xgpu.xml")
    assert node.product == "ProLiant SL390s G7"
    assert [(p.index, format_cpu_list(p.cpus)[:6]) for p in node.packages] == [(0, "0,2,4,"), (1, "1,3,5,")]
    assert [gpu.pci for gpu in node.gpus] == ["0000:06:00.0", "0000:11:00.0", "0000:14:00.0"]  # not the ATI chip
    assert classes(node) == {0: ["near", "off_socket", "off_socket"], 1: ["off_socket", "near", "near"]}
    assert [peer_class(node, 0, 1), peer_class(node, 1, 2)] == ["SYS_off", "PHB"]
    assert [nic.name for nic in node.nics] == ["eth0", "eth1", "mlx4_0"]
    assert nic_class(node, 0, "mlx4_0") == "PHB"
    assert node.distances[0, 1] == 20
    assert node.gpus[0].link == Link("pcie", speed=4.0)  # idle: generation and width are not told


def test_power8_gpus_have_one_entry_each_and_nvlink_to_package_and_neighbour() -> None:
    node = real("power8-4xp100.xml")
    assert [gpu.name for gpu in node.gpus] == ["Tesla P100-SXM2-16GB"] * 4
    assert node.gpus[2].uuid == "GPU-ea919830-8251-6a30-e379-daeb01448779"
    assert node.gpus[0].link == Link("nvlink", 1, 2, 1, 2)
    assert node.peers == {(0, 1): "NV2", (2, 3): "NV2"}
    assert peer_class(node, 0, 2) == "SYS_off"
    assert classes(node)[0] == ["near", "near", "off_socket", "off_socket"]


@pytest.mark.parametrize("name", ["power9-ac922-6xv100.xml", "power9-ac922-6xv100-gpu-memory-kept.xml"])
def test_power9_gpus_without_ids_are_gpus_and_their_memory_is_not_the_hosts(name: str) -> None:
    node = real(name)
    assert [n.index for n in node.host_numa_nodes] == [0, 8]
    assert [p.index for p in node.packages] == [0, 8]
    assert len(node.gpus) == 6
    assert {gpu.link.kind for gpu in node.gpus} == {"nvlink"}
    assert classes(node) == {0: ["near"] * 3 + ["off_socket"] * 3, 8: ["off_socket"] * 3 + ["near"] * 3}


def test_power9_gpu_memory_belongs_to_its_gpu() -> None:
    node = real("power9-ac922-6xv100-gpu-memory-kept.xml")
    owners = {n.index: n.gpu for n in node.numa_nodes if n.kind == "gpu"}
    assert owners == {255: 0, 254: 1, 253: 2, 252: 3, 251: 4, 250: 5}
    with pytest.raises(NearfarError, match="no host memory n255; it has: n0, n8"):
        host_class(node, 255, 0)


# -- constructed captures and node types ------------------------------------------------------------------------------


def test_nvswitch_node_with_subnuma_clustering() -> None:
    node = constructed("eight-gpus-nvswitch-subnuma")
    assert classes(node)[1] == ["on_socket"] * 2 + ["near"] * 2 + ["off_socket"] * 4
    assert {peer_class(node, a, b) for a in range(8) for b in range(8) if a != b} == {"NV18"}
    assert [gpu.nvlinks for gpu in node.gpus] == [18] * 8
    assert [nic_class(node, 0, f"mlx5_{n}") for n in (0, 1, 2, 4)] == ["PIX", "NODE", "SYS_on", "SYS_off"]
    assert shared_uplinks(node)["0000:11:00.0"] == ("g0", "mlx5_0")


def test_four_numa_nodes_a_package() -> None:
    node = constructed("four-numa-a-package")
    assert classes(node)[2] == ["on_socket", "near", "off_socket", "off_socket"]
    assert [peer_class(node, 0, 1), peer_class(node, 0, 2)] == ["SYS_on", "SYS_off"]


def test_grace_hopper_memory_of_gpus_is_not_host_memory() -> None:
    node = constructed("grace-hopper")
    assert [n.index for n in node.host_numa_nodes] == [0, 1]
    assert {n.index: n.gpu for n in node.numa_nodes if n.kind == "gpu"} == {2: 0, 10: 1}
    assert {gpu.link.kind for gpu in node.gpus} == {"c2c"}


def test_amd_gpus_have_class_and_package_and_are_not_measured() -> None:
    node = constructed("mi250x")  # its management VGA is no GPU
    assert [gpu.pci[5:7] for gpu in node.gpus] == ["c1", "c6", "c9", "ce", "d1", "d6", "d9", "de"]
    gpu = node.gpus[4]
    assert (gpu.name, gpu.uuid, gpu.memory) == ("AMD Instinct MI250X", "GPU-0000000000000004", 67092480 << 10)
    assert classes(node)[0] == ["on_socket"] * 4 + ["near"] * 2 + ["on_socket"] * 2
    assert {peer_class(node, a, b) for a in range(8) for b in range(a)} == {"XGMI"}
    assert [nic_class(node, g, "hsi2") for g in (4, 5, 0)] == ["NODE", "PHB", "SYS_on"]
    assert "one package with g5" in draw(node) and node.not_measured and node.not_measured in draw(node)


@pytest.mark.parametrize(
    ("pci_type", "models"),
    [
        ("1200 [1002:74a1]", ["AMD Instinct MI300X"] * 2), ("0300 [1002:738c]", ["AMD Instinct MI100"] * 2),
        ("0300 [1002:515e]", []), ("0300 [1002:164e]", []), ("0380 [1002:150e]", []),
    ],
)  # fmt: skip
def test_graphics_of_processors_and_boards_are_no_gpus(pci_type: str, models: list[str]) -> None:
    text = (construct_topologies.CAPTURES / "constructed-mixed-x8-x16.xml").read_text(encoding="utf-8")
    nvidia = "0302 \\[10de:....\\]"
    assert [gpu.name for gpu in parse_hwloc_xml(re.sub(nvidia, pci_type, text)).gpus] == models
    beside = parse_hwloc_xml(re.sub(nvidia, pci_type, text, count=1))  # a display beside an NVIDIA GPU
    assert [(gpu.index, gpu.vendor) for gpu in beside.gpus] == [(0, None)]


@pytest.mark.parametrize(
    ("upwards", "expected"),
    [
        (["port{}"], "PHB"),
        (["port{}", "switch"], "PIX"),
        (["port{}", "switch{}", "bridge"], "PXB"),
        (["port{}", "switch{}", "port0{}", "switch0"], "PXB"),
    ],
)
def test_gpus_with_one_switch_between_them_are_nearer_than_with_several(upwards: list[str], expected: str) -> None:
    gpus = [
        Gpu(
            i,
            f"0000:{i + 1}1:00.0",
            numa_node=0,
            package=0,
            host_bridge="0000:00",
            uplinks=tuple(each.format(i) for each in upwards),
        )
        for i in (0, 1)
    ]
    assert peer_class(Node("n", (Package(0, (0,)),), (NumaNode(0, 0, (0,), 1),), tuple(gpus)), 0, 1) == expected


def test_nics_and_gpus_behind_switches() -> None:
    node = constructed("nic-behind-gpu-switch")
    assert peer_class(node, 0, 1) == "PXB"
    assert [nic_class(node, 0, f"mlx5_{n}") for n in range(4)] == ["PIX", "PHB", "NODE", "SYS_off"]
    assert shared_uplinks(node) == {"0000:01:00.0": ("g0", "g1", "mlx5_0")}


def test_memory_without_cpus_belongs_to_its_package_and_cpus_without_memory_are_no_host_memory() -> None:
    node = constructed("cpuless-memory")
    assert node.numa_node(2) == NumaNode(2, 1, (), 128 << 30)
    assert [n.index for n in node.host_numa_nodes] == [0, 1, 2]
    assert classes(node) == {0: ["near", "off_socket"], 1: ["off_socket", "near"], 2: ["off_socket", "on_socket"]}


def test_unknown_locality_stays_unknown_unless_there_is_one_numa_node() -> None:
    assert classes(constructed("unknown-locality")) == {0: ["unknown"], 1: ["unknown"]}
    assert classes(constructed("virtual-machine-4gpus")) == {0: ["sole"] * 4}


def test_hwloc_format_3() -> None:
    node = constructed("hwloc-format-3")
    assert node.hostname == "constructed"
    assert node.product == "Constructed format 3 node"
    assert [(gpu.pci, gpu.name, gpu.numa_node) for gpu in node.gpus] == [("0000:01:00.0", "NVIDIA H100", 0)]
    assert [nic.name for nic in node.nics] == ["mlx5_0"]
    assert node.distances[0, 1] == 21


def test_a_cpuset_is_shown_and_hides_nothing() -> None:
    node = constructed("restricted-cpuset")
    assert node.allowed_cpus == (6, 7)
    assert node.allowed_numa_nodes == (1,)
    assert classes(node) == {0: ["near", "off_socket"], 1: ["off_socket", "near"]}


def test_a_cpuset_that_hid_numa_nodes_is_refused() -> None:
    text = construct_topologies.restricted().xml()
    left_out = text.replace('cpuset="0x000000ff" complete_cpuset', 'cpuset="0x000000c0" complete_cpuset', 1)
    numa = left_out.index('<object type="NUMANode" os_index="0"')
    end = left_out.index("</object>", numa) + len("</object>")
    with pytest.raises(NearfarError, match=r"NUMA nodes 0 are left out.*--disallowed"):
        parse_hwloc_xml(left_out[:numa] + left_out[end:])


def test_mixed_widths_are_told_by_the_speed() -> None:
    assert [gpu.link.speed for gpu in constructed("mixed-x8-x16").gpus] == [31.507692, 15.753846]


def test_published_node_types() -> None:
    assert classes(node_type("keeneland")) == {
        0: ["near", "off_socket", "off_socket"],
        1: ["off_socket", "near", "near"],
    }
    assert list(shared_uplinks(node_type("dl160")).values()) == [("g0", "g1", "g2", "g3")]
    for name, gpus, lanes in (("summit", 6, 2), ("sierra", 4, 3)):
        node = node_type(name)
        assert [gpu.link for gpu in node.gpus] == [Link("nvlink", 2, lanes, 2, lanes)] * gpus
        first, second = (n.index for n in node.host_numa_nodes)
        half = gpus // 2
        assert classes(node) == {
            first: ["near"] * half + ["off_socket"] * half,
            second: ["off_socket"] * half + ["near"] * half,
        }
        assert peer_class(node, 0, 1) == f"NV{lanes}"
        assert not any(name.startswith("g") for names in shared_uplinks(node).values() for name in names)
    assert classes(node_type("titan")) == {0: ["unknown"], 1: ["unknown"]}
    assert node_type("jaguarpf").gpus == ()
    pop = node_type("pop-four-gpus")
    assert [gpu.numa_node for gpu in pop.gpus] == [0, 2, 4, 6]
    assert [format_cpu_list(pop.numa_nodes[g.numa_node or 0].cpus) for g in pop.gpus] == [
        "0-11",
        "24-35",
        "48-59",
        "72-83",
    ]
    assert [nic_class(pop, 1, "mlx5_0"), nic_class(pop, 3, "mlx5_1")] == ["PIX", "PIX"]


@pytest.mark.parametrize("path", list(construct_topologies.files()), ids=lambda path: path.stem)
def test_constructed_files_are_what_the_script_writes_and_lstopo_reads_them(path: Path) -> None:
    text = construct_topologies.files()[path]
    assert path.read_text(encoding="utf-8") == text, "run python -m tests.construct_topologies"
    lstopo = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
    if lstopo is None:
        pytest.skip("lstopo is not installed")
    if 'version="3' in text:
        return  # hwloc 2 does not read format 3
    command = [lstopo, "-i", str(path), "--whole-io", "--disallowed", "--of", "xml", "-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert parse_hwloc_xml(done.stdout) == parse_hwloc_xml(text)


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no element found"),
        ("<html/>", "<html>, not <topology>"),
        ("<topology/>", "format 1 .*lstopo -i"),
        ('<topology version="4.0"/>', "format 4.0"),
        ('<topology version="2.0"/>', 'no <object type="Machine">'),
        ('<topology version="2.0"><object type="Machine" cpuset="0xzz"/></topology>', "not an hwloc bitmap"),
    ],
)
def test_xml_that_is_not_hwlocs(text: str, words: str) -> None:
    with pytest.raises(NearfarError, match=words):
        parse_hwloc_xml(text)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_garbage_never_ends_in_another_error(data: st.DataObject) -> None:
    text = construct_topologies.nic_behind_switch().xml()
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 40)))
        text = (
            text[:start]
            + data.draw(st.text(max_size=12) | st.sampled_from(["-1", "9" * 30, "0xf...f", "zz"]))
            + text[end:]
        )
    try:
        node = parse_hwloc_xml(text)
    except NearfarError:
        return
    assert node_from_document(node_to_document(node)) == node


@given(
    st.text()
    | st.sampled_from(["9" * 30]).map(
        lambda v: f'<topology version="2.0"><object type="Machine" os_index="{v}"/></topology>'
    )
)
def test_any_text_is_a_node_or_a_users_error(text: str) -> None:
    try:
        parse_hwloc_xml(text)
    except NearfarError as error:
        assert "\n" not in str(error)


def test_unknown_devices_are_named() -> None:
    node = node_type("keeneland")
    with pytest.raises(NearfarError, match="no GPU g7; it has: g0, g1, g2"):
        host_class(node, 0, 7)
    with pytest.raises(NearfarError, match="no NIC mlx9; it has: mlx4_0"):
        nic_class(node, 0, "mlx9")
    with pytest.raises(NearfarError, match="itself"):
        peer_class(node, 1, 1)


# -- lists and documents ----------------------------------------------------------------------------------------------


@given(st.sets(st.integers(0, 300)))
def test_cpu_lists_round_trip(numbers: set[int]) -> None:
    assert parse_cpu_list(format_cpu_list(numbers)) == tuple(sorted(numbers))


@pytest.mark.parametrize("text", ["3-1", "a", "1,,2", "-1", "1-", "99999999999", "0-9999999999"])
def test_bad_cpu_lists(text: str) -> None:
    with pytest.raises(NearfarError, match="is not a list of CPUs"):
        parse_cpu_list(text)


def test_bitmaps_have_their_highest_word_first_and_may_leave_words_out() -> None:
    assert parse_bitmap("0x000000ff,0xff000000,,0x0") == frozenset(range(88, 104))
    assert parse_bitmap("0xf...f,0x1") is None


indices = st.integers(0, 4000)
maybe = st.none() | indices
words = st.none() | st.text(max_size=8)
cpus = st.sets(st.integers(0, 200), max_size=6).map(lambda s: tuple(sorted(s)))
links = st.builds(
    Link, st.sampled_from(["pcie", "nvlink", "c2c"]), maybe, maybe, maybe, maybe, st.none() | st.floats(0, 1000)
)
texts = st.lists(st.text(max_size=8), max_size=3).map(tuple)
gpus = st.builds(
    Gpu, index=indices, pci=st.text(max_size=12), uuid=words, name=words, numa_node=maybe, package=maybe, link=links,
    uplinks=texts, host_bridge=words, nvlink_generation=maybe, nvlinks=maybe, memory=maybe, mig=st.none() | st.booleans(),
    ecc=st.none() | st.booleans(), visible=st.booleans(), fault=words,
)  # fmt: skip
nodes = st.builds(
    Node,
    hostname=st.text(min_size=1, max_size=8),
    packages=st.lists(st.builds(Package, indices, cpus), max_size=3).map(tuple),
    numa_nodes=st.lists(
        st.builds(NumaNode, indices, maybe, cpus, st.integers(0, 1 << 50), st.sampled_from(["host", "gpu"]), maybe),
        max_size=3,
    ).map(tuple),
    gpus=st.lists(gpus, max_size=3).map(tuple),
    nics=st.lists(st.builds(Nic, st.text(), st.text(), maybe, maybe, links, texts, words), max_size=2).map(tuple),
    peers=st.dictionaries(st.tuples(st.integers(0, 8), st.integers(9, 16)), st.text(max_size=5), max_size=4),
    distances=st.dictionaries(st.tuples(indices, indices), indices, max_size=5),
    product=words,
    allowed_cpus=st.none() | cpus,
    allowed_numa_nodes=st.none() | cpus,
    software=st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
    notes=texts,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(nodes)
def test_a_node_survives_its_document(node: Node) -> None:
    assert node_from_document(json.loads(json.dumps(node_to_document(node)))) == node


def test_documents_may_leave_out_keys_and_hold_others() -> None:
    node = node_from_document({"hostname": "a", "gpus": [{"index": 0, "pci": "0000:01:00.0", "new": 1}], "newer": []})
    assert node.gpus[0].visible
    assert node.gpus[0].link == Link()


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ([], "node: expected an object"),
        ({"gpus": [{"index": "0"}]}, r"node.gpus\[0\].index: expected a whole number, found '0'"),
        ({"gpus": [{}]}, r"node.gpus\[0\].index: expected a whole number, found None"),
        ({"numa_nodes": [{"index": 0, "kind": "disk"}]}, "'host' or 'gpu', found 'disk'"),
        ({"peers": [{"gpus": [1]}]}, "two GPU numbers"),
        ({"distances": {"nodes": [0, 1], "values": [[10]]}}, "square matrix"),
        ({"gpus": [{"index": 0, "link": {"kind": "usb"}}]}, r"gpus\[0\].link.kind"),
        ({"gpus": [{"index": 1e400}]}, "expected a whole number"),
    ],
)
def test_wrong_documents_name_the_place(document: object, place: str) -> None:
    with pytest.raises(NearfarError, match=place):
        node_from_document(document)


# -- the drawing ------------------------------------------------------------------------------------------------------


def test_the_drawing_shows_places_links_and_classes() -> None:
    text = draw(constructed("nic-behind-gpu-switch"))
    for expected in ("package 0  CPUs 0-7", "n0  CPUs 0-7  64 GiB", "g0      0000:03:00.0", "off_socket", "PIX", "PXB"):
        assert expected in text
    assert draw(constructed("mixed-x8-x16")).endswith(
        "notes\n  g1 (0000:41:00.0): its link to the host is 15.8 GB/s, of other GPUs of model NVIDIA A100-PCIE-40GB in this node 31.5 GB/s"
    )
    text = draw(constructed("unknown-locality"))
    assert "of no one package" in text
    assert "unknown" in text


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(construct_topologies.files())))
def test_every_constructed_node_can_be_drawn(path: Path) -> None:
    node = parse_hwloc_xml(path.read_text(encoding="utf-8"))
    text = draw(node)
    assert all(gpu.pci in text for gpu in node.gpus)
