"""A kit's file as a run: each document judged as on the node itself, the run's page, its place in the history."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from nearfar import history, measurement, question, report, verdict
from nearfar.base import (
    MADE_UP,
    Finding,
    NearfarError,
    did_you_mean,
    files,
    reports_directory,
    site_directories,
    utc_text,
    write_atomically,
)
from nearfar.cells import parse
from nearfar.measurement import Document
from nearfar.question import CELLS, Question
from nearfar.run import expected_cases, run_file, validation
from nearfar.site import Partition, System, environments, expectations, systems
from nearfar.topology import Node, node_to_document
from nearfar.verdict import CaseInfo, case_files, references

from . import gpu_ranges, messages
from .result_file import KitCase, KitResult, not_understood

#: The system of a node that no site file is about: the key of its history, and of references that a site may write for it.
SYSTEM = "imported"
#: In the run directory: where the run came from, and hwloc's XML of the node.
ORIGIN, TOPOLOGY, WORDS = "kit.json", "topology.xml", "words"


@dataclass(frozen=True)
class Imported:
    """What became of a kit's file: the run's directory with its page, and the exit code of its verdict."""

    folder: Path
    node: str
    system: str
    exit_code: int


@dataclass(frozen=True)
class _Site:
    """What the site's files say of the node."""

    system: System
    partition: Partition
    node: Node
    expected: Node


def import_file(result: KitResult, system: str | None = None, node: str | None = None) -> Imported:
    """Judge a kit's file and keep it as a run.

    ``system``: by whose references (None: the one that claims the host, else ``SYSTEM``). ``node``: the node's name (None: its own; of an
    anonymous file one made of the file's checksum). Raises ``NearfarError`` for a system that is unknown or has other GPUs, and for a
    file that was imported before.
    """
    name = node or (f"anonymous-{result.digest[:8]}" if result.anonymous else result.node.hostname)
    site = _site(result, system, name)
    _refuse_second(result, site.system.name)
    folder = files.new_run_directory(site.system.name, result.started.timestamp())
    try:
        return _run_of(result, site, folder, name)
    except MADE_UP as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise not_understood(result.file, error) from None


def _run_of(result: KitResult, site: _Site, folder: Path, name: str) -> Imported:
    """The file as a run in ``folder``."""
    place = folder / name
    cases, ran = [], []
    for case in result.cases:
        asked = question.named(case.check)
        judged = _judge(asked, case, result, site, name)
        info = (case.check, site.system.name, site.partition.name, environments.SYSTEM)
        cases.append(expected_cases.ExpectedCase(*info, modelled=False, node=name, where=str(result.file)))
        ran.append(expected_cases.RanCase(*info, result="pass", reason="", node=name, seconds=case.seconds))
        document = None if case.document is None else _named(case.document, name)
        case_files.keep(place / case.check, document, judged, None)
        write_atomically(place / case.check / "stderr.txt", case.said)
    case_files.keep_node(place, site.node)
    if result.topology is not None:
        write_atomically(place / TOPOLOGY, result.topology)
    for word, content in result.words.items():
        write_atomically(place / WORDS / word, content)
    origin = {"file": result.file.name, "sha256": result.digest, "imported": utc_text(), **result.raw}
    write_atomically(folder / ORIGIN, json.dumps(origin, indent=1) + "\n")
    about = {
        "system": site.system.name, "command": ["kit/run", *(["--quick"] if result.raw["level"] == "quick" else [])],
        "hostname": name, "interrupted": False,
    }  # fmt: skip
    started = result.started.timestamp()
    word = run_file.account(folder, cases, about, started, float(result.raw["seconds"]), "", ran=ran)
    report.build(folder)
    gpu_ranges.write(folder, result, name)
    validation.remember(folder)
    return Imported(folder, name, site.system.name, run_file.EXIT_CODES[word])


def _refuse_second(result: KitResult, system: str) -> None:
    for path in sorted((reports_directory() / system).glob(f"*/{ORIGIN}")):
        try:
            same = json.loads(path.read_text(encoding="utf-8")).get("sha256") == result.digest
        except (OSError, ValueError, AttributeError):
            continue
        if same:
            raise NearfarError(f"{result.file}: imported before: {path.parent}; nearfar report makes its page again")


def _site(result: KitResult, wanted: str | None, name: str) -> _Site:
    """The system and partition whose references judge the node, and the node with its name and what words of the kernel add."""
    directories = site_directories()
    known = systems.load_all(directories)
    product = result.product
    if wanted is not None and wanted not in {SYSTEM, *known}:
        raise NearfarError(f"--system {wanted}: no such system file{did_you_mean(wanted, [SYSTEM, *sorted(known)])}")
    system = systems.claims(result.node.hostname, product, known) if wanted is None else known.get(wanted)
    observed = replace(
        result.node, hostname=name, product=product or result.node.product, virtual_machine=result.virtual_machine
    )
    models = expectations.gpu_models(directories)
    if system is None:
        features = ("gpu",) if observed.gpus else ()
        description = "a node that a kit measured, which no system file claims"
        partition = Partition("default", description, features=features, references=SYSTEM)
        system = System(name=SYSTEM, partitions={"default": partition}, description=description)
        return _Site(system, partition, observed, partition.expected_node(None, observed, models))
    own = sorted(gpu.name or "" for gpu in observed.gpus)
    others = []
    for partition in system.partitions.values():
        if partition.modelled:
            continue
        node_type = partition.load_node_type(directories)
        node = partition.expected_node(node_type, observed, models)
        theirs = sorted(gpu.name or "" for gpu in node.gpus)
        if own == theirs or node_type is None:
            return _Site(system, partition, observed, node)
        others.append(f"{partition.name}: {_counted(theirs)}")
    description = "; ".join(others) or "none of its partitions is measured"
    raise NearfarError(
        f"the node has {_counted(own)}, and the system '{system.name}' has other ones ({description}): --system {SYSTEM} judges it by "
        f"no site's references"
    )


def _counted(names: Sequence[str]) -> str:
    return ", ".join(f"{names.count(name)} × {name or 'GPU'}" for name in dict.fromkeys(names)) or "no GPU"


def _named(document: Document, name: str) -> Document:
    """The same document of a node of this name."""
    return measurement.from_raw({**document.raw, "node": {**document.raw["node"], "hostname": name}}, document.source)


def _judge(asked: Question, case: KitCase, result: KitResult, site: _Site, name: str) -> verdict.Verdict:
    """The verdict on one check: what the kit asked is what had to be answered."""
    directories = site_directories()
    node_type = site.partition.load_node_type(directories)
    files = references.for_partition(site.partition.references, node_type, directories)
    document = None if case.document is None else _named(case.document, name)
    figures = [] if document is None else asked.figures(document, site.expected)
    software = {} if document is None else document.raw["node"].get("software", {})
    host = site.partition.host_of(site.node)
    resolved = references.of_one_measurement(references.of_question(
        asked, figures, files, site.expected, host, node_type=node_type, stamp=software,
        ranges=references.model_ranges.read(directories), system=site.system.name,
    ))  # fmt: skip
    subject = CaseInfo(
        asked.name, site.system.name, site.partition.name, environments.SYSTEM, name,
        utc_text(result.started + timedelta(seconds=float(result.raw["seconds"]))),
    )  # fmt: skip
    cells = [parse(cell) for cell in case.asked]
    findings = [*_program(case), *asked.findings(document), *_unasked(asked, case, site.expected)]

    def judge(past: Mapping[str, verdict.Baseline], findings: Sequence[Finding]) -> verdict.Verdict:
        return verdict.judge(
            document, resolved, past, subject=subject, metrics=figures, asked=cells, findings=findings, host=host,
            quantities=asked.quantities,
        )  # fmt: skip

    first = judge({}, findings)
    past, notes = _past(first, site.node, host)
    return judge(past, [*findings, *notes]) if past or notes else first


def _program(case: KitCase) -> list[Finding]:
    """What the end of a program says where it left no document."""
    if case.document is not None:
        return []
    lines = [line.strip() for line in case.said.decode("utf-8", "replace").splitlines() if line.strip()]
    line = lines[-1] if lines else None
    return [messages.NO_DOCUMENT.finding("program", program=CELLS, exit_code=case.exit_code, line=line)]


def _unasked(asked: Question, case: KitCase, node: Node) -> list[Finding]:
    """How much of a check a kit does not ask."""
    ours = {str(cell) for cell in asked.cells(node)[0]}
    missing = sorted(ours - set(case.asked))
    if not missing:
        return []
    return [messages.PARTIAL.finding("cells", measured=len(ours) - len(missing), cells=len(ours), missing=missing)]


def _past(judged: verdict.Verdict, node: Node, host: str) -> tuple[Mapping[str, verdict.Baseline], list[Finding]]:
    """The node's own healthy runs, and a note where they cannot be read."""
    if history.no_polars() is not None or not judged.metrics:
        return {}, []
    past = history.NodeHistory()
    try:
        return past.of(judged, node_to_document(node)), past.of_host(judged, host)
    except NearfarError as error:
        return {}, [history.messages.UNREADABLE.finding(verdict.HISTORY, error=str(error))]
