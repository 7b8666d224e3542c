"""``validate --with spack`` through a real ReFrame: with a fake Spack that installs the programs of this build, and with a real
one wherever it is found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT
from tests.run.test_spack_real import left_in_checkout
from tests.support.fake_spack import CASES, calls, fake_spack


def validate(state: Path, *words: str, **variables: str) -> tuple[int, str, Path]:
    """A real run of the memory check with Spack's programs: exit code, all that was said, the run directory."""
    left_out = ("NEARFAR_PROGRAMS", "NEARFAR_SPACK_TREE", "NEARFAR_WITH")
    environment = {k: v for k, v in os.environ.items() if k not in left_out}
    environment.update(NEARFAR_STATE=str(state), PYTHONPATH=str(CHECKOUT), NEARFAR_SYSTEM="local", **variables)
    run = state / "run"
    command = [sys.executable, "-m", "nearfar", "validate", "--with", "spack", "--check", "host_memory_check"]
    done = subprocess.run(
        [*command, "--report-dir", str(run), *words],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr, run


def faked(folder: Path, install: str) -> dict[str, str]:
    """The variables that lead to a fake Spack, which answers as Spack would and installs by these shell lines."""
    (folder / "site").mkdir()
    (folder / "site/packages.yaml").write_text("packages: {}\n")
    root = fake_spack(folder / "spack", cases=CASES)
    (root / "install").write_text(install)
    return {"SPACK_ROOT": str(root), "NEARFAR_SPACK_SITE": str(folder / "site")}


def test_reframe_builds_with_spack_and_the_run_says_so(tmp_path: Path, build_folder: Path) -> None:
    install = f'mkdir -p "$2/.spack-env"; ln -sfn "{build_folder}" "$2/.spack-env/view"'
    code, said, run = validate(tmp_path, **faked(tmp_path, install))
    assert code == 0, said
    assert "nearfar: Spack installs nearfar, compiler-wrapper; the MPI is openmpi 4.1.4 in /usr" in said
    document = json.loads(next(run.glob("*/host_memory_check/document.json")).read_text())
    assert "/.spack-env/view/bin/nearfar-copy" in document["program"]["command"][0]
    (made,) = json.loads((run / "report.json").read_text())["programs"]
    assert (made["environ"], made["how"]) == ("spack", "spack")
    assert made["words"].startswith("Spack 1.1.0, environment ")
    packages = [(p["name"], p["version"], p["hash"], p["prefix"]) for p in made["packages"]]
    assert packages == [
        ("nearfar", "main", "aaa", ""),
        ("openmpi", "4.1.4", "bbb", "/usr"),
        ("compiler-wrapper", "1.1.0", "ccc", ""),
    ]
    page = (run / "index.html").read_text()
    assert "How the programs were made" in page and "<code>/usr</code>" in page
    installs = [line for line in calls(tmp_path / "spack") if " install " in line]
    assert len(installs) == 1, f"before ReFrame, where one sees it; what is installed is used as it is: {installs}"


def test_reframe_by_hand_builds_with_its_own_spack_build_system(tmp_path: Path, build_folder: Path) -> None:
    install = f'mkdir -p "$2/.spack-env"; ln -sfn "{build_folder}" "$2/.spack-env/view"'
    command = [
        sys.executable,
        "-c",
        "from reframe.frontend.cli import main; main()",
        "-C",
        str(CHECKOUT / "reframe_config.py"),
    ]
    command += [
        "--system",
        "local",
        "-n",
        "host_memory_check",
        "-c",
        str(CHECKOUT / "checks"),
        "-r",
    ]
    variables = {
        "NEARFAR_STATE": str(tmp_path),
        "NEARFAR_SYSTEM": "local",
        "NEARFAR_WITH": "spack",
        "PYTHONPATH": str(CHECKOUT),
    }
    env = {k: v for k, v in os.environ.items() if k != "NEARFAR_PROGRAMS"} | variables | faked(tmp_path, install)
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    folder = tmp_path / "build/spack/local-host"
    assert f"-e {folder} install --only-concrete" in calls(tmp_path / "spack")


def test_a_spack_build_that_fails_is_one_line(tmp_path: Path) -> None:
    broken = 'echo "==> Error: ProcessError: Command exited with status 2" >&2; exit 1'
    code, said, _ = validate(tmp_path, **faked(tmp_path, broken))
    assert code == 3, said
    assert "Spack did not install the environment: " in said.splitlines()[-1] and "Traceback" not in said


def test_an_old_spack_is_named_before_anything_is_measured(tmp_path: Path) -> None:
    root = fake_spack(tmp_path / "spack", version='echo "0.23.1"')
    code, said, run = validate(tmp_path, SPACK_ROOT=str(root))
    assert code == 2 and "is Spack 0.23.1: nearfar needs 1.0 or newer" in said
    assert not list(run.glob("*")), "nothing of a run is left"


def test_no_spack_at_all(tmp_path: Path) -> None:
    code, said, _ = validate(tmp_path, SPACK_ROOT="", PATH="/usr/bin:/bin")
    assert code == 2 and "no Spack: neither SPACK_ROOT nor the PATH has one; nearfar needs Spack 1.0 or newer" in said


@pytest.mark.spack
def test_with_a_real_spack(tmp_path: Path) -> None:
    before = left_in_checkout()
    code, said, run = validate(tmp_path)
    if "cannot fetch" in said:
        pytest.skip(f"needs a network or a mirror: {said.splitlines()[-1]}")
    assert code == 0, said
    (made,) = json.loads((run / "report.json").read_text())["programs"]
    nearfar = next(p for p in made["packages"] if p["name"] == "nearfar")
    assert nearfar["version"] == "main" and len(nearfar["hash"]) == 32
    assert left_in_checkout() == before
