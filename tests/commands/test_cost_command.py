"""``nearfar cost``: its lines, its document, its page, its exit codes, its launchers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from nearfar import cli
from nearfar.base import validator
from nearfar.topology import inventory
from tests.cost import fakes
from tests.support.launching import needs

FOM = ("--fom", r"time of loop: (\S+)", "--warm-up", "0")


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    monkeypatch.setattr(inventory, "observe", lambda: fakes.two_nodes(gpus=2))
    monkeypatch.setenv("FAKE_CPU", str(fakes.cpus()[1]))

    def run(*options: str, does: tuple[str, ...] = (), program: list[str] | None = None) -> tuple[int, str, str]:
        words = fakes.program(tmp_path, *does) if program is None else program
        try:
            code = cli.main(["cost", *options, "--", *words])
        except SystemExit as stop:
            code = int(stop.code or 0)
        said = capfd.readouterr()
        return code, said.out, said.err

    return run


def test_the_answer_is_first_and_what_to_do_last(ask: Any) -> None:
    code, out, err = ask(*FOM, "--at-most", "5%", does=("default=slow",))
    lines = out.splitlines()
    assert (
        code == 1
        and lines[0].startswith("against right: default costs +")
        and lines[1] == "default: costs more than 5 %"
    )
    assert lines[-1].startswith("next: start it as right does: taskset -c ")
    assert "default, run 1: 0 s" in err and "left" in err
    assert max(map(len, lines[:-1])) <= 160


def test_what_the_launcher_does_is_as_good(ask: Any) -> None:
    code, out, _ = ask(*FOM, "--at-most", "40%", "--resolution", "5%", does=("wrong=slow",))
    assert code == 0 and "default: costs no more than 40 %" in out
    # In one of twenty trials chance makes it look better.
    words = "next: nothing to change: what the launcher does is "
    assert out.splitlines()[-1] in (f"{words}as good as right", f"{words}better than right")


def test_the_document_keeps_to_its_schema(ask: Any) -> None:
    code, out, _ = ask(
        *FOM, "--runs", "2", "--json", "--same", r"energy (\S+)", "--schemes", "default,right,wrong,0,shuffled"
    )
    found = json.loads(out)
    validator("cost-1").validate(found)
    schemes = {each["name"]: each for each in found["schemes"]}
    assert code == 3 and found["good"] is None
    assert schemes["0"]["same_as"] == "right" and schemes["wrong"]["penalty"]["pairs"] == 2
    assert schemes["wrong"]["runs"][0]["bindings"][0]["cpus"] == str(fakes.cpus()[1])
    assert schemes["shuffled"]["bindings"][0]["gpus"] == "1,0"


def test_the_page_needs_no_other_file(ask: Any, tmp_path: Path) -> None:
    page = tmp_path / "cost.html"
    ask(*FOM, "--page", str(page), "--at-most", "5%", does=("wrong=slow",))
    text = page.read_text()
    parser = HTMLParser()
    parser.feed(text)
    assert "src=" not in text and "<svg" in text and 'class="pair"' in text and "Binding in effect" in text


@pytest.mark.parametrize(
    "options, words",
    [
        (("--schemes", "rigth"), "no such scheme: 'rigth' (did you mean 'right'?)"),
        (("--schemes", "0-1", "--ranks", "3"), "scheme 0-1 places 2 ranks, and there are 3"),
        (("--ranks", "2", "--launcher", "none"), "--launcher none starts one rank, and there are 2"),
        (
            ("--against", "wrong", "--schemes", "right,default"),
            "--against wrong: it is none of the schemes right, default",
        ),
        (("--fom", "("), "'(' is not a regular expression"),
        (("--same", "*"), "--same: '*' is not a regular expression"),
        (("--gpus", "7"), "has no GPU g7 that this process may use; it has: g0, g1"),
        (("--runs", "1000"), "--runs 1000: at most 200"),
        (("--take", "last"), "it goes with --fom"),
        (("--ranks", "8", "--no-gpus", "--launcher", "mpich"), "has 2 cores to give, and 8 ranks need 8"),
    ],
)
def test_wrong_use_is_one_line(ask: Any, options: tuple[str, ...], words: str) -> None:
    if "mpich" in options:
        needs("mpiexec.hydra")
    code, out, err = ask(*options)
    assert code == 2 and words in err and not out and len(err.splitlines()) == 1


def test_no_program(ask: Any) -> None:
    assert ask(program=[])[0] == 2
    code, _, err = ask(program=["./no-such-program"])
    assert code == 2 and "./no-such-program: no such program" in err


def test_no_launcher_is_no_judgement(ask: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = ask("--launcher", "openmpi", "--ranks", "2")
    assert code == 3 and "none of mpirun, mpirun.openmpi, mpiexec is on PATH" in err


def test_nothing_that_differs(ask: Any) -> None:
    code, out, _ = ask("--schemes", "right,0", *FOM)
    assert code == 3 and "no two schemes differ on this machine" in out and "these schemes are all one here" in out


@pytest.mark.parametrize("launcher, program", [("openmpi", "mpirun.openmpi"), ("mpich", "mpiexec.hydra")])
def test_ranks_are_bound_below_a_launcher(
    ask: Any, launcher: str, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs(program)
    first, second = fakes.cpus()
    node = fakes.two_nodes(gpus=0)
    monkeypatch.setattr(inventory, "observe", lambda: node)
    options = (
        "--launcher",
        launcher,
        "--schemes",
        "default,0-1,1-0,1-free",
        "--runs",
        "1",
        *FOM,
        "--take",
        "greatest",
        "--json",
    )
    code, out, err = ask(*options)
    found = json.loads(out)
    cpus = {each["name"]: [rank["cpus"] for rank in each["bindings"]] for each in found["schemes"]}
    assert code == 3, err
    assert cpus["0-1"] == [str(first), str(second)] and cpus["1-0"] == [str(second), str(first)]
    assert cpus["1-free"][0] == str(second) and len(cpus["1-free"][1]) > 1 and len(cpus["default"]) == 2
    ran = [each for each in found["schemes"] if each["same_as"] is None]
    assert all(run["value"] for each in ran for run in each["runs"]) and found["ranks"] == 2, ran
    # Open MPI refuses root unless it is told that it may, and that is said.
    assert ("OMPI_ALLOW_RUN_AS_ROOT" in err) == (launcher == "openmpi" and os.geteuid() == 0)


def test_interrupted_it_shows_what_it_has_and_ends_its_children(tmp_path: Path) -> None:
    words = fakes.program(tmp_path)
    Path(words[2]).write_text("import time\ntime.sleep(30)\n")
    options = ["--schemes", "default,right", "--threads-per-rank", "1", "--warm-up", "0"]
    command = [sys.executable, "-m", "nearfar", "cost", *options, "--", *words]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    until = time.monotonic() + 30
    while not running(words) and time.monotonic() < until:
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=30)
    assert child.returncode == 130
    assert "next: interrupted" in out.splitlines()[-1] and "binding in effect" in out
    assert not running(words)


def running(words: list[str]) -> list[str]:
    """The processes of that program."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if line[: len(words)] == [word.encode() for word in words]:
            found.append(process)
    return found
