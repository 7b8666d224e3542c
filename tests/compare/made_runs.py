"""Run directories made up for tests: ``run.json``, a node's ``node.json``, and a verdict for each check."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar.verdict import JudgedMetric, verdict_file
from nearfar.verdict.verdict_types import MeasurementInfo
from tests.support.verdicts import judged, judged_metric

#: Lone copies of four GPUs in both directions: name and healthy rate.
COPIES = {f"near.{name}": 55.0 for g in range(4) for name in (f"n0_g{g}", f"g{g}_n0")}


def copy(name: str, value: float, **parts: Any) -> JudgedMetric:
    """A lone copy with its plateau and an interval of 0.2 % to either side."""
    source, _, destination = name.partition(".")[2].partition("_")
    whole = {
        "name": name, "subject": f"{source}:{destination}", "value": value, "plateau": value,
        "interval": (value * 0.998, value * 1.002), "question": "h2d" if source.startswith("n") else "d2h",
    }  # fmt: skip
    return judged_metric(**{**whole, **parts})


def copies(factor: float = 1.0, only: str = "", **parts: Any) -> list[JudgedMetric]:
    """All lone copies; those whose names have ``only`` in them multiplied by ``factor`` and with these parts."""
    return [
        copy(name, value * factor, **parts) if only in name else copy(name, value) for name, value in COPIES.items()
    ]


def latency(value: float, **parts: Any) -> JudgedMetric:
    """A latency of loads in microseconds."""
    whole = {
        "name": "near_latency_chase.n0_g0", "subject": "n0:g0", "quantity": "latency.chase", "derived": "latency_chase", "unit": "us",
        "question": "latency", "value": value, "interval": (value * 0.995, value * 1.005),
    }  # fmt: skip
    return judged_metric(**{**whole, **parts})


def node_json(driver: str = "580.1", **gpu: Any) -> dict[str, Any]:
    """A node with four GPUs; ``gpu`` are parts of GPU 0."""
    gpus = [
        {"index": i, "pci": f"0000:{i + 1:02x}:00.0", "uuid": f"GPU-{i}", "name": "H200", "numa_node": 0, "package": 0,
         "link": {"kind": "pcie", "max_gen": 5, "max_width": 16}, "nvlinks": 18, "ecc": True, "serial": f"s{i}"}
        for i in range(4)
    ]  # fmt: skip
    gpus[0].update(gpu)
    return {
        "hostname": "n", "packages": [{"index": 0, "cpus": "0-31"}],
        "numa_nodes": [{"index": 0, "package": 0, "cpus": "0-31", "memory": 1 << 38, "kind": "host", "gpu": None}],
        "gpus": gpus, "nics": [], "peers": [{"gpus": [0, 3], "link": "NV18"}], "distances": {"nodes": [], "values": []}, "allowed": None,
        "software": {"driver": driver, "kernel": "6.8"}, "notes": [],
    }  # fmt: skip


def make_run(
    place: Path, number: int, checks: Mapping[str, Sequence[JudgedMetric]], nodes: Sequence[str] = ("n",),
    machine: Mapping[str, Any] | None = None, system: str = "s", quick: bool = False, version: str = "1.0", **parts: Any,
) -> Path:  # fmt: skip
    """A run directory below ``place``; ``number`` is the minute of 2026-11-20 in which it began, ``parts`` are of its verdicts."""
    folder = place / "reports" / system / f"run{number}"
    time = f"2026-11-20T09:{number:02d}:00Z"
    folder.mkdir(parents=True)
    about = {
        "schema": "nearfar-run/1",
        "system": system,
        "started": time,
        "command": ["nearfar", "validate"],
        "verdict": "PASS",
    }
    (folder / "run.json").write_text(json.dumps(about))
    for node in nodes:
        (folder / node).mkdir()
        (folder / node / "node.json").write_text(json.dumps(machine or node_json()))
        for check, metrics in checks.items():
            info = MeasurementInfo(
                "measured", node, None, None, "nearfar-copy", version, quick, time, 3.0 + number, None, ()
            )
            verdict = judged(
                check, *metrics, **{"node": node, "system": system, "time": time, "measurement": info, **parts}
            )
            (folder / node / check).mkdir()
            (folder / node / check / "verdict.json").write_text(verdict_file.dump(verdict))
    return folder
