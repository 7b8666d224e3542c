#!/usr/bin/env python3
"""nearfar-kernels beside the libraries called by themselves, in the same minutes on GPU 0, as a Markdown table.

    nvcc -O3 -arch=native -o library_calls benchmarks/library_calls.cu -lcublas -lcufft
    benchmarks/kernels_beside_libraries.py --calls ./library_calls --programs build/bin

"Ratio" is the rate of nearfar-kernels over that of the library's own call; both are the best level that each reached. Exit code 1
where a ratio is further from 1 than --within (default 3 %), or where a kernel was not measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path


def of_libraries(calls: Path, gpu: int) -> dict[tuple[str, str], float]:
    """The rate of each kernel and size, as the libraries alone reach it."""
    printed = subprocess.run([str(calls), str(gpu)], check=True, capture_output=True, text=True, timeout=300).stdout
    lines = [line.split() for line in printed.splitlines()]
    return {(kernel, size): float(rate) for kernel, size, rate in lines}


def of_nearfar(document: dict[str, object]) -> dict[tuple[str, str], tuple[float, str]]:
    """The rate of each kernel and size, with its unit, of the first subject of a document."""
    found: dict[tuple[str, str], tuple[float, str]] = {}
    results = document["results"]
    assert isinstance(results, list)
    for result in results:
        words = result["quantity"].split(".")
        if words[-1] == "rate":
            rate = result["flows"][0]["rate"]
            found.setdefault((words[1], result["size"]), (rate.get("plateau", rate["median"]), rate["unit"]))
    return found


def main() -> int:
    """Measure both and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=Path, required=True, help="the compiled benchmarks/library_calls.cu")
    parser.add_argument("--programs", type=Path, default=Path("build/bin"))
    parser.add_argument("--document", type=Path, help="a document of nearfar-kernels; default: measure now")
    parser.add_argument("--within", type=float, default=0.03)
    asked = parser.parse_args()
    if asked.document:
        document = json.loads(asked.document.read_text())
    else:
        kernels = "sgemm,dgemm,bf16gemm,sfft,dfft,reduction,scan,sort"
        command = [str(asked.programs / "nearfar-kernels"), "g0.n0", "--kernels", kernels, "--json"]
        document = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)
    mine = of_nearfar(document)
    print("| kernel | size | unit | the library alone | nearfar-kernels | ratio |\n|---|---|---|---|---|---|")
    far = 0
    for (kernel, size), alone in of_libraries(asked.calls, 0).items():
        if (kernel, size) not in mine:
            print(f"| {kernel} | {size} | | {alone:,.1f} | not measured | |")
            far += 1
            continue
        rate, unit = mine[kernel, size]
        far += abs(rate / alone - 1) > asked.within
        print(f"| {kernel} | {size} | {unit} | {alone:,.1f} | {rate:,.1f} | {rate / alone:.3f} |")
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())
