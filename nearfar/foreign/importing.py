"""Files of other tools as a run: judged like one that nearfar measured, with its page.

It enters no history and no tune, and drains nobody.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from statistics import median

from nearfar import question, report, verdict
from nearfar.base import (
    CouldNotJudge,
    Finding,
    Message,
    NearfarError,
    files,
    listed,
    plural,
    short_host_name,
    site_directories,
    utc_text,
    write_atomically,
)
from nearfar.collective import parse_nics
from nearfar.measurement import Document, Metric, dump
from nearfar.model import link_limits
from nearfar.model.prediction import NodeType, load_node_type, of_topology
from nearfar.model.typical import load_experience, typical_rate
from nearfar.question import of_other_tools
from nearfar.run import expected_cases, run_file
from nearfar.site import environments, expectations
from nearfar.topology import Nic, Node
from nearfar.verdict import CaseInfo, case_files, references
from nearfar.verdict.references import Reference

from . import document, messages, node, p2p_bandwidth_latency_test, reading
from .output import ForeignOutput, LeftOut

#: The system of every such run: no site file's, so that nothing of a site takes it for its own.
SYSTEM = "foreign"
#: In the run directory: the whole document, and the files as they were given.
DOCUMENT, ORIGINALS = "foreign.json", "originals"
_PARTITION = "default"
_REPEATED = "it measured the same {} times, and the best counts; of two nodes import each by itself"
#: So many nodes get a page of one import.
_MOST_NODES = 1000
#: Of paths of an unknown class so many have to be so near their median.
_NEARLY_ALL, _ALIKE = 0.9, 0.05
#: The shares of copies from GPU to GPU over PCIe, of which healthy machines differ little.
_BETWEEN_GPUS = ("peers", "across", "fan")


@dataclass(frozen=True)
class ImportedOutput:
    """What became of one node's files: the run's directory with its page, and the exit code of its verdict. ``of_several``: the files
    are of other nodes too."""

    node: str
    folder: Path
    exit_code: int
    of_several: bool = False


def import_outputs(
    paths: Sequence[Path],
    node_type: str | None = None,
    name: str | None = None,
    numa: int | None = None,
    nics: str | None = None,
) -> Iterator[ImportedOutput]:
    """Judge the files and keep them as a run for each node that they name; a topology that names none is of each.

    ``node_type``: what the node is, a file of ``site/nodes/``; ``name``: the node's (None: as the files say, else made of their checksum);
    ``numa``: the NUMA node whose memory those tools used that do not say; ``nics``: the NICs of each node between which collectives ran,
    as ``8x400`` (None: as the topology has them). Raises ``NearfarError`` where the files are of different nodes and do not all name
    theirs, and at the end where one could not be judged.
    """
    contents = {str(path): reading.content(path) for path in paths}
    outputs = {file: reading.outputs(file, data) for file, data in contents.items()}
    import_node = partial(_import_node, node_type=node_type, name=name, numa=numa, nics=nics)
    every = [each for found in outputs.values() for each in found]
    hosts = list(dict.fromkeys(short_host_name(each.hostname) for each in every if each.hostname))
    if len(hosts) < 2 or any(each.node is None and not each.hostname for each in every):
        yield import_node(contents, outputs)
        return
    if len(hosts) > _MOST_NODES:
        raise NearfarError(f"the files are of {len(hosts)} nodes; import at most {_MOST_NODES} at a time")
    if name is not None:
        raise NearfarError(f"--name {name}: the files are of {len(hosts)} nodes: {', '.join(hosts)}")
    problems: dict[str, list[str]] = {}
    for host in hosts:
        own = {
            file: [each for each in found if not each.hostname or short_host_name(each.hostname) == host]
            for file, found in outputs.items()
        }
        own = {file: found for file, found in own.items() if found}
        try:
            yield replace(import_node({file: contents[file] for file in own}, own), of_several=True)
        except NearfarError as error:
            problems.setdefault(str(error), []).append(host)
    if problems:
        raise CouldNotJudge("; ".join(f"{listed(names, 1)}: {error}" for error, names in problems.items()))


def _import_node(
    contents: Mapping[str, bytes], outputs: Mapping[str, Sequence[ForeignOutput]], node_type: str | None, name: str | None,
    numa: int | None, nics: str | None,
) -> ImportedOutput:  # fmt: skip
    """The run of one node."""
    every = [each for found in outputs.values() for each in found]
    directories = site_directories()
    known = None if node_type is None else load_node_type(node_type, directories)
    made, numbers = _node(outputs, known, directories)
    if numa is not None and numa not in {memory.index for memory in made.host_numa_nodes}:
        has = ", ".join(f"n{memory.index}" for memory in made.host_numa_nodes)
        raise NearfarError(
            f"--numa {numa}: the node has {has}; name its topology too (nvidia-smi topo -m, lstopo --of xml)"
        )
    if nics is not None:
        made = replace(made, nics=_nics(made.nics, *parse_nics(nics)))
        known = known and replace(known, node=replace(known.node, nics=made.nics))
    digest = sha256(b"".join(sorted(contents.values()))).hexdigest()[:8]
    made = replace(made, hostname=name or made.hostname or f"unnamed-{digest}")
    whole, unplaced, repeated = document.make(every, made, numbers, numa)
    left_out = [*((each.title, one) for each in every for one in each.left_out), *unplaced]
    tools = list(dict.fromkeys(each.title for each in every if each.node is None))
    if not tools or not (whole.results or whole.failed or left_out):
        what = f"no figure of {', '.join(tools)}" if tools else "a topology alone"
        raise CouldNotJudge(
            f"{', '.join(contents)}: {what}: there is nothing to judge; name the files with figures too"
        )
    empty = [each for each in every if each.node is None and not (each.figures or each.left_out or each.failed)]
    left_out += [(each.title, LeftOut("its tests", "the output ends before them", unread=True)) for each in empty]
    notes = _notes(left_out, made, repeated)
    return _keep(contents, whole, tools, _verdicts(whole, notes, known, directories))


def _nics(known: tuple[Nic, ...], count: int, gbits: float) -> tuple[Nic, ...]:
    """So many NICs of such a rate: those of the topology where it has as many, else made-up ones."""
    nics = known if len(known) == count else tuple(Nic(f"nic{index}", "") for index in range(count))
    return tuple(replace(nic, settings={**nic.settings, "rate": f"{gbits:g} Gb/sec"}) for nic in nics)


def _node(
    outputs: Mapping[str, Sequence[ForeignOutput]], known: NodeType | None, directories: list[Path]
) -> tuple[Node, dict[int, int]]:
    models = expectations.gpu_models(directories)
    topologies = [(file, each) for file, found in outputs.items() for each in found if each.node is not None]
    for (first, one), (second, other) in itertools.pairwise(topologies):
        if one.tool == other.tool and one.node != other.node:
            raise NearfarError(
                f"{second}: its {other.tool} is of another node than {f'that of {first}' if first != second else 'the one before it'}: "
                "leave out what is not of the node that the figures are of"
            )
    # XML says more than topo -m, and a node type is what somebody reviewed.
    topologies.sort(key=lambda pair: pair[1].tool != reading.XML)
    given, named = (None, "") if not topologies else (topologies[0][1].node, topologies[0][0])
    if given is not None and len(topologies) > 1 and (beside := topologies[-1][1].node):
        # hwloc shows NVLink and xGMI only where it was built with NVML and ROCm's SMI.
        joined = {pair: link for pair, link in beside.peers.items() if re.fullmatch(r"XGMI|NV\d+", link)}
        if len(beside.gpus) == len(given.gpus):
            given = replace(given, peers=given.peers or joined)
        else:
            counts = f"{topologies[-1][0]} has {len(beside.gpus)} GPUs, and {named} {len(given.gpus)}"
            given = replace(given, notes=(*given.notes, f"{counts}: the links of the first are left out"))
    if known is not None:
        given, named = replace(known.node, hostname=""), f"--node {known.name}"
    made, numbers = node.make(outputs, given, named, models)
    return expectations.filled(made, models), numbers


def _verdicts(
    whole: Document, notes: Mapping[str, list[Finding]], known: NodeType | None, directories: list[Path]
) -> dict[str, tuple[Document, verdict.Verdict]]:
    """Each check's part of the document, and the verdict on it; what failed goes with the first."""
    parts: dict[str, list[int]] = {}
    for index, result in enumerate(whole.results):
        check = (
            of_other_tools.check_of(result.cell)
            if result.cell is not None
            else of_other_tools.check_of_subject(result.quantity)
        )
        if check:
            parts.setdefault(check, []).append(index)
    first = next(iter(parts), of_other_tools.NCCL if "nccl" in whole.raw else of_other_tools.NODE)
    verdicts = {}
    for check in dict.fromkeys((first, *parts, *notes)):
        own = document.part(whole, parts.get(check, []), check == first)
        verdicts[check] = own, _judge(question.named(check), own, notes.get(check, []), known, directories)
    return verdicts


def _keep(
    contents: Mapping[str, bytes], whole: Document, tools: list[str], verdicts: Mapping[str, tuple[Document, verdict.Verdict]]
) -> ImportedOutput:  # fmt: skip
    """Write the run's directory and its page."""
    host, started = whole.node.hostname, time.time()
    folder = files.new_run_directory(SYSTEM, started)
    cases, ran = [], []
    for check, (own, judged) in verdicts.items():
        info = (check, SYSTEM, _PARTITION, environments.SYSTEM)
        cases.append(expected_cases.ExpectedCase(*info, modelled=False, node=host, where=", ".join(contents)))
        ran.append(expected_cases.RanCase(*info, result="pass", reason="", node=host, seconds=0.0))
        case_files.keep(folder / host / check, own, judged, None)
    case_files.keep_node(folder / host, whole.node)
    write_atomically(folder / DOCUMENT, dump(whole))
    for number, (file, data) in enumerate(contents.items(), 1):
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", Path(file).name)[-100:]
        write_atomically(folder / ORIGINALS / f"{number}-{plain}", data)
    about = {
        "system": SYSTEM, "command": ["nearfar", "import", *contents], "hostname": host, "interrupted": False, "foreign": tools,
    }  # fmt: skip
    word = run_file.account(folder, cases, about, started, time.time() - started, "", ran=ran)
    report.build(folder)
    return ImportedOutput(host, folder, run_file.EXIT_CODES[word])


def _notes(
    left_out: Sequence[tuple[str, LeftOut]], made: Node, repeated: Mapping[str, int]
) -> dict[str, list[Finding]]:
    """What is left out of each tool's output, and what is assumed of the node, by the check that would have it."""
    grouped: dict[tuple[str, str, str, Message], list[str]] = {}
    for title, each in dict.fromkeys(left_out):
        message = messages.UNREAD if each.unread else messages.KEPT if each.kept else messages.LEFT_OUT
        grouped.setdefault((title, each.why, each.check or of_other_tools.NODE, message), []).append(each.what)
    notes: dict[str, list[Finding]] = {}
    for (title, why, check, message), what in grouped.items():
        notes.setdefault(check, []).append(message.finding(title, tool=title, what=what, why=why))
    assumed = [messages.ASSUMED.finding("the node", what=note) for note in made.notes]
    assumed += [messages.ASSUMED.finding(title, what=_REPEATED.format(times)) for title, times in repeated.items()]
    return {**notes, **({of_other_tools.NODE: [*notes.get(of_other_tools.NODE, []), *assumed]} if assumed else {})}


def _judge(
    asked: question.Question, own: Document, notes: Sequence[Finding], known: NodeType | None, directories: list[Path]
) -> verdict.Verdict:
    """The verdict on one check: by figures of the GPUs' model, a node type's, and what is alike on the node. The files are not asked for
    what they lack."""
    figures = asked.figures(own, own.node)
    resolved = references.of_question(
        asked, figures, references.for_partition(None, known, directories), own.node, node_type=known,
        ranges=references.model_ranges.read(directories),
    )  # fmt: skip
    rates = [metric for metric in figures if isinstance(metric, Metric)]
    resolved |= dict.fromkeys(_unlike(rates), None)
    resolved |= _typical(rates, resolved, own.node, known, directories)
    resolved |= _of_few_copies(rates, resolved, own)
    if asked.name == of_other_tools.NCCL:
        notes = [*notes, *asked.findings(own)]
    subject = CaseInfo(asked.name, SYSTEM, _PARTITION, environments.SYSTEM, own.node.hostname, utc_text())
    return verdict.judge(own, resolved, subject=subject, metrics=figures, findings=notes, kind=document.KIND)


def _typical(
    figures: Sequence[Metric], resolved: Mapping[str, Reference | None], made: Node, known: NodeType | None,
    directories: list[Path],
) -> Iterator[tuple[str, Reference]]:  # fmt: skip
    """What healthy machines carry from GPU to GPU over PCIe, by the name of a figure that nothing else judges: below half of it DEGRADED.
    Of all published healthy nodes the slowest has 0.74 of it."""
    node_type = known or of_topology("", made, directories)
    experience = load_experience(tuple(directories))
    for metric in figures:
        if resolved.get(metric.name) is not None or metric.flow is not None or metric.derived:
            continue
        healthy = typical_rate(metric.cell, node_type, experience, until_last=True)
        if healthy is not None and healthy.share.startswith(_BETWEEN_GPUS):
            note = f"typical of {plural(healthy.nodes, 'published node')}; half of it is too little"
            bound = link_limits.BROKEN * healthy.typical
            found = Reference(healthy.typical, None, None, metric.unit, "prediction", note, bound, accepts=False)
            yield metric.name, found.worded()


def _of_few_copies(
    figures: Sequence[Metric], resolved: Mapping[str, Reference | None], own: Document
) -> Iterator[tuple[str, Reference]]:
    """What p2pBandwidthLatencyTest alone says of copies between GPUs is DEGRADED only below what its few copies reach, by name."""
    tools = {
        each["cell"]: {method.partition(":")[0] for method in each["method"].split("; ")} for each in own.raw["results"]
    }
    for metric in figures:
        known, flows = resolved.get(metric.name), metric.cell.flows
        alone = tools.get(str(metric.cell)) == {p2p_bandwidth_latency_test.TOOL} and flows[0].kind != "local"
        if alone and known is not None and known.degraded_below is not None:
            part = 1 - p2p_bandwidth_latency_test.COLD * metric.value / (len(flows) if metric.total else 1)
            yield metric.name, replace(known, degraded_below=known.degraded_below * part).worded()


def _unlike(figures: Sequence[Metric]) -> Iterator[str]:
    """The figures that nothing is known to be like, by name.

    Copies through host memory differ by half within healthy nodes: the driver, the bridges and the CPU decide. Paths of an unknown class
    are alike where nearly all of them are about as fast, as through one switch.
    """
    groups: dict[str, list[Metric]] = {}
    for metric in figures:
        if any(flow.staged for flow in metric.cell.flows):
            yield metric.name
        elif metric.path_class == "unknown":
            groups.setdefault(references.question_of(metric.cell, metric.flow, metric.total), []).append(metric)
    for group in groups.values():
        middle = median(metric.value for metric in group)
        if sum(abs(metric.value - middle) <= _ALIKE * middle for metric in group) < _NEARLY_ALL * len(group):
            yield from (metric.name for metric in group)
