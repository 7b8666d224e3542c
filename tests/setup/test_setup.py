"""./validate's set-up: what it lists, what it installs, what it leaves alone; copies and moves; the build; which CUDA."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "setup"))

import python_needs  # noqa: E402
import toolchain  # noqa: E402

SYSTEMS = {
    "debian": 'PRETTY_NAME="Debian GNU/Linux 12"\nID=debian\nVERSION_ID="12"\n',
    "rhel8": 'PRETTY_NAME="Red Hat Enterprise Linux 8.10"\nID="rhel"\nID_LIKE="fedora"\nVERSION_ID="8.10"\n',
    "rocky9": 'PRETTY_NAME="Rocky Linux 9.4"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n',
    "alma8": 'PRETTY_NAME="AlmaLinux 8.10"\nID="almalinux"\nID_LIKE="rhel centos fedora"\nVERSION_ID="8.10"\n',
    "debian11": 'PRETTY_NAME="Debian GNU/Linux 11"\nID=debian\nVERSION_ID="11"\n',
    "ubuntu20": 'PRETTY_NAME="Ubuntu 20.04.6 LTS"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID="20.04"\n',
    "arch": 'PRETTY_NAME="Arch Linux"\nID=arch\n',
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
    "readlink",
    "tail",
    "touch",
    "chmod",
    "rm",
    "nproc",
    "flock",
    "ln",
    "sed",
]


def script(path: Path, text: str) -> Path:
    """Write an executable shell script."""
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


#: A Python of the test's choosing. Its environments' pip notes what it is asked for, and brings a CMake.
FAKE_PYTHON = """
version={version}
case "$*" in
*"import venv, ensurepip"*) echo $version; [[ $version != 3.9* ]] && {venv} ;;
*"sys.version_info[:3]"*) echo $version; [[ $version != 3.9* ]] ;;
"-m venv "*)
    mkdir -p "$3/bin" "$3/lib/python${{version%.*}}/site-packages" && : >"$3/pyvenv.cfg"
    {cp} "$0" "$3/bin/python"
    printf '#!%s/bin/python\\n' "$3" >"$3/bin/pytest"
    : >"$3/bin/pip"
    ;;
"-m pip install "*)
    words="$*"
    echo "pip ${{words##*/}}" >>{calls}
    [[ -z ${{FAKE_NO_PACKAGES-}} ]] || {{ echo "$FAKE_NO_PACKAGES"; exit 1; }}
    data=${{0%/bin/*}}/lib/python${{version%.*}}/site-packages/cmake/data/bin
    [[ $* != *cmake.txt ]] || {{ mkdir -p "$data" && {ln} -s {cmake} "$data/cmake"; }}
    ;;
*/man_pages.py*) ;; # the machine has none of nearfar but a fake cli
*/python_needs.py*) echo "Jinja2 is not installed" >&2 && exit 1 ;;
*) exec {real} "$@" ;;
esac
"""


class Machine:
    """A copy of the set-up with a tiny project to build, on a machine of the test's choosing."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self.bin, self.calls = folder / "checkout", folder / "bin", folder / "calls"
        shutil.copytree(CHECKOUT / "setup", self.checkout / "setup", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("validate", "pyproject.toml", "bin/nearfar"):
            (self.checkout / name).parent.mkdir(exist_ok=True)
            shutil.copy(CHECKOUT / name, self.checkout / name)
        (self.checkout / "src").mkdir()
        self.source = self.checkout / "src" / "CMakeLists.txt"
        self.source.write_text(
            "cmake_minimum_required(VERSION 3.18)\nproject(tiny LANGUAGES NONE)\n"
            "add_custom_target(programs ALL COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/bin)\n"
        )
        (self.checkout / "nearfar" / "commands").mkdir(parents=True)
        for name in ("validate.py", "metrics_option.py"):
            shutil.copy(CHECKOUT / "nearfar" / "commands" / name, self.checkout / "nearfar" / "commands" / name)
        (self.checkout / "nearfar" / "__init__.py").touch()
        (self.checkout / "nearfar" / "cli.py").write_text(
            "import sys\n\n\ndef main():\n"
            '    words = [__file__] if "--where" in sys.argv else ["nearfar", *sys.argv[1:]]\n    print(*words)\n'
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
        """Put the needed tools on PATH, and name a Python that has the packages."""
        self.has_tools()
        self.environment["NEARFAR_PYTHON"] = sys.executable

    def has_python(self, name: str, version: str, venv: bool = True) -> Path:
        """Put a Python without the packages on PATH."""
        tools = {tool: shutil.which(tool) for tool in ("cp", "ln", "cmake")}
        text = FAKE_PYTHON.format(
            version=version, venv="true" if venv else "exit 1", calls=self.calls, real=sys.executable, **tools
        )
        return script(self.bin / name, text)

    def has_tools(self) -> None:
        """Put the needed tools on PATH, each of which notes its calls."""
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

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run ./validate with these arguments."""
        return self.start("validate", *words)

    def start(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a script of the checkout."""
        command = [str(self.bin / "bash"), str(self.checkout / program), *words]
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
    for words in ("a C++17 compiler", "CMake 3.20", "hwloc 2 (lstopo)", "Python 3.10", "headers of hwloc"):
        assert f"- {words}" in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("  ") and "install" in line]
    assert len(lines) == 2 and "spack install --add python" in lines[1]
    assert {
        "debian": "apt-get install python3 python3-venv g++ make cmake pkg-config hwloc",
        "rhel8": "dnf install python3.12 gcc-c++",
        "rocky9": "dnf install python3.12 gcc-c++",
        "sles15": "zypper install python312 gcc12-c++",
    }[system] in lines[0]
    assert ("hwloc-devel: CodeReady" in lines[0]) == system.startswith("r")
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
    done = machine.run("--check", "some_check", "--quick")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[-2] == "nearfar validate --check some_check --quick"
    assert not [call for call in machine.called() if call.startswith(("apt-get install", "pip"))]
    assert not (machine.checkout / ".venv").exists()
    assert (machine.checkout / "build" / "bin").is_dir()


def test_a_second_run_starts_nothing(machine: Machine) -> None:
    machine.has_everything()
    assert machine.run().returncode == 0
    machine.called()
    done = machine.run()
    assert done.returncode == 0
    assert done.stderr == ""
    assert [call for call in machine.called() if not call.startswith(("c++ -std=c++17 -E", "pkg-config"))] == []


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
    machine.environment["NEARFAR_PYTHON"] = str(machine.has_python("python9", "3.10.1"))
    done = machine.run()
    assert done.returncode == 2
    assert "Jinja2 is not installed" in done.stderr and "python9 lacks what is needed" in done.stderr


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("3.9.18", "is Python 3.9.18; 3.10 or newer is needed"),
        ("", ": no Python that runs"),
        (None, ": no Python that runs"),
    ],
)
def test_a_named_python_that_will_not_do_is_refused_in_a_line(
    machine: Machine, version: str | None, words: str
) -> None:
    machine.has_tools()
    machine.has_python("python3.12", "3.12.1")
    path = machine.bin / "own"
    if version is not None:
        script(path, f"[[ '{version}' ]] && echo {version}; exit 1")
    machine.environment["NEARFAR_PYTHON"] = str(path)
    done = machine.run()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"nearfar: NEARFAR_PYTHON={path}{words if words[0] == ':' else ' ' + words}\n"


@pytest.mark.parametrize(
    ("pythons", "chosen"),
    [
        ({"python3": "3.9.18", "python3.11": "3.11.9"}, "3.11"),
        ({"python3": "3.9.18", "python3.10": "3.10.14", "python3.12": "3.12.4", "python3.9": "3.9.18"}, "3.12"),
        ({"python3": "3.14.0", "python3.9": "3.9.9"}, "3.14"),
        ({"python3": "3.11.2", "python3.13": "3.13.0 without venv"}, "3.11"),
    ],
)
def test_the_newest_python_that_makes_environments_is_taken(
    machine: Machine, pythons: dict[str, str], chosen: str
) -> None:
    machine.has_tools()
    for name, version in pythons.items():
        machine.has_python(name, version.split()[0], venv="without" not in version)
    done = machine.run()
    assert (done.returncode, done.stdout) == (0, "nearfar validate\n"), done.stderr
    assert [path.name for path in (machine.checkout / ".venv" / "lib").iterdir()] == [f"python{chosen}"]
    again = machine.run()
    assert (again.returncode, again.stderr) == (0, ""), "the second run uses it as it is"


def spoil(venv: Path, how: str) -> None:
    """Make an environment unfit."""
    python = venv / "bin" / "python"
    if how == "gone":
        python.unlink()
        python.symlink_to("/nowhere/python3.12")
    elif how == "old":
        script(python, "echo 3.9.18; exit 1")
    elif how == "half":  # what was interrupted before it had pip
        (venv / "bin/pip").unlink()
        (venv / "nearfar-base.stamp").unlink()
    else:
        (venv / "lib" / "python3.12").rename(venv / "lib" / "python3.11")
        python.rename(venv / "elsewhere")  # a new interpreter behind the same name
        python.symlink_to(venv / "elsewhere")


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("gone", "its Python is gone"),
        ("old", "its Python 3.9.18 is older than 3.10"),
        ("another", "it was made by another Python than its 3.12.4 of today"),
        ("half", "it has no pip"),
    ],
)
def test_an_environment_of_another_python_is_made_anew(machine: Machine, how: str, why: str) -> None:
    machine.has_tools()
    machine.has_python("python3.12", "3.12.4")
    assert machine.run().returncode == 0
    venv = machine.checkout / ".venv"
    spoil(venv, how)
    (venv / "left-over").touch()
    if how == "old":
        (machine.checkout / "setup/locks/base.txt").open("a").write("# of an older checkout\n")
    done = machine.run()
    assert (done.returncode, done.stdout) == (0, "nearfar validate\n"), done.stderr
    told = [line for line in done.stderr.splitlines() if "making the virtual" in line]
    assert len(told) == 1 and told[0].startswith(
        f"nearfar: making the virtual environment anew, because {why}: {venv} "
    )
    assert not (venv / "left-over").exists() and (venv / "lib" / "python3.12").is_dir()
    assert machine.run().stderr == ""


def test_an_environment_stays_where_nothing_can_replace_it(machine: Machine) -> None:
    machine.is_a("rocky9")
    machine.has_tools()
    machine.has_python("python3.12", "3.12.4")
    assert machine.run().returncode == 0
    spoil(machine.checkout / ".venv", "gone")
    (machine.bin / "python3.12").unlink()
    done = machine.run()
    assert done.returncode == 2 and "dnf install python3.12\n" in done.stderr
    assert (machine.checkout / ".venv" / "bin" / "nearfar").exists()


@pytest.mark.parametrize(
    ("system", "line"),
    [
        ("rhel8", "RHEL 8, 9        dnf install python3.12"),
        ("rocky9", "RHEL 8, 9        dnf install python3.12"),
        ("alma8", "RHEL 8, 9        dnf install python3.12"),
        ("sles15", "SLES 15          zypper install python312"),
        ("debian", "Debian, Ubuntu   apt-get install python3 python3-venv"),
        (
            "debian11",
            "Python           uv python install 3.12   # apt has no newer one here; python3 -m pip install uv",
        ),
        (
            "ubuntu20",
            "Python           uv python install 3.12   # apt has no newer one here; python3 -m pip install uv",
        ),
        ("arch", ""),
    ],
)
def test_the_line_that_installs_a_python(machine: Machine, system: str, line: str) -> None:
    machine.is_a(system, user=1000)
    machine.has_tools()
    machine.has_python("python3", "3.9.18")
    done = machine.run()
    assert done.returncode == 2 and not (machine.checkout / ".venv").exists()
    missing = [each for each in done.stderr.splitlines() if each.startswith("  - ")]
    assert missing == ["  - Python 3.10 or newer with venv (python3 here is 3.9.18)"]
    lines = [each.strip() for each in done.stderr.splitlines() if each.startswith("  ") and "install" in each]
    assert lines[:-1] == [line] if line else len(lines) == 4, lines
    assert not [call for call in machine.called() if call.startswith(("apt-get", "pip"))]


def test_nothing_is_installed_where_apt_has_no_new_enough_python(machine: Machine) -> None:
    machine.is_a("debian11")
    machine.has_python("python3", "3.9.2")
    script(machine.bin / "apt-get", f'echo "apt-get $*" >>{machine.calls}')
    done = machine.run()
    assert done.returncode == 2 and not machine.called()
    assert "  - Python 3.10 or newer with venv (python3 here is 3.9.2)" in done.stderr.splitlines()
    assert "uv python install 3.12" in done.stderr and "apt-get install g++ make" in done.stderr


def test_no_packages_lists_and_installs_none(machine: Machine) -> None:
    machine.is_a("debian")
    script(machine.bin / "apt-get", f'echo "apt-get $*" >>{machine.calls}')
    done = machine.run("--no-packages")
    assert done.returncode == 2 and not machine.called()
    assert "apt-get install python3 python3-venv g++ make" in done.stderr


def test_no_packages_goes_on_without_what_is_only_wanted(machine: Machine) -> None:
    machine.is_a("debian")
    machine.has_everything()
    (machine.bin / "numactl").unlink(missing_ok=True)
    assert machine.run("--no-packages").returncode == 0
    assert not [call for call in machine.called() if call.startswith("apt-get")]


def test_a_wanted_package_that_is_absent_takes_none_along(machine: Machine) -> None:
    machine.is_a("debian")
    machine.has_everything()
    for tool in ("numactl", "mpirun"):
        (machine.bin / tool).unlink(missing_ok=True)
    script(machine.bin / "apt-get", f'echo "apt-get $*" >>{machine.calls}; [[ $* != *openmpi* ]]')
    assert machine.run("--setup-only").returncode == 0
    assert any(call.endswith(" numactl") and "openmpi" not in call for call in machine.called())


def test_a_python_without_venv_is_said_to_be_one(machine: Machine) -> None:
    machine.is_a("debian", user=1000)
    machine.has_tools()
    machine.has_python("python3", "3.11.2", venv=False)
    assert "- Python 3.10 or newer with venv (python3 here is 3.11.2, without venv)" in machine.run().stderr


def old_cmake(machine: Machine) -> None:
    """Debian 11's."""
    script(machine.bin / "cmake", f'echo "cmake $*" >>{machine.calls}; echo "cmake version 3.18.4"')


def test_a_cmake_that_is_too_old_is_replaced_by_pypis(machine: Machine) -> None:
    machine.is_a("debian11")
    machine.has_tools()
    machine.has_python("python3.12", "3.12.4")
    old_cmake(machine)
    done = machine.run()
    assert (done.returncode, done.stdout) == (0, "nearfar validate\n"), done.stderr
    flaw = f"CMake 3.18.4 of {machine.bin / 'cmake'} is older than 3.20"
    assert f"nearfar: {flaw}: PyPI's takes its place\n" in done.stderr
    calls = machine.called()
    assert "pip cmake.txt" in calls and not [call for call in calls if call.startswith("apt-get")]
    assert {call for call in calls if call.startswith("cmake")} == {"cmake --version"}, "it built nothing"
    assert (machine.checkout / "build" / "bin").is_dir()
    assert machine.run().stderr == ""


def test_a_cmake_that_cannot_be_replaced_is_named(machine: Machine) -> None:
    machine.has_tools()
    machine.has_python("python3.12", "3.12.4")
    old_cmake(machine)
    flaw = f"nearfar: CMake 3.18.4 of {machine.bin / 'cmake'} is older than 3.20"
    assert machine.run("--setup-only").returncode == 0
    machine.environment["FAKE_NO_PACKAGES"] = "ERROR: No matching distribution found for cmake"
    shutil.rmtree(next((machine.checkout / ".venv" / "lib").glob("*/site-packages/cmake")))
    (machine.checkout / "build" / "setup-base.stamp").unlink()
    done = machine.run()
    assert done.returncode == 2
    assert flaw in done.stderr and "ERROR: No matching distribution found for cmake" in done.stderr
    shutil.rmtree(machine.checkout / ".venv")
    machine.environment["NEARFAR_PYTHON"] = sys.executable
    done = machine.run()
    assert done.returncode == 2
    assert done.stderr.startswith(f"{flaw}: put a newer one on PATH (pip install cmake); nothing is installed into ")
    build = subprocess.run(
        [sys.executable, str(machine.checkout / "setup" / "build")],
        env=machine.environment,
        capture_output=True,
        text=True,
    )
    assert build.returncode == 2 and f"{flaw}: ./validate brings a newer one" in build.stderr


def test_packages_that_cannot_be_had_are_one_line(machine: Machine) -> None:
    machine.has_tools()
    machine.has_python("python3.12", "3.12.4")
    machine.environment["FAKE_NO_PACKAGES"] = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES"
    done = machine.run()
    assert done.returncode == 2 and "THESE PACKAGES DO NOT MATCH THE HASHES   (log: " in done.stderr.splitlines()[-1]


def test_uv_installs_from_the_same_lock(machine: Machine) -> None:
    machine.has_tools()
    machine.has_python("python3.12", "3.12.4")
    script(machine.bin / "uv", f'[[ $1 != venv ]] || exit 1; echo "uv $*" >>{machine.calls}')
    assert machine.run("--setup-only").returncode == 0
    (call,) = (call for call in machine.called() if call.startswith(("uv", "pip ")))
    assert "--require-hashes" in call and call.endswith("setup/locks/base.txt")


def test_state_goes_elsewhere(machine: Machine, tmp_path: Path) -> None:
    machine.has_everything()
    machine.environment["NEARFAR_STATE"] = str(tmp_path / "state")
    assert machine.run("--setup-only").returncode == 0
    assert (tmp_path / "state" / "build" / "bin").is_dir()
    assert not (machine.checkout / "build").exists()


def test_a_relative_state_is_one_place_and_a_tilde_none(machine: Machine, tmp_path: Path) -> None:
    machine.has_everything()
    machine.environment["NEARFAR_STATE"] = "state"
    (machine.checkout / "nearfar/cli.py").write_text("import os\n\n\ndef main(): print(os.environ['NEARFAR_STATE'])\n")
    assert machine.run().stdout == f"{Path.cwd()}/state\n"
    shutil.rmtree("state")
    machine.environment["NEARFAR_STATE"] = "~/state"
    done = machine.run()
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "absolute path" in done.stderr


def test_a_checkout_whose_environment_is_old_and_anothers_leaves_it_and_makes_one_of_its_own(
    machine: Machine, tmp_path: Path
) -> None:
    machine.has_tools()
    machine.has_python("python3.12", "3.12.4")
    assert machine.run("--setup-only").returncode == 0
    (machine.checkout / "setup/locks/base.txt").open("a").write("# pulled\n")
    kept = {path: path.lstat().st_mtime_ns for path in (machine.checkout / ".venv").rglob("*")}
    machine.environment["NEARFAR_STATE"] = str(tmp_path / "state")
    for words in (["--setup-only"], []):
        assert machine.run(*words).returncode == 0
    assert (tmp_path / "state/.venv/nearfar-base.stamp").exists()
    assert kept == {path: path.lstat().st_mtime_ns for path in (machine.checkout / ".venv").rglob("*")}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another")
def test_another_users_environment_is_not_removed(machine: Machine) -> None:
    machine.has_tools()
    machine.has_python("python3.12", "3.12.4")
    assert machine.run("--setup-only").returncode == 0
    venv = machine.checkout / ".venv"
    spoil(venv, "gone")
    os.chown(venv, 12345, 12345)
    machine.environment["NEARFAR_TEST_UID"] = "1000"
    done = machine.run("--setup-only")
    assert done.returncode == 2 and "another user's: NEARFAR_STATE=/another/folder" in done.stderr
    assert (venv / "nearfar-base.stamp").exists()


def test_it_is_found_through_a_link_and_whatever_cdpath_says(machine: Machine, tmp_path: Path) -> None:
    machine.has_everything()
    (tmp_path / "links").mkdir()
    (tmp_path / "links/v").symlink_to(machine.checkout / "validate")
    command = [str(machine.bin / "bash"), "v", "--setup-only"]
    environment = {**machine.environment, "CDPATH": f".:{tmp_path}"}
    done = subprocess.run(command, cwd=tmp_path / "links", env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done
    command[1] = "checkout/validate"
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done


def test_another_state_takes_the_checkouts_programs(machine: Machine, tmp_path: Path) -> None:
    machine.has_everything()
    assert machine.run("--setup-only").returncode == 0
    machine.called()
    machine.environment["NEARFAR_STATE"] = str(tmp_path / "state")
    assert machine.run("--setup-only").returncode == 0
    assert not [call for call in machine.called() if call.startswith("cmake --build")]
    assert (tmp_path / "state/build/bin").resolve() == (machine.checkout / "build/bin").resolve()


def test_a_state_folder_that_cannot_be_written(machine: Machine) -> None:
    machine.has_everything()
    machine.environment["NEARFAR_STATE"] = "/proc/nearfar"
    done = machine.run()
    assert done.returncode == 2
    assert "NEARFAR_STATE=/another/folder moves" in done.stderr


@pytest.mark.parametrize("folder", ["with blank", "it's", 'a"quote', "dollar$", "hash#1", "per%cent"])
def test_a_path_that_reframe_or_nvcc_cannot_take_is_refused_at_once(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    machine = Machine(tmp_path / folder)
    machine.has_everything()
    done = machine.run()
    assert done.returncode == 2 and not machine.called()
    (line,) = done.stderr.splitlines()
    assert line.startswith("nearfar: the checkout: its path has a character that ReFrame or the compilers cannot take")
    (tmp_path / "plain").mkdir()
    machine = Machine(tmp_path / "plain")
    machine.environment["NEARFAR_STATE"] = str(tmp_path / folder)
    assert "NEARFAR_STATE: its path has a character" in machine.run().stderr


@pytest.mark.parametrize("tool", ["apt-get", "cmake"])
def test_control_c_ends_the_set_up(machine: Machine, tool: str) -> None:
    """Whether the program that runs then ends of it (cmake, below a Python) or not (apt-get), nothing else is started."""
    begun, sleep = machine.checkout.parent / "begun", shutil.which("sleep")
    if tool == "apt-get":
        machine.is_a("debian")
    else:
        machine.has_everything()
    ignored = "trap '' INT; " if tool == "apt-get" else ""
    script(machine.bin / tool, f'{ignored}echo "{tool} $*" >>{machine.calls}; : >{begun}; {sleep} 2; exit 1')
    if tool == "cmake":
        script(
            machine.bin / tool, f"[[ $1 != --version ]] || {{ echo cmake version 3.25; exit; }}; : >{begun}; {sleep} 60"
        )
    running = subprocess.Popen(
        [str(machine.bin / "bash"), str(machine.checkout / "validate")], env=machine.environment, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not begun.exists():
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=60)
    assert running.returncode == 130, said
    assert said.splitlines()[-1] == "nearfar: interrupted; the next set-up goes on from here"
    assert "Traceback" not in said and sum(call.startswith("apt-get") for call in machine.called()) <= 1, said


def test_wrong_use(machine: Machine) -> None:
    assert "expected auto, system, wheels or none" in machine.run("--cuda", "twelve").stderr
    assert machine.run("--cuda").returncode == machine.run("--setup-only", "--cuda").returncode == 2
    assert "expected spack or system" in machine.run("--with", "nosuch", "--setup-only").stderr
    machine.is_a("debian")
    script(machine.bin / "apt-get", f"echo apt-get >>{machine.calls}")
    done = machine.run("--nosuch=3")
    assert (done.returncode, done.stderr.count("\n"), machine.called()) == (2, 1, [])
    assert done.stderr.startswith("./validate: unknown option --nosuch=3")
    helped = machine.run("--help")
    assert helped.returncode == 0 and "examples:" in helped.stdout


# --- which CUDA -----------------------------------------------------------------------------------------------------


def toolkit(folder: Path, version: int, takes: str = "c++") -> str:
    """A toolkit's folder that looks like CUDA ``version`` (12020 is 12.2) and takes one host compiler; returns its nvcc."""
    (folder / "bin").mkdir(parents=True)
    release = f"{version // 1000}.{version % 1000 // 10}"
    lines = f"echo Cuda compilation tools, release {release}, V{release}.48\n[ $1 != -ccbin ] || [ $2 = {takes} ]"
    return str(script(folder / "bin" / "nvcc", lines))


@pytest.mark.parametrize(
    ("version", "driver", "words"),
    [
        (11080, "13.0", ""),
        (12020, "12.2", ""),
        (13000, "13.0", ""),
        (12080, "13.0", ""),
        (13000, "none", ""),
        (11070, "13.0", "CUDA 11.7 of {nvcc} is older than 11.8"),
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
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    chosen, said = toolchain.cuda_compiler("auto", "c++")
    assert chosen == ("" if words else nvcc)
    assert words.format(nvcc=nvcc) in said
    assert toolchain.cuda_compiler("system", "c++")[0] == nvcc
    assert toolchain.cuda_compiler("none", "c++") == ("", "without CUDA, as asked")


def test_cmake_and_the_set_up_refuse_the_same_cuda() -> None:
    rule = (CHECKOUT / "src/cmake/cuda.cmake").read_text(encoding="utf-8")
    oldest = re.search(r"COMPILER_VERSION VERSION_LESS (\d+)\.(\d+)", rule)
    assert oldest and tuple(map(int, oldest.groups())) == toolchain.OLDEST_CUDA


def test_an_nvcc_that_refuses_the_host_compiler_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = toolkit(tmp_path / "old", 12020, "g++-12"), toolkit(tmp_path / "new", 13000, "g++-15")
    monkeypatch.setenv("NEARFAR_TEST_DRIVER_CUDA", "13.0")
    monkeypatch.setattr(toolchain, "system_nvccs", lambda: [old, new])
    assert toolchain.cuda_compiler("auto", "g++-15")[0] == new
    monkeypatch.setattr(toolchain, "system_nvccs", lambda: [old])
    passed_over = f"without CUDA: CUDA 12.2 of {old} refuses g++-15: set CXX to an older compiler"
    assert toolchain.cuda_compiler("auto", "g++-15") == ("", passed_over)


def test_wheels_are_only_used_where_the_driver_runs_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "CHECKOUT", tmp_path)
    monkeypatch.setattr(toolchain, "system_nvccs", list)
    nvcc = toolkit(tmp_path / ".venv" / "cuda", 13000)
    for driver, chosen, flaw in (("13.1", nvcc, False), ("none", nvcc, False), ("12.4", "", True)):
        monkeypatch.setenv("NEARFAR_TEST_DRIVER_CUDA", driver)
        assert toolchain.cuda_compiler("auto", "c++")[0] == chosen
        assert bool(toolchain.wheels_flaw()) == flaw


def test_nvidias_wheels_are_not_downloaded_unasked(machine: Machine) -> None:
    machine.has_tools()
    machine.has_python("python3.12", "3.12.4")
    machine.environment["NEARFAR_TEST_DRIVER_CUDA"] = "13.1"
    done = machine.run("--setup-only")
    assert done.returncode == 0 and "./validate --cuda wheels brings" in done.stderr
    assert "pip cuda.txt" not in machine.called()
    assert "NVIDIA's wheels are not laid out" in machine.run("--cuda", "wheels").stderr  # the fake pip brought none
    assert "pip cuda.txt" in machine.called()
    machine.environment["NEARFAR_TEST_DRIVER_CUDA"] = "12.4"
    done = machine.run("--cuda", "wheels")
    assert done.returncode == 2 and "PyPI has no compiler for CUDA 12" in done.stderr
    assert "pip cuda.txt" not in machine.called()


# --- copies and moves ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["copied", "moved"])
def test_a_checkout_elsewhere_runs_its_own_code(machine: Machine, tmp_path: Path, how: str) -> None:
    machine.has_tools()
    machine.has_python("python3.12", "3.12.4")
    assert machine.run("--setup-only").returncode == 0
    old, machine.checkout = machine.checkout, tmp_path / "elsewhere"
    if how == "copied":
        shutil.copytree(old, machine.checkout, symlinks=True)
    else:
        old.rename(machine.checkout)
    # Python itself is told by a real path: it is a script, and its own place is what matters.
    done = machine.start("bin/nearfar", "--where")
    assert done.returncode == 0 and done.stdout.startswith(f"{machine.checkout}/nearfar/cli.py"), done
    done = machine.start(".venv/bin/nearfar", "--where")
    assert done.returncode == 0 and done.stdout.startswith(f"{machine.checkout}/nearfar/cli.py"), done
    assert machine.run("--is-set-up").returncode == 1
    machine.called()
    done = machine.run("--setup-only")
    assert done.returncode == 0 and "copied or moved" in done.stderr and "installing" not in done.stderr
    assert not [call for call in machine.called() if call.startswith("pip ")]
    assert (machine.checkout / ".venv/bin/pytest").read_text() == f"#!{machine.checkout}/.venv/bin/python\n"
    assert machine.run("--is-set-up").returncode == 0
    machine.called()
    build = [sys.executable, str(machine.checkout / "setup/build"), "--tests", "--print"]
    for _ in range(2):
        done = subprocess.run(build, env=machine.environment, capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.startswith(f"{machine.checkout}/build/"), done
    assert sum(call.startswith("cmake --build") for call in machine.called()) == 1


def test_a_linked_environment_keeps_its_own_place(machine: Machine, tmp_path: Path) -> None:
    machine.has_tools()
    machine.has_python("python3.12", "3.12.4")
    assert machine.run("--setup-only").returncode == 0
    venv, machine.checkout = machine.checkout / ".venv", tmp_path / "second"
    shutil.copytree(venv.parent, machine.checkout, symlinks=True, ignore=shutil.ignore_patterns(".venv"))
    (machine.checkout / ".venv").symlink_to(venv)
    before = {path: path.read_bytes() for path in venv.rglob("*") if path.is_file()}
    done = machine.run("--setup-only")
    assert done.returncode == 0 and "installing" not in done.stderr, done.stderr
    assert {path: path.read_bytes() for path in venv.rglob("*") if path.is_file()} == before


def test_programs_get_a_path_where_there_was_none() -> None:
    script_ = f'CHECKOUT={CHECKOUT}; . "$CHECKOUT/setup/common.sh"; exec /usr/bin/env'
    done = subprocess.run(["/bin/bash", "-c", script_], env={}, capture_output=True, text=True)
    assert [line for line in done.stdout.splitlines() if line.startswith("PATH=")], done


@pytest.mark.parametrize("closed", ["target", "environment"])
def test_a_python_that_the_user_may_not_read_is_named_as_that(machine: Machine, closed: str) -> None:
    machine.has_tools()
    python = machine.checkout / "owners" / "python3.12"
    python.parent.mkdir()
    (machine.checkout / ".venv" / "bin").mkdir(parents=True)
    (machine.checkout / ".venv" / "bin" / "python").symlink_to(script(python, "echo 3.12.4"))
    folder = {"target": python.parent, "environment": machine.checkout / ".venv"}[closed]
    command = [str(machine.bin / "bash"), str(machine.checkout / "bin/nearfar"), "--version"]
    if os.geteuid() == 0:
        for above in machine.checkout.relative_to("/tmp").parents if machine.checkout.is_relative_to("/tmp") else []:
            Path("/tmp", above).chmod(0o1777 if str(above) == "." else 0o755)
        command = [shutil.which("setpriv") or "setpriv", "--reuid=65534", "--clear-groups", *command]
    folder.chmod(0o700 if os.geteuid() == 0 else 0)
    done = subprocess.run(command, env=machine.environment, capture_output=True, text=True)
    folder.chmod(0o755)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done
    assert f"may not read its Python ({folder})" in done.stderr and "not set up" not in done.stderr


def test_a_compiler_cache_is_used_and_changes_no_fingerprint(machine: Machine) -> None:
    machine.has_everything()
    assert machine.run("--setup-only").returncode == 0
    before = os.readlink(machine.checkout / "build" / "bin")
    script(machine.bin / "ccache", "exit 1")
    assert machine.run("--setup-only").stderr == "" or "building" not in machine.run("--setup-only").stderr
    assert os.readlink(machine.checkout / "build" / "bin") == before
    shutil.rmtree(machine.checkout / "build")
    machine.called()
    machine.run("--setup-only")
    assert f"-DCMAKE_CUDA_COMPILER_LAUNCHER={machine.bin / 'ccache'}" in " ".join(machine.called())


# --- the Python packages ----------------------------------------------------------------------------------------------


def test_requirements_have_upper_bounds() -> None:
    needs = python_needs.requirements("dependencies", "history", "record", "test")
    assert any(need.startswith("reframe-hpc>=4.10.4,<4.11") for need in needs)
    assert any(need.startswith("polars") for need in needs)
    assert [need for need in needs if "<" not in need and "==" not in need] == []


def test_this_python_has_what_is_needed() -> None:
    assert [python_needs.complaint(need) for need in python_needs.requirements("dependencies")] == [""] * 8
    assert python_needs.complaint("no-such-package>=1") == "no-such-package is not installed"
    assert "is needed" in python_needs.complaint("PyYAML>=99")
    assert "is needed" in python_needs.complaint("PyYAML>=1,<5; platform_machine == 'x86_64'")


@pytest.mark.parametrize("level", ["base", "test"])
def test_the_lock_has_what_is_asked_for_with_hashes(level: str) -> None:
    """Of every requirement a version in its range for every Python, so that a change of pyproject.toml without setup/lock is seen."""
    extras = ["history", "test"] if level == "test" else ["history"]
    locks = CHECKOUT / "setup" / "locks"
    text = (locks / f"{level}.txt").read_text().replace("\\\n", " ")
    text = text.replace("-r base.txt\n", (locks / "base.txt").read_text().replace("\\\n", " "))
    locked: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, version, hashes = re.match(r"([\w.-]+)==(\S+)(.*)", line).groups()  # type: ignore[union-attr]
        assert "--hash=sha256:" in hashes, name
        locked.setdefault(name, []).append(version)
    for need in python_needs.requirements("dependencies", *extras):
        name = re.split(r"[<>=]", need)[0]
        for version in locked[re.sub(r"[-_.]+", "-", name).lower()]:
            assert SpecifierSet(need.split(";")[0][len(name) :]).contains(version), need
    assert all(
        re.search(rf"^{name}==.*platform_machine != 'ppc64le'", text, re.M) for name in ("polars", "polars-runtime-32")
    )


def test_all_files_speak_of_the_same_oldest_python() -> None:
    text = {
        name: (CHECKOUT / name).read_text() for name in ("pyproject.toml", "setup/common.sh", "README.md", "setup/lock")
    }
    for words in ('requires-python = ">=3.10"', 'target-version = "py310"', 'python_version = "3.10"'):
        assert words in text["pyproject.toml"]
    assert "OLDEST_PYTHON=3.10\n" in text["setup/common.sh"] and "Python 3.10 or newer" in text["README.md"]
    assert "--python-version 3.10 " in text["setup/lock"]
