"""Synthetic run directories: invented figures in the real formats, for tests of what reads runs. Nothing here was measured.

``python tests/data/runs/synthetic.py DIRECTORY`` writes every scenario below DIRECTORY, to be looked at.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from nearfar.base import Finding
from nearfar.cells import parse
from nearfar.measurement import Unmeasured, without_samples
from nearfar.verdict import JudgedMetric, JudgedReference, Verdict, document_facts, verdict_file
from nearfar.verdict.references import question_of

GIB = 1 << 30
STARTED = "2026-11-20T09:00:00Z"
HALF_WIDTH = 0.0012  # of the interval of a median, relative


def cpu_list(first: int, count: int) -> str:
    return f"{first}-{first + count - 1}" if count > 1 else f"{first}"


def make_node(
    hostname: str, packages: int = 1, numa_per_package: int = 1, gpus: Iterable[int | None] = (), gpu_name: str = "NVIDIA H200",
    gen: int = 5, cores: int = 16, nvlink: str | None = None, nics: Iterable[int] = (), switches: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """A node document; ``gpus`` and ``nics`` give the NUMA node of each device (None: the system does not say)."""
    numa = [
        {
            "index": i,
            "package": i // numa_per_package,
            "cpus": cpu_list(i * cores, cores),
            "memory": 64 * GIB,
            "kind": "host",
            "gpu": None,
        }
        for i in range(packages * numa_per_package)
    ]
    devices = []
    for index, where in enumerate(gpus):
        bus = 0x1B + 0x10 * index
        devices.append({
            "index": index, "pci": f"0000:{bus:02x}:00.0", "uuid": f"GPU-{index:08x}-5eed-4000-8000-000000000000", "name": gpu_name,
            "numa_node": where, "package": None if where is None else where // numa_per_package,
            "uplinks": [f"0000:{bus - 1:02x}:00.0"] + ([f"0000:{bus - 4:02x}:00.0"] if switches else []),
            "link": {"kind": "pcie", "gen": 1, "width": 16, "max_gen": gen, "max_width": 16},
            "nvlink_generation": 4 if nvlink else None, "nvlinks": 18 if nvlink else None, "memory": 141 * GIB,
            "mig": False, "ecc": True, "visible": True,
        })  # fmt: skip
    ports = []
    for index, where in enumerate(nics):
        near = next((d for d in devices if d["numa_node"] == where), None)
        uplinks = [f"0000:{0xA0 + index:02x}:01.0"] + (near["uplinks"][1:] if near and switches else [])
        ports.append(
            {
                "name": f"mlx5_{index}",
                "pci": f"0000:{0xA1 + index:02x}:00.0",
                "numa_node": where,
                "package": where // numa_per_package,
                "link": {"kind": "pcie", "gen": 5, "width": 16, "max_gen": 5, "max_width": 16},
                "uplinks": uplinks,
            }
        )
    pairs = (
        [{"gpus": [a, b], "link": nvlink} for a in range(len(devices)) for b in range(a + 1, len(devices))]
        if nvlink
        else []
    )
    values = [[10 if a == b else 12 if a["package"] == b["package"] else 21 for b in numa] for a in numa]
    return {
        "hostname": hostname, "product": "Synthetic 1U", "packages": [
            {"index": p, "cpus": cpu_list(p * numa_per_package * cores, numa_per_package * cores)} for p in range(packages)],
        "numa_nodes": numa, "gpus": devices, "nics": ports, "peers": pairs,
        "distances": {"nodes": [n["index"] for n in numa], "values": values}, "allowed": None,
        "software": {"driver": "580.159", "cuda": "13.0", "kernel": "6.1.0-40", "hwloc": "2.9.0", "nearfar": "0.1.0"},
    }  # fmt: skip


class Document:
    """A measurement document under construction; rates come from ``rate_of`` with a seeded jitter."""

    def __init__(self, node: dict[str, Any], program: str, modelled: bool = False, seed: int = 1) -> None:
        self.node, self.modelled, self.random = node, modelled, random.Random(seed)
        self.raw: dict[str, Any] = {
            "schema": "nearfar-measurement/2", "kind": "modelled" if modelled else "measured",
            "program": {"name": program, "version": "0.1.0", "command": [f"build/bin/{program}", "--json"]},
            "started": STARTED, "seconds": 4.8, "node": node, "results": [], "skipped": [], "failed": [],
        }  # fmt: skip
        if modelled:
            self.raw["program"] = {
                "name": "nearfar predict",
                "version": "0.1.0",
                "command": ["nearfar", "predict", "--json"],
            }
            self.raw["node_type"] = "keeneland"

    def rate(self, value: float) -> dict[str, Any]:
        if self.modelled:
            return {
                "unit": "GB/s",
                "median": value,
                "mad": 0.0,
                "ci": [value, value],
                "min": value,
                "max": value,
                "n": 1,
                "samples": [value],
            }
        samples = [round(value * (1 + self.random.gauss(0, HALF_WIDTH)), 3) for _ in range(9)]
        ordered = sorted(samples)
        return {"unit": "GB/s", "median": ordered[4], "mad": round(value * HALF_WIDTH * 0.67, 4), "ci": [ordered[1], ordered[7]],
                "min": ordered[0], "max": ordered[-1], "n": 9, "samples": samples}  # fmt: skip

    def add(
        self, flows: dict[str, float], ceiling: float | None, quantity: str = "copy", limited_by: tuple[str, ...] = ()
    ) -> None:
        entries = []
        for flow, value in flows.items():
            numa = int(flow.replace("/triad", "").split(":")[1 if flow[0] in "gc" else 0][1:])
            place = self.node["numa_nodes"][numa]
            driver = int(flow[1 : flow.index(":")]) if flow[0] == "c" else numa
            entries.append({"flow": flow, "rate": self.rate(value), "ceiling": ceiling, "cpus": self.node["numa_nodes"][driver]["cpus"],
                            "memory_nodes": [place["index"]], "link": {"gen": 5, "width": 16}})  # fmt: skip
            if quantity == "stream":
                entries[-1]["best"] = round(value * 1.01, 2)
                del entries[-1]["link"]
        result = {"quantity": quantity, "cell": "+".join(flows), "bytes": 268435456, "converged": True, "verified": True,
                  "flows": entries, "seconds": 0.07, "method": "latched" if len(flows) == 1 else "windowed"}  # fmt: skip
        if len(flows) > 1:
            result["total"] = self.rate(sum(e["rate"]["median"] for e in entries))
        if limited_by:
            result["limited_by"] = list(limited_by)
        self.raw["results"].append(result)


def path_class(node: dict[str, Any], numa: int, device: dict[str, Any]) -> str:
    if len([n for n in node["numa_nodes"] if n["kind"] == "host"]) == 1:
        return "sole"
    if device["numa_node"] is None:
        return "unknown"
    if device["numa_node"] == numa:
        return "near"
    return "on_socket" if node["numa_nodes"][numa]["package"] == device["package"] else "off_socket"


def stream_class(node: dict[str, Any], cores: int, memory: int) -> str:
    if cores == memory:
        return "local"
    return (
        "on_socket" if node["numa_nodes"][cores]["package"] == node["numa_nodes"][memory]["package"] else "off_socket"
    )


def encode(text: str) -> str:
    return text.replace(":", "_").replace("+", "__").replace("@", "_at_").replace("/", ".")


def class_of(node: dict[str, Any], cell: str) -> str:
    kinds = set()
    for flow in cell.replace("/triad", "").split("+"):
        a, b = flow.split(":")
        if a[0] == "c":
            kinds.add(stream_class(node, int(a[1:]), int(b[1:])))
        else:
            numa, gpu = (a, b) if a[0] == "n" else (b, a)
            kinds.add(path_class(node, int(numa[1:]), node["gpus"][int(gpu[1:])]))
    return kinds.pop() if len(kinds) == 1 else "mixed"


Expectation = Callable[[str, str, "str | None"], "tuple[float, float, float | None, str, str] | None"]


def judge(document: Document, check: str, system: str, expected: Expectation, **parts: Any) -> Verdict:
    """A verdict as a judge would give it: ``expected(class, cell, flow)`` gives (value, lower, degraded below, origin, note)."""
    node, metrics = document.node, []
    for result in document.raw["results"]:
        cell = result["cell"]
        kind = class_of(node, cell)
        lone = len(result["flows"]) == 1
        entries = [(None if lone else f["flow"], f["rate"], f["ceiling"]) for f in result["flows"]]
        if "total" in result:
            entries.append((None, result["total"], None))
        for flow, rate, ceiling in entries:
            name = f"{kind}.{encode(cell)}" + ("" if lone else f".of.{encode(flow)}" if flow else ".total")
            metrics.append(_metric(name, cell, flow, kind, result, rate, ceiling, expected(kind, cell, flow)))
    metrics += _ratios(metrics)
    findings = tuple(Finding(**finding) for finding in parts.get("findings", []))
    reasons = [f.reason for f in findings if f.verdict == "FAIL"]
    reasons += [m.reason for v in ("FAIL", "INDETERMINATE", "DEGRADED") for m in metrics if m.verdict == v]
    reasons += [f.reason for f in findings if f.verdict != "FAIL"]
    every = {m.verdict for m in metrics} | {f.verdict for f in findings} | {"PASS"}
    failed, skipped = (
        tuple(Unmeasured(e["cell"], e["reason"], e["code"]) for e in document.raw[key]) for key in ("failed", "skipped")
    )
    return Verdict(
        check=check, system=system, partition="default", environ="system", node=node["hostname"], kind=document.raw["kind"],
        time=STARTED, verdict=next(v for v in ("FAIL", "INDETERMINATE", "DEGRADED", "PASS") if v in every),
        reasons=tuple(reasons), metrics=tuple(metrics), findings=findings, missing=tuple(parts.get("missing", [])),
        failed=failed, skipped=skipped, left_out=(), measurement=document_facts.info(document.raw),
        references=tuple(parts.get("references", [])), software=node["software"], document=without_samples(document.raw),
    )  # fmt: skip


def _metric(name: str, cell: str, flow: str | None, kind: str, result: dict[str, Any], rate: dict[str, Any],
            ceiling: float | None, expected: tuple[float, float, float | None, str, str] | None) -> JudgedMetric:  # fmt: skip
    value, verdict, reason, reference, degraded = rate["median"], "PASS", None, None, None
    if expected is None:
        verdict, reason = "INDETERMINATE", f"{cell}: no reference applies to this figure"
    else:
        target, lower, degraded, origin, note = expected
        reference = JudgedReference(target, lower, None, "GB/s", origin, note, "older" in note)
        subject = sentence_subject(flow or cell)
        if value < lower:
            verdict, reason = "FAIL", f"{subject}: {value:.1f} GB/s, expected at least {lower:.1f} ({origin})"
        elif degraded is not None and value < degraded:
            verdict, reason = "DEGRADED", f"{subject}: {value:.1f} GB/s, below {degraded:.1f} ({origin})"
    parsed, one = parse(cell), None if flow is None else parse(flow).flows[0]
    return JudgedMetric(
        name=name, quantity=result["quantity"], subject=cell, flow=one, bytes=result["bytes"], path_class=kind,
        question=question_of(parsed, one, name.endswith(".total")), derived="", gpus=document_facts.gpus_of(flow or cell),
        engine=document_facts.engine_of(result["quantity"], flow or cell), value=value, unit="GB/s", interval=tuple(rate["ci"]),
        n=rate["n"], least=rate["min"], most=rate["max"], samples=tuple(rate["samples"]), converged=result["converged"],
        verified=result["verified"], limited_by=tuple(result.get("limited_by", [])), ceiling=ceiling, rows=(name,), beside=(),
        remeasured=False, throttled=False, contended=False, reference=reference, degraded_below=degraded, baseline=None,
        verdict=verdict, reason=reason,
    )  # fmt: skip


def sentence_subject(flow: str) -> str:
    a, b = flow.replace("/triad", "").split("+")[0].split(":")
    if a[0] == "c":
        return f"STREAM triad, cores of NUMA node {a[1:]} on memory of NUMA node {b[1:]}"
    gpu, numa, words = (b, a, "host to device from") if a[0] == "n" else (a, b, "device to host to")
    return f"GPU {gpu[1:]}, {words} NUMA node {numa[1:]}"


def _ratios(metrics: list[JudgedMetric]) -> list[JudgedMetric]:
    """Far over near, for each far host-device figure whose near twin was measured."""
    copies = [metric for metric in metrics if metric.quantity == "copy"]
    near = {_load(metric): metric.value for metric in copies if metric.path_class == "near"}
    found = []
    for metric in copies:
        if metric.path_class not in ("on_socket", "off_socket") or _load(metric) not in near:
            continue
        ratio = round(metric.value / near[_load(metric)], 4)
        verdict = "PASS" if ratio >= 0.55 else "FAIL"
        name = f"{metric.path_class}_over_near.{metric.name.partition('.')[2]}"
        why = f"{metric.subject}: {ratio:.2f} of the near figure, expected at least 0.55"
        found.append(replace(
            metric, name=name, rows=(name,), quantity="ratio", derived="over_near", value=ratio, unit="1", interval=None,
            ceiling=None, least=None, most=None, samples=(), limited_by=(), degraded_below=None, verdict=verdict,
            reason=None if verdict == "PASS" else why,
            reference=JudgedReference(0.9, 0.55, None, "1", "prediction", "", False),
        ))  # fmt: skip
    return found


def _load(metric: JudgedMetric) -> tuple[str, str]:
    """What is moved, without saying from which NUMA node: the GPU, the direction and the load."""

    def blank(text: str | None) -> str:
        flows = (text or "").split("+")
        return "+".join(":".join("n" if end[0] == "n" else end for end in flow.split(":")) for flow in flows if flow)

    return blank(metric.subject), blank(str(metric.flow) if metric.flow else None)


def host_device(document: Document, rate_of: Callable[[str, int, int, bool], float | None], ceiling: float,
                limits: Callable[[str, int, int], tuple[str, ...]] = lambda *_: ()) -> None:  # fmt: skip
    """The host-device matrix; ``rate_of(direction, numa, gpu, both)`` in GB/s, None leaves the cell out."""
    for gpu in (g["index"] for g in document.node["gpus"]):
        for numa in (n["index"] for n in document.node["numa_nodes"] if n["kind"] == "host" and n["memory"]):
            there, back = f"n{numa}:g{gpu}", f"g{gpu}:n{numa}"
            for flow, direction in ((there, "h2d"), (back, "d2h")):
                value = rate_of(direction, numa, gpu, False)
                if value is not None:
                    document.add({flow: value}, ceiling, limited_by=limits(direction, numa, gpu))
            pair = rate_of("h2d", numa, gpu, True), rate_of("d2h", numa, gpu, True)
            if pair[0] is not None and pair[1] is not None:
                document.add({there: pair[0], back: pair[1]}, ceiling, limited_by=limits("both", numa, gpu))


def stream(document: Document, local: float, on_socket: float, off_socket: float) -> None:
    nodes = [n["index"] for n in document.node["numa_nodes"] if n["kind"] == "host" and n["cpus"]]
    rates = {"local": local, "on_socket": on_socket, "off_socket": off_socket}
    for cores in nodes:
        for memory in nodes:
            document.add(
                {f"c{cores}:n{memory}/triad": rates[stream_class(document.node, cores, memory)]}, None, "stream"
            )
    if len(nodes) > 1:
        document.add({f"c{n}:n{n}/triad": local * 0.97 for n in nodes}, None, "stream")


class Run:
    """A run directory under construction."""

    def __init__(
        self, directory: Path, system: str, real: list[str], modelled: list[str] = (), hostname: str = "node"
    ) -> None:  # type: ignore[assignment]
        self.directory = directory
        self.raw: dict[str, Any] = {
            "schema": "nearfar-run/1",
            "system": system,
            "started": STARTED,
            "seconds": 12.4,
            "command": ["./validate"],
            "hostname": hostname,
            "real": list(real),
            "modelled": list(modelled),
            "expected_cases": [],
            "ran_cases": [],
            "missing_cases": [],
            "stages": {"reframe": 9.1, "programs": 5.9},
        }
        self.verdicts: list[Verdict] = []

    def check(self, folder: str, verdict: Verdict, document: Document | None, stderr: str = "") -> None:
        place = self.directory / folder / verdict.check
        place.mkdir(parents=True, exist_ok=True)
        (place / "verdict.json").write_text(verdict_file.dump(verdict))
        (place / "stderr.txt").write_text(stderr)
        if document is not None:
            (place / "document.json").write_text(json.dumps(document.raw))
        case = {"name": f"{verdict.check} @{verdict.system}:{verdict.partition}+{verdict.environ}", "check": verdict.check,
                "system": verdict.system, "partition": verdict.partition, "node": verdict.node}  # fmt: skip
        self.raw["expected_cases"].append(case)
        self.raw["ran_cases"].append(
            {**case, "result": "fail" if verdict.verdict in ("FAIL", "INDETERMINATE") else "pass"}
        )
        self.verdicts.append(verdict)

    def node(self, folder: str, node: dict[str, Any]) -> None:
        (self.directory / folder).mkdir(parents=True, exist_ok=True)
        (self.directory / folder / "node.json").write_text(json.dumps(node))

    def missing(self, check: str, system: str, node: str) -> None:
        case = {
            "name": f"{check} @{system}:default+system",
            "check": check,
            "system": system,
            "partition": "default",
            "node": node,
        }
        self.raw["expected_cases"].append(case)
        self.raw["missing_cases"].append(case)

    def finish(self) -> Path:
        every = {v.verdict for v in self.verdicts if v.kind == "measured"} | (
            {"INDETERMINATE"} if self.raw["missing_cases"] else set()
        )
        worst = next((v for v in ("FAIL", "INDETERMINATE", "DEGRADED", "PASS") if v in every), "INDETERMINATE")
        self.raw.update(verdict=worst, exit_code={"FAIL": 1, "INDETERMINATE": 3}.get(worst, 0))
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "run.json").write_text(json.dumps(self.raw))
        return self.directory


def topology(node: dict[str, Any], modelled: bool = False) -> Document:
    document = Document(node, "nearfar-copy", modelled)
    document.raw["gpus_under_load"] = [
        {"index": g["index"], "link": {"gen": g["link"]["max_gen"], "width": 16}, "throttle": [], "replays": 0}
        for g in node["gpus"]
    ]
    return document


def h200_reference(kind: str, cell: str, flow: str | None) -> tuple[float, float, float | None, str, str]:
    """Nominal PCIe 5 x16 (58.5 GB/s payload), as the prediction expects it; STREAM from siblings."""
    if cell.startswith("c"):
        return 212.0, 180.0, 205.0, "published", ""
    if "+" in cell and flow is None:
        return 99.4, 70.2, 99.4, "prediction", "both directions at once, 0.85 of the payload ceiling each"
    return (
        (49.7, 35.1, 49.7, "prediction", "")
        if "+" in cell
        else (53.8, 35.1, 53.8, "prediction", "copy engine alone, 0.92 of the payload ceiling")
    )


def h200_rate(direction: str, numa: int, gpu: int, both: bool) -> float:
    return {("h2d", False): 55.56, ("d2h", False): 55.42, ("h2d", True): 52.36, ("d2h", True): 50.70}[direction, both]


def healthy(directory: Path, hostname: str = "h200-01") -> Path:
    """Four H200s on one NUMA node (a virtual machine: the system does not report where the GPUs are), all as expected."""
    node = make_node(hostname, gpus=[None] * 4, nvlink="NV18", cores=64)
    run = Run(directory, "local", ["local"], hostname=hostname)
    run.node(hostname, node)
    under_load = topology(node)
    run.check(hostname, judge(under_load, "topology_check", "local", h200_reference), under_load)
    memory = Document(node, "nearfar-copy", seed=2)
    stream(memory, 214.0, 0, 0)
    run.check(hostname, judge(memory, "host_memory_check", "local", h200_reference), memory)
    copies = Document(node, "nearfar-copy", seed=3)
    host_device(copies, h200_rate, 58.5)
    run.check(hostname, judge(copies, "host_device_check", "local", h200_reference), copies)
    return run.finish()


def broken(directory: Path, hostname: str = "h200-07") -> Path:
    """The same node type: GPU 2 sends at half speed, GPU 1 is a little slow, GPU 3 is gone, and a check never ran."""
    node = make_node(hostname, gpus=[None] * 3, nvlink="NV18", cores=64)
    run = Run(directory, "redwood", ["redwood"], hostname=hostname)
    run.node(hostname, node)
    under_load = topology(node)
    under_load.raw["gpus_under_load"][1]["throttle"] = ["sw_power_cap"]
    under_load.raw["gpus_under_load"][2].update(link={"gen": 5, "width": 8}, replays=1204)
    findings = [
        {
            "subject": "gpus.count",
            "verdict": "FAIL",
            "reason": "3 GPUs, expected 4: GPU 3 (0000:4b:00.0) is absent",
            "hard": True,
        },
        {
            "subject": "g2.link.width",
            "verdict": "FAIL",
            "reason": "GPU 2 (0000:3b:00.0): PCIe width x8 under load, expected x16",
            "hard": True,
        },
        {
            "subject": "g1.throttle",
            "verdict": "DEGRADED",
            "reason": "GPU 1 (0000:2b:00.0): throttled by its power cap during the test",
            "hard": False,
        },
    ]
    run.check(hostname, judge(under_load, "topology_check", "redwood", h200_reference, findings=findings), under_load)
    run.missing("host_memory_check", "redwood", hostname)
    copies = Document(node, "nearfar-copy", seed=3)
    slow = {("d2h", 2, False): 27.1, ("d2h", 2, True): 26.2, ("h2d", 2, True): 51.1, ("h2d", 1, False): 52.9}
    host_device(copies, lambda d, n, g, both: slow.get((d, g, both), h200_rate(d, n, g, both)), 58.5)
    for cell in ("n0:g3", "g3:n0", "n0:g3+g3:n0"):
        copies.raw["failed"].append({"cell": cell, "reason": "GPU 3 (0000:4b:00.0) is not there", "code": "absent"})
    findings = [
        {
            "subject": c["cell"],
            "verdict": "FAIL",
            "reason": f"{c['cell']}: {c['reason']}",
            "hard": True,
            "code": "cell.absent",
            "fields": {"cell": c["cell"], "error": c["reason"], "cells": [c["cell"]]},
        }
        for c in copies.raw["failed"]
    ]
    references = ["site/references/redwood.yaml"]
    verdict = judge(copies, "host_device_check", "redwood", h200_reference, findings=findings, references=references)
    run.check(hostname, verdict, copies, stderr="nearfar-copy: GPU 3 (0000:4b:00.0) is not there\n")
    return run.finish()


def keeneland_reference(kind: str, cell: str, flow: str | None) -> tuple[float, float, float | None, str, str]:
    if cell.startswith("c"):
        return 17.0, 10.0, None, "prediction", ""
    value = {"near": 5.7, "off_socket": 4.3}[kind]
    return (
        (value * 2, value, None, "prediction", "")
        if "+" in cell and flow is None
        else (value, value * 0.6, None, "published", "Spafford 2011")
    )


def modelled(directory: Path, hostname: str = "buildhost") -> Path:
    """A machine without GPUs: its memory for real, and the GPU checks on the modelled Keeneland node."""
    here = make_node(hostname, packages=1, numa_per_package=1, cores=2)
    run = Run(directory, "local", ["local"], ["keeneland"], hostname=hostname)
    run.node(hostname, here)
    under_load = topology(here)
    run.check(hostname, judge(under_load, "topology_check", "local", keeneland_reference), under_load)
    memory = Document(here, "nearfar-copy", seed=2)
    stream(memory, 19.0, 0, 0)
    run.check(hostname, judge(memory, "host_memory_check", "local", keeneland_reference), memory)
    node = make_node("keeneland", 2, 1, gpus=[0, 1, 1], gpu_name="Tesla M2070", gen=2, cores=6, nics=[0])
    copies = Document(node, "nearfar predict", modelled=True)

    def rate(direction: str, numa: int, gpu: int, both: bool) -> float:
        near = node["gpus"][gpu]["numa_node"] == numa
        lone = {("h2d", True): 5.7, ("d2h", True): 6.3, ("h2d", False): 4.9, ("d2h", False): 4.34}[direction, near]
        return round(lone * 0.93, 2) if both else lone

    host_device(copies, rate, 6.67, lambda d, n, g: (f"g{g}.{d}",) if node["gpus"][g]["numa_node"] == n else ("p0-p1",))
    run.check("keeneland-modelled", judge(copies, "host_device_check", "keeneland", keeneland_reference), copies)
    return run.finish()


def sub_numa(directory: Path, hostname: str = "hgx-0042") -> Path:
    """Eight GPUs, two packages in sub-NUMA clusters of four, NICs behind the GPUs' switches; one far path a little slow."""
    node = make_node(hostname, 2, 4, gpus=range(8), nvlink="NV18", cores=14, nics=range(8), switches=True)
    run = Run(directory, "redwood", ["redwood"], hostname=hostname)
    run.node(hostname, node)
    under_load = topology(node)
    run.check(hostname, judge(under_load, "topology_check", "redwood", h200_reference), under_load)
    memory = Document(node, "nearfar-copy", seed=2)
    stream(memory, 62.0, 57.0, 39.0)
    limits = {"local": 58.0, "on_socket": 52.0, "off_socket": 35.0, "mixed": 300.0}

    def memory_reference(kind: str, cell: str, flow: str | None) -> tuple[float, float, float | None, str, str]:
        value = 480.0 if "+" in cell and flow is None else limits[kind]
        return value, value * 0.9, None, "tuned", "12 nodes, from an older driver"

    run.check(hostname, judge(memory, "host_memory_check", "redwood", memory_reference), memory)
    copies = Document(node, "nearfar-copy", seed=3)

    def rate(direction: str, numa: int, gpu: int, both: bool) -> float | None:
        kind = path_class(node, numa, node["gpus"][gpu])
        factor = {"near": 1.0, "on_socket": 0.995, "off_socket": 0.78}[kind]
        if (numa, gpu) == (3, 5):
            factor = 0.61
        return None if (numa, gpu) == (7, 0) else h200_rate(direction, numa, gpu, both) * factor

    host_device(copies, rate, 58.5)
    for cell in ("n7:g0", "g0:n7", "n7:g0+g0:n7"):
        copies.raw["skipped"].append(
            {"cell": cell, "reason": "NUMA node 7 has 12 MiB free, 256 MiB are needed", "code": "no_memory"}
        )

    def reference(kind: str, cell: str, flow: str | None) -> tuple[float, float, float | None, str, str]:
        value = (
            {"near": 55.5, "on_socket": 55.2, "off_socket": 43.2}[kind]
            * (0.91 if "+" in cell else 1)
            * (2 if "+" in cell and not flow else 1)
        )
        return value, round(value * 0.85, 2), round(value * 0.97, 2), "tuned", "12 nodes"

    run.check(
        hostname,
        judge(copies, "host_device_check", "redwood", reference, references=["site/references/redwood.yaml"]),
        copies,
    )
    return run.finish()


def many_numa(directory: Path, hostname: str = "epyc-host") -> Path:
    """No GPU, two packages of eight NUMA nodes: a memory matrix alone."""
    node = make_node(hostname, 2, 8, cores=8)
    run = Run(directory, "local", ["local"], hostname=hostname)
    run.node(hostname, node)
    memory = Document(node, "nearfar-copy", seed=2)
    stream(memory, 38.0, 33.0, 19.0)
    run.check(hostname, judge(memory, "host_memory_check", "local", lambda *_: None), memory)
    return run.finish()


def one_gpu(directory: Path, hostname: str = "workstation") -> Path:
    """One GPU, one NUMA node."""
    node = make_node(hostname, gpus=[0], cores=16)
    run = Run(directory, "local", ["local"], hostname=hostname)
    copies = Document(node, "nearfar-copy", seed=3)
    host_device(copies, h200_rate, 58.5)
    run.check(hostname, judge(copies, "host_device_check", "local", h200_reference), copies)
    return run.finish()


SCENARIOS: dict[str, Callable[[Path], Path]] = {
    "healthy": healthy, "broken": broken, "modelled": modelled, "sub_numa": sub_numa, "many_numa": many_numa, "one_gpu": one_gpu,
}  # fmt: skip

if __name__ == "__main__":
    for scenario, write in SCENARIOS.items():
        print(write(Path(sys.argv[1]) / scenario))
