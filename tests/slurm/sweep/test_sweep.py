"""Sweeps over a real Slurm: good, slow, dead and drained nodes, a controller that goes away, an interrupt and what resumes."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nearfar.base import files
from nearfar.cli import main
from nearfar.slurm.sweep import begin_or_resume
from nearfar.topology import inventory
from tests.conftest import CHECKOUT
from tests.support import fake_stream, sweeping
from tests.support.private_slurm import PrivateSlurm, needed

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def slurm() -> Iterator[PrivateSlurm]:
    needed(root=True)
    with PrivateSlurm(cpus=2, gpus=2, nodes=4, settings={"SlurmdTimeout": "6", "MessageTimeout": "3"}) as private:
        yield private


@pytest.fixture(scope="module")
def variables(slurm: PrivateSlurm, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return sweeping.site(tmp_path_factory.mktemp("site"), slurm)


@pytest.fixture(autouse=True)
def nothing_left(slurm: PrivateSlurm) -> Iterator[None]:
    """Take what a failed test left out of the queue: it is the only one that fails then."""
    yield
    if slurm.run(["squeue", "-h"]).stdout:
        sweeping.build(slurm, "n1", "good")
        slurm.run(["scancel", "--full", "--signal=KILL", "--user=root"])
        slurm.run(["scancel", "--user=root"])
        sweeping.until_all_have_ended(slurm)


def report(sweep: Path) -> dict[str, dict[str, Any]]:
    """The nodes of a sweep's report by name."""
    return {node["node"]: node for node in json.loads((sweep / "sweep-report.json").read_text())["nodes"]}


@pytest.fixture(scope="module")
def swept(slurm: PrivateSlurm, variables: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A sweep over four nodes: one good, one slow, one that dies while it is measured, one that somebody drained; and a
    controller that is away for a while in the middle. What it said, and where it is."""
    results = tmp_path_factory.mktemp("results")
    sweeping.build(slurm, "n2", "slow")
    slurm.run(["scontrol", "update", "nodename=n4", "state=drain", "reason=bad fan"])
    running = sweeping.started(
        slurm,
        variables,
        "sweep",
        "--partition=all",
        "--level=quick",
        f"--results={results}",
        "--name=s1",
        "--result-wait=1",
    )
    sweeping.until(lambda: len(list(results.glob("s1/jobs/n*.out"))) == 3, "three jobs have begun")
    slurm.kill_node("n3")
    slurm.stop_controller()
    said = ""
    assert running.stderr is not None
    while "slurmctld does not answer" not in said:
        line = running.stderr.readline()
        assert line, said
        said += line
    slurm.start_controller()
    out, rest = running.communicate(timeout=120)
    return running.returncode, out, said + rest, results


def test_each_node_has_one_verdict_and_a_reason(swept: Any) -> None:
    code, out, said, results = swept
    nodes = report(results / "s1")
    assert {name: node["verdict"] for name, node in nodes.items()} == {
        "n1": "PASS", "n2": "FAIL", "n3": "INDETERMINATE", "n4": "INDETERMINATE",
    }, said  # fmt: skip
    assert next(iter(nodes)) == "n2", "worst first"
    assert "352.0 GB/s" in nodes["n2"]["reason"]
    assert "NODE_FAIL" in nodes["n3"]["reason"] and nodes["n3"]["result"] is None
    assert nodes["n4"]["reason"].startswith("not measured: drained by root at ") and nodes["n4"]["job"] is None
    assert nodes["n4"]["reason"].endswith(": bad fan")
    assert code == 1, out + said
    assert "n2" in out and "bad fan" in out


def test_a_controller_that_goes_away_is_waited_for(swept: Any) -> None:
    _, _, said, _ = swept
    assert said.index("slurmctld does not answer") < said.index("slurmctld answers again")
    assert "Traceback" not in said


def test_a_node_leaves_one_whole_result_and_none_of_its_own_files(swept: Any) -> None:
    *_, results = swept
    place = results / "s1/nodes/n1/1"
    assert {"result.json", "run.json", "index.html"} <= set(os.listdir(place))
    assert not (place / "reframe").exists() and os.listdir(place.parent) == ["1"]
    left = json.loads((place / "result.json").read_text())
    assert (left["hostname"], left["system"], left["slurm"]["partition"]) == ("n1", "mine", "all")


def test_each_node_keeps_its_figures_in_the_one_history(swept: Any, variables: dict[str, str]) -> None:
    kept = {path.name.split(".")[0] for path in Path(variables["NEARFAR_STATE"]).rglob("*.parquet")}
    assert {"n1", "n2"} <= kept, (swept[-1] / "s1/jobs/n1.1.out").read_text()


def test_what_has_no_result_has_its_turn_again(slurm: PrivateSlurm, variables: dict[str, str], swept: Any) -> None:
    *_, results = swept
    before = (results / "s1/nodes/n1/1/result.json").read_bytes()
    slurm.start_node("n3")
    slurm.run(["scontrol", "update", "nodename=n3", "state=resume"])
    sweeping.until(lambda: "State=IDLE " in slurm.run(["scontrol", "show", "node", "n3"]).stdout, "n3 is back")
    again = sweeping.started(slurm, variables, "sweep", "--resume=s1", f"--results={results}")
    out, said = again.communicate(timeout=120)
    nodes = report(results / "s1")
    assert (nodes["n3"]["verdict"], nodes["n3"]["result"]) == ("PASS", "nodes/n3/1"), out + said
    assert nodes["n4"]["verdict"] == "INDETERMINATE", "nobody resumed it"
    assert (results / "s1/nodes/n1/1/result.json").read_bytes() == before and not (results / "s1/nodes/n1/2").exists()


def test_an_interrupt_leaves_the_jobs_and_resume_finds_them(
    slurm: PrivateSlurm, variables: dict[str, str], tmp_path: Path
) -> None:
    sweeping.build(slurm, "n1", "busy")
    sweeping.build(slurm, "n2", "slow")
    words = [
        "sweep",
        "--partition=all",
        "--nodes=n[1-2]",
        "--level=quick",
        f"--results={tmp_path}",
        "--name=s2",
        "--max-jobs=1",
    ]
    running = sweeping.started(slurm, variables, *words)
    sweeping.until(lambda: (tmp_path / "s2/jobs/n1.1.out").exists(), "the first job runs")
    sweeping.until(lambda: slurm.run(["squeue", "-h"]).stdout.count("nearfar") == 2, "both jobs are submitted")
    running.send_signal(signal.SIGINT)
    out, said = running.communicate(timeout=60)
    assert running.returncode == 130, out + said
    assert f"nearfar slurm sweep --resume s2 --results {tmp_path}" in said and "| xargs scancel" in said
    queue = [line.split() for line in slurm.run(["squeue", "-h", "-S", "i", "-o", "%n %T %j"]).stdout.splitlines()]
    assert [words[:2] for words in queue] == [["n1", "RUNNING"], ["n2", "PENDING"]], "they go on by themselves"
    assert len({words[2] for words in queue}) == 1, "one lane"
    # Whether the sweep heard that its last job was taken, is chance: the resumed one finds it in Slurm.
    assert report(tmp_path / "s2")["n2"]["reason"].startswith("not measured yet: ")
    shown = sweeping.started(slurm, variables, "sweep", "--resume=s2", f"--results={tmp_path}", "--dry-run")
    out, said = shown.communicate(timeout=60)
    assert shown.returncode == 0 and "2 nodes of all; jobs are submitted for none\n" in out, out + said
    assert "waited for: 2 jobs that" in out, out
    sweeping.build(slurm, "n1", "good")
    again = sweeping.started(slurm, variables, "sweep", "--resume=s2", f"--results={tmp_path}", "--json")
    out, said = again.communicate(timeout=120)
    nodes = {node["node"]: node for node in json.loads(out)["nodes"]}
    assert nodes["n1"]["result"] == "nodes/n1/1", f"the job that was left is the one that counts: {said}"
    assert (nodes["n1"]["verdict"], nodes["n2"]["verdict"]) == ("PASS", "FAIL")


def test_what_nobody_waited_for_is_merged_later(slurm: PrivateSlurm, variables: dict[str, str], tmp_path: Path) -> None:
    """First nobody waits; then --resume finds what was measured meanwhile, and submits nothing."""
    sweeping.build(slurm, "n2", "slow")
    words = ["sweep", "--partition=all", "--nodes=n[1-2]", "--level=quick", f"--results={tmp_path}", "--max-jobs=1"]
    first = sweeping.started(slurm, variables, *words, "--no-wait")
    out, said = first.communicate(timeout=60)
    assert first.returncode == 0 and "2 jobs left in Slurm; continue: nearfar slurm sweep --resume" in said, said
    sweeping.until_all_have_ended(slurm)
    (sweep,) = tmp_path.glob("2*")
    again = sweeping.started(slurm, variables, "sweep", f"--resume={sweep.name}", f"--results={tmp_path}")
    out, said = again.communicate(timeout=120)
    assert again.returncode == 1, out + said
    nodes = report(sweep)
    assert {name: (node["verdict"], node["result"]) for name, node in nodes.items()} == {
        "n1": ("PASS", "nodes/n1/1"), "n2": ("FAIL", "nodes/n2/1"),
    }  # fmt: skip
    assert {json.loads(path.read_text())["slurm"]["cluster"] for path in sweep.rglob("result.json")} == {"private"}
    other = sweeping.started(slurm, variables, *words, f"--name={sweep.name}")
    out, said = other.communicate(timeout=60)
    assert other.returncode == 2 and f"there is a sweep of that name; --resume {sweep.name} continues it" in said, said


# Wrong use and bad input


@pytest.fixture
def told(
    slurm: PrivateSlurm, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Runs the command within this process; its exit code and what it said on standard error, where alone it speaks."""
    for name, value in {**slurm.environment, **variables}.items():
        monkeypatch.setenv(name, value)

    def run(*words: str) -> tuple[int, str]:
        code = main(["slurm", *words])
        out, said = capsys.readouterr()
        assert not out, out
        return code, said.strip()

    return run


WRONG: dict[str, tuple[list[str], int, str]] = {
    "no partition": (["sweep"], 2, "name a partition (--partition P), or a sweep to continue (--resume NAME)"),
    "another partition": (
        ["sweep", "-p", "gpus"],
        2,
        "--partition gpus: Slurm has no such partition; sinfo -s lists them",
    ),
    "another node": (
        ["sweep", "-p", "all", "-w", "n[2-6]"],
        2,
        "--nodes n[2-6]: n[5-6] not in partition all (which has n[1-4])",
    ),
    "half a bracket": (["sweep", "-p", "all", "-w", "n[2-"], 2, "'n[2-': not a node list such as n[1-4,7]"),
    "a shell's": (["sweep", "-p", "all", "-w", "n1;id"], 2, "'n1;id': not a node list"),
    "no reservation": (
        ["sweep", "-p", "all", "--reservation", "r"],
        2,
        "--reservation r: Slurm has no such reservation",
    ),
    "a name": (["sweep", "-p", "all", "--name", "../x"], 2, "--name ../x: letters, digits"),
    "nothing to resume": (["sweep", "--resume", "s9"], 2, "no such sweep"),
    "a deadline of nan": (["sweep", "-p", "all", "--deadline", "nan"], 2, "--deadline nan: from 0 to 8784 hours"),
    "a deadline of inf": (["sweep", "-p", "all", "--deadline", "inf"], 2, "--deadline inf: from 0 to 8784 hours"),
    "a deadline too far": (
        ["sweep", "--idle", "-p", "all", "--deadline", "1e300"],
        2,
        "--deadline 1e+300: from 0 to 8784",
    ),
    "settling for ever": (
        ["sweep", "-p", "all", "--result-wait", "nan"],
        2,
        "--result-wait nan: from 0 to 86400 seconds",
    ),
    "settling before": (
        ["sweep", "--resume", "s9", "--result-wait=-1"],
        2,
        "--result-wait -1: from 0 to 86400 seconds",
    ),
    "a job for ever": (["sweep", "-p", "all", "--time", "9" * 400], 2, "from 1 to 527040 minutes"),
    "a slip of the hand": (
        ["sweep", "-p", "all", "-w", "n[1-99999999]"],
        2,
        "'n[1-99999999]': a list of 99,999,999 names",
    ),
    "the same at night": (
        ["sweep", "--idle", "-p", "all", "-w", "n[1-99999999]"],
        2,
        "'n[1-99999999]': a list of 99,999,999 names",
    ),
    "no node": (["sweep", "-p", "all", "--nodes", ""], 2, "--nodes '': names no node"),
    "pairs of idle nodes": (["sweep", "-p", "all", "--idle", "--mpi-pairs"], 2, "--mpi-pairs: not with --idle"),
    "idle nodes alone for a sweep that was begun": (
        ["sweep", "--resume", "s9", "--idle"],
        2,
        "--idle: --resume s9 goes on with what that sweep was begun with",
    ),
    "another level for a sweep that was begun": (
        ["sweep", "--resume", "s9", "--level", "accept"],
        2,
        "--level: --resume s9 goes on with what that sweep was begun with",
    ),
    "a misspelt option for sbatch": (
        ["sweep", "-p", "all", "--sbatch=--acount=x"],
        2,
        "sbatch: unrecognized option '--acount=x'",
    ),
    "a night that nobody watches": (["sweep", "-p", "all", "--idle", "--no-wait"], 2, "--no-wait: not with --idle"),
    "too short": (["sweep", "-p", "all", "--deadline", "0.1"], 2, "fewer hours than a job may take"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_use_is_one_line(told: Any, tmp_path: Path, what: str) -> None:
    words, code, line = WRONG[what]
    for dry in ([], ["--dry-run"]):
        found, said = told(*words, f"--results={tmp_path}", *dry)
        assert (found, len(said.splitlines())) == (code, 1) and line in said, said
        assert not [path for path in tmp_path.iterdir() if path.name != ".lock"], "something was left behind"


def test_a_dry_run_refuses_what_the_sweep_would(told: Any, tmp_path: Path) -> None:
    (tmp_path / "s1").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "not mounted")
    for name, place, line in (
        ("s1", tmp_path, "s1: there is a sweep of that name; --resume s1 continues it"),
        ("s2", tmp_path / "open", "results there could be forged"),
        ("s2", tmp_path / "link/results", "link: a dangling link; name another --results DIR"),
    ):
        words = ["sweep", "-p", "all", f"--name={name}", f"--results={place}"]
        found = told(*words, "--dry-run")
        assert line in found[1] and found == told(*words), found


@pytest.mark.parametrize("words", [["slurm", "sweep", "-p", "all", "--max-jobs"], ["slurm", "sweep", "-p", "x", "--time"],
                                   ["osu", "--ranks"]])  # fmt: skip
def test_a_count_is_at_least_one(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    for text, told in (("0", "0: at least 1"), ("-3", "-3: at least 1"), ("two", "two: not a whole number")):
        with pytest.raises(SystemExit) as ended:
            main([*words[:-1], f"{words[-1]}={text}"])
        assert ended.value.code == 2
        assert f"argument {words[-1]}: {told}; " in capsys.readouterr().err


def test_without_slurm_or_programs(told: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["sweep", "-p", "all", f"--results={tmp_path}"]
    monkeypatch.setenv("NEARFAR_PROGRAMS", str(tmp_path / "none"))
    code, said = told(*words)
    assert code == 3 and "jobs build nothing; build them first: ./validate --setup-only" in said
    monkeypatch.setenv("PATH", "/nowhere")
    code, said = told(*words)
    assert code == 2 and said.startswith("nearfar: no Slurm here: ")
    assert not list(tmp_path.glob("2*")), "nothing was begun"


def test_a_partition_that_is_down(told: Any, slurm: PrivateSlurm, tmp_path: Path) -> None:
    slurm.run(["scontrol", "update", "partitionname=all", "state=down"])
    try:
        code, said = told("sweep", "-p", "all", f"--results={tmp_path}")
    finally:
        slurm.run(["scontrol", "update", "partitionname=all", "state=up"])
    assert code == 3 and "partition all is DOWN: no job starts in it" in said


def test_two_sweeps_at_once(told: Any, tmp_path: Path) -> None:
    with begin_or_resume.lock(tmp_path):
        code, said = told("sweep", "-p", "all", f"--results={tmp_path}")
    assert code == 3 and f"{tmp_path}/.lock: held by sweep, process {os.getpid()} on " in said


def test_a_results_directory_that_cannot_be_written(told: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, said = told("sweep", "-p", "all", f"--results={tmp_path}/file/results")
    assert code == 3 and f"{tmp_path}/file/results: cannot be written: Not a directory" in said


def test_a_results_directory_on_a_full_disk(told: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "replace", full)
    code, said = told("sweep", "-p", "all", "--name=full", f"--results={tmp_path}")
    assert code == 3 and "the disk is full; make room, or name another --results DIR on another disk" in said
    assert not list(tmp_path.rglob("*.json")), "nothing half"


def test_half_a_journal(told: Any, tmp_path: Path) -> None:
    (tmp_path / "s5").mkdir()
    (tmp_path / "s5/sweep.json").write_text('{"schema": "nearfar-sweep/1", "tas')
    code, said = told("sweep", "--resume=s5", f"--results={tmp_path}")
    assert code == 3 and "s5/sweep.json: cannot be read: " in said


def test_a_night_takes_idle_nodes_alone(slurm: PrivateSlurm, variables: dict[str, str], tmp_path: Path) -> None:
    """One node has a user's job, one is drained; the exit code is that of what was measured."""
    slurm.run(["scontrol", "update", "nodename=n[3-4]", "state=drain", "reason=bad fan"])
    sweeping.build(slurm, "n2", "good")
    busy = slurm.run(
        ["sbatch", "--parsable", "-w", "n1", "--exclusive", "--output=/dev/null", "--wrap=sleep 100"]
    ).stdout
    sweeping.until(lambda: "ALLOCATED" in slurm.run(["scontrol", "show", "node", "n1"]).stdout, "n1 is in use")
    words = ["sweep", "--idle", "--partition=all", "--level=quick", f"--results={tmp_path}", "--json"]
    out, said = sweeping.started(slurm, variables, *words, "--name=night").communicate(timeout=120)
    told = json.loads(out)
    assert {node["node"]: node["verdict"] for node in told["nodes"]} == {"n2": "PASS"}, said
    assert told["left_out"]["n1"] == "allocated" and told["left_out"]["n4"].startswith("drained by root")
    assert told["exit_code"] == 0
    slurm.run(["scontrol", "update", "nodename=n2", "state=drain", "reason=too"])
    none = sweeping.started(slurm, variables, *words[:-1], "--name=none")
    out, said = none.communicate(timeout=60)
    assert none.returncode == 3 and "0 of 4 nodes measured; not: 3 drained, 1 allocated" in out, out + said
    slurm.run(["scancel", busy.strip()])
    slurm.run(["scontrol", "update", "nodename=n2", "state=resume"])
    sweeping.build(slurm, "n2", "slow")


def test_reframes_own_distribute_finds_the_same(slurm: PrivateSlurm, variables: dict[str, str], tmp_path: Path) -> None:
    """The same checks by ReFrame's scheduler and `--distribute`: same names, same verdicts, one page."""
    slurm.run(["scontrol", "update", "nodename=n[3-4]", "state=drain", "reason=x"])
    # A node that was in use or drained a moment ago is not exactly idle yet, and would be left out.
    sweeping.until(
        lambda: slurm.run(["scontrol", "show", "node", "n[1-2]"]).stdout.count("State=IDLE ") == 2, "n1 and n2 are idle"
    )
    environment = {**variables, "NEARFAR_RUN_DIR": str(tmp_path / "run"), "NEARFAR_STATE": str(tmp_path / "state")}
    reframe = [
        sys.executable,
        "-c",
        "from reframe.frontend.cli import main; main()",
        "-C",
        f"{CHECKOUT}/reframe_config.py",
    ]
    checks = ["-c", f"{CHECKOUT}/checks/quick", "--system=mine", "--distribute=idle", "-r"]
    done = slurm.run([*reframe, *checks], **environment)
    assert "Ran 3/3 test case(s)" in done.stdout and done.returncode == 1, done.stdout[-2000:] + done.stderr
    page = slurm.run([sys.executable, "-m", "nearfar", "report", str(tmp_path / "run")], **environment)
    assert page.returncode == 0, page.stderr
    found = json.loads((tmp_path / "run/report.json").read_text())
    assert {node["node"]: node["verdict"] for node in found["nodes"]} == {"n1": "PASS", "n2": "FAIL"}
    assert {check["check"] for node in found["nodes"] for check in node["checks"]} == {"quick_check"}


def test_a_node_whose_gpus_are_not_seen_is_never_green(slurm: PrivateSlurm, tmp_path: Path) -> None:
    """Slurm has two GPUs on a node that no system file names: nothing else asks for them, and its memory is well."""
    if inventory.gpu_pci_devices():
        pytest.skip("this machine has GPUs")
    (tmp_path / "site/references").mkdir(parents=True)
    (tmp_path / "site/references/local.yaml").write_text(
        "provenance: {tuned: {date: 2026-11-20, n: 4}}\nhost_memory_check:\n"
        + "".join(f"  {where}.triad: [20, -0.1, null, GB/s]\n" for where in ("local", "on_socket", "off_socket", "all"))
    )
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "nearfar-copy").write_text(f'#!/bin/sh\nexec {sys.executable} {fake_stream.__file__} "$@"\n')
    (programs / "nearfar-copy").chmod(0o755)
    variables = {
        "NEARFAR_SITE": str(tmp_path / "site"), "NEARFAR_PROGRAMS": str(programs), "PYTHONPATH": str(CHECKOUT),
        "NEARFAR_STATE": str(tmp_path / "state"),
    }  # fmt: skip
    words = [
        "sweep",
        "--partition=all",
        "--nodes=n1",
        "--level=nightly",
        f"--results={tmp_path}/results",
        "--result-wait=1",
    ]
    sweep = sweeping.started(slurm, variables, *words, "--name=s")
    out, said = sweep.communicate(timeout=120)
    (node,) = report(tmp_path / "results/s").values()
    assert (sweep.returncode, node["verdict"]) == (3, "INDETERMINATE"), out + said
    assert node["reason"].startswith("Slurm lists 2 GPUs"), out + said
    assert node["checks"] == {"host_memory_check": "PASS", "topology_check": "INDETERMINATE"}
    page = (tmp_path / "results/s" / node["result"] / "index.html").read_text()
    assert "Slurm lists 2 GPUs" in page and "none of its figures was judged: topology not compared" not in out
