"""``nearfar import`` of other tools' output: figures, verdict, page, and what such a run never does."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli, foreign, history
from nearfar.base import CouldNotJudge, NearfarError
from nearfar.binding.locality import nearest_nics
from nearfar.foreign import reading
from nearfar.run import validation
from nearfar.slurm.results import RunInfo, publish_result
from nearfar.topology import nic_class, node_from_document
from tests.conftest import CHECKOUT
from tests.support.construct_topologies import CAPTURES

DATA = CHECKOUT / "tests" / "data" / "foreign"


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(autouse=True)
def in_state(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARFAR_STATE", str(state))


@pytest.fixture(scope="module")
def run(state: Path) -> Path:
    """The run of a node of which one GPU is slow one way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEARFAR_STATE", str(state))
        return imported("nvbandwidth.txt")


def imported(*names: str, **options: Any) -> Path:
    """The run of files of ``DATA``."""
    (done,) = foreign.import_outputs([DATA / name for name in names], **options)
    return done.folder


def results(run: Path) -> dict[str, Any]:
    """The results of the whole document, by cell."""
    return {each["cell"]: each for each in json.loads((run / foreign.DOCUMENT).read_text())["results"]}


def figures(run: Path) -> dict[str, float]:
    """The rate, or the total, of each cell."""
    return {cell: each.get("total", each["flows"][0]["rate"])["median"] for cell, each in results(run).items()}


def reasons(run: Path) -> str:
    """What the run's checks say besides figures."""
    return "\n".join(
        finding["reason"]
        for path in sorted(run.glob("*/*/verdict.json"))
        for finding in json.loads(path.read_text())["findings"]
    )


def test_one_document_has_tool_and_version(run: Path) -> None:
    raw = json.loads((run / foreign.DOCUMENT).read_text())
    assert raw["kind"] == "foreign" and raw["program"] == {
        "name": "nvbandwidth", "version": "0.8", "command": ["nvbandwidth"],
    }  # fmt: skip
    assert raw["node"]["hostname"] == "node17" and len(raw["node"]["gpus"]) == 8
    found = figures(run)
    assert found["g5:n0"] == 27.4 and found["n0:g5"] > 55 and len(found) == 16 + 56 + 56 + 28 + 1 + 8
    both = results(run)["g0:g1+g1:g0"]
    assert both["total"]["n"] == 2 and both["flows"][0]["rate"]["median"] == both["total"]["median"] / 2


def test_the_run_finds_the_slow_gpu_and_says_whose_figures_they_are(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["import", str(DATA / "nvbandwidth.txt")]) == 1
    said = capsys.readouterr().out
    assert said.startswith("FAIL  GPU 5, device to host into NUMA node 0: 27.4 GB/s") and "tune" not in said
    assert "explained by" not in said, "one figure says it by itself"
    assert said.count("These figures come from nvbandwidth 0.8, not from nearfar.") == 1
    page = (run / "index.html").read_text(encoding="utf-8")
    assert page.count("not from nearfar") == 1 and "counts one of the two directions" in page


def test_it_enters_no_history(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    assert not list(history.record(run, tmp_path).rglob("*.parquet"))
    validation.remember(run)
    assert not (tmp_path / "history").exists()


def test_it_drains_nobody(run: Path, tmp_path: Path) -> None:
    node = json.loads((run / "report.json").read_text())["nodes"][0]
    assert node["kind"] == "foreign" and node["verdict"] == "FAIL"
    times = {"started": "2026-11-20T09:00:00Z", "ended": "2026-11-20T09:10:00Z"}
    info = RunInfo(nodes=("node17",), hostname="node17", level="nightly", sweep=None, **times)
    with pytest.raises(CouldNotJudge, match="nothing was measured on node17; no result is written"):
        publish_result.leave(run, tmp_path, info)


def test_no_reference_is_tuned_from_it(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["import", str(DATA / "nvbandwidth.txt"), "--system", "h200-x2-vm"]) == 2
    assert "judge no other tool's figures" in capsys.readouterr().err
    assert cli.main(["tune", "--system", foreign.SYSTEM]) == 2


#: Of each tool's sample some figures that mean what nearfar's mean, and words of what is left out.
SAMPLES: dict[str, tuple[dict[str, float], str]] = {
    "nvbandwidth.json": (
        {"n0:g1": 55.2, "g1:g0@g0": 392, "g0:g1@g1": 391, "g0:g1@g1+g1:g0@g0": 743, "g0:g0": 1440.5},
        "no figures of all_to_one_read_sm (nvbandwidth reported: out of memory)",
    ),
    "p2pBandwidthLatencyTest.txt": (
        {"g0:g1": 24.5, "g0:g2/staged": 18, "g0:g1+g1:g0": 41, "g0:g0": 800}, "times each by itself"
    ),
    "bandwidthTest.txt": (
        {"n0:g2": 19.1, "g2:n0": 17.4, "n1:g2": 25.2, "g2:n1": 26.0}, "import it with --numa N"
    ),
    "nccl-tests.txt": ({"all_reduce/x4": 10.2}, "pairs of GPUs are of an unknown class"),
    "osu_bw.txt": ({"osu_bw/CUDA/table1": 22.90451}, "it does not record where its ranks ran"),
    "rocm-bandwidth-test.txt": ({"n0:g0": 28.211, "g1:n0": 28.015, "g0:g0": 590.2, "n0:g1+g1:n0": 39.8, "g0:g1+g1:g0": 33.3}, ""),
    "TransferBench.txt": (
        {"g0:n1": 54.1, "g0:g1": 48.3, "g0:g1+g1:g0": 92.6, "g0:g0": 2011, "g0:g1@g1/sm": 47.11}, "what CPU cores copy"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_figures_are_those_that_mean_the_same(name: str) -> None:
    expected, words = SAMPLES[name]
    outputs = reading.outputs(name, (DATA / name).read_bytes())
    run = imported(name)
    found = {cell: value for cell, value in figures(run).items() if cell in expected}
    assert found == pytest.approx(expected, rel=0.01), "of several sizes the last"
    assert words in reasons(run) and len(outputs) == 1


def test_copies_both_ways_through_the_host_are_not_taken_for_copies_at_once() -> None:
    """On two H200s p2pBandwidthLatencyTest prints 53 GB/s, by 40 copies in place of 5 39; both directions at once carry 65."""
    run = imported("p2pBandwidthLatencyTest.txt")
    assert not [cell for cell in figures(run) if "/staged+" in cell]
    assert "copies through host memory, both ways: left out (one direction's begin while" in reasons(run)


#: Of two healthy H200 behind NVSwitch, as printed.
TWO_H200 = """[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, NVIDIA H200, pciBusID: 0, pciDeviceID: 6, pciDomainID:0
Device: 1, NVIDIA H200, pciBusID: 0, pciDeviceID: 7, pciDomainID:0
P2P Connectivity Matrix
     D\\D     0     1
     0	     1     1
     1	     1     1
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 3970.46 360.00
     1 392.77 4013.49
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 4112.01 737.25
     1 769.65 4097.69
"""
TWO_H200_TOPO = """	GPU0	GPU1	CPU Affinity	NUMA Affinity	GPU NUMA ID
GPU0	 X 	NV18	0-31	0		N/A
GPU1	NV18	 X 	0-31	0		N/A
"""


#: Of eight healthy H100, as published; nvbandwidth prints 397 GB/s of all their pairs.
EIGHT_H100 = (
    "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"
    + "".join(
        f"Device: {n}, NVIDIA H100 80GB HBM3, pciBusID: {n + 1}, pciDeviceID: 0, pciDomainID:0\n" for n in range(8)
    )
    + """Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1      2      3      4      5      6      7
     0 2862.54 365.30 375.46 375.92 376.19 376.40 376.57 375.09
     1 375.88 2897.71 376.35 376.77 376.15 375.95 375.29 376.91
     2 376.67 393.28 2887.50 376.53 376.01 376.24 376.19 375.17
     3 375.74 376.36 393.07 2891.01 393.10 393.01 393.10 393.34
     4 392.01 393.17 392.44 392.83 2898.05 392.92 392.90 392.85
     5 392.95 393.78 393.24 393.72 393.51 2900.91 392.96 392.68
     6 393.25 392.38 393.56 392.91 392.56 393.61 2899.56 393.11
     7 392.37 392.22 392.85 393.15 393.13 393.56 393.08 2895.53
"""
)


@pytest.mark.parametrize(("rate", "word"), [("375.00", "PASS"), ("343.78", "DEGRADED")])
def test_cold_copies_of_eight_h100_are_no_finding(rate: str, word: str, tmp_path: Path) -> None:
    (tmp_path / "p2p.txt").write_text(EIGHT_H100.replace("393.78", rate))
    run = imported(str(tmp_path / "p2p.txt"))
    assert json.loads((run / "report.json").read_text())["verdict"] == word and len(figures(run)) == 56


def test_the_first_pair_whose_copy_is_cold_is_no_finding(tmp_path: Path) -> None:
    (tmp_path / "p2p.txt").write_text(TWO_H200)
    (tmp_path / "topo.txt").write_text(TWO_H200_TOPO)
    run = imported(*(str(tmp_path / name) for name in ("p2p.txt", "topo.txt")))
    assert {node["verdict"] for node in json.loads((run / "report.json").read_text())["nodes"]} == {"PASS"}


#: Of the same two, as versions before 0.7 print it.
SHORT_COPIES = """nvbandwidth Version: v0.6
Device 0: NVIDIA H200 (00000000:06:00)
Device 1: NVIDIA H200 (00000000:07:00)

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    370.90
 1    371.02       N/A

SUM device_to_device_memcpy_read_ce 741.92

Running device_to_device_memcpy_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    388.47
 1    389.74       N/A

SUM device_to_device_memcpy_write_ce 778.21
"""


@pytest.mark.parametrize(("version", "read"), [("v0.6", False), ("v0.7", True), ("", False)])
def test_short_copies_read_over_nvlink_are_no_finding(version: str, read: bool, tmp_path: Path) -> None:
    (tmp_path / "nvbandwidth.txt").write_text(SHORT_COPIES.replace("v0.6", version))
    (tmp_path / "topo.txt").write_text(TWO_H200_TOPO)
    run = imported(*(str(tmp_path / name) for name in ("nvbandwidth.txt", "topo.txt")))
    assert ("g0:g1" in figures(run), "g1:g0@g0" in figures(run)) == (True, read)
    assert ("or -b 512" in reasons(run)) is not read
    assert json.loads((run / "report.json").read_text())["verdict"] == ("DEGRADED" if read else "PASS")


#: As version 0.10 prints it of two GPUs, with a prompt.
WITH_TMA = """$ {command}
nvbandwidth Version: v0.10.0

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    764.71
 1    765.86       N/A

SUM device_to_device_memcpy_read_ce 1530.57
COEFFICIENT_OF_VARIATION device_to_device_memcpy_read_ce 0.00

Running device_to_device_memcpy_read_tma.
memcpy TMA GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    780.00
 1    780.00       N/A

SUM device_to_device_memcpy_read_tma 1560.00

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.59     55.60

SUM host_to_device_memcpy_ce 111.19
"""


@pytest.mark.parametrize(
    ("command", "memory", "peers"),
    [
        ("./nvbandwidth -m", "h", 2), ("./nvbandwidth -d", "m", 2), ("numactl -N1 -m 1 ./nvbandwidth -b 512", "n1", 2),
        ("numactl --membind=0 ./nvbandwidth -b 64", "n0", 0), ("./nvbandwidth --bufferSize=4", "", 0),
    ],
)  # fmt: skip
def test_a_command_says_which_memory_and_how_much(command: str, memory: str, peers: int) -> None:
    """Copies of the tensor memory accelerator are not a copy engine's."""
    (output,) = reading.outputs("x", WITH_TMA.format(command=command).encode())
    flows = [flow for figure in output.figures for flow, _ in figure.rates]
    assert flows == ["g1:g0@g0", "g0:g1@g1"][:peers] + [f"{memory}:g0", f"{memory}:g1"] * bool(memory)


def test_a_waived_case_takes_nothing_from_the_one_before_it() -> None:
    """nvbandwidth 0.8 on one GPU prints ``Waived:`` alone for each case that needs two."""
    text = """nvbandwidth Version: v0.8
Device 0: NVIDIA GeForce RTX 3050 Laptop GPU (00000000:01:00)

Running device_to_host_memcpy_ce.
memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)
           0
 0     13.17

SUM device_to_host_memcpy_ce 13.17

Waived:
Running device_to_host_memcpy_sm.
Waived:
"""
    (output,) = reading.outputs("x", text.encode())
    assert [figure.rates for figure in output.figures] == [(("g0:h", 13.17),)]


def test_a_file_of_two_nodes_says_that_it_has_both(tmp_path: Path) -> None:
    both = tmp_path / "both.txt"
    both.write_text("".join((DATA / name).read_text() for name in ("nvbandwidth.txt", "p2pBandwidthLatencyTest.txt")))
    with pytest.raises(NearfarError, match=r"both.txt: lists 4 GPUs, and 8 above: keep one node's lines"):
        imported(str(both))


@pytest.mark.parametrize("line", ["│", " "])
def test_transferbench_draws_lines_or_none(line: str) -> None:
    """As of version 1.65, whose documentation has such a table."""
    text = (DATA / "TransferBench.txt").read_text()
    rule = "-------------------┼--------------┼------------┼-------------------┼--------------------"
    head, _, test = text.partition("Test 1:\n")
    drawn = (
        head
        + "Test 1:\n"
        + rule.replace("┼", "┬")
        + "\n"
        + test.replace("|", line).replace(" Aggregate", f"{rule}\n Aggregate")
    )
    plain, newer = ((each.figures, each.gpus) for one in (text, drawn) for each in reading.outputs("x", one.encode()))
    assert newer == plain
    (box,) = reading.outputs("x", text.replace("|", "│").replace("-+-", "─┼─").encode())
    assert (box.figures, box.gpus) == plain
    (other,) = reading.outputs("x", "TransferBench v1.67.00\n│  RTotal │ 326.11   325.01 │\n".encode())
    assert [each.what for each in other.left_out] == ["its other tables"]


def test_a_topology_gives_classes_and_memory(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        cli.main(
            ["import", *(str(DATA / f"{name}.txt") for name in ("topo", "bandwidthTest", "p2pBandwidthLatencyTest"))]
        )
        == 0
    )
    (run,) = [Path(line.split()[1]).parent for line in capsys.readouterr().out.splitlines() if line.startswith("page")]
    names = {m["name"]: m["value"] for p in run.glob("*/*/verdict.json") for m in json.loads(p.read_text())["metrics"]}
    assert names["near.n1_g2"] == 25.2 and names["unknown.n0_g2"] == 19.1 and "PIX.g0_g1" in names
    assert "near.n0_g0" not in names
    assert figures(imported("topo.txt", "bandwidthTest.txt", numa=1))["n1:g0"] == pytest.approx(24100 * 2**20 / 1e9)


def test_nics_of_a_topology_have_their_classes(tmp_path: Path) -> None:
    text = (DATA / "topo.txt").read_text()
    older = text.replace("NIC0", "mlx5_0").partition("NIC Legend")[0]
    shown = text.replace("NIC0\tPXB\tPXB\tSYS\tSYS\t X \t", "NIC0\tPXB\tPXB\tSYS\tSYS\t X \t16-31\t1")
    for data, numa in ((text, 0), (older, 0), (shown, 1)):
        (output,) = reading.outputs("topo", data.encode())
        assert output.node is not None
        (nic,) = output.node.nics
        assert (nic.name, nic.numa_node) == ("mlx5_0", numa)
        assert [nic_class(output.node, gpu, "mlx5_0") for gpu in range(4)] == ["PXB", "PXB", "unknown", "unknown"]
    run = imported("topo.txt", "bandwidthTest.txt", "p2pBandwidthLatencyTest.txt")
    (node,) = run.glob("*/node.json")
    kept = node_from_document(json.loads(node.read_text()))
    assert [near.name for near in nearest_nics(kept, kept.gpus[0])] == ["mlx5_0"]
    assert nic_class(kept, 1, "mlx5_0") == "PXB"


def metric_names(run: Path) -> set[str]:
    return {m["name"] for p in run.glob("*/*/verdict.json") for m in json.loads(p.read_text())["metrics"]}


def test_xgmi_of_amds_tools_gives_classes_beside_xml_too(tmp_path: Path) -> None:
    for table in ("showtopo.txt", "showtopo-rocm-smi.json", "showtopo-amd-smi.json"):
        assert "XGMI.g0_g1" in metric_names(imported("TransferBench.txt", table)), table
    xml = (CAPTURES / "constructed-mixed-x8-x16.xml").read_text(encoding="utf-8")
    buses = re.findall(r'pci_busid="(\S+)" pci_type="0302', xml)
    xml = re.sub(r"0302 \[10de:....\]", "1200 [1002:74a1]", xml)
    table = f"LINK TYPE TABLE:\n             {' '.join(buses)}\n{buses[0]} SELF XGMI\n{buses[1]} XGMI SELF\n"
    copies = (
        (DATA / "TransferBench.txt").read_text().replace("0000:0c:00.0", buses[0]).replace("0000:9f:00.0", buses[1])
    )
    for name, text in {"node.xml": xml, "amd-smi.txt": table, "copies.txt": copies}.items():
        (tmp_path / name).write_text(text)
    (run,) = foreign.import_outputs([tmp_path / name for name in ("copies.txt", "amd-smi.txt", "node.xml")])
    assert {"XGMI.g0_g1", "near.g0_n0"} <= metric_names(run.folder)


def test_nvlinks_of_a_topology_count_beside_xml_without_them(tmp_path: Path) -> None:
    xml, topology = CHECKOUT / "site" / "nodes" / "keeneland.xml", tmp_path / "topo.txt"
    classes = ("X NV4 SYS", "NV4 X SYS", "SYS SYS X")
    rows = (f"GPU{gpu}\t{row.replace(' ', chr(9))}\t0-5\t0\n" for gpu, row in enumerate(classes))
    topology.write_text("\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\n" + "".join(rows))
    figures = tmp_path / "p2p.txt"
    figures.write_text(
        "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\nUnidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n"
        "   D\\D     0      1      2\n     0 800.00  94.00  10.00\n     1  94.00 800.00  10.00\n     2  10.00  10.00 800.00\n"
    )
    (done,) = foreign.import_outputs([figures, xml, topology])
    assert "NV4.g0_g1" in metric_names(done.folder)
    (done,) = foreign.import_outputs([figures, xml, DATA / "topo.txt"])
    assert re.search(r"topo.txt has 4 GPUs, and \S*keeneland.xml 3: the links of the first", reasons(done.folder))


def test_gpus_of_other_models_are_named_without_unknown_addresses(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    new.write_text(THREE)
    old.write_text(re.sub(r"Tesla M2070 \(.*\)", "Tesla K80", THREE))
    with pytest.raises(
        NearfarError, match=r"old: GPU 0 is a Tesla K80, and in \S*new a Tesla M2070 at 00000000:14:00: import"
    ):
        list(foreign.import_outputs([new, old]))


def wrapped(text: str) -> dict[str, bytes]:
    """The same output as launchers, terminals and other systems leave it."""
    lines = text.split("\n")
    slurm = [
        "srun: job 4711 has been allocated resources",
        *lines,
        "slurmstepd: error: *** STEP 4711.0 ON n1 CANCELLED ***",
    ]
    return {
        "CRLF": "\r\n".join(lines).encode(),
        "UTF-16": text.encode("utf-16"),
        "UTF-16 without its mark": text.encode("utf-16-be"),
        "colours": text.replace("Running", "\x1b[1;32mRunning\x1b[0m").encode(),
        "Slurm": "\n".join(slurm).encode(),
        "srun -l": "\n".join(f"0: {line}" for line in lines).encode(),
        "mpirun": "\n".join(f"[1,0]<stdout>:{line}" for line in lines).encode(),
        "time": "\n".join(f"2026-11-20T09:00:00.12Z  {line}" for line in lines).encode(),
        "pasted": "\n".join(f"    > {line}" for line in lines).encode(),
    }


def test_what_stands_around_an_output_does_no_harm() -> None:
    data = (DATA / "nvbandwidth.txt").read_bytes()
    plain = reading.outputs("plain", data)
    for name, wrap in wrapped(data.decode()).items():
        assert [(each.figures, each.gpus) for each in reading.outputs(name, wrap)] == [
            (plain[0].figures, plain[0].gpus)
        ], name


@pytest.mark.parametrize(
    "name", [*SAMPLES, "nvbandwidth.txt", "topo.txt", "showtopo.txt", "showtopo-rocm-smi.json", "showtopo-amd-smi.json"]
)
def test_a_cut_output_has_no_wrong_figure(name: str) -> None:
    data = (DATA / name).read_bytes()
    whole = {(f.rates, f.total, f.bytes) for each in reading.outputs(name, data) for f in each.figures}
    for end in range(0, len(data), max(1, len(data) // 150)):
        try:
            cut = reading.outputs(name, data[:end])
        except NearfarError as error:
            assert error.exit_code == 3 and "\n" not in str(error)
            continue
        assert {(f.rates, f.total, f.bytes) for each in cut for f in each.figures} <= whole, data[:end][-80:]


def test_two_tools_in_one_log_keep_all_figures() -> None:
    data = {
        name: (DATA / name).read_bytes()
        for name in (*SAMPLES, "nvbandwidth.txt", "topo.txt")
        if name != "nccl-tests.txt"
    }
    data["keeneland.xml"] = (CHECKOUT / "site" / "nodes" / "keeneland.xml").read_bytes()

    def read(content: bytes) -> tuple[set[object], int]:
        outputs = reading.outputs("log", content)
        return {(f.rates, f.total, f.bytes) for each in outputs for f in each.figures}, sum(
            each.node is not None for each in outputs
        )

    whole = {name: read(content) for name, content in data.items()}
    for one, other in itertools.permutations(data, 2):
        both = read(data[one] + b"\n" + data[other])
        assert both == (whole[one][0] | whole[other][0], whole[one][1] + whole[other][1]), (one, other)


def test_what_an_output_lacks_is_said(tmp_path: Path) -> None:
    text, node = tmp_path / "log", (DATA / "topo.txt").read_text()
    for content, words in (
        ('{"nvbandwidth": {"error": "No devices found", "testcases": []}}', "nvbandwidth reported: No devices found"),
        (THREE + "nvbandwidth Version: v0.9\n", "no figures of its tests (the output ends before them)"),
        ("RocmBandwidthTest Version: 2.6.0\nDevice: 1,  AMD Radeon RX 9070 XT\nUnidirectional copy peak bandwidth GB/s\n"
         "D/D       1\n1         540.849\n", "the lines of its devices do not show which are GPUs"),
    ):  # fmt: skip
        text.write_text(content)
        (done,) = foreign.import_outputs([text])
        assert words in reasons(done.folder)
    text.write_text(THREE.replace("5.60", "0.00") * 3)
    (done,) = foreign.import_outputs([text])
    assert "measured the same 3 times" in reasons(done.folder)
    assert "(row 0, column 0: the rate is zero); import a complete output" in reasons(done.folder)
    text.write_text(node + node.replace("PIX", "SYS"))
    with pytest.raises(NearfarError, match="of another node than the one before it"):
        list(foreign.import_outputs([text, DATA / "p2pBandwidthLatencyTest.txt"]))
    (tmp_path / "many").write_text("".join(f"n{at}: nvbandwidth Version: v0.8\n" * 4 for at in range(1001)))
    with pytest.raises(NearfarError, match="of 1001 nodes; import at most 1000"):
        list(foreign.import_outputs([tmp_path / "many"]))


def test_files_of_different_nodes_are_refused(tmp_path: Path) -> None:
    two = tmp_path / "two.json"
    two.write_text((DATA / "nvbandwidth.json").read_text().replace(": (node33)", ""))
    with pytest.raises(NearfarError, match=r"two.json: lists 2 GPUs, and .*nvbandwidth.txt 8"):
        list(foreign.import_outputs([DATA / "nvbandwidth.txt", two]))
    with pytest.raises(NearfarError, match=r"topo.txt: has 4 GPUs, and the files are of 8"):
        imported("nvbandwidth.txt", "topo.txt")
    with pytest.raises(NearfarError, match=r"GPU 0 is .*A100.*H100"):
        imported("nvbandwidth.json", "bandwidthTest.txt")
    with pytest.raises(
        NearfarError, match=r"--node h200-x2-vm: GPU 0 is a NVIDIA H200, and in the files it is a NVIDIA H100"
    ):
        imported("nvbandwidth.json", node_type="h200-x2-vm")


def merged(label: str, names: Sequence[str], texts: Sequence[str]) -> str:
    """Lines of several outputs as they come, each with its label."""
    rows = itertools.zip_longest(*(text.split("\n") for text in texts), fillvalue="")
    return "\n".join(f"{label.format(name)}{line}" for row in rows for name, line in zip(names, row))


@pytest.mark.parametrize("tool", ["p2pBandwidthLatencyTest.txt", "bandwidthTest.txt"])
def test_each_node_of_a_merged_log_is_a_run(tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (DATA / tool).read_text()
    sick = text.replace(" 24.", " 11.").replace("25.2", "11.2")
    whole = imported(tool)
    pairs = dict(zip(("node1", "node2"), (text, sick)))
    shapes = {
        "pdsh": merged("{}: ", ("node1", "node2"), (text, sick)),
        "names": merged("{}: ", ("alpha", "beta"), (text, sick)),
        "addresses": merged("{}: ", ("10.0.0.7", "10.0.0.8"), (text, sick)),
        "dshbak": "".join(f"----------------\n{name}\n----------------\n{own}\n" for name, own in pairs.items()),
        "ansible": "".join(f"{name} | CHANGED | rc=0 >>\n{own}\n" for name, own in pairs.items()),
    }
    for shape, log in shapes.items():
        (tmp_path / shape).write_text(log)
        nodes = list(foreign.import_outputs([tmp_path / shape, DATA / "topo.txt"]))
        names = {"names": ["alpha", "beta"], "addresses": ["10.0.0.7", "10.0.0.8"]}.get(shape, [*pairs])
        assert [each.node for each in nodes] == names, shape
        assert figures(nodes[0].folder) != figures(nodes[1].folder), shape
        assert set(figures(nodes[0].folder)) == set(figures(nodes[1].folder)) >= set(figures(whole)), shape
    cli.main(["import", str(tmp_path / "ansible")])
    said = capsys.readouterr().out
    assert "node1:\n" in said and "node2:\n" in said and said.count("\npage ") == 2


def test_several_nodes_without_names_are_refused_or_noted(tmp_path: Path) -> None:
    text = (DATA / "p2pBandwidthLatencyTest.txt").read_text()
    (tmp_path / "srun").write_text(merged("{}: ", ("0", "1"), (text, text)))
    with pytest.raises(
        NearfarError, match=r"of 2 ranks.*one at a time \(grep '\^ \*0:' .*srun > 1.txt; grep '\^ \*1:'"
    ):
        list(foreign.import_outputs([tmp_path / "srun"]))
    (tmp_path / "both").write_text(text * 2)
    (done,) = foreign.import_outputs([tmp_path / "both"])
    assert "measured the same 2 times, and the best counts" in reasons(done.folder)
    assert "measured the same" not in reasons(imported("p2pBandwidthLatencyTest.txt"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            b"",
            "nothing in it can be imported; nearfar reads what ./kit/run left, output of nvbandwidth, p2pBandwidthLatencyTest",
        ),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8, "nothing in it can be imported"),
        (b'{"nvbandwidth": ' + b"[" * 200_000, "nvbandwidth's JSON"),
        (b'{"nvbandwidth": {"testcases": 7}}', "not what nvbandwidth writes"),
        (b"<?xml version='1.0'?><topology><object", "hwloc XML: unclosed token"),
    ],
)
def test_what_cannot_be_imported_is_one_line(
    content: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert cli.main(["import", str(path)]) == 3
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Tesla M2070 (00000000:14", "<script>alert(1)</script> (00000000:14", "is not a GPU name"),
        ("Device 0", "Device 99999999: Tesla M2070\nDevice 0", "more than a node has"),
        ("CUDA Runtime", '{"nvbandwidth": {"Hostname": "../../x", "testcases": []}}', "'../../x' is not a host name"),
    ],
)
def test_a_hostile_output_is_one_line(old: str, new: str, words: str, tmp_path: Path, state: Path) -> None:
    path = tmp_path / "log"
    path.write_text(THREE.replace(old, new))
    before = sorted(state.glob("reports/*/*"))
    with pytest.raises(CouldNotJudge, match=words) as error:
        list(foreign.import_outputs([path]))
    assert "\n" not in str(error.value)
    assert sorted(state.glob("reports/*/*")) == before, "half a run"


@pytest.mark.parametrize("figure", ["1e999", "-5.60", "nan", "5,60"])
def test_a_figure_that_is_no_rate_is_said(figure: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(THREE.replace("5.60", figure))
    (done,) = foreign.import_outputs([path])
    assert f"(row 0: '{figure}' is not a rate); import a complete output" in reasons(done.folder)
    assert done.exit_code == 3, "green for what was not measured"


@pytest.mark.parametrize(
    ("figure", "reason"),
    [
        ('"nan"', "no figures of host_to_device_memcpy_ce ('nan' is not a rate)"),
        ('"0.00"', "no figures of host_to_device_memcpy_ce (row 0, column 0: the rate is zero)"),
        ("55.1", ""),
        ("null", "no figures of host_to_device_memcpy_ce ('None' is not a rate)"),
    ],
)
def test_each_figure_of_json_counts_or_is_said(figure: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "nvbandwidth.json"
    path.write_text((DATA / "nvbandwidth.json").read_text().replace('"55.1"', figure))
    (done,) = foreign.import_outputs([path])
    assert reason in reasons(done.folder)
    assert ("n0:g0" in results(done.folder)) == (figure == "55.1")


@pytest.mark.parametrize("name", ["nvbandwidth.txt", "nvbandwidth.json", "p2pBandwidthLatencyTest.txt"])
def test_figures_in_another_unit_are_left_out(name: str) -> None:
    (output,) = reading.outputs(name, (DATA / name).read_bytes().replace(b"(GB/s)", b"(MB/s)"))
    assert not output.figures
    assert "its figures are in MB/s, not in GB/s" in {each.why for each in output.left_out}


def test_a_cut_bandwidth_test_says_what_it_lacks(tmp_path: Path) -> None:
    text = (DATA / "bandwidthTest.txt").read_text()
    path = tmp_path / "log"
    path.write_text(text[: text.index("17.4") + 2])
    (done,) = foreign.import_outputs([path])
    assert "no figures of Device to Host (the output is cut short)" in reasons(done.folder)
    assert "the model of GPUs 0, 1 was not given" in reasons(done.folder)


def bandwidth_test(*rates: tuple[str, int, float], gpu: str = "NVIDIA A100-SXM4-80GB") -> str:
    """Its output of one GPU: kind, bytes and GB/s."""
    blocks = (
        f" {kind} Bandwidth, 1 Device(s)\n PINNED Memory Transfers\n   Transfer Size (Bytes)  Bandwidth(GB/s)\n   {size}  {rate}\n\n"
        for kind, size, rate in rates
    )
    return f"[CUDA Bandwidth Test] - Starting...\nRunning on...\n\n Device 0: {gpu}\n Range Mode\n\n{''.join(blocks)}Result = PASS\n"


@pytest.mark.parametrize(("size", "rate", "word"), [(102400, 11.7, "not judged"), (32000000, 11.7, "FAIL")])
def test_copies_that_are_short_are_no_finding(size: int, rate: float, word: str, tmp_path: Path) -> None:
    """The help of bandwidthTest has a range of 1 to 100 KB as its example."""
    (tmp_path / "log").write_text(bandwidth_test(("Device to Host", 1024, 0.5), ("Device to Host", size, rate)))
    run = imported(str(tmp_path / "log"))
    assert json.loads((run / "report.json").read_text())["verdict"] == word and "less than 16 MB" in reasons(run)


def test_what_stays_in_a_cache_is_not_the_memory(tmp_path: Path) -> None:
    """As published; the memory of this GPU has 960 GB/s."""
    rates = [("Device to Device", 32000000, 4374.1), ("Device to Host", 32000000, 26.3)]
    (tmp_path / "log").write_text(bandwidth_test(*rates, gpu="NVIDIA RTX 6000 Ada Generation"))
    run = imported(str(tmp_path / "log"))
    assert figures(run) == {"g0:n0": 26.3} and "L2 cache" in reasons(run)


def pairs(rates: Callable[[int, int], float]) -> str:
    """Writes between six GPUs of which nobody says how they are joined."""
    rows = [[f"{rates(a, b):10.2f}" if a != b else "       N/A" for b in range(6)] for a in range(6)]
    matrix = "\n".join(f" {a}{''.join(row)}" for a, row in enumerate(rows))
    return f"Running device_to_device_memcpy_write_ce.\nmemcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n  0 1 2 3 4 5\n{matrix}\n"


def test_paths_of_unknown_classes_are_compared_where_nearly_all_are_alike(tmp_path: Path) -> None:
    kinds, fabric = tmp_path / "kinds", tmp_path / "fabric"
    kinds.write_text(pairs(lambda a, b: 26.3 if a // 3 == b // 3 else 20.1))
    fabric.write_text(pairs(lambda a, b: 40.0 if (a, b) == (5, 1) else 57.4 + (a - b) / 10))
    words = {}
    for path in (kinds, fabric):
        (done,) = foreign.import_outputs([path])
        (file,) = done.folder.glob("*/peer_check/verdict.json")
        words[path.name] = {metric["name"]: metric["verdict"] for metric in json.loads(file.read_text())["metrics"]}
    assert set(words["kinds"].values()) == {"not judged"}, "of two kinds of paths none is slow"
    assert "the model of its GPUs was not given" in reasons(done.folder) and "--node TYPE" in reasons(done.folder)
    assert [name for name, word in words["fabric"].items() if word != "PASS"] == ["unknown.g5_g1"]


def test_wrong_data_fails_the_node(tmp_path: Path) -> None:
    head, _, _ = (DATA / "nvbandwidth.txt").read_text().partition("memcpy CE GPU(row) -> GPU(column)")
    path = tmp_path / "log"
    path.write_text(f"{head} Invalid value when checking the pattern at 0x70a640000000\n Current offset : 11136\n")
    (done,) = foreign.import_outputs([path])
    assert done.exit_code == 1 and "Invalid value when checking" in reasons(done.folder)


#: Three GPUs as CUDA numbers them where the fastest comes first: not in the order of their bus ids.
THREE = """nvbandwidth Version: v0.7
CUDA Runtime Version: 12040

Device 0: Tesla M2070 (00000000:14:00)
Device 1: Tesla M2070 (00000000:06:00)
Device 2: Tesla M2070 (00000000:11:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1         2
 0      5.60      5.70      5.80

"""


@pytest.mark.parametrize("options", [{"node_type": "keeneland"}, {}])
def test_a_node_type_or_its_xml_says_where_gpus_are(options: dict[str, Any], tmp_path: Path) -> None:
    paths = [tmp_path / "log", *([] if options else [CHECKOUT / "site" / "nodes" / "keeneland.xml"])]
    paths[0].write_text(THREE)
    (done,) = foreign.import_outputs(paths, **options)
    assert figures(done.folder) == {"n1:g2": 5.6, "n0:g0": 5.7, "n1:g1": 5.8}
    (path,) = done.folder.glob("*/host_device_check/verdict.json")
    verdict = json.loads(path.read_text())
    assert {metric["name"].partition(".")[0] for metric in verdict["metrics"]} == {"near"}


def test_a_fifo_is_no_file_and_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "out.txt")
    assert cli.main(["import", str(tmp_path / "out.txt")]) == 2
    assert "out.txt: not a file" in capsys.readouterr().err
