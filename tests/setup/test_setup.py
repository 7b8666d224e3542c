"""./validate's set-up: what it lists, what it installs, what it leaves alone; the build; CUDA from wheels."""

from __future__ import annotations

import os
import shutil
import signal
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
*"import venv, ensurepip"*) {venv} && echo $version ;;
*"sys.version_info[:3]"*) echo $version ;;
"-m venv "*)
    mkdir -p "$3/bin" "$3/lib/python${{version%.*}}" && : >"$3/pyvenv.cfg"
    {cp} "$0" "$3/bin/python"
    ;;
"-m pip install "*)
    words="$*"
    echo "pip ${{words#*constraints.txt }}" >>{calls}
    case "$*" in
    *"--only-binary :all: polars"*) [[ -z ${{FAKE_NO_POLARS-}} ]] || {{ echo "$FAKE_NO_POLARS"; exit 1; }} ;;
    *"cmake>="*) [[ -z ${{FAKE_NO_CMAKE-}} ]] || {{ echo "$FAKE_NO_CMAKE"; exit 1; }}; {ln} -s {cmake} "${{0%/*}}/cmake" ;;
    esac
    ;;
*--install-checkout*) printf '#!/bin/bash\\necho nearfar "$@"\\n' >"${{0%/*}}/nearfar" && chmod +x "${{0%/*}}/nearfar" ;;
*/man_pages.py*) ;; # the machine has none of nearfar but a fake cli
*--check*) echo "Jinja2 is not installed" >&2 && exit 1 ;;
*) exec {real} "$@" ;;
esac
"""


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
    done = machine.run("--some", "option")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[-2] == "nearfar validate --some option"
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
        script(path, f"[[ '{version}' ]] && echo {version}")
    machine.environment["NEARFAR_PYTHON"] = str(path)
    done = machine.run()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"nearfar: NEARFAR_PYTHON={path}{words if words[0] == ':' else ' ' + words}\n"


@pytest.mark.parametrize(
    ("pythons", "chosen"),
    [
        ({"python3": "3.9.18", "python3.11": "3.11.9"}, "3.11"),
        ({"python3": "3.9.18", "python3.10": "3.10.14", "python3.12": "3.12.4", "python3.9": "3.9.18"}, "3.12"),
        ({"python3": "3.14.0", "python3.11": "3.11.9"}, "3.14"),
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
        script(python, "echo 3.9.18")
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
        machine.source.parent.parent.joinpath("pyproject.toml").open("a").write("\n")  # of an older checkout
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


def test_root_on_debian_11_gets_what_apt_has_and_is_told_of_python(machine: Machine) -> None:
    """Its own Python is 3.9, so that apt-get is not asked for one again and again."""
    machine.is_a("debian11")
    machine.has_tools()
    machine.has_python("python3", "3.9.2")
    (machine.bin / "make").unlink()
    (machine.bin / "ninja").unlink(missing_ok=True)
    script(
        machine.bin / "apt-get",
        f'echo "apt-get $*" >>{machine.calls}; >{machine.bin}/make; chmod +x {machine.bin}/make',
    )
    done = machine.run()
    assert done.returncode == 2
    installs = [call for call in machine.called() if call.startswith("apt-get") and " install " in call]
    assert installs and all(call.split()[-1:] == ["make"] and "python" not in call for call in installs), installs
    assert [each for each in done.stderr.splitlines() if each.startswith("  - ")] == [
        "  - Python 3.10 or newer with venv (python3 here is 3.9.2)"
    ]
    assert "uv python install 3.12" in done.stderr and "apt-get install" not in done.stderr


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
    assert f"nearfar: {flaw}: installing PyPI's   (log: " in done.stderr
    calls = machine.called()
    assert "pip cmake>=3.20,<5" in calls and not [call for call in calls if call.startswith("apt-get")]
    assert {call for call in calls if call.startswith("cmake")} == {"cmake --version"}, "it built nothing"
    assert (machine.checkout / "build" / "bin").is_dir()
    assert machine.run().stderr == ""


def test_a_cmake_that_cannot_be_replaced_is_named(machine: Machine) -> None:
    machine.has_tools()
    machine.has_python("python3.12", "3.12.4")
    old_cmake(machine)
    flaw = f"nearfar: CMake 3.18.4 of {machine.bin / 'cmake'} is older than 3.20"
    machine.environment["FAKE_NO_CMAKE"] = "ERROR: No matching distribution found for cmake"
    done = machine.run()
    assert done.returncode == 2
    assert f"{flaw}, and pip brings no newer one: ERROR: No matching distribution found" in done.stderr
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


def test_without_a_wheel_of_polars_the_set_up_goes_on(machine: Machine) -> None:
    machine.has_tools()
    machine.has_python("python3.12", "3.12.4")
    machine.environment["FAKE_NO_POLARS"] = "ERROR: No matching distribution found for polars<2,>=1.30"
    done = machine.run()
    assert (done.returncode, done.stdout) == (0, "nearfar validate\n"), done.stderr
    told = [line for line in done.stderr.splitlines() if "going on" in line]
    assert len(told) == 1 and told[0].startswith(
        "nearfar: going on without polars: no history is kept, and nearfar history and tune do not work: "
        "ERROR: No matching distribution found for polars<2,>=1.30"
    )
    asked = [call for call in machine.called() if call.startswith("pip ")]
    assert asked[0] == "pip --only-binary :all: polars>=1.30,<2"
    assert asked[1].startswith("pip --no-deps reframe-hpc>=")
    assert "clustershell" in asked[2].lower() and "Jinja2>=" in asked[2]
    assert not [call for call in asked[1:] if "polars" in call or " reframe" in call.partition("--no-deps")[2][12:]]
    assert machine.run().stderr == "", "it is not tried again at every run"


def test_without_the_net_polars_is_not_what_is_missing(machine: Machine) -> None:
    machine.has_tools()
    machine.has_python("python3.12", "3.12.4")
    machine.environment["FAKE_NO_POLARS"] = "WARNING: Retrying after connection broken by 'NewConnectionError'"
    done = machine.run()
    assert done.returncode == 2 and "pip failed: WARNING: Retrying after connection broken" in done.stderr
    assert "going on" not in done.stderr


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


@pytest.mark.parametrize("folder", ["with blank", "it's", 'a"quote', "dollar$", "hash#1"])
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
    needs = python_needs.requirements("dependencies", "history", "test")
    assert any(need.startswith("reframe-hpc>=4.10.4,<4.11") for need in needs)
    assert any(need.startswith("polars") for need in needs)
    assert [need for need in needs if "<" not in need and "==" not in need] == []


def test_this_python_has_what_is_needed() -> None:
    assert [python_needs.complaint(need) for need in python_needs.requirements("dependencies")] == [""] * 7
    assert python_needs.complaint("no-such-package>=1") == "no-such-package is not installed"
    assert "is needed" in python_needs.complaint("PyYAML>=99")


def test_polars_is_asked_of_nobody() -> None:
    """Neither by nearfar nor, where it is missing, by ReFrame."""
    needed = python_needs.requirements("dependencies")
    assert not [need for need in needed if need.startswith("polars")]
    instead = python_needs.without_polars(needed)
    assert not [need for need in instead if need.startswith(("polars", "reframe"))]
    assert len(instead) > len(needed)


def test_all_files_speak_of_the_same_oldest_python() -> None:
    text = {name: (CHECKOUT / name).read_text() for name in ("pyproject.toml", "setup/common.sh", "README.md")}
    assert python_needs.OLDEST_PYTHON == (3, 10)
    for words in ('requires-python = ">=3.10"', 'target-version = "py310"', 'python_version = "3.10"'):
        assert words in text["pyproject.toml"]
    assert "OLDEST_PYTHON=3.10\n" in text["setup/common.sh"] and "Python 3.10 or newer" in text["README.md"]
