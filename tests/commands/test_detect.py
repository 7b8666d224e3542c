"""The command ``nearfar detect`` and the first site files."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nearfar.base.errors import NearfarError
from nearfar.cells import parse
from nearfar.cli import main
from nearfar.model.prediction import load_node_type, predict
from nearfar.question import named
from nearfar.site.first_site_files import write_first_site_files
from nearfar.site.systems import claims, load_all
from nearfar.topology import Link, Node, node_from_document, parse_hwloc_xml
from tests.conftest import CHECKOUT
from tests.support import construct_topologies
from tests.topology.test_topology import REAL

KEENELAND = str(construct_topologies.NODE_TYPES / "keeneland.xml")


def test_the_drawing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", "--xml", KEENELAND]) == 0
    out = capsys.readouterr().out
    assert out.startswith("keeneland: ProLiant SL390s G7\n")
    assert "  n1  off_socket  near        near\n" in out


def test_json_is_a_documents_node(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", "--xml", KEENELAND, "--json"]) == 0
    node = node_from_document(json.loads(capsys.readouterr().out))
    assert node == parse_hwloc_xml(Path(KEENELAND).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["hp-sl390s-g7-3xgpu", "power8-4xp100", "power9-ac922-6xv100"])
def test_real_captures(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if not REAL.is_dir():
        pytest.skip(f"{REAL} is not there: captures of real nodes are kept beside the checkout")
    assert main(["detect", "--xml", str(REAL / f"{name}.xml")]) == 0
    assert "off_socket" in capsys.readouterr().out


def test_checks_that_the_first_file_does_not_ask_are_said_with_the_line_that_brings_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["detect", "--xml", KEENELAND, "--site", "mine", "--site-dir", str(tmp_path)]) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("not run: ")]
    assert [re.findall(r"\w+_check", line) for line in said] == [
        ["load_balance_check", "mpi_check"],
        ["osu_check"],
        ["nccl_check"],
    ]
    file = tmp_path / "systems/mine.yaml"
    text = file.read_text()
    before, *with_them = ("features: [gpu]", *(re.search(r"features: \[.*\]$", line)[0] for line in said))  # type: ignore[index]
    assert before in text and with_them == [
        "features: [gpu, ranks]", "features: [gpu, ranks, mpi]", "features: [gpu, ranks, mpi, nccl]"
    ]  # fmt: skip
    for line, brings in zip(said, with_them):
        file.write_text(text.replace(before, brings))
        partition = load_all([tmp_path])["mine"].partitions["default"]
        for name in re.findall(r"\w+_check", line):
            assert named(name).fits("mine", "default", partition.features), f"{brings} does not bring {name}"


def test_first_site_files_are_read_by_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", "--xml", KEENELAND, "--site", "mine", "--site-dir", str(tmp_path)]) == 0
    assert "remove 'unreviewed: true'" in capsys.readouterr().err
    system = load_all([tmp_path])["mine"]
    assert system.unreviewed
    # The note above the line holds once the line is gone.
    text = next((tmp_path / "systems").glob("*.yaml")).read_text()
    assert "^" not in text and text.index("compared it with what was ordered") < text.index("\nunreviewed: true\n")
    assert claims("whatever", "ProLiant SL390s G7", {"mine": system}) is system
    partition = system.partitions["default"]
    assert partition.expect["gpus"] == 3
    assert partition.expect["gpu_model"] == "Tesla M2070"
    assert partition.expect["numa_nodes"] == [0, 1]
    node_type = load_node_type("mine", [tmp_path])
    assert node_type.unreviewed
    assert [gpu.pci for gpu in node_type.node.gpus] == ["0000:06:00.0", "0000:11:00.0", "0000:14:00.0"]
    for folder in ("systems", "nodes"):
        assert "\nunreviewed: true\n" in (tmp_path / folder / "mine.yaml").read_text(encoding="utf-8")


def write(tmp_path: Path, xml: str, name: str = "mine", **changes: object) -> Node:
    node = replace(parse_hwloc_xml(xml), **changes)  # type: ignore[arg-type]
    write_first_site_files(name, node, xml, tmp_path)
    return node


def test_links_and_lanes_that_are_known_are_written(tmp_path: Path) -> None:
    xml = construct_topologies.virtual_machine().xml()
    gpus = tuple(
        replace(gpu, link=Link("pcie", 1, 16, 5, 16), nvlinks=18, nvlink_generation=4, ecc=True, mig=False)
        for gpu in parse_hwloc_xml(xml).gpus
    )
    write(tmp_path, xml, gpus=gpus, hostname="node{{7}}")
    partition = load_all([tmp_path])["mine"].partitions["default"]
    expect = {
        key: partition.expect[key] for key in ("link", "nvlinks", "nvlink_generation", "ecc", "mig", "numa_nodes")
    }
    assert expect == {
        "link": {"kind": "pcie", "gen": 5, "width": 16}, "nvlinks": 18, "nvlink_generation": 4, "ecc": True, "mig": False,
        "numa_nodes": [0],
    }  # fmt: skip
    assert load_node_type("mine", [tmp_path]).node.gpus[3].link.max_gen == 5


def test_gpus_of_different_links_are_described_one_by_one(tmp_path: Path) -> None:
    xml = construct_topologies.mixed_width().xml()
    gpus = tuple(
        replace(gpu, link=Link("pcie", 1, width, 4, width)) for gpu, width in zip(parse_hwloc_xml(xml).gpus, (16, 8))
    )
    write(tmp_path, xml, gpus=gpus)
    assert "link" not in load_all([tmp_path])["mine"].partitions["default"].expect
    assert [gpu.link.width for gpu in load_node_type("mine", [tmp_path]).node.gpus] == [16, 8]


def test_what_an_xml_does_not_say_is_taken_from_the_gpus_model(tmp_path: Path) -> None:
    xml = (CHECKOUT / "tests/data/topologies/constructed-eight-gpus-nvswitch.xml").read_text(encoding="utf-8")
    write(tmp_path, xml)
    text = (tmp_path / "nodes" / "mine.yaml").read_text(encoding="utf-8")
    assert "nvlink_generation: 4    # not in the XML: of the GPU's model, gpus/h100-sxm.yaml" in text
    node_type = load_node_type("mine", [tmp_path])
    known = {name: predict(parse(name), node_type) for name in ("n0:g0", "g0:g1")}
    assert {name: (round(each.total or 0), each.basis) for name, each in known.items()} == {
        "n0:g0": (58, "upper bound"), "g0:g1": (400, "upper bound")
    }  # fmt: skip


def test_a_machine_without_gpus_and_without_a_product_is_claimed_by_name(tmp_path: Path) -> None:
    xml = construct_topologies.jaguarpf().xml().replace("Cray XT5", "")
    write(tmp_path, xml)
    systems = load_all([tmp_path])
    assert claims("jaguarpf", None, systems) is systems["mine"]
    assert systems["mine"].partitions["default"].features == ()


def test_the_peak_of_host_memory_is_written_where_the_machine_knows_it(tmp_path: Path) -> None:
    xml = construct_topologies.keeneland().xml()
    write(tmp_path, xml)
    text = (tmp_path / "nodes" / "mine.yaml").read_text(encoding="utf-8")
    assert (
        "#   n0.memory: {value: null, peak:" in text
        and load_node_type("mine", [tmp_path]).node.numa_nodes[0].peak is None
    )
    numa = tuple(replace(each, peak=32.0 + each.index) for each in parse_hwloc_xml(xml).numa_nodes)
    write(tmp_path, xml, "known", numa_nodes=numa)
    found = load_node_type("known", [tmp_path])
    assert [each.peak for each in found.node.numa_nodes] == [32.0, 33.0]
    assert found.capacities["n1.memory"].value is None and found.capacities["n1.memory"].best == 33.0


def test_what_a_cpuset_allowed_is_no_part_of_the_node_type(tmp_path: Path) -> None:
    write(tmp_path, construct_topologies.restricted().xml())
    assert load_node_type("mine", [tmp_path]).node.allowed_cpus is None


@pytest.mark.parametrize("left", ["systems/mine.yaml", "nodes/mine.yaml", "nodes/mine.xml"])
def test_nothing_is_overwritten_and_nothing_half_written(tmp_path: Path, left: str) -> None:
    there = tmp_path / left
    there.parent.mkdir()
    there.write_text("mine", encoding="utf-8")
    with pytest.raises(NearfarError, match="is there already and is not overwritten"):
        write(tmp_path, construct_topologies.keeneland().xml())
    assert there.read_text(encoding="utf-8") == "mine"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [there]


@pytest.mark.parametrize("name", ["../up", "a b", "", "9lives", "-x", "a.b", "a:b"])
def test_names_are_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(NearfarError, match="a name has letters"):
        write(tmp_path, construct_topologies.keeneland().xml(), name)


def test_gpus_that_the_xml_lacks_are_refused(tmp_path: Path) -> None:
    xml = construct_topologies.keeneland().xml()
    gpus = (*parse_hwloc_xml(xml).gpus, replace(parse_hwloc_xml(xml).gpus[0], index=3, pci="0000:99:00.0"))
    with pytest.raises(NearfarError, match=r"does not list the GPUs at 0000:99:00.0"):
        write(tmp_path, xml, gpus=gpus)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "missing.xml: cannot be read: No such file"),
        (b"\xff\xfe", "not UTF-8"),
        (b"<topology", "missing.xml: hwloc XML: "),
    ],
)
def test_bad_xml_files_are_one_line(
    tmp_path: Path, content: bytes | None, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "missing.xml"
    if content is not None:
        path.write_bytes(content)
    assert main(["detect", "--xml", str(path)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_a_capture_without_host_name_and_pci_devices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is called like its file, and said to be no capture of a node's devices."""
    root = ElementTree.fromstring(construct_topologies.virtual_machine().xml())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.get("type") in ("PCIDev", "Bridge") or child.get("name") == "HostName":
                parent.remove(child)
    file = tmp_path / "node7.xml"
    file.write_text(ElementTree.tostring(root, encoding="unicode"))
    assert main(["detect", "--xml", str(file)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("node7") and "the file holds no PCI devices" in said
    assert main(["bind", "--xml", str(file)]) == 2
    assert "node7 has no GPUs (the file holds no PCI devices" in capsys.readouterr().err


def test_site_dir_goes_with_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", "--xml", KEENELAND, "--site-dir", str(tmp_path)]) == 2
    assert "--site NAME" in capsys.readouterr().err
