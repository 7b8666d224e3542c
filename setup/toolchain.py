"""Which compilers build nearfar's programs, and the fingerprint of a build. Standard library only.

It runs under Pythons older than nearfar's, so that what else is missing can be told.
"""

from __future__ import annotations

import ctypes
import glob
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

OLDEST_CUDA = (12, 2)
OLDEST_CMAKE = (3, 20)
#: Compilers by other names, for systems whose default is older than C++17 (SLES 15: gcc 7).
COMPILERS = ["c++", "g++", "clang++", "g++-14", "g++-13", "g++-12", "g++-11", "g++-10"]
#: C++17 with its library, asked of the preprocessor alone, which answers in milliseconds (gcc 7 has no <charconv>).
NEEDED = "#if __cplusplus >= 201703L && __has_include(<charconv>)\nyes\n#endif\n"


class MissingTool(Exception):
    """A tool is not there; one line that says which and what brings it."""


@dataclass(frozen=True)
class Toolchain:
    """Absolute paths of the tools; ``nvcc`` is empty for a build without GPU programs, and ``words`` says why.

    ``mpicxx`` is empty for a build without the programs that need MPI.
    """

    cxx: str
    cmake: str
    generator: str
    nvcc: str
    mpicxx: str
    cuda_architectures: str
    words: str


def find(cuda: str, cuda_architectures: str, mpi: str, state: Path, checkout: Path) -> Toolchain:
    """Choose the tools as ``--cuda`` (auto, system, wheels or none) and ``--mpi`` (auto or none) say.

    Raises ``MissingTool`` when a compiler or CMake is absent, or the CUDA that was asked for by name is.
    """
    cxx = compiler()
    if not cxx:
        raise MissingTool("no C++17 compiler found: ./validate lists what is missing")
    cmake = cmake_program(state, checkout)
    if not cmake:
        raise MissingTool("cmake not found: ./validate lists what is missing")
    generator = "Ninja" if shutil.which("ninja") else "Unix Makefiles"
    nvcc, words = cuda_compiler(cuda, state, checkout)
    mpicxx = mpi_compiler() if mpi == "auto" else ""
    return Toolchain(cxx, cmake, generator, nvcc, mpicxx, cuda_architectures, words if mpicxx else f"{words}, no MPI")


def cmake_program(state: Path, checkout: Path) -> str:
    """The absolute path of the CMake that the set-up put into its environment, or else of the one on PATH; empty when there is none."""
    own = [base / ".venv" / "bin" / "cmake" for base in (checkout, state)]
    return next((str(path) for path in own if path.exists()), "") or shutil.which("cmake") or ""


def cmake_flaw(path: str) -> str:
    """Why this CMake cannot be used, in words; empty where it can."""
    version = tool_version("cmake", path)
    if not version:
        return f"CMake does not run: {path}"
    oldest = ".".join(map(str, OLDEST_CMAKE))
    return "" if numbers(version) >= OLDEST_CMAKE else f"CMake {version} of {path} is older than {oldest}"


def mpi_compiler() -> str:
    """The absolute path of $MPICXX, or else of the mpicxx on PATH; empty when there is none."""
    named = os.environ.get("MPICXX")
    names = [named.split()[0]] if named else ["mpicxx", "mpic++"]
    return next((path for path in map(shutil.which, names) if path), "")


def compiler() -> str:
    """The absolute path of $CXX, or else of the first compiler on PATH that knows C++17; empty when there is none."""
    named = os.environ.get("CXX")
    names = [named.split()[0]] if named else COMPILERS
    return next((path for path in map(shutil.which, names) if path and knows_cxx17(path)), "")


def knows_cxx17(path: str) -> bool:
    """Does this compiler have the C++17 that the sources need?"""
    command = [path, "-std=c++17", "-E", "-P", "-x", "c++", "-"]
    return "yes" in subprocess.run(command, input=NEEDED, capture_output=True, text=True).stdout


def cuda_compiler(choice: str, state: Path, checkout: Path) -> tuple[str, str]:
    """The path of nvcc (empty: none) and a few words that say which CUDA it is or why there is none.

    In ``auto``, a system's nvcc older than ``OLDEST_CUDA``, or of a later major version than the driver's, is
    passed over.
    """
    if choice == "none":
        return "", "without CUDA, as asked"
    passed_over = ""
    if choice in ("auto", "system"):
        driver = driver_cuda()
        for path in system_nvccs():
            version = nvcc_version(path)
            name = f"CUDA {version[0]}.{version[1]} of {path}"
            flaw = ""
            if version < OLDEST_CUDA:
                flaw = f"{name} is older than {OLDEST_CUDA[0]}.{OLDEST_CUDA[1]}"
            elif driver and version[0] > driver[0]:
                flaw = f"{name} is newer than the driver's CUDA {driver[0]}.{driver[1]}"
            if choice == "system" or not flaw:
                return path, name
            passed_over = passed_over or flaw
        if choice == "system":
            raise MissingTool("no nvcc found: load the site's CUDA (or set CUDACXX), or use --cuda wheels")
    root = wheels_root(state, checkout)
    if root:
        return str(root / "bin" / "nvcc"), f"CUDA {nvcc_name(root)} from PyPI's wheels"
    if choice == "wheels":
        raise MissingTool("no CUDA from PyPI's wheels is installed: ./validate --cuda wheels brings it")
    return "", f"without CUDA: {passed_over or 'no nvcc found'}"


def system_nvccs() -> list[str]:
    """Candidates for nvcc, best first, each once; the order is CUDACXX, CUDA_HOME, CUDA_PATH, PATH, /usr/local."""
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    newest_first = sorted(glob.glob("/usr/local/cuda-*"), key=numbers, reverse=True)
    candidates = [os.environ.get("CUDACXX")] + [f"{root}/bin/nvcc" for root in roots if root]
    candidates += ["nvcc"]
    if not os.environ.get("NEARFAR_TEST_NO_SYSTEM_CUDA"):  # lets the tests hide a toolkit outside PATH
        candidates += ["/usr/local/cuda/bin/nvcc"] + [f"{root}/bin/nvcc" for root in newest_first]
    found = [shutil.which(candidate) for candidate in candidates if candidate]
    return list(dict.fromkeys(path for path in found if path))


def numbers(text: str) -> tuple[int, ...]:
    """The decimal numbers of a text, to sort versions by."""
    return tuple(int(word) for word in re.findall(r"\d+", text))


def nvcc_version(path: str) -> tuple[int, int]:
    """(major, minor) of a toolkit: from its cuda.h, which costs nothing, else from nvcc itself."""
    header = Path(path).resolve().parents[1] / "include" / "cuda.h"
    if header.exists():
        match = re.search(r"#define\s+CUDA_VERSION\s+(\d+)", header.read_text(errors="replace"))
        if match:
            return int(match[1]) // 1000, int(match[1]) % 1000 // 10
    said = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    match = re.search(r"release (\d+)\.(\d+)", said)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def nvcc_name(root: Path) -> str:
    """'13.0' of a toolkit's folder."""
    major, minor = nvcc_version(str(root / "bin" / "nvcc"))
    return f"{major}.{minor}"


def wheels_root(state: Path, checkout: Path) -> Path | None:
    """The CUDA folder that setup/cuda_wheels.py made in the virtual environment, or None."""
    for base in dict.fromkeys([checkout / ".venv", state / ".venv"]):
        root = base / "cuda"
        if (root / "bin" / "nvcc").exists():
            return root
    return None


def driver_cuda() -> tuple[int, int] | None:
    """(major, minor) of the newest CUDA that this node's driver runs, or None without a driver. Initialises no GPU."""
    named = os.environ.get("NEARFAR_TEST_DRIVER_CUDA")  # for the tests: '13.0', or 'none'
    if named:
        version = numbers(named)
        return (version[0], version[1]) if len(version) == 2 else None
    try:
        number = ctypes.c_int(0)
        if ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(number)) == 0 and number.value:
            return number.value // 1000, number.value % 1000 // 10
    except (OSError, AttributeError):
        pass
    try:
        said = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return None
    match = re.search(r"Module\s.*?(\d{3})\.\d+", said)
    branch = int(match[1]) if match else 0
    # NVIDIA, CUDA compatibility: branch 525 brought CUDA 12, branch 580 CUDA 13.
    return (13, 0) if branch >= 580 else (12, 0) if branch >= 525 else (11, 0)


def versions(chain: Toolchain) -> list[tuple[str, str, str]]:
    """Name, version and path of each tool that a build uses, and of hwloc; a version that cannot be told is empty."""
    tools = [("c++", chain.cxx), ("cmake", chain.cmake), ("cuda", chain.nvcc), ("mpi", chain.mpicxx)]
    found = [(name, tool_version(name, path), path) for name, path in tools if path]
    hwloc = hwloc_as_found().split("\n")[0]
    return found + ([("hwloc", hwloc, "")] if hwloc else [])


def tool_version(name: str, path: str) -> str:
    """What a tool says of its version."""
    if name == "cuda":
        return nvcc_name(Path(path).resolve().parents[1])
    if name == "c++":
        said = output([path, "-dumpfullversion", "-dumpversion"])
        return said.split("\n")[0]
    if name == "mpi":
        # Open MPI's wrapper says whose it is; MPICH's has a library version, and both pass --version to the compiler.
        open_mpi = re.search(r"Open MPI [\w.]+", output([path, "--showme:version"]))
        mpich = re.search(r"MPICH version ([\w.]+)", output([path, "-v"]))
        return open_mpi[0] if open_mpi else f"MPICH {mpich[1]}" if mpich else ""
    match = re.search(r"(\d+(?:\.\d+)+)", output([path, "--version"]))
    return match[1] if match else ""


def output(command: list[str]) -> str:
    """What a program says on either stream; empty where it cannot be run."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def own_version(checkout: Path) -> str:
    """The version of this checkout's package."""
    match = re.search(r'^__version__\s*=\s*"([^"]+)"', (checkout / "nearfar" / "__init__.py").read_text(), re.MULTILINE)
    return match[1] if match else ""


def fingerprint(source: Path, chain: Toolchain) -> str:
    """Twelve hexadecimal digits that change with any file of ``source``, a compiler, hwloc or an option."""
    digest = hashlib.sha256()
    for path in sorted(source.rglob("*")):
        made_by_spack = any(
            part == "spack_repo" or part.startswith("build-") for part in path.relative_to(source).parts
        )
        if path.is_file() and not made_by_spack:
            digest.update(str(path.relative_to(source)).encode() + b"\0" + path.read_bytes() + b"\0")
    for tool in (chain.cxx, chain.cmake, chain.nvcc, chain.mpicxx):
        if tool:
            real = os.path.realpath(tool)
            status = os.stat(real)
            digest.update(f"{tool} {real} {status.st_size} {status.st_mtime_ns}\n".encode())
    options = [chain.generator, chain.cuda_architectures, platform.machine(), *platform.libc_ver(), hwloc_as_found()]
    options += [os.environ.get(name, "") for name in ("CXXFLAGS", "CUDAFLAGS", "LDFLAGS", "CMAKE_PREFIX_PATH")]
    digest.update(repr(options).encode())
    return digest.hexdigest()[:12]


def hwloc_as_found() -> str:
    """The version and flags of the hwloc that the build uses; empty when pkg-config does not know it."""
    command = ["pkg-config", "--modversion", "--cflags", "--libs", "hwloc"]
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout
    except OSError:
        return ""


if __name__ == "__main__":  # what setup/common.sh asks
    if sys.argv[1:] == ["cmake"]:
        here = Path(__file__).resolve().parents[1]
        print(cmake_flaw(cmake_program(Path(os.environ.get("NEARFAR_STATE") or here), here)))
    else:
        sys.exit(not compiler())
