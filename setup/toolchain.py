"""Which compilers build nearfar's programs, and the fingerprint of a build. Standard library only.

It runs under Pythons older than nearfar's, so that what else is missing can be listed.
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

OLDEST_CUDA = (11, 8)
OLDEST_CMAKE = (3, 20)
#: The CUDA of pyproject.toml's extra `cuda`: PyPI has a whole compiler from 13.0 on. The wheels of CUDA 12 have neither nvcc nor cicc.
WHEELS_CUDA = (13, 0)
#: Compilers by other names, for systems whose default is older than C++17 (SLES 15: gcc 7).
COMPILERS = ["c++", "g++", "clang++", "g++-14", "g++-13", "g++-12", "g++-11", "g++-10"]
#: C++17 with its library, asked of the preprocessor alone, which answers in milliseconds (gcc 7 has no <charconv>).
NEEDED = "#if __cplusplus >= 201703L && __has_include(<charconv>)\nyes\n#endif\n"
CHECKOUT = Path(__file__).resolve().parents[1]
STATE = Path(os.environ.get("NEARFAR_STATE") or CHECKOUT).resolve()


class MissingTool(Exception):
    """A tool is not there; one line that names it and what brings it."""


@dataclass(frozen=True)
class Toolchain:
    """Absolute paths of the tools."""

    cxx: str
    cmake: str
    generator: str
    nvcc: str  #: empty for a build without GPU programs
    mpicxx: str  #: empty for a build without the programs that need MPI
    cuda_architectures: str
    words: str  #: which CUDA it is, or why there is none


def find(cuda: str, cuda_architectures: str, mpi: str) -> Toolchain:
    """Choose the tools as ``--cuda`` (auto, system, wheels or none) and ``--mpi`` (auto or none) say.

    Raises ``MissingTool`` when a compiler or CMake is absent, or the CUDA that was asked for by name is.
    """
    cxx, cmake = compiler(), cmake_program()
    if not cxx or not cmake:
        raise MissingTool(f"no {'CMake' if cxx else 'C++17 compiler'} found: ./validate lists what is missing")
    nvcc, words = cuda_compiler(cuda, cxx)
    mpicxx = first(os.environ.get("MPICXX", "mpicxx mpic++").split()) if mpi == "auto" else ""
    generator = "Ninja" if shutil.which("ninja") else "Unix Makefiles"
    return Toolchain(cxx, cmake, generator, nvcc, mpicxx, cuda_architectures, words if mpicxx else f"{words}, no MPI")


def first(names: list[str]) -> str:
    """The absolute path of the first of these programs that is there; empty when none is."""
    return next((path for path in map(shutil.which, names) if path), "")


def in_own_environment(pattern: str) -> list[str]:
    """Files below the environments that the set-up makes."""
    return [path for base in (CHECKOUT, STATE) for path in glob.glob(f"{base}/.venv/{pattern}")]


def cmake_program() -> str:
    """The CMake that the set-up put into its environment, or else the one on PATH; empty when there is none."""
    return first([*in_own_environment("lib/python3*/site-packages/cmake/data/bin/cmake"), "cmake"])


def cmake_flaw() -> str:
    """Why the CMake at hand cannot be used, in words; empty where it can."""
    path = cmake_program()
    found = version(path)
    if not found:
        return f"CMake does not run: {path}"
    flaw = f"CMake {found} of {path} is older than {'.'.join(map(str, OLDEST_CMAKE))}"
    return "" if numbers(found) >= OLDEST_CMAKE else flaw


def compiler() -> str:
    """The absolute path of $CXX, or else of the first compiler on PATH that knows C++17; empty when there is none."""
    names = os.environ.get("CXX", "").split()[:1] or COMPILERS
    return next((path for path in map(shutil.which, names) if path and knows_cxx17(path)), "")


def knows_cxx17(path: str) -> bool:
    """Does this compiler have the C++17 that the sources need?"""
    command = [path, "-std=c++17", "-E", "-P", "-x", "c++", "-"]
    return "yes" in subprocess.run(command, input=NEEDED, capture_output=True, text=True).stdout


def cuda_compiler(choice: str, cxx: str) -> tuple[str, str]:
    """The path of nvcc (empty: none) and a few words that say which CUDA it is or why there is none.

    In ``auto``, an nvcc older than ``OLDEST_CUDA``, of a later major version than the driver's, or too old for ``cxx`` is passed over.
    """
    if choice == "none":
        return "", "without CUDA, as asked"
    wheels = in_own_environment("cuda/bin/nvcc")
    candidates = wheels if choice == "wheels" else system_nvccs() + (wheels if choice == "auto" else [])
    driver, passed_over = driver_cuda(), ""
    for path in candidates:
        found = nvcc_version(path)
        name = f"CUDA {found[0]}.{found[1]} of {path}"
        if choice != "auto":
            return path, name
        if found < OLDEST_CUDA:
            name += f" is older than {OLDEST_CUDA[0]}.{OLDEST_CUDA[1]}"
        elif driver and found[0] > driver[0]:
            name += f" is newer than the driver's CUDA {driver[0]}.{driver[1]}"
        elif subprocess.run([path, "-ccbin", cxx, "-E", "-x", "cu", os.devnull], capture_output=True).returncode:
            name += f" refuses {cxx}: set CXX to an older compiler"
        else:
            return path, name
        passed_over = passed_over or name
    if choice == "system":
        raise MissingTool("no nvcc found: load the site's CUDA (or set CUDACXX), or use --cuda wheels")
    if choice == "wheels":
        raise MissingTool("no CUDA from PyPI's wheels is installed: ./validate --cuda wheels brings it")
    return "", f"without CUDA: {passed_over or 'no nvcc found'}"


def wheels_flaw() -> str:
    """Why the CUDA of PyPI's wheels is of no use to this node; empty where it is."""
    driver = driver_cuda()
    if driver and driver[0] < WHEELS_CUDA[0]:
        return f"PyPI has no compiler for CUDA {driver[0]}: load the site's toolkit (11.8 or newer) or set CUDACXX"
    return ""


def system_nvccs() -> list[str]:
    """Candidates for nvcc, best first, each once; the order is CUDACXX, CUDA_HOME, CUDA_PATH, PATH, /usr/local."""
    roots = filter(None, map(os.environ.get, ("CUDA_HOME", "CUDA_PATH")))
    candidates = [os.environ.get("CUDACXX", ""), *(f"{root}/bin/nvcc" for root in roots), "nvcc"]
    if not os.environ.get("NEARFAR_TEST_NO_SYSTEM_CUDA"):  # lets the tests hide a toolkit outside PATH
        newest_first = sorted(glob.glob("/usr/local/cuda-*/bin/nvcc"), key=numbers, reverse=True)
        candidates += ["/usr/local/cuda/bin/nvcc", *newest_first]
    return list(dict.fromkeys(filter(None, map(shutil.which, filter(None, candidates)))))


def numbers(text: str) -> tuple[int, ...]:
    """The decimal numbers of a text, to sort versions by."""
    return tuple(int(word) for word in re.findall(r"\d+", text))


def nvcc_version(path: str) -> tuple[int, ...]:
    """(major, minor) of a toolkit."""
    return (*numbers(version(path)), 0, 0)[:2]


def driver_cuda() -> tuple[int, ...] | None:
    """(major, minor) of the newest CUDA that this node's driver runs, or None without a driver. Initialises no GPU."""
    named = os.environ.get("NEARFAR_TEST_DRIVER_CUDA")  # for the tests: '13.0', or 'none'
    if named:
        return numbers(named) or None
    number = ctypes.c_int(0)
    try:
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        pass
    return (number.value // 1000, number.value % 1000 // 10) if number.value else None


def versions(chain: Toolchain) -> list[tuple[str, str, str]]:
    """Name, version and path of each tool that a build uses, and of hwloc; a version that no tool prints is empty."""
    tools = [("c++", chain.cxx), ("cmake", chain.cmake), ("cuda", chain.nvcc), ("mpi", chain.mpicxx)]
    return [(name, version(path), path) for name, path in tools if path] + [("hwloc", hwloc().split("\n")[0], "")]


def version(path: str) -> str:
    """The version that a tool prints: 12.2.0, of MPI with its name (its wrappers pass --version to the compiler)."""
    if "mpi" in os.path.basename(path):
        match = re.search(
            r"(Open MPI|MPICH)(?: version)? ([\w.]+)", output([path, "--showme:version"]) + output([path, "-v"])
        )
        return f"{match[1]} {match[2]}" if match else ""
    match = re.search(r"\d+(\.\d+)+", output([path, "--version"]))
    return match[0] if match else ""


def output(command: list[str]) -> str:
    """What a program prints on either stream; empty where it cannot be run."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def hwloc() -> str:
    """The version and flags of the hwloc that the build uses."""
    return output(["pkg-config", "--modversion", "--cflags", "--libs", "hwloc"])


def fingerprint(source: Path, chain: Toolchain) -> str:
    """Twelve hexadecimal digits that change with any file of ``source``, a compiler, hwloc or an option; not with the place."""
    digest = hashlib.sha256()
    for path in sorted(source.rglob("*")):
        inside = path.relative_to(source)
        if path.is_file() and not any(part == "spack_repo" or part.startswith("build-") for part in inside.parts):
            digest.update(str(inside).encode() + b"\0" + path.read_bytes() + b"\0")
    for tool in filter(None, (chain.cxx, chain.cmake, chain.nvcc, chain.mpicxx)):
        real = os.path.realpath(tool)
        status = os.stat(real)
        line = f"{tool} {real} {status.st_size} {status.st_mtime_ns}\n"
        digest.update(line.replace(f"{CHECKOUT}/", "").replace(f"{STATE}/", "").encode())
    options = [chain.generator, chain.cuda_architectures, platform.machine(), *platform.libc_ver(), hwloc()]
    options += [os.environ.get(name, "") for name in ("CXXFLAGS", "CUDAFLAGS", "LDFLAGS", "CMAKE_PREFIX_PATH")]
    digest.update(repr(options).encode())
    return digest.hexdigest()[:12]


if __name__ == "__main__":  # what setup/common.sh asks
    if sys.argv[1] == "compiler":
        sys.exit(not compiler())
    print(cmake_flaw() if sys.argv[1] == "cmake" else wheels_flaw())
