#!/usr/bin/env python3
"""Stands in for every test of NVIDIA's nccl-tests: moves nothing, and prints the table and NCCL's log of a node whose bus bandwidth is
``FAKE_BUSBW``; with ``FAKE_NODES=2`` of two nodes. ``FAKE_NCCL_TESTS`` bends it: ``wrong``, ``cut``, ``hang`` (one rank is never ready),
``fails``, ``versions``, ``shm``.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

CASE = os.environ.get("FAKE_NCCL_TESTS", "good")
PEAK = float(os.environ.get("FAKE_BUSBW", "360"))


def option(name: str, default: str) -> str:
    """A value of the command line."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def main() -> int:
    """Print, and end as the case says."""
    name = Path(sys.argv[0]).name.removesuffix("_perf")
    gpus, least, most = int(option("-g", "1")), int(option("-b", "8")), int(option("-e", "1G").replace("G", "")) << 30
    print(f"# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library={22703 if CASE == 'versions' else 22809}")
    print(f"# Collective test starting: {name}_perf")
    print(
        f"# nThread 1 nGpus {gpus} minBytes {least} maxBytes {most} step: 2(factor) validation: 1\n#\n# Using devices"
    )
    nodes = int(os.environ.get("FAKE_NODES", "1"))
    for rank in range(gpus * nodes):
        host, device = f"stand-in{rank // gpus}", rank % gpus
        print(f"#  Rank  {rank} Group  0 Pid  1 on {host} device  {device} [0000:{device + 1:02x}:00] NVIDIA H200")
    if os.environ.get("NCCL_DEBUG") == "INFO":
        file = os.environ["NCCL_DEBUG_FILE"].replace("%h", "stand-in").replace("%p", str(os.getpid()))
        Path(file).write_text("\n".join(log(gpus)) + "\n")
    if CASE == "fails":
        print("stand-in: Test CUDA failure common.cu:1030 'system not yet initialized'\n .. Test failure common.cu:937")
        return 2
    print(
        "#\n#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong"
    )
    sys.stdout.flush()
    if CASE == "hang":
        time.sleep(60)
    size = least
    while size <= (most >> 1 if CASE == "cut" else most):
        busbw = PEAK * size / (size + (4 << 20))
        half = f"{size / 1e3 / busbw:8.2f} {busbw:7.2f} {busbw:7.2f} {int(CASE == 'wrong' and size == 1 << 20)}"
        print(f"{size:12d} {size // 4:12d}     float     sum      -1 {half} {half}")
        size *= 2
    if CASE != "cut":
        print(
            f"# Out of bounds values : {'1 FAILED' if CASE == 'wrong' else '0 OK'}\n# Avg bus bandwidth    : {PEAK / 2:g}\n#"
        )
    return int(CASE == "wrong")


def log(gpus: int) -> list[str]:
    """What NCCL says."""
    here = "stand-in:1:1 [0] NCCL INFO"
    via = "SHM/direct/direct" if CASE == "shm" else "P2P/direct pointer"
    ready = range(gpus - 1) if CASE == "hang" else range(gpus)
    lines = [
        f"{here} NCCL version 2.28.9+cuda13.0",
        f"{here} 16 coll channels, 16 collnet channels, 0 nvls channels, 16 p2p channels",
    ]
    lines += [
        f"{here} {key} set by environment to {value}." for key, value in os.environ.items() if key == "NCCL_NVLS_ENABLE"
    ]
    lines += [
        f"{here} Channel 00/0 : {rank}[{rank}] -> {(rank + 1) % gpus}[{(rank + 1) % gpus}] via {via}"
        for rank in range(gpus)
    ]
    lines += [
        f"{here} ncclCommInitAll comm 0x1 rank {rank} nranks {gpus} cudaDev {rank} - Init COMPLETE" for rank in ready
    ]
    return [*lines, f"{here} AllReduce: 1073741824 Bytes -> Algo RING proto SIMPLE channel{{Lo..Hi}}={{0..15}}"]


if __name__ == "__main__":
    sys.exit(main())
