"""``nearfar bind``: its words on modelled nodes, its errors, its scripts as bash, and what a site may change."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nearfar.binding import FORMS, Layout, place, render
from nearfar.binding.hwloc_numbers import logical_cpus
from nearfar.cli import main
from nearfar.topology import parse_hwloc_xml
from tests.support.bind_outputs import CASES, FOLDER, said
from tests.support.launching import clean_environment

CHECKOUT = Path(__file__).resolve().parents[2]
TOPOLOGIES = [*(CHECKOUT / "site" / "nodes").glob("*.xml"), *(CHECKOUT / "tests" / "data" / "topologies").glob("*.xml")]


@pytest.mark.parametrize("name", CASES)
def test_what_it_says_of_a_node_stays_as_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEARFAR_SITE", raising=False)
    kept = FOLDER / f"{name}.txt"
    assert said(CASES[name]) == kept.read_text(), f"python -m tests.support.bind_outputs writes {kept.name} anew"


def test_every_kept_output_has_its_case() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(CASES)


@pytest.mark.parametrize("words", [["--near", "gpu"], ["--near", "split"], ["--ranks-per-gpu", "5", "--oversubscribe"]])
@pytest.mark.parametrize("form", FORMS)
def test_the_scripts_are_clean_bash(tmp_path: Path, form: str, words: list[str]) -> None:
    shellcheck = shutil.which("shellcheck")
    if shellcheck is None:
        pytest.skip("shellcheck is not on the PATH (./run-tests puts it there)")
    script = tmp_path / "script.sh"
    script.write_text(said(["--node", "keeneland", *words, "--for", form, "./app"]))
    body = re.search(r"<<'END_OF_RANK'\n(.*?)\nEND_OF_RANK\n", script.read_text(), re.S)
    checked = [script]
    if body:
        checked.append(tmp_path / "per_rank.sh")
        checked[1].write_text(f"#!/usr/bin/env bash\nset -u\n{body[1]}\n")
    for path in checked:
        done = subprocess.run([shellcheck, str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_the_program_s_words_reach_it_unchanged(tmp_path: Path) -> None:
    awkward = ["a b", "it's", "$HOME", "*", "--flag=x", ""]
    script = tmp_path / "taskset.sh"
    script.write_text(
        said(["--numa-nodes", "0", "--threads-per-rank", "1", "--for", "taskset", "printf", r"<%s>\n", *awkward])
    )
    done = subprocess.run(["bash", script], env={**os.environ, "SLURM_LOCALID": "0"}, capture_output=True, text=True)
    assert done.stdout.splitlines() == [f"<{word}>" for word in awkward], done.stderr


def test_json_has_it_all() -> None:
    document = json.loads(said(["--node", "keeneland", "--for", "all", "--json"]))
    assert document["schema"] == "nearfar-binding/1"
    assert [row["cpus"] for row in document["placements"]] == ["0,2,4", "1,3,5", "7,9,11"]
    assert document["layout"]["ranks_per_gpu"] == 1
    assert set(document["scripts"]) == set(FORMS)
    assert any("-14 %" in sentence for sentence in document["explanation"])


def test_all_forms_in_one_text() -> None:
    text = said(["--node", "keeneland", "--for", "all"])
    assert re.findall("^===== (.*) =====$", text, re.M) == list(FORMS)


def test_a_stored_node_as_xml_and_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    xml = CHECKOUT / "site" / "nodes" / "summit.xml"
    assert main(["detect", "--xml", str(xml), "--json"]) == 0
    stored = tmp_path / "node.json"
    stored.write_text(capsys.readouterr().out)
    assert said(["--xml", str(stored)]) == said(["--xml", str(xml)])


@pytest.mark.parametrize(
    "words, message",
    [
        (["--node", "kenland"], "kenland"),
        (["--xml", "/nowhere.xml"], "/nowhere.xml: cannot be read: No such file or directory"),
        (["--node", "keeneland", "--gpus", "0,x"], "--gpus 0,x: expected numbers and ranges, such as 0,1 or 0-3"),
        (["--node", "keeneland", "--gpus", ""], "--gpus : expected numbers and ranges"),
        (["--node", "keeneland", "--numa-nodes", "0,,1"], "--numa-nodes 0,,1: expected numbers"),
        (["--node", "keeneland", "--ranks-per-gpu", "5"], "12 cores to give, and 15 ranks need 15"),
        (["--node", "keeneland", "--ranks-per-gpu", "100000"], "100000 ranks per GPU: at most 1024 are placed"),
        (
            ["--node", "keeneland", "./app", "--for", "slurm"],
            "./app: a program belongs to a launch line; put --for FORM",
        ),
        (["--node", "sierra", "--near", "nic"], "g0 has no NIC to be near to, it shows no NIC"),
        (["--node", "jaguarpf"], "jaguarpf-modelled has no GPUs: name the NUMA node of each rank, --numa-nodes 0,0"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bind", *words]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1 and captured.out == ""


@pytest.mark.parametrize("whole", ["0x000000ff", "0x0000ffff"])
def test_xml_of_a_cpuset_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str], whole: str) -> None:
    """Once with what is disallowed (``allowed_cpuset``), once without (``complete_cpuset``)."""
    text = (CHECKOUT / "tests/data/topologies/constructed-restricted-cpuset.xml").read_text()
    if whole != "0x000000ff":
        text = text.replace('allowed_cpuset="0x000000c0" allowed_nodeset="0x00000002"', "", 1)
        text = text.replace('complete_cpuset="0x000000ff"', f'complete_cpuset="{whole}"', 1)
    stored = tmp_path / "node.xml"
    stored.write_text(text)
    main(["bind", "--xml", str(stored), "--gpus", "1"])
    said = capsys.readouterr().err
    assert said.startswith(f"nearfar: {stored}: ") and "cpuset" in said and said.count("\n") == 1


def test_a_broken_stored_node_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for content, message in (("{\n ]", "node.json:2: not JSON"), ("<a/>", "the outermost element is <a>")):
        (tmp_path / "node.json").write_text(content)
        assert main(["bind", "--xml", str(tmp_path / "node.json")]) == 2
        assert message in capsys.readouterr().err


def test_the_order_of_numa_nodes_is_the_ranks_order() -> None:
    document = json.loads(said(["--node", "keeneland", "--numa-nodes", "1,0,1", "--threads-per-rank", "1", "--json"]))
    assert [row["numa_node"] for row in document["placements"]] == [1, 0, 1]


def test_a_site_s_own_template_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "templates" / "bind"
    own.mkdir(parents=True)
    (own / "mpich.sh.j2").write_text("ranks: {{ ranks }}, bind {{ user_binding }}\n")
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path))
    assert said(["--node", "keeneland", "--for", "mpich"]) == "ranks: 3, bind 0+2+4,1+3+5,7+9+11\n"
    assert said(["--node", "keeneland", "--for", "taskset"]) == (FOLDER / "keeneland.taskset.txt").read_text().replace(
        "if ((! $#)); then set -- ./app --input 'a b'; fi\n", ""
    )


@pytest.mark.parametrize(
    "template, message",
    [
        ("{% if %}", "mpich.sh.j2:1: template: "),
        ("{{ nonsense }}", "template mpich.sh.j2: 'nonsense' is undefined"),
        ("{{ 1 + 'x' }}", "template mpich.sh.j2: unsupported operand"),
        ("{% include 'absent' %}", "template absent is in none of "),
    ],
)
def test_a_wrong_template_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], template: str, message: str
) -> None:
    own = tmp_path / "templates" / "bind"
    own.mkdir(parents=True)
    (own / "mpich.sh.j2").write_text(template)
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path))
    assert main(["bind", "--node", "keeneland", "--for", "mpich"]) == 2
    captured = capsys.readouterr().err
    assert message in captured and captured.count("\n") == 1


@pytest.mark.parametrize("path", TOPOLOGIES, ids=lambda path: path.stem)
def test_logical_numbers_are_hwloc_s(path: Path) -> None:
    calc = shutil.which("hwloc-calc")
    if calc is None:
        pytest.skip("hwloc-calc is not installed")
    if "format-3" in path.name:
        pytest.skip("hwloc 2 does not read format 3")
    asked = subprocess.run([calc, "-i", path, "--po", "-I", "PU", "all"], capture_output=True, text=True, check=True)
    assert list(logical_cpus(parse_hwloc_xml(path.read_text()))) == [int(cpu) for cpu in asked.stdout.split(",")]


def test_map_by_says_why_not() -> None:
    node = parse_hwloc_xml((CHECKOUT / "site" / "nodes" / "keeneland.xml").read_text())

    def told(layout: Layout) -> str:
        text = render("openmpi", node, place(node, layout))
        found = re.search("(--map-by ppr.*|No --map-by form says the same: .*)$", text, re.M)
        assert found
        return found[0].partition("same: ")[2] or found[0]

    assert told(Layout()) == "it deals out as many ranks to each NUMA node, and here are 1 on n0, 2 on n1."
    assert told(Layout(gpus=(0, 1))) == "--map-by ppr:1:numa:pe=6 --bind-to core"
    assert told(Layout(gpus=(1, 0))) == "it deals out the ranks in another order."
    assert told(Layout(threads_per_rank=4)) == "it cannot spread a rank over NUMA nodes."
    assert told(Layout(near="split")) == "it cannot spread a rank over NUMA nodes."
    assert told(Layout(gpus=(0, 1), ranks_per_gpu=7, oversubscribe=True)) == "ranks share cores."


@pytest.mark.parametrize(
    "words", [["summit"], ["keeneland"], ["summit", "--ranks-per-gpu", "2"], ["sierra"]], ids=" ".join
)
def test_open_mpi_5_maps_modelled_nodes_so(tmp_path: Path, words: list[str]) -> None:
    """The mapping that Open MPI 5 shows of a node it only knows as XML: the rankfile's, and ``--map-by``'s."""
    mpirun = os.environ.get("NEARFAR_TEST_OPENMPI5")
    if not mpirun:
        pytest.skip("no Open MPI 5: NEARFAR_TEST_OPENMPI5 names its mpirun")
    xml = CHECKOUT / "site" / "nodes" / f"{words[0]}.xml"
    document = json.loads(said(["--node", *words, "--for", "openmpi", "--json"]))
    script = document["scripts"]["openmpi"]
    wanted = [set(_cpus(row["cpus"])) for row in document["placements"]]
    slots = re.search(r"^logical_slots=\((.*)\) #", script, re.M)
    assert slots
    lines = [f"rank {i}={os.uname().nodename} slot={s}\n" for i, s in enumerate(slots[1].replace("'", "").split())]
    (tmp_path / "ranks").write_text("".join(lines))
    count = len(wanted)
    rankfile = ["-n", str(count), "--map-by", f"rankfile:file={tmp_path / 'ranks'}:hwtcpus"]
    assert _shown(mpirun, xml, rankfile) == wanted
    regular = re.search(r"mpirun (-n .*) --bind-to core$", script, re.M)
    if regular:
        first = _first_cpus(xml)
        shown = _shown(mpirun, xml, [*regular[1].split(), "--bind-to", "core"])
        assert [{first[core] for core in cores} for cores in shown] == wanted


def _first_cpus(xml: Path) -> dict[int, int]:
    """The operating system's number of each core -> that of its first hardware thread."""
    cores = [o for o in ElementTree.parse(xml).iter("object") if o.get("type") == "Core"]
    return {int(c.get("os_index", "")): min(int(pu.get("os_index", "")) for pu in c.findall("object")) for c in cores}


def _cpus(text: str) -> list[int]:
    spans = [part.split("-") for part in text.split(",")]
    return [cpu for span in spans for cpu in range(int(span[0]), int(span[-1]) + 1)]


def _shown(mpirun: str, xml: Path, how: list[str]) -> list[set[int]]:
    host = f"{os.uname().nodename}:999"
    command = [mpirun, *how, "--host", host, "--prtemca", "hwloc_use_topo_file", str(xml), "--do-not-launch"]
    done = subprocess.run(
        [*command, "--display", "map-devel", "true"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    found = re.findall(r"Binding: (.*)$", done.stdout + done.stderr, re.M)
    return [{cpu for part in re.findall(r":L([0-9,-]+)", line) for cpu in _cpus(part)} for line in found]


@pytest.mark.parametrize(
    "node_type, words",
    [("summit", "their NICs, which are attached where their GPUs are"), ("keeneland", "their NICs, not their GPUs")],
)
def test_beside_the_nic_is_beside_the_gpu_where_both_hang_on_one_node(node_type: str, words: str) -> None:
    assert words in said(["--node", node_type, "--near", "nic"])


def test_ranks_on_numa_nodes_alone_are_told_of_the_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    told = "No rank has a GPU of its own: --gpus names one for each rank"
    assert main(["bind", "--node", "keeneland", "--numa-nodes", "0-1-1"]) == 0
    assert told in capsys.readouterr().out
    assert main(["bind", "--node", "keeneland", "--numa-nodes", "0-1-1", "--gpus", "0-2"]) == 0
    assert told not in capsys.readouterr().out
