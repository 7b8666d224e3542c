"""``kit/run``: what it does on machines that it does not fit, and what it leaves."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nearfar.base import schema_check

from .made_kits import DRIVER, MadeKit, contents


def one_line(done: subprocess.CompletedProcess[str], code: int) -> str:
    """The only line of a refusal."""
    assert done.returncode == code and done.stdout == "", done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("nearfar kit: ")
    return line


def test_a_run_leaves_one_file_with_all_of_it(result: Path) -> None:
    files = contents(result)
    assert {"result.json", "topology.xml", "SHA256SUMS", "words/uname.txt", "words/nvidia-version.txt"} <= files.keys()
    for check in ("topology_check", "host_memory_check", "quick_check"):
        document = json.loads(files[f"checks/{check}/document.json"])
        cells = files[f"checks/{check}/cells.txt"].decode().split()
        assert {entry["cell"] for entry in document["results"]} == set(cells), check
    about = json.loads(files["result.json"])
    assert schema_check.conforms("kit-result-1")(about)
    assert [case["check"] for case in about["cases"]] == ["topology_check", "host_memory_check", "quick_check"]
    assert about["level"] == "quick" and about["no_gpus"] == "" and not about["anonymous"]


def test_it_shows_how_far_it_is(kit: MadeKit) -> None:
    done = kit.run("--quick", "--output", "node.tar.gz")
    assert done.returncode == 0
    assert re.search(
        r"\[1/3\] topology_check: 2 cells\n.*\[2/3\] host_memory_check.*\n.*\[3/3\] quick_check", done.stderr
    )
    assert f"{kit.folder}/node.tar.gz" in done.stderr.splitlines()[-1]
    assert not list(kit.folder.glob(".nearfar-kit*"))


def test_the_list_of_a_whole_run_measures_nothing(kit: MadeKit) -> None:
    done = kit.run("--list")
    assert done.returncode == 0 and done.stderr == ""
    checks = re.findall(r"^(\w+): nearfar", done.stdout, re.M)
    assert checks[:3] == ["topology_check", "host_memory_check", "gpu_memory_check"] and "saturation_check" in checks
    assert "  n0:g0+n0:g1\n" in done.stdout and "  g0:g1@g1\n" in done.stdout
    assert not list(kit.folder.glob("*.tar.gz"))


def test_without_a_gpu_the_host_is_measured_and_it_says_so(kit: MadeKit) -> None:
    kit.gpus, kit.driver = 0, ""
    done = kit.run("--quick", "--output", "host.tar.gz")
    assert done.returncode == 3
    assert "no NVIDIA GPU on its PCI bus: host memory alone is measured" in done.stderr
    files = contents(kit.folder / "host.tar.gz")
    assert {name.split("/")[1] for name in files if name.startswith("checks/")} == {"host_memory_check"}


@pytest.mark.parametrize(
    "driver, words",
    [
        (DRIVER.replace("580.95.05", "535.183.01"), "the NVIDIA driver 535.183.01 is older than the kit's CUDA"),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.51.03  Release Build  (builder@host)\n",
            "the NVIDIA driver 575.51.03 is older than the kit's CUDA",
        ),
        ("", "no NVIDIA driver is loaded"),
    ],
)
def test_an_old_driver_or_none_is_one_line(kit: MadeKit, driver: str, words: str) -> None:
    kit.driver = driver
    done = kit.run("--list")
    (line,) = done.stderr.splitlines()
    assert words in line and "host memory alone" in line
    assert re.findall(r"^(\w+): ", done.stdout, re.M) == ["host_memory_check"]


def test_another_architecture_is_one_line(kit: MadeKit) -> None:
    path = kit.folder / "kit" / "kit.txt"
    path.write_text(re.sub("architecture=.*", "architecture=riscv64", path.read_text()))
    assert "this kit is for riscv64, and this machine is" in one_line(kit.run(), 2)


def test_an_older_c_library_is_one_line(kit: MadeKit) -> None:
    words = "./nearfar-copy: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by ./nearfar-copy)"
    kit.replace("bin/nearfar-copy", f'#!/bin/sh\necho "{words.replace("`", chr(92) + "`")}" >&2\nexit 1\n')
    line = one_line(kit.run(), 2)
    assert "C library" in line and "is older than the kit's programs need: glibc 2." in line


def test_a_damaged_kit_is_one_line(kit: MadeKit) -> None:
    with (kit.folder / "kit" / "questions.txt").open("a") as file:
        file.write("\n# edited\n")
    assert "kit/questions.txt is not as it was packed" in one_line(kit.run(), 2)


def test_a_folder_without_execution_is_one_line(kit: MadeKit) -> None:
    script = 'cp -r "$2" "$1/kit" && cd "$1" && exec sh kit/run --quick'
    assert "noexec" in one_line(mounted(kit, "noexec", script), 2)


@pytest.mark.parametrize("size", ["4k", "12k"])
def test_a_full_disk_drops_no_check(kit: MadeKit, size: str) -> None:
    done = mounted(kit, f"size={size}", 'cd "$2/.." && TMPDIR=$1 exec sh kit/run --quick')
    assert done.returncode == 2 and "cannot be written (is its disk full?): set TMPDIR" in done.stderr.splitlines()[-1]
    assert not list(kit.folder.glob("*.tar.gz"))


def mounted(kit: MadeKit, option: str, script: str) -> subprocess.CompletedProcess[str]:
    """A script beside a file system of its own (``$1``) and the kit (``$2``)."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root, to mount a file system")
    place = kit.folder / "mounted"
    place.mkdir(exist_ok=True)
    script = f'mount -t tmpfs -o {option} none "$1" && {script}'
    command = ["unshare", "--mount", "sh", "-c", script, "sh", str(place), str(kit.folder / "kit")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    if "mount:" in done.stderr:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    return done


def test_a_place_that_cannot_be_written_is_one_line(kit: MadeKit) -> None:
    assert "cannot be written: name another place with --output" in one_line(
        kit.run("--output", "/proc/result.tar.gz"), 2
    )
    (kit.folder / "there.tar.gz").write_text("kept")
    assert "is there already" in one_line(kit.run("--output", "there.tar.gz"), 2)
    assert (kit.folder / "there.tar.gz").read_text() == "kept"


@pytest.mark.parametrize(
    "words, said", [(["--fast"], "--fast: no such option"), (["--output"], "a file is missing behind it")]
)
def test_wrong_use_is_one_line(kit: MadeKit, words: list[str], said: str) -> None:
    assert said in one_line(kit.run(*words), 2)


def test_help_has_examples_and_exit_codes(kit: MadeKit) -> None:
    done = kit.run("--help")
    assert done.returncode == 0 and "examples:" in done.stdout and "exit codes: 0 " in done.stdout
    assert kit.run("--version").stdout.startswith("nearfar kit ")


def test_wrong_data_is_exit_code_1(kit: MadeKit) -> None:
    done = kit.run("--quick", "--output", "wrong.tar.gz", settings="wrong=100")
    assert done.returncode == 1, done.stderr
    about = json.loads(contents(kit.folder / "wrong.tar.gz")["result.json"])
    assert any(case["exit"] == 1 for case in about["cases"])


def test_it_needs_no_python(kit: MadeKit) -> None:
    """Only what a bare system has is on the PATH."""
    bin_folder = kit.folder / "bin"
    bin_folder.mkdir()
    needed = "sh awk sed tar gzip sha256sum cat cp date dirname find grep head id mkdir mktemp rm sleep sort tail tr uname wc xargs"
    for name in needed.split():
        found = shutil.which(name)
        assert found is not None
        (bin_folder / name).symlink_to(found)
    done = kit.run("--quick", "--output", "bare.tar.gz", PATH=str(bin_folder))
    assert done.returncode == 0, done.stderr
    assert "not found" not in done.stderr
