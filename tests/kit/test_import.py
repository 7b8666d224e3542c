"""``nearfar import``: a kit's file as a run, and what is refused."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli
from nearfar.base import NearfarError
from nearfar.kit import gpu_ranges, import_file, result_file
from nearfar.report import next_step
from nearfar.verdict import run_directory
from tests.conftest import CHECKOUT

from .made_kits import contents, forged


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


def nearfar(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "NEARFAR_STATE": str(state)}
    return subprocess.run(
        [sys.executable, "-m", "nearfar", *words], env=env, capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def run(result: Path, state: Path) -> Path:
    """The run directory of the imported result."""
    done = nearfar(state, "import", str(result), "--name", "rack3-7", "--json")
    (folder,) = (state / "reports" / "imported").iterdir()
    # The emulated copies are slower than an H200's.
    assert done.returncode == json.loads((folder / "run.json").read_text())["exit_code"] == 1, done.stderr
    assert json.loads(done.stdout)["verdict"] == "FAIL"
    return folder


def test_it_is_a_run_like_any_other(run: Path) -> None:
    assert (run / "index.html").read_text(encoding="utf-8").count("rack3-7")
    raw = json.loads((run / "run.json").read_text())
    assert raw["system"] == "imported" and raw["missing_cases"] == []
    assert {case["check"] for case in raw["ran_cases"]} == {"topology_check", "host_memory_check", "quick_check"}
    quick = json.loads((run / "rack3-7" / "quick_check" / "verdict.json").read_text())
    assert quick["schema"] == "nearfar-verdict/2" and quick["kind"] == "measured"
    assert {metric["name"] for metric in quick["metrics"]} >= {"n0:g0", "g0:g1"} or quick["metrics"]
    assert next_step.next_command(run_directory.read(run))[0] == "kit/run --quick", "this machine is not the node"


def test_history_has_its_figures(run: Path, state: Path) -> None:
    pytest.importorskip("polars")
    done = nearfar(state, "history", "--system", "imported")
    assert done.returncode == 0 and "rack3-7" in done.stdout, done.stdout + done.stderr


def test_reproduce_takes_it(run: Path, state: Path) -> None:
    done = nearfar(state, "reproduce", "hamilton-sl390", "--run", str(run))
    assert done.returncode in (0, 3) and "rack3-7" in done.stdout + done.stderr, done.stderr


def test_its_topology_makes_a_node_type_that_predicts(run: Path, state: Path, tmp_path: Path) -> None:
    xml = run / "rack3-7" / "topology.xml"
    done = nearfar(state, "detect", "--xml", str(xml), "--site", "theirs", "--site-dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "nodes" / "theirs.yaml").exists()
    document = run / "rack3-7" / "quick_check" / "document.json"
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "NEARFAR_SITE": str(tmp_path), "NEARFAR_STATE": str(state)}
    words = [sys.executable, "-m", "nearfar", "calibrate", "--node", "theirs", str(document)]
    calibrated = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120)
    assert calibrated.returncode == 0 and "g0" in calibrated.stdout, calibrated.stderr


def test_what_a_kit_measured_once_has_wider_limits(result: Path, run: Path, tmp_path: Path) -> None:
    judged = json.loads((run / "rack3-7" / "host_memory_check" / "verdict.json").read_text())
    metric = next(metric for metric in judged["metrics"] if metric["unit"] == "GB/s")
    (tmp_path / "references").mkdir()
    rows = {metric["name"]: [10.0, -0.067, None, "GB/s"]}
    tuned = {"date": "2026-11-01", "n": 3, "stamp": {}}
    references = {"host_memory_check": rows, "provenance": {"tuned": tuned}}
    (tmp_path / "references" / "imported.yaml").write_text(json.dumps(references))
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT), "NEARFAR_STATE": str(tmp_path), "NEARFAR_SITE": str(tmp_path)}
    command = [sys.executable, "-m", "nearfar", "import", str(result), "--name", "n"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    (found,) = tmp_path.glob("reports/imported/*/n/host_memory_check/verdict.json")
    bounds = {each["name"]: each["reference"]["lowest"] for each in json.loads(found.read_text())["metrics"]}
    assert bounds[metric["name"]] == pytest.approx(9.0), done.stderr


def test_the_same_file_twice_is_told(result: Path, run: Path, state: Path) -> None:
    done = nearfar(state, "import", str(result), "--name", "rack3-7")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert f"imported before: {run}" in done.stderr


def refused(path: Path, code: int = 3) -> str:
    """Why a file is refused."""
    with pytest.raises(NearfarError) as error:
        result_file.read(path)
    words = str(error.value)
    assert error.value.exit_code == code and "\n" not in words and words.startswith(f"{path}: ")
    return words


def edit_json(name: str, change: Callable[[Any], None]) -> Callable[[dict[str, bytes]], None]:
    def edit(files: dict[str, bytes]) -> None:
        raw = json.loads(files[name])
        change(raw)
        files[name] = json.dumps(raw).encode()

    return edit


QUICK = "checks/quick_check/document.json"


def unasked(files: dict[str, bytes]) -> None:
    cells = "checks/quick_check/cells.txt"
    files[cells] = b"".join(files[cells].splitlines(keepends=True)[1:])


def hundredfold(raw: Any) -> None:
    for result in raw["results"]:
        for rate in [flow["rate"] for flow in result["flows"]] + [result["total"]]:
            for key in ("median", "plateau"):
                if rate.get(key):
                    rate[key] *= 100


def other_host(raw: Any) -> None:
    raw["node"]["hostname"] = "another"


def other_cores(raw: Any) -> None:
    raw["node"]["numa_nodes"][0]["cpus"] = "0"


def no_gpu_name(raw: Any) -> None:
    for gpu in [gpu for gpu in raw["node"]["gpus"] if gpu["name"]]:
        gpu["name"] = "<script>alert(1)</script>"


FORGERIES: dict[str, tuple[Callable[[dict[str, bytes]], None], str]] = {
    "a cell that was not asked": (unasked, "cells that the kit did not ask"),
    "two hosts": (edit_json(QUICK, other_host), "documents are of different nodes"),
    "other NUMA nodes": (edit_json(QUICK, other_cores), "documents are of different nodes"),
    "another program's document": (
        edit_json(QUICK, lambda raw: raw["program"].update(name="nearfar-kernels")), "is not what nearfar-copy"
    ),
    "another version's document": (edit_json(QUICK, lambda raw: raw["program"].update(version="9.9")), "is not what nearfar-copy"),
    "a modelled document": (edit_json(QUICK, lambda raw: raw.update(kind="modelled")), "is not what nearfar-copy"),
    "another day": (edit_json(QUICK, lambda raw: raw.update(started="2020-01-01T00:00:00Z")), "at another time"),
    "the future": (edit_json("result.json", lambda raw: raw.update(started="2199-01-01T00:00:00Z")), "in the future"),
    "a newer kit": (edit_json("result.json", lambda raw: raw.update(schema="nearfar-kit-result/2")), "left by a newer kit"),
    "lists in lists": (
        lambda files: files.update({"result.json": b"[" * 200_000 + b"]" * 200_000}), "nested too deeply"
    ),
    "a whole number of 5,000 digits": (
        lambda files: files.update({QUICK: files[QUICK].replace(b'"started"', b'"x": ' + b"9" * 5000 + b', "started"', 1)}),
        "quick_check/document.json: not",
    ),
    "half a letter": (edit_json(QUICK, lambda raw: raw["node"].update(product="\ud800")), "quick_check/document.json: not"),
    "half a letter in the result": (edit_json("result.json", lambda raw: raw.update(no_gpus="\ud800")), "no result.json"),
    "no number of seconds": (edit_json("result.json", lambda raw: raw.update(seconds=float("nan"))), "no result.json"),
    "a version of 5,000 digits": (
        edit_json("result.json", lambda raw: raw.update(schema="nearfar-kit-result/" + "9" * 5000)), "is no 'nearfar-kit-result'"
    ),
    "the year 1": (edit_json("result.json", lambda raw: raw.update(started="0001-01-01T00:00:00Z")), "cannot be understood"),
    "no kit's result": (edit_json("result.json", lambda raw: raw.update(schema="x")), "is no 'nearfar-kit-result'"),
    "a level that there is not": (edit_json("result.json", lambda raw: raw.update(level="all")), "level: 'all'"),
    "a check that is not in it": (
        edit_json("result.json", lambda raw: raw["cases"].append({**raw["cases"][0], "check": "peer_check"})), "the same checks"
    ),
    "cut JSON": (lambda files: files.update({QUICK: files[QUICK][:500]}), "quick_check/document.json"),
    "entities": (
        lambda files: files.update({"topology.xml": files["topology.xml"].replace(b"hwloc2.dtd\">", b"x\" [<!ENTITY a 'b'>]>")}),
        "declares entities",
    ),
    "no topology of this node": (
        lambda files: files.update({"topology.xml": files["topology.xml"].replace(b"0000:10:00.0", b"0000:77:00.0")}), "other GPUs"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_file_is_refused_in_one_line(name: str, result: Path, tmp_path: Path) -> None:
    change, words = FORGERIES[name]
    files = contents(result)
    change(files)
    assert words in refused(forged(tmp_path / "forged.tar.gz", files))


def test_an_edited_file_is_refused(result: Path, tmp_path: Path) -> None:
    files = contents(result)
    files[QUICK] = files[QUICK].replace(b'"verified"', b'"verified" ', 1)
    line = refused(forged(tmp_path / "edited.tar.gz", files, sums=False))
    assert "quick_check/document.json is not as the kit wrote it" in line


def test_memory_that_came_meanwhile_makes_no_other_node(result: Path, tmp_path: Path) -> None:
    """A virtual machine with one H200 had 128 MiB more of its host's memory in its third document than in its second."""
    files = contents(result)
    edit_json(QUICK, lambda raw: raw["node"]["numa_nodes"][0].update(memory=12980830208))(files)
    assert result_file.read(forged(tmp_path / "grown.tar.gz", files)).node.numa_nodes


def test_markup_in_names_is_refused(result: Path, tmp_path: Path) -> None:
    files = contents(result)
    for name in [name for name in files if name.endswith("document.json")]:
        edit_json(name, no_gpu_name)(files)
    assert "is not a part of a node" in refused(forged(tmp_path / "markup.tar.gz", files))
    for name in [name for name in files if name.endswith("document.json")]:
        edit_json(name, lambda raw: raw["node"].update(hostname="<b>x</b>"))(files)
    assert "is not a host name" in refused(forged(tmp_path / "host.tar.gz", files))


def test_markup_in_words_does_not_reach_the_page(result: Path, tmp_path: Path) -> None:
    files = contents(result)
    files["words/product.txt"] = b"<script>alert(1)</script>"
    path = forged(tmp_path / "words.tar.gz", files)
    assert "is not a part of a node" in refused(path)


def test_figures_above_their_own_samples_are_not_believed(
    result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARFAR_STATE", str(tmp_path / "state"))
    files = contents(result)
    edit_json(QUICK, hundredfold)(files)
    done = import_file(result_file.read(forged(tmp_path / "hundredfold.tar.gz", files)))
    (path,) = done.folder.glob("*/quick_check/verdict.json")
    metrics = json.loads(path.read_text())["metrics"]
    assert metrics and {metric["verdict"] for metric in metrics if metric["derived"] is None} == {"INDETERMINATE"}


def test_what_no_judge_can_take_leaves_no_run(result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARFAR_STATE", str(tmp_path / "state"))
    files = contents(result)
    edit_json("checks/topology_check/document.json", lambda raw: raw["node"]["gpus"][0].update(index=2**70))(files)
    read = result_file.read(forged(tmp_path / "many.tar.gz", files))
    with pytest.raises(NearfarError, match="cannot be understood") as error:
        import_file(read)
    assert error.value.exit_code == 3 and not list((tmp_path / "state/reports").glob("*/*/*"))


def test_a_damaged_file_is_one_line(result: Path, tmp_path: Path) -> None:
    whole = result.read_bytes()
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    assert "damaged" in refused(cut)
    text = tmp_path / "text.tar.gz"
    text.write_text("no archive")
    assert "damaged, or no tar.gz archive" in refused(text)
    assert "no such file" in refused(tmp_path / "nothing.tar.gz", code=2)


@pytest.mark.parametrize(
    "name", ["../escaped", "/etc/escaped", "result/../../escaped", "result/checks/a/b/c", "result/checks/x y/z"]
)
def test_names_that_lead_elsewhere_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "names.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = 1
        archive.addfile(entry, io.BytesIO(b"x"))
    assert "which no kit leaves" in refused(path)
    assert not (tmp_path / "escaped").exists()


def test_links_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "links.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        entry = tarfile.TarInfo("result/result.json")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    assert "which no kit leaves" in refused(path)


def test_what_unpacks_to_more_than_a_kit_leaves_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        entry = tarfile.TarInfo("result/topology.xml")
        entry.size = 300 * 2**20
        archive.addfile(entry, io.BytesIO(bytes(entry.size)))
    assert "unpacks to more than a kit leaves" in refused(path)


def test_a_system_with_other_gpus_is_refused(result: Path) -> None:
    read = result_file.read(result)
    with pytest.raises(NearfarError, match=r"the node has 2 × .*'h200-x1-vm' has other ones .*: 1 × NVIDIA H200"):
        import_file(read, "h200-x1-vm")
    with pytest.raises(NearfarError, match="h200-x7-vm: no such system file"):
        import_file(read, "h200-x7-vm")


def test_a_name_that_is_none_is_refused(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["import", str(result), "--name", "a/b"]) == 2
    assert (
        capsys.readouterr().err == "nearfar: --name a/b: a name has letters, digits, '.', '_' and '-'; choose another\n"
    )


def test_an_anonymous_file_is_called_by_its_checksum(
    result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARFAR_STATE", str(tmp_path / "state"))
    files = contents(result)
    edit_json("result.json", lambda raw: raw.update(anonymous=True))(files)
    read = result_file.read(forged(tmp_path / "anonymous.tar.gz", files))
    done = import_file(read)
    assert done.node == f"anonymous-{read.digest[:8]}" and done.system == "imported"
    assert done.node in (done.folder / "index.html").read_text(encoding="utf-8")
    document = json.loads((done.folder / done.node / "quick_check" / "document.json").read_text())
    assert document["node"]["hostname"] == done.node, "history takes documents of their folder's node alone"


def test_a_run_that_failed_says_nothing_of_healthy_gpus(run: Path) -> None:
    assert not (run / gpu_ranges.NAME).exists()
    assert gpu_ranges.ranges(run) == {}
