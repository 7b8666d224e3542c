"""CUDA's compiler from PyPI's wheels, into this virtual environment, where a node has a driver and no fitting nvcc.

The wheels unpack to a folder that nvcc itself cannot link from (``lib`` where nvcc.profile wants ``lib64``, no
unversioned libraries, no stubs). ``make_root`` lays a toolkit's folder of links over it: <venv>/cuda, which CMake and
nvcc accept.

PyPI has a whole compiler from CUDA 13.0 on. The wheels of CUDA 12 hold ptxas and libnvvm but neither nvcc nor cicc:
nothing can be compiled with them, so a node whose driver runs CUDA 12 needs the site's toolkit, or goes without GPU
programs.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import toolchain

CHECKOUT = Path(__file__).resolve().parents[1]
STATE = Path(os.environ.get("NEARFAR_STATE") or CHECKOUT).resolve()
#: What is installed for each major version of the driver's CUDA: the oldest minor version, which all its drivers run.
WHEELS = {13: "cuda-toolkit[nvcc,cudart,cccl,nvml]==13.0.*"}


def say(words: str) -> None:
    """One progress line on standard error."""
    print(f"nearfar: {words}", file=sys.stderr, flush=True)


def in_own_environment() -> bool:
    """Does this Python run in a virtual environment that nearfar's set-up made (or completed)?"""
    return sys.prefix != sys.base_prefix and any(Path(sys.prefix).glob("nearfar-*.stamp"))


def install(major: int, log: Path) -> Path:
    """Install the wheels of ``major`` and make <venv>/cuda; returns that folder. Raises MissingTool when pip fails."""
    root = Path(sys.prefix) / "cuda"
    if (root / "bin" / "nvcc").exists() and toolchain.nvcc_version(str(root / "bin" / "nvcc"))[0] == major:
        return root
    say(f"installing Python packages: {WHEELS[major]} (CUDA's compiler, about 270 MB)   (log: {log})")
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input", WHEELS[major]]
    with log.open("a") as out:
        if subprocess.run(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL).returncode:
            raise toolchain.MissingTool(f"pip could not install {WHEELS[major]}: {log} says why")
    packages = Path(next(path for path in sys.path if path.endswith("site-packages")))
    make_root(packages / "nvidia" / f"cu{major}", root)
    return root


def make_root(wheels: Path, root: Path) -> None:
    """Lay out the toolkit of ``wheels`` (…/nvidia/cu13) at ``root``: real folders, linked files, the driver's stubs."""
    fresh = root.with_name(f".cuda-{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    # Folders are real: nvcc resolves `bin/..`, which must come out in this tree.
    for part in ("bin", "include", "nvvm"):
        shutil.copytree(wheels / part, fresh / part, copy_function=os.symlink)
    shutil.copytree(wheels / "lib", fresh / "lib64", copy_function=os.symlink)
    (fresh / "lib").symlink_to("lib64")
    for library in sorted((fresh / "lib64").glob("lib*.so.*")):
        plain = fresh / "lib64" / (library.name.split(".so.")[0] + ".so")
        if not plain.exists():
            plain.symlink_to(library.name)
    make_stub(fresh, "cuda.h", r"\bcu[A-Z]\w*", "libcuda.so")
    make_stub(fresh, "nvml.h", r"\bnvml[A-Z]\w*", "libnvidia-ml.so")
    shutil.rmtree(root, ignore_errors=True)
    fresh.rename(root)


def make_stub(root: Path, header: str, names: str, library: str) -> None:
    """Make a library to link against where the driver's own is absent; it is never loaded at run time."""
    path = root / "include" / header
    if not path.exists():
        return
    text = path.read_text(errors="replace")
    functions = set(re.findall(names + r"(?=\s*\()", text)) | set(re.findall(names + r"_v\d+\b", text))
    source = "".join(f"void {name}(void){{}}\n" for name in sorted(functions))
    stubs = root / "lib64" / "stubs"
    stubs.mkdir(exist_ok=True)
    command = [
        toolchain.compiler(),
        "-shared",
        "-fPIC",
        f"-Wl,-soname,{library}.1",
        "-x",
        "c",
        "-o",
        str(stubs / library),
    ]
    subprocess.run([*command, "-"], input=source, text=True, check=True, capture_output=True)


def bring(choice: str, log: Path, to_compile: bool = False) -> str:
    """Install the wheels if ``choice`` (auto, system, wheels, none) and this node call for them.

    ``to_compile``: in ``auto``, also on a machine without a driver. Returns why GPU programs are left out where they
    could be used; else the empty string.
    """
    driver = toolchain.driver_cuda()
    nvcc, words = toolchain.cuda_compiler("auto" if choice == "wheels" else choice, STATE, CHECKOUT)
    if choice == "none":
        return words if driver else ""
    if choice == "system" or (choice == "auto" and (nvcc or not (driver or to_compile))):
        return ""
    major = driver[0] if driver else max(WHEELS)
    if major not in WHEELS:
        why = f"{words}; PyPI has no compiler for CUDA {major}: load the site's toolkit (12.2 or newer) or set CUDACXX"
    elif not in_own_environment():
        why = f"{words}; nothing is installed into {sys.prefix}, which is not nearfar's own: load the site's CUDA"
    else:
        try:
            install(major, log)
            return ""
        except toolchain.MissingTool as missing:
            why = str(missing)
    if choice == "wheels":
        raise toolchain.MissingTool(why)
    return why


def main() -> int:
    """Bring the compiler if it is needed, or print why the GPU programs are left out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuda", choices=["auto", "system", "wheels", "none"], default="auto")
    parser.add_argument("--to-compile", action="store_true", help="bring it also where there is no driver")
    parser.add_argument("--log", type=Path, default=STATE / "build" / "logs" / "pip.log")
    options = parser.parse_args()
    try:
        left_out = bring(options.cuda, options.log, options.to_compile)
    except toolchain.MissingTool as missing:
        say(str(missing))
        return 2
    if left_out:
        print(f"the GPU programs are left out: {left_out}")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C: no traceback; who called says so
    sys.exit(main())
