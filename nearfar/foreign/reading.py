"""Which tools' outputs a file holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from nearfar.base import CouldNotJudge, NearfarError
from nearfar.topology import parse_hwloc_xml

from . import (
    bandwidth_test,
    cleaning,
    nccl_tests,
    nvbandwidth,
    nvidia_smi_topo,
    osu_micro_benchmarks,
    p2p_bandwidth_latency_test,
    rocm_bandwidth_test,
    rocm_smi_topo,
    transferbench,
)
from .output import ForeignOutput

#: Each has ``TOOL`` (its name), ``SIGN`` (what its output has and no other's) and ``read``.
TOOLS: Sequence[ModuleType] = (
    nvbandwidth, p2p_bandwidth_latency_test, bandwidth_test, nccl_tests, osu_micro_benchmarks, rocm_bandwidth_test, transferbench,
    nvidia_smi_topo, rocm_smi_topo,
)  # fmt: skip
#: With what a tool's output begins, and the program that a prompt before it shows; where that line is missing, its ``SIGN`` still tells.
_STARTS: Sequence[tuple[ModuleType, re.Pattern[str], str]] = tuple(
    (tool, re.compile(rf"^(?:{start})", re.MULTILINE), program)
    for tool, start, program in (
        (nvbandwidth, r"nvbandwidth Version:|\{\s*\"nvbandwidth\"\s*:", "nvbandwidth"),
        (p2p_bandwidth_latency_test, r"\[P2P \(Peer-to-Peer\) GPU Bandwidth", "p2pBandwidthLatencyTest"),
        (bandwidth_test, r".*CUDA Bandwidth Test\] - Starting", "bandwidthTest"),
        (nccl_tests, r"# (?:nccl-tests version|Collective test starting|nThread)", "_perf"),
        (osu_micro_benchmarks, "# OSU MPI", "osu_"),
        (rocm_bandwidth_test, "RocmBandwidthTest Version:", "bandwidth"),
        (transferbench, "TransferBench v", "TransferBench"),
        (nvidia_smi_topo, nvidia_smi_topo.SIGN.pattern.removeprefix("^"), "nvidia-smi"),
    )
)
#: These read one run; the others all in a row, of the command before each, too.
_ONE_RUN = (nvbandwidth, p2p_bandwidth_latency_test, rocm_bandwidth_test, transferbench, nvidia_smi_topo)
XML = "hwloc's XML"
_TOPOLOGY = re.compile(
    r"(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE topology[^>]*>\s*)?<topology[\s>].*?(?:</topology>|\Z)", re.DOTALL
)
#: Bytes of a file that is read; whole logs of thousands of nodes are not one node's output.
LARGEST = 16 * 2**20


def can_be_imported() -> str:
    """What can be imported, as the end of a sentence."""
    return f"what ./kit/run left, output of {', '.join(tool.TOOL for tool in TOOLS)}, or {XML} of their node"


def content(path: Path) -> bytes:
    """A file's bytes. Raises ``NearfarError`` where it cannot be read, or is too large."""
    try:
        if not path.is_file():
            raise NearfarError(f"{path}: {'not a file' if path.exists() else 'no such file'}")
        if path.stat().st_size > LARGEST:
            raise NearfarError(
                f"{path}: {path.stat().st_size / 2**20:.0f} MiB are more than one node's output ({LARGEST // 2**20} MiB)"
            )
        return path.read_bytes()
    except OSError as error:
        raise NearfarError(f"{path}: cannot be read: {error.strerror}") from None


def outputs(name: str, data: bytes) -> list[ForeignOutput]:
    """The outputs in a file's bytes. Raises ``CouldNotJudge`` where there is none that nearfar knows, or what there is cannot be read;
    ``NearfarError`` where it is of several ranks that may be on different nodes."""
    found: list[ForeignOutput] = []
    labels: dict[str, dict[str, None]] = {}
    parts = cleaning.texts(data)
    for part, xml in ((each, shown[0]) for each in parts for shown in _TOPOLOGY.finditer(each.text)):
        if "<!ENTITY" in part.text:
            raise CouldNotJudge(f"{name}: declares entities, which hwloc never writes")
        try:
            found.append(ForeignOutput(XML, hostname=part.host or None, node=parse_hwloc_xml(xml)))
        except NearfarError as error:
            raise CouldNotJudge(f"{name}: {error}") from None
    for part, text in ((each, run) for each in parts for run in _runs(_TOPOLOGY.sub("", each.text))):
        for tool in TOOLS:
            try:
                output: ForeignOutput | None = tool.read(text) if tool.SIGN.search(text) else None
            except CouldNotJudge as error:
                raise CouldNotJudge(f"{name}: {error}") from None
            if output is not None:
                found.append(replace(output, hostname=output.hostname or part.host or None))
            if output is not None and output.figures and found[-1].hostname is None:
                labels.setdefault(tool.TOOL, {})[part.label] = None
    if several := next((each for each in labels.values() if len(each) > 1), None):
        first, second = (re.sub(r"([][.*])", r"\\\1", label) for label in list(several)[:2])
        raise NearfarError(
            f"{name}: its lines are of {len(several)} ranks, which may be on different nodes: import those of one at a time "
            f"(grep '^ *{first}' {name} > 1.txt; grep '^ *{second}' {name} > 2.txt)"
        )
    if not found:
        raise CouldNotJudge(f"{name}: nothing in it can be imported; nearfar reads {can_be_imported()}")
    return found


def _runs(text: str) -> list[str]:
    """A log cut where another tool's output begins, or another run's, with the command before it."""
    starts = sorted((at.start(), index) for index, (_, start, _) in enumerate(_STARTS) for at in start.finditer(text))
    cuts, before = [0], None
    for at, index in starts:
        tool, _, program = _STARTS[index]
        headless = before is None and any(other.SIGN.search(text[:at]) for other in TOOLS)
        if headless or (before is not None and (tool is not before or tool in _ONE_RUN)):
            shown = re.search(
                rf"(?:^|\n)([^\n]*[$#>%+] [^\n]*{program}[^\n]*\n(?:[^\n]*\n){{0,2}})\Z",
                text[max(cuts[-1], at - 1000) : at],
            )
            cuts.append(at - len(shown[1]) if shown else at)
        if tool is nvbandwidth and text[at] == "{":
            cuts.append(nvbandwidth.end_of_json(text, at))
        before = tool
    return [run for run in map(text.__getitem__, map(slice, cuts, [*cuts[1:], len(text)])) if run.strip()]
