"""``nearfar accept``: decisions, what is left, the record, exit codes."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli, report
from nearfar.base import validator
from tests.data.runs import nightly
from tests.delivery.test_decisions import change_file, edit, without_gpu

ORDER = """order: rack
offer: ACME, offer 114
count: 6
nodes: ['cn[1-6].site.example']
expect: {gpus: 4, packages: 1, numa_nodes: 1, gpu_model: NVIDIA H200, link: {kind: pcie, gen: 5, width: 16}}
promised:
  host_device_check:
    sole.h2d: {value: 54, unit: GB/s, page: 12}
"""
HEALTHY = ("cn1", "cn2", "cn3", "cn4")
Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Four healthy nodes, one that lost a GPU; the sixth was not measured."""
    folder = tmp_path / "gathered"
    nightly.run(folder, dict.fromkeys(HEALTHY, 1.0))

    def lost(raw: dict[str, Any]) -> None:
        without_gpu(raw)
        edit(gpu0_slot="21")(raw)

    said = {"kernel_log": ["2026-11-20 02:02 UTC GPU 3 at 0000:00:09.0: Xid 79: GPU has fallen off the bus"]}
    change_file(
        nightly.run(folder, {"cn5": 1.0}, at="02:01:00", change=lost) / "run.json", lambda raw: raw.update(said)
    )
    return folder


@pytest.fixture
def ask(tmp_path: Path, runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    orders = tmp_path / "site" / "orders"
    orders.mkdir(parents=True)
    (orders / "rack.yaml").write_text(ORDER)
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path / "site"))
    monkeypatch.setenv("NEARFAR_STATE", str(tmp_path / "state"))

    def run(*words: str) -> tuple[int, str, str]:
        try:
            code = cli.main(["accept", *words])
        except SystemExit as stop:
            code = int(stop.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_each_node_has_its_decision_and_what_is_left_is_said(ask: Ask, runs: Path) -> None:
    code, out, _ = ask("rack", "--runs", str(runs))
    lines = out.splitlines()
    assert code == 1 and lines[1] == "4 of 6 nodes accepted, 1 refused, 1 to be measured again"
    assert (
        "  cn5    3 GPUs on this node, expected 4 (order rack): check lspci, and the kernel log for Xid messages"
        in lines
    )
    assert "  cn[1-4]" in lines and lines[-1].startswith(
        f"next: nearfar accept rack --runs {runs} --measure on each node"
    )
    assert any(line.split()[:3] == ["cn6", "it", "was"] for line in lines)
    assert "gpus" in out and "4 (4 nodes), 3 (1 node: cn5)" in out


def test_typed_again_it_goes_on(ask: Ask, runs: Path) -> None:
    nightly.run(runs, {"cn6": 1.0}, at="03:00:00")
    code, out, _ = ask("rack", "--runs", str(runs))
    assert (
        code == 1 and "5 of 6 nodes accepted, 1 refused" in out and "--partition P --nodes cn5" in out.splitlines()[-1]
    )
    nightly.run(runs, {"cn5": 1.0}, day="2026-11-21", at="03:01:00")
    code, out, _ = ask("rack", "--runs", str(runs))
    assert code == 0 and out.startswith("6 of 6 nodes accepted\n")
    assert out.splitlines()[-1] == f"next: nearfar accept rack --runs {runs} --record rack.zip"


def test_next_command_reads_the_same_runs(ask: Ask, runs: Path) -> None:
    _, out, _ = ask("rack", "--runs", str(runs), "--accept-degraded", "cn5")
    assert out.splitlines()[-1].startswith(
        f"next: nearfar accept rack --runs {runs} --accept-degraded cn5 --measure on each node"
    )


def test_next_step_measures_nothing_where_a_comparison_is_missing(ask: Ask, tmp_path: Path) -> None:
    text = ORDER.replace("rack", "one").replace("count: 6", "count: 1").replace("cn[1-6].site.example", "cn1")
    (tmp_path / "site" / "orders" / "one.yaml").write_text(text)
    nightly.run(tmp_path / "one", {"cn1": 1.0})
    code, out, _ = ask("one", "--runs", str(tmp_path / "one"))
    assert code == 3 and out.splitlines()[-1].startswith("next: measure at least three nodes, tune references")
    code, _, err = ask("one", "--runs", str(tmp_path / "one"), "--measure", "--partition", "gpu")
    assert code == 3 and "nothing is left to measure" in err


def test_a_copied_run_is_not_a_second_measurement(ask: Ask, runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs, tmp_path / "copy")
    _, out, _ = ask("rack", "--runs", str(runs), str(tmp_path / "copy"))
    assert "5 nodes, 5 runs, 2026-11-20" in out


def test_a_clock_that_is_ahead_is_noted(ask: Ask, runs: Path) -> None:
    assert "a day to come" not in ask("rack", "--runs", str(runs))[1]
    nightly.run(runs, {"cn6": 1.0}, day="2999-01-01")
    assert "cn6: the newest run is of a day to come" in ask("rack", "--runs", str(runs))[1]


def test_imported_kits_are_found(ask: Ask, runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs, tmp_path / "state/reports/imported")
    assert "5 nodes, 5 runs, 2026-11-20" in ask("rack")[1]


def test_a_directory_without_runs_is_wrong_use(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name, problem in (("empty", "no run below it"), ("nonexistent", "no such directory")):
        code, _, err = ask("rack", "--runs", str(tmp_path / name))
        assert code == 2 and f"--runs {tmp_path / name}: {problem}" in err


def test_unused_runs_are_noted(ask: Ask, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "site/orders/rack.yaml").write_text(ORDER.replace("count: 6", "count: 6\nsystem: h200-vm"))
    _, _, err = ask("rack", "--runs", str(runs))
    assert f"noted: 2 runs below {runs} are not used: of system " in err


def test_nothing_measured_accepts_nobody(ask: Ask) -> None:
    code, out, _ = ask("rack")
    assert code == 3 and "0 of 6 nodes accepted, 6 left to measure" in out and "cn[1-6]" in out


def test_fewer_nodes_than_ordered_are_not_all_accepted(ask: Ask, tmp_path: Path) -> None:
    order = tmp_path / "site/orders/rack.yaml"
    order.write_text(ORDER.replace("nodes: ['cn[1-6].site.example']\n", ""))
    nightly.run(tmp_path / "four", dict.fromkeys(HEALTHY, 1.0))
    code, out, _ = ask("rack", "--runs", str(tmp_path / "four"))
    lines = out.splitlines()
    assert code == 3 and lines[:2] == [
        "measured: 4 nodes, ordered: 6: measure the others, or name the ordered nodes in the order (nodes)",
        "4 of 4 nodes accepted",
    ]
    assert "--measure" in lines[-1]


def test_one_node_alone_is_told_what_it_lacks_and_not_to_measure_again(ask: Ask, tmp_path: Path) -> None:
    order = tmp_path / "site/orders/one.yaml"
    order.write_text(
        ORDER.replace("order: rack", "order: one").replace("count: 6", "count: 1").replace("cn[1-6]", "cn1")
    )
    nightly.run(tmp_path / "alone", {"cn1": 1.0}, checks=("host_device_check", "saturation_check"))
    code, out, _ = ask("one", "--runs", str(tmp_path / "alone"))
    said = " ".join(out.split())
    assert code == 3 and "figures with nothing to compare with (host_device_check, saturation_check)" in said
    assert "topology not compared" not in said and "no measurement is missing of cn1" in said


def test_a_delivery_that_is_slow_as_a_whole_is_refused_first(ask: Ask, tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    nightly.run(slow, dict.fromkeys([*HEALTHY, "cn5", "cn6"], 0.7), checks=("host_device_check", "peer_check"))
    code, out, _ = ask("rack", "--runs", str(slow), "--record", str(tmp_path / "rack.zip"))
    assert "checks that passed" not in archive(tmp_path / "rack.zip")["record.html"].decode(), (
        "each has figures that were refused"
    )
    assert code == 1 and out.startswith(
        "sole.h2d: 6 of 6 nodes are slow, 38.8 GB/s (median): promised 54.0 GB/s (ACME, offer 114, page 12)"
    )


def test_the_document_keeps_to_its_schema(ask: Ask, runs: Path) -> None:
    code, out, _ = ask("rack", "--runs", str(runs), "--json")
    raw = json.loads(out)
    assert code == 1 and not list(validator("delivery-1").iter_errors(raw))
    assert raw["counts"] == {"accepted": 4, "refused": 1, "measure again": 1}


def archive(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as found:
        return {name: found.read(name) for name in found.namelist()}


def pdf_text(content: bytes) -> str:
    """What a PDF shows (its bytes are packed) and says of itself, without the blanks between words."""
    reader = pytest.importorskip("pypdf").PdfReader(io.BytesIO(content))
    return "".join("".join([*(page.extract_text() for page in reader.pages), str(reader.metadata)]).split())


def test_the_record_holds_what_the_decision_rests_on(ask: Ask, runs: Path, tmp_path: Path) -> None:
    code, out, _ = ask("rack", "--runs", str(runs), "--record", str(tmp_path / "out" / "rack.zip"))
    assert code == 1 and out.splitlines()[-2:] == [str(tmp_path / "out" / name) for name in ("rack.pdf", "rack.zip")]
    held = archive(tmp_path / "out" / "rack.zip")
    assert {"record.pdf", "record.html", "delivery.json", "order/rack.yaml"} < set(held)
    assert any(name.startswith("runs/cn5/") and name.endswith("host_device_check/verdict.json") for name in held)
    sums = dict(reversed(line.split("  ")) for line in held.pop("SHA256SUMS").decode().splitlines())
    assert sums == {name: hashlib.sha256(content).hexdigest() for name, content in held.items()}
    page = held["record.html"].decode()
    assert "Boards of refused nodes" in page and "GPU-cn5-0" in page and "<td>21</td>" in page and "Signatures" in page
    assert "Xid 79: GPU has fallen off the bus" in page and "the clocks of no GPU were held down under load" in page
    assert held["record.pdf"] == (tmp_path / "out" / "rack.pdf").read_bytes()
    assert sums["delivery.json"] in pdf_text(held["record.pdf"]), "what is signed on paper vouches for the figures"
    # A run of four nodes is kept once.
    assert sum(name.endswith("cn2/host_device_check/verdict.json") for name in held) == 1


def test_runs_of_two_nights_are_both_in_the_record(ask: Ask, tmp_path: Path) -> None:
    for day in ("20", "21"):
        # As sweeps leave them: each attempt at a node is called by its number.
        attempts = tmp_path / "nights" / day / "cn1"
        attempts.mkdir(parents=True)
        nightly.run(tmp_path / "made", {"cn1": 1.0}, day=f"2026-11-{day}").rename(attempts / "1")
    ask("rack", "--runs", str(tmp_path / "nights"), "--record", str(tmp_path / "rack.zip"))
    nights = {name.split("/")[2] for name in archive(tmp_path / "rack.zip") if name.startswith("runs/cn1/")}
    assert nights == {"20261120T020000Z", "20261121T020000Z"}


def test_the_pdf_has_the_boards_of_many_refused_nodes_and_its_time(ask: Ask, runs: Path, tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    pytest.importorskip("reportlab")
    nightly.run(runs, dict.fromkeys([*HEALTHY, "cn5", "cn6"], 0.6), at="04:00:00")
    ask("rack", "--runs", str(runs), "--record", str(tmp_path / "rack.zip"))
    pages = [page.extract_text() for page in pypdf.PdfReader(tmp_path / "rack.pdf").pages]
    assert "GPU-cn6-3" in pdf_text((tmp_path / "rack.pdf").read_bytes())
    assert all("Delivery rack · decided 20" in page and f"of {len(pages)}" in page for page in pages)


def test_an_anonymous_record_names_no_host_and_no_board(ask: Ask, runs: Path, tmp_path: Path) -> None:
    serial = edit(gpu0_serial="1654923011111", gpu0_uuid="GPU-0a1b2c3d")
    nightly.run(runs, {"cn6": 0.6}, at="04:00:00", change=serial)
    ask("rack", "--runs", str(runs), "--record", str(tmp_path / "vendor.zip"), "--anonymous")
    held = archive(tmp_path / "vendor.zip")
    assert set(held) == {"record.pdf", "record.html", "delivery.json", "SHA256SUMS"}
    for name, content in held.items():
        text = pdf_text(content) if name.endswith(".pdf") else content.decode("latin-1")
        for word in ("cn1", "cn5", "cn6", "site.example", "1654923011111", "GPU-", str(tmp_path)):
            assert word not in text, f"{name} has {word}"
    decided = json.loads(held["delivery.json"])
    assert [node["name"] for node in decided["nodes"]] == [f"node{number:03}" for number in range(1, 7)]
    assert decided["counts"] == {"accepted": 4, "refused": 2, "measure again": 0}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rak"], "no order is called 'rak' (did you mean 'rack'?)"),
        (["rack", "--partition", "gpu"], "--partition: it goes with --measure"),
        (["rack", "--measure", "--nodes", "cn1"], "--nodes: it goes with --partition"),
        (["rack", "--anonymous"], "--anonymous: it goes with --record"),
        (["rack", "--record", "rack.pdf"], "name a file that ends in .zip"),
        (["rack", "--runs", "/nowhere"], "--runs /nowhere: no such directory"),
        (["rack", "--accept-degraded", "cn9"], "cn9: neither ordered nor measured"),
        (["rack", "--measure"], "is none of the ordered nodes"),
    ],
)
def test_wrong_use_is_one_line(ask: Ask, words: list[str], said: str) -> None:
    code, out, err = ask(*words)
    assert (code, out, len(err.splitlines())) == (2, "", 1) and said in err


def test_a_run_that_cannot_be_read_is_named_and_left_out(ask: Ask, runs: Path) -> None:
    broken = next(runs.glob("*T020100*")) / "run.json"
    for text in ("{", json.dumps({**json.loads(broken.read_text()), "missing_cases": [{}]})):
        broken.write_text(text)
        code, out, err = ask("rack", "--runs", str(runs))
        assert code == 3 and "4 of 6 nodes accepted, 2 to be measured again" in out
        assert f"left out: {broken}" in err and len(err.splitlines()) == 1
    broken.unlink()
    os.mkfifo(broken)
    (runs / "made" / "run.json").mkdir(parents=True)
    _, out, err = ask("rack", "--runs", str(runs))
    assert (
        "4 of 6 nodes accepted" in out
        and f"left out: {broken}: not a regular file" in err
        and len(err.splitlines()) == 2
    )


def test_a_directory_that_cannot_be_read_is_named(ask: Ask, runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed, scandir = runs / "closed", os.scandir
    closed.mkdir()

    def refusing(path: Any = ".") -> Any:
        if Path(path) == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(closed))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert f"left out: {closed}: cannot be read: Permission denied" in ask("rack", "--runs", str(runs))[2]


def test_a_record_that_cannot_be_written_is_one_line(ask: Ask, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, _, err = ask("rack", "--runs", str(runs), "--record", str(tmp_path / "file" / "rack.zip"))
    assert code == 3 and "not a directory; name another file with --record" in err and len(err.splitlines()) == 1


def test_of_a_run_of_several_nodes_each_has_its_own_part_to_blame(ask: Ask, tmp_path: Path) -> None:
    def both(raw: dict[str, Any]) -> None:
        slow = {"cn3": 1, "cn5": 3}.get(raw["node"]["hostname"])
        if slow is not None:
            nightly.slow_gpu(slow, 0.6)(raw)

    run = nightly.run(tmp_path / "together", dict.fromkeys([*HEALTHY, "cn5", "cn6"], 1.0), change=both)
    report.build(run)
    said = " ".join(ask("rack", "--runs", str(tmp_path / "together"))[1].split())
    assert "cn3 GPU 1's PCIe link runs at 60 %" in said and "cn5 GPU 3's PCIe link runs at 60 %" in said
