"""./validate's set-up: what it lists, what it installs, what it leaves alone; the build; CUDA from wheels."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "setup"))

import cuda_wheels  # noqa: E402
import python_needs  # noqa: E402
import toolchain  # noqa: E402

SYSTEMS = {
    "debian": 'PRETTY_NAME="Debian GNU/Linux 12"\nID=debian\nVERSION_ID="12"\n',
    "rhel8": 'PRETTY_NAME="Red Hat Enterprise Linux 8.10"\nID="rhel"\nID_LIKE="fedora"\nVERSION_ID="8.10"\n',
    "rocky9": 'PRETTY_NAME="Rocky Linux 9.4"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n',
    "sles15": 'PRETTY_NAME="SUSE Linux Enterprise Server 15 SP6"\nID="sles"\nID_LIKE="suse"\nVERSION_ID="15.6"\n',
}
#: What every Linux has; the tools that nearfar needs are not among them.
PLAIN_TOOLS = [
    "bash",
    "cat",
    "cmp",
    "cut",
    "dirname",
    "env",
    "grep",
    "mkdir",
    "tail",
    "touch",
    "chmod",
    "rm",
    "nproc",
    "flock",
]


def script(path: Path, text: str) -> Path:
    """Write an executable shell script."""
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


class Machine:
    """A copy of the set-up with a tiny project to build, on a machine of the test's choosing."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self.bin, self.calls = folder / "checkout", folder / "bin", folder / "calls"
        shutil.copytree(CHECKOUT / "setup", self.checkout / "setup", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("validate", "pyproject.toml"):
            shutil.copy(CHECKOUT / name, self.checkout / name)
        (self.checkout / "src").mkdir()
        self.source = self.checkout / "src" / "CMakeLists.txt"
        self.source.write_text(
            "cmake_minimum_required(VERSION 3.18)\nproject(tiny LANGUAGES NONE)\n"
            "add_custom_target(programs ALL COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/bin)\n"
        )
        (self.checkout / "nearfar").mkdir()
        (self.checkout / "nearfar" / "__init__.py").touch()
        (self.checkout / "nearfar" / "cli.py").write_text(
            'import sys\n\n\ndef main():\n    print("nearfar", *sys.argv[1:])\n'
        )
        self.bin.mkdir()
        for tool in PLAIN_TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool) or tool)
        self.environment = {"PATH": str(self.bin), "HOME": str(folder), "NEARFAR_TEST_NO_SYSTEM_CUDA": "1"}

    def is_a(self, system: str, user: int = 0, machine: str = "x86_64") -> None:
        """Make it this system; it has no tool of nearfar's and no headers."""
        release = self.checkout.parent / "os-release"
        release.write_text(SYSTEMS[system])
        self.environment.update(
            NEARFAR_TEST_OS_RELEASE=str(release),
            NEARFAR_TEST_UID=str(user),
            NEARFAR_TEST_MACHINE=machine,
        )

    def has_everything(self) -> None:
        """Put the needed tools on PATH, each of which notes its calls, and name a Python that has the packages."""
        for tool in (
            "cmake",
            "make",
            "c++",
            "lstopo",
            "lstopo-no-graphics",
            "ninja",
            "pkg-config",
            "numactl",
            "mpicxx",
            "mpirun",
        ):
            real = shutil.which(tool)
            if real:
                script(self.bin / tool, f'echo "{tool} $*" >>{self.calls}; exec {real} "$@"')
        for tool in ("apt-get", "pip"):
            script(self.bin / tool, f'echo "{tool} $*" >>{self.calls}; exit 1')
        self.environment["NEARFAR_PYTHON"] = sys.executable

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run ./validate with these arguments."""
        command = [str(self.bin / "bash"), str(self.checkout / "validate"), *words]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def called(self) -> list[str]:
        """The calls that the tools noted since the last time."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        self.calls.unlink(missing_ok=True)
        return lines


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("system", "user", "architecture"),
    [
        ("rhel8", 0, "x86_64"),
        ("rocky9", 1000, "x86_64"),
        ("sles15", 0, "x86_64"),
        ("debian", 1000, "x86_64"),
        ("debian", 0, "aarch64"),
    ],
)
def test_what_is_missing_is_listed(machine: Machine, system: str, user: int, architecture: str) -> None:
    machine.is_a(system, user, architecture)
    script(machine.bin / "apt-get", f"echo apt-get >>{machine.calls}")
    done = machine.run()
    assert done.returncode == 2
    assert not machine.called(), "nothing is installed here"
    for words in ("a C++17 compiler", "CMake 3.20", "hwloc 2 (lstopo)", "Python 3.9", "headers of hwloc"):
        assert f"- {words}" in done.stderr
    lines = {
        line.split("  ")[1]: line for line in done.stderr.splitlines() if line.startswith("  ") and "install" in line
    }
    assert "apt-get install python3 python3-venv g++ make cmake pkg-config hwloc" in lines["Debian, Ubuntu"]
    assert "dnf install python3.11 gcc-c++" in lines["RHEL 8, 9"] and "hwloc-devel" in lines["RHEL 8, 9"]
    assert "zypper install python311 gcc12-c++" in lines["SLES 15"]
    assert "spack install --add" in lines["Spack"]
    assert ("needs root" in done.stderr) == (system == "debian" and user != 0)


def test_debian_root_installs_what_is_missing_and_says_so_first(machine: Machine) -> None:
    machine.is_a("debian")
    script(machine.bin / "apt-get", f'echo "apt-get $*" >>{machine.calls}; echo "E: no network"; exit 100')
    done = machine.run()
    calls = machine.called()
    assert calls and all("hwloc" in call and "g++" in call for call in calls if " install " in call)
    assert any(call.startswith("apt-get update") for call in calls), "old package lists are renewed once"
    told = done.stderr.splitlines()
    assert told[0].startswith("nearfar: installing Debian packages: python3 python3-venv g++")
    assert "E: no network" in told[1]
    assert done.returncode == 2 and "What brings it" in done.stderr


def test_an_environment_that_has_everything_is_used_as_it_is(machine: Machine) -> None:
    machine.has_everything()
    done = machine.run("--some", "option")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[-2] == "nearfar validate --some option"
    assert not [call for call in machine.called() if call.startswith(("apt-get install", "pip"))]
    assert not (machine.checkout / ".venv").exists()
    assert (machine.checkout / "build" / "bin").is_dir()


def test_a_second_run_starts_nothing_and_is_quick(machine: Machine) -> None:
    machine.has_everything()
    assert machine.run().returncode == 0
    machine.called()
    began = time.monotonic()
    done = machine.run()
    took = time.monotonic() - began
    assert done.returncode == 0
    assert done.stderr == ""
    assert [call for call in machine.called() if not call.startswith(("c++ -std=c++17 -E", "pkg-config"))] == []
    assert took < 2


def test_gpu_programs_that_are_left_out_are_spoken_of_at_every_run(machine: Machine) -> None:
    machine.has_everything()
    machine.environment["NEARFAR_TEST_DRIVER_CUDA"] = "12.4"
    for _ in range(2):
        done = machine.run()
        assert done.returncode == 0
        assert (
            "the GPU programs are left out: without CUDA: no nvcc found; PyPI has no compiler for CUDA 12"
            in done.stderr
        )


def test_a_changed_source_is_built_anew(machine: Machine) -> None:
    machine.has_everything()
    machine.run()
    first = os.readlink(machine.checkout / "build" / "bin")
    machine.source.write_text(machine.source.read_text() + "# changed\n")
    assert "building the programs" in machine.run().stderr
    assert os.readlink(machine.checkout / "build" / "bin") != first


def test_a_build_that_fails_is_one_message(machine: Machine) -> None:
    machine.has_everything()
    machine.source.write_text(machine.source.read_text() + 'message(FATAL_ERROR "broken on purpose")\n')
    done = machine.run()
    assert done.returncode == 2
    assert "broken on purpose" in done.stderr and "the programs do not build; the whole log: " in done.stderr
    assert "Traceback" not in done.stderr


def test_two_builds_at_once_build_once(machine: Machine) -> None:
    machine.has_everything()
    command = [sys.executable, str(machine.checkout / "setup" / "build"), "--print"]
    both = [subprocess.Popen(command, env=machine.environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = {process.communicate()[0] for process in both}
    assert len(printed) == 1
    assert Path(printed.pop().strip()).is_dir()
    assert len([call for call in machine.called() if call.startswith("cmake --build")]) == 1


def test_two_first_runs_at_once(machine: Machine) -> None:
    machine.has_everything()
    command = [str(machine.bin / "bash"), str(machine.checkout / "validate"), "--setup-only"]
    both = [subprocess.Popen(command, env=machine.environment, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=60)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said


def test_a_python_that_lacks_something_is_named(machine: Machine) -> None:
    machine.has_everything()
    machine.environment["NEARFAR_PYTHON"] = str(
        script(machine.bin / "python9", "echo 'Jinja2 is not installed' >&2; exit 1")
    )
    done = machine.run()
    assert done.returncode == 2
    assert "Jinja2 is not installed" in done.stderr and "python9 lacks what is needed" in done.stderr


def test_state_goes_elsewhere(machine: Machine, tmp_path: Path) -> None:
    machine.has_everything()
    machine.environment["NEARFAR_STATE"] = str(tmp_path / "state")
    assert machine.run("--setup-only").returncode == 0
    assert (tmp_path / "state" / "build" / "bin").is_dir()
    assert not (machine.checkout / "build").exists()


def test_a_state_folder_that_cannot_be_written(machine: Machine) -> None:
    machine.has_everything()
    machine.environment["NEARFAR_STATE"] = "/proc/nearfar"
    done = machine.run()
    assert done.returncode == 2
    assert "NEARFAR_STATE=/a/folder moves" in done.stderr


def test_wrong_use(machine: Machine) -> None:
    assert "expected auto, system, wheels or none" in machine.run("--cuda", "twelve").stderr
    assert machine.run("--cuda").returncode == 2
    helped = machine.run("--help")
    assert helped.returncode == 0 and "examples:" in helped.stdout


# --- which CUDA -----------------------------------------------------------------------------------------------------


def toolkit(folder: Path, version: int) -> str:
    """A toolkit's folder that looks like CUDA ``version`` (12020 is 12.2); returns its nvcc."""
    (folder / "bin").mkdir(parents=True)
    (folder / "include").mkdir()
    (folder / "include" / "cuda.h").write_text(f"#define CUDA_VERSION {version}\n")
    return str(script(folder / "bin" / "nvcc", "exit 1"))


@pytest.mark.parametrize(
    ("version", "driver", "words"),
    [
        (12020, "12.2", ""),
        (13000, "13.0", ""),
        (12080, "13.0", ""),
        (13000, "none", ""),
        (11080, "13.0", "CUDA 11.8 of {nvcc} is older than 12.2"),
        (13000, "12.4", "CUDA 13.0 of {nvcc} is newer than the driver's CUDA 12.4"),
    ],
)
def test_the_cuda_that_the_driver_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, driver: str, words: str
) -> None:
    nvcc = toolkit(tmp_path / "cuda", version)
    monkeypatch.setenv("NEARFAR_TEST_NO_SYSTEM_CUDA", "1")
    monkeypatch.setenv("NEARFAR_TEST_DRIVER_CUDA", driver)
    monkeypatch.setenv("CUDACXX", nvcc)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    chosen, said = toolchain.cuda_compiler("auto", tmp_path, tmp_path)
    assert chosen == ("" if words else nvcc)
    assert words.format(nvcc=nvcc) in said
    assert toolchain.cuda_compiler("system", tmp_path, tmp_path)[0] == nvcc
    assert toolchain.cuda_compiler("none", tmp_path, tmp_path) == ("", "without CUDA, as asked")


def test_wheels_are_for_nodes_whose_driver_they_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARFAR_TEST_NO_SYSTEM_CUDA", "1")
    monkeypatch.setenv("PATH", "/nowhere")
    for name in ("CUDACXX", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cuda_wheels, "STATE", tmp_path)
    monkeypatch.setattr(cuda_wheels, "CHECKOUT", tmp_path)
    monkeypatch.setattr(cuda_wheels, "in_own_environment", lambda: True)
    installed: list[int] = []
    monkeypatch.setattr(cuda_wheels, "install", lambda major, log: installed.append(major))
    monkeypatch.setenv("NEARFAR_TEST_DRIVER_CUDA", "none")
    assert cuda_wheels.bring("auto", tmp_path / "log") == "" and not installed
    monkeypatch.setenv("NEARFAR_TEST_DRIVER_CUDA", "12.4")
    assert "PyPI has no compiler for CUDA 12" in cuda_wheels.bring("auto", tmp_path / "log")
    with pytest.raises(toolchain.MissingTool):
        cuda_wheels.bring("wheels", tmp_path / "log")
    monkeypatch.setenv("NEARFAR_TEST_DRIVER_CUDA", "13.1")
    assert cuda_wheels.bring("auto", tmp_path / "log") == "" and installed == [13]


def test_the_folder_laid_over_wheels(tmp_path: Path) -> None:
    wheels = tmp_path / "cu13"
    for name in ("bin/nvcc", "nvvm/bin/cicc", "lib/libcudart.so.13", "lib/libcudart_static.a"):
        (wheels / name).parent.mkdir(parents=True, exist_ok=True)
        (wheels / name).write_text(name)
    (wheels / "include").mkdir()
    (wheels / "include" / "cuda.h").write_text("CUresult CUDAAPI cuInit(unsigned);\n#define cuMemAlloc cuMemAlloc_v2\n")
    root = tmp_path / "cuda"
    cuda_wheels.make_root(wheels, root)
    cuda_wheels.make_root(wheels, root)  # again, over the first
    assert not (root / "bin").is_symlink() and (root / "bin" / "nvcc").read_text() == "bin/nvcc"
    assert (root / "lib64" / "libcudart.so").read_text() == "lib/libcudart.so.13"
    assert (root / "lib" / "libcudart_static.a").exists()
    symbols = subprocess.run(["nm", "-D", str(root / "lib64/stubs/libcuda.so")], capture_output=True, text=True).stdout
    assert "T cuInit" in symbols and "T cuMemAlloc_v2" in symbols


# --- the Python packages ----------------------------------------------------------------------------------------------


def test_requirements_have_upper_bounds() -> None:
    needs = python_needs.requirements(test=True)
    assert any(need.startswith("reframe-hpc>=4.10.4,<4.11") for need in needs)
    assert [need for need in needs if "<" not in need and "==" not in need] == []


def test_this_python_has_what_is_needed() -> None:
    assert [python_needs.complaint(need) for need in python_needs.requirements(test=False)] == [""] * 8
    assert python_needs.complaint("no-such-package>=1") == "no-such-package is not installed"
    assert "is needed" in python_needs.complaint("PyYAML>=99")
