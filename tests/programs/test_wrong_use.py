"""What a user may mistype, for each program: one line that says what to do, exit code 2, and nothing measured."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

CELLS = ("nearfar-copy",)
SAXPY = ("nearfar-kernels saxpy",)
MPI = ("nearfar-contention", *SAXPY)
KERNELS = ("nearfar-kernels",)
LISTED = (*CELLS, *KERNELS)
ALL = (*CELLS, *MPI, *KERNELS)
BUDGET = (*CELLS, *SAXPY, *KERNELS)

#: The programs, their words, and what has to be said. {folder} is an empty one; {file} has the content of FILES.
MISTAKES: list[tuple[tuple[str, ...], list[str], str]] = [
    (ALL, ["--timeout="], "--timeout= needs a value: SECONDS"),
    (CELLS, ["--timeout", ""], "--timeout needs a number of seconds above 0"),
    (ALL, ["--timeout"], "--timeout needs a value"),
    (ALL, ["--timeout", "--version"], "--timeout needs a value"),
    (ALL, ["--timeout=10s"], "not '10s'"),
    (CELLS, ["--timeout=-1"], "not '-1'"),
    (CELLS, ["--timeout=nan"], "not 'nan'"),
    (ALL, ["--timeout=1e300"], "at most 10000000"),
    (CELLS, ["--timeout=3", "--timeout=4"], "--timeout is named twice"),
    (ALL, ["--json", "--json=f"], "--json is named twice"),
    (ALL, ["--json="], "--json= needs a value"),
    (ALL, ["--json={folder}"], "it is no regular file"),
    (ALL, ["--json=/dev/null"], "it is no regular file"),
    (ALL, ["--json={folder}/none/f.json"], "cannot be written: No such file or directory"),
    (CELLS, ["--gpus=", "--version"], "--gpus= needs a value"),
    (ALL, ["--gpus=1b:00.0,"], "single commas"),
    (ALL, ["--gpus=first"], "--gpus: 'first' is not a PCI address"),
    (ALL, ["--gpus=1b:00.0,0000:1b:00.0"], "is named twice"),
    (CELLS, ["--version=2"], "--version takes no value"),
    (ALL, ["--jsno"], "did you mean '--json'?"),
    (ALL, ["--", "--json"], "--json"),
    (BUDGET, ["--budget=0"], "--budget needs a number of seconds above 0"),
    (LISTED, ["--cells="], "--cells= needs a value"),
    (LISTED, ["--cells={folder}/none"], "the file cannot be read"),
    (LISTED, ["--cells={folder}"], "this is a directory"),
    (LISTED, ["--cells=/dev/null"], "the file has no cells"),
    (LISTED, ["--cells=/proc/self/exe"], "not a text file"),
    (LISTED, ["--cells=/dev/zero"], "not a text file"),
    (CELLS, ["--set=none"], "--set: 'none' is none of"),
    (CELLS, ["--set=host_memory_check", "c0:n0/copy"], "--set says which cells: leave c0:n0/copy out"),
    (CELLS, [""], "cell ''"),
    (CELLS, ["n0:g0+g0:n1/copy"], "shares a cell with no copy and no cores"),
    (CELLS, ["c0:n0/triad+g0:g0/triad"], "shares a cell with no copy and no cores"),
    (CELLS, ["--latency", "c0:n0/triad"], "of STREAM only the rate"),
    (CELLS, ["--quick", "g0:g0/triad"], "of STREAM only the rate"),
    (CELLS, ["n0:g0/triad"], "column 7: the kernel triad is computed by its source"),
    (CELLS, ["g0:g0@g1"], "column 7: a flow within one GPU is driven by that GPU"),
    (CELLS, ["g0:g0+g0:g0"], "column 7: the flow g0:g0 may stand only once; for two tasks on it use /x2"),
    (CELLS, ["g0:g0/staged"], "column 7: staged is for flows between GPUs"),
    (CELLS, ["n0:n0"], "column 1: nothing measures host memory to host memory"),
    (CELLS, ["c0:\nn0/copy"], "'c0:?n0/copy' holds control characters"),
    (CELLS, ["--sizes", "0"], "--sizes: '0' is not between"),
    (CELLS, ["--sizes", "4kb"], "--sizes: '4kb' is not a size"),
    (CELLS, ["--quick", "--latency"], "--quick"),
    (CELLS, ["--as-task=x"], "--as-task"),
    (MPI, ["n0:g0"], "unknown argument 'n0:g0'"),
    (MPI, ["--rounds=1.5"], "not '1.5'"),
    (MPI, ["--rounds=1e9"], "--rounds needs a number from 1 to"),
    (MPI, ["--cells=f"], "unknown option '--cells'"),
    (("nearfar-contention",), ["--with=tape"], "--with: 'tape' is neither gpu nor stream"),
    (("nearfar-contention",), ["--flows=up"], "--flows: 'up' is none of both, h2d, d2h"),
    (("nearfar-contention",), ["--layout=split,split"], "each once"),
    (("nearfar-contention",), ["--layout="], "--layout= needs a value"),
    (SAXPY, ["--bytes=5KiB"], "--bytes needs one size in whole pages"),
    (SAXPY, ["--binding=gpu,gpu"], "--binding: 'gpu' is named twice"),
    (KERNELS, ["g0"], "'g0' is no subject: g0.n1 is GPU 0 with operands on NUMA node 1"),
    (KERNELS, ["g0.n0/gemm"], "there is no kernel 'gemm'"),
    (KERNELS, ["--device=host", "g0.n0"], "'g0.n0' is no subject of --device host"),
    (KERNELS, ["--kernels=sgemm,sgem"], "--kernels: 'sgem' is none of"),
    (KERNELS, ["--size=huge"], "--size: 'huge' is none of paper, today, small"),
    (KERNELS, ["--binding=right"], "start nearfar-kernels by mpirun"),
    (KERNELS, ["--binding=right,right"], "--binding: 'right' is named twice"),
    (KERNELS, ["g999.n0"], "this node has"),
]


@pytest.mark.parametrize(
    ("program", "words", "said"),
    [
        pytest.param(program, words, said, id=f"{program} {' '.join(words)}")
        for programs, words, said in MISTAKES
        for program in programs
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(
    build_folder: Path, tmp_path: Path, program: str, words: list[str], said: str
) -> None:
    name, *first = program.split()
    if not (build_folder / "bin" / name).exists():
        pytest.skip(f"{program} was not built: no CUDA compiler, or no MPI")
    filled = [word.replace("{folder}", str(tmp_path)) for word in words]
    ran = subprocess.run(
        [str(build_folder / "bin" / name), *first, *filled],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    (line,) = [line for line in ran.stderr.splitlines() if line.startswith(f"{name}: ")]
    assert said in line
    assert len(ran.stderr.splitlines()) == 1 or program in MPI, "a launcher may say more"
    assert list(tmp_path.iterdir()) == []
