"""The rule for representatives against the vectors shared with the programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.cells import host_device_matrix, stream_matrix
from nearfar.topology import Gpu, Node, NumaNode

VECTORS = Path(__file__).parents[1] / "vectors" / "representatives.txt"

Lines = list[list[str]]


def vectors() -> dict[str, Lines]:
    found: dict[str, Lines] = {}
    for line in VECTORS.read_text(encoding="utf-8").splitlines():
        if line.startswith("node\t"):
            lines = found.setdefault(line.split("\t")[1], [])
        elif line and not line.startswith("#"):
            lines.append(line.split("\t"))
    return found


def number(text: str) -> int | None:
    return None if text == "-" else int(text)


def node_of(lines: Lines) -> Node:
    numas = [line for line in lines if line[0] == "numa"]
    return Node(
        hostname="constructed",
        packages=(),
        numa_nodes=tuple(
            NumaNode(int(i), number(package), (int(i),) if cores == "cores" else (), 1 << 30)
            for _, i, package, cores in numas
        ),
        gpus=tuple(
            Gpu(int(i), f"0000:{int(i):02x}:00.0", numa_node=number(numa), package=number(package))
            for _, i, numa, package in (line for line in lines if line[0] == "gpu")
        ),
        distances={
            (int(line[1]), int(to[1])): int(distance)
            for line in lines
            if line[0] == "distance"
            for to, distance in zip(numas, line[2].split(), strict=True)
        },
    )


@pytest.mark.parametrize("name", vectors())
def test_vectors(name: str) -> None:
    lines = vectors()[name]
    node = node_of(lines)
    cells, skips = host_device_matrix(node)
    assert len(cells) + len(skips) == 3 * len(node.gpus) * len(node.numa_nodes)
    assert {skip.code for skip in skips} <= {"representative"}
    down = [cell.flows[0] for cell in cells if cell.lone and cell.flows[0].direction == "h2d"]
    for _, gpu, measured in (line for line in lines if line[0] == "from"):
        assert [str(f.numa_node) for f in down if f.gpus == (int(gpu),)] == measured.split()
    pairs = [cell.flows[0] for cell in stream_matrix(node) if cell.lone]
    assert [f"{f.source.index}:{f.destination.index}" for f in pairs] == lines[-1][1].split()
