"""One look at this node for the health check: its parts and links against the site's file and the last run, and the evidence that
needs no measuring."""

from __future__ import annotations

import importlib
import os
import socket
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nearfar.base import NOT_JUDGED, CouldNotJudge, Finding, NearfarError
from nearfar.topology import Gpu, Node

from . import messages, sources

#: Called with what is being done now, so that a look that hangs can say where.
Report = Callable[[str], None]
#: How many sweeps back the last run of this node is looked for.
_SWEEPS = 30


@dataclass(frozen=True)
class Look:
    """What was seen. ``last``: the last run's name, end and verdict. ``notes``, ``unread``, ``sources`` and ``past`` as
    ``sources.SourcesSeen`` has them."""

    system: str | None
    partition: str | None
    findings: tuple[Finding, ...]
    last: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    sources: Mapping[str, Any] = field(default_factory=dict)
    past: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Last:
    """The last run on this node that is believed, and the node as it saw it."""

    run: str
    ended: str
    verdict: str
    partition: str | None
    node: Node | None


def look(
    node: str,
    system: str | None,
    partition: str | None,
    results: Path | None,
    report: Report,
    past: Mapping[str, Any] | None = None,
    share: float = sources.SHARE,
    asked: Collection[str] | None = None,
) -> Look:
    """Look at this node. ``node`` is Slurm's name; ``system`` and ``partition`` (of the site's file) may be left open. ``past``: what
    the last look kept, as ``Look.past``; ``share``: seconds that each source of evidence may take; ``asked``: these sources alone.

    Raises nothing that a site can cause: what cannot be read is a finding, INDETERMINATE.
    """
    report("reading the last run's result")
    last = None if results is None else _last(results, node)
    about = None if last is None else {"run": last.run, "ended": last.ended, "verdict": last.verdict}
    report("reading the node's hardware")
    from nearfar.topology import inventory

    nvml = _nvml()
    try:
        observed = inventory.observe()
        report("reading the site's files")
        system, partition, findings, ports = _against_site(observed, node, system, partition, last)
        findings += [*_driver(observed), *_against_last(observed, last)]
        gpus = {gpu.pci: gpu for gpu in observed.gpus}
    except NearfarError as error:  # without hwloc counters and logs can be read all the same
        findings, ports = [messages.NODE_UNREADABLE.finding("node", error=str(error))], None
        gpus = {gpu.pci: gpu for gpu in inventory.gpus_without_hwloc(nvml)}
    report("reading the kernel log and the counters")
    seen = _evidence(gpus, node, nvml, ports, past or {}, share, asked)
    findings += seen.findings
    return Look(
        system,
        partition,
        tuple(f for f in findings if f.verdict not in ("PASS", NOT_JUDGED)),
        about,
        seen.notes,
        seen.unread,
        seen.sources,
        seen.past,
    )


def _nvml() -> Any:
    """NVML, initialised for the whole look, so that a driver without persistence mode starts its GPUs once; None where it does not
    answer. It is not shut down: the process ends after the look, and a source that hangs in it would hold that up too."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    return nvml


#: The tree whose ``/sys``, ``/dev`` and ``/proc`` the sources read.
ROOT = Path("/")


def _evidence(
    gpus: Mapping[str, Gpu],
    node: str,
    nvml: Any,
    ports: tuple[str, ...] | None,
    past: Mapping[str, Any],
    share: float,
    asked: Collection[str] | None,
) -> sources.SourcesSeen:
    """What the sources see; nothing where a file describes another machine than this."""
    from nearfar.topology.inventory import describes_another_machine

    if describes_another_machine(os.environ) and Path("/") == ROOT:
        return sources.SourcesSeen((), (), (), {}, dict(past))
    now = sources.Now(
        gpus={pci: gpu.index for pci, gpu in gpus.items()},
        boot=_boot(ROOT),
        at=time.clock_gettime(time.CLOCK_BOOTTIME),
        uplinks={pci: gpu.uplinks for pci, gpu in gpus.items()},
        root=ROOT,
        nvml=nvml,
        ports=ports,
        node=node,
    )
    chosen = {name: each for name, each in sources.SOURCES.items() if asked is None or name in asked}
    return sources.look(now, past, share, chosen)


def _boot(root: Path) -> str | None:
    try:
        return (root / "proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


def _against_site(
    observed: Node, name: str, system: str | None, partition: str | None, last: _Last | None
) -> tuple[str | None, str | None, list[Finding], tuple[str, ...] | None]:
    """The system and the partition that it is of, what differs from them, and the InfiniBand ports that they name."""
    from nearfar.base import site_directories
    from nearfar.site import expectations, systems, topology_diff

    try:
        directories = site_directories()
        known = systems.load_all(directories)
        described = known.get(system or "") or _claimed(name, known)
        if described is None:
            return None, None, [messages.UNKNOWN_NODE.finding("site", node=name)], None
        where = _partition(described, partition, last)
        node_type = where.load_node_type(directories)
        named = where.expectation(node_type).get("infiniband")
        ports = None if named is None else tuple(named)
        why = topology_diff.not_compared(described, where, node_type)
        if why is not None:
            return described.name, where.name, [messages.NOT_COMPARED.finding("site", error=why)], ports
        expected = where.expected_node(node_type, observed, expectations.gpu_models(directories))
        findings = topology_diff.findings(described, where, node_type, expected, observed, None, acceptance=False)
        return described.name, where.name, findings, ports
    except NearfarError as error:
        return system, partition, [messages.SITE_UNREADABLE.finding("site", error=str(error))], None


def _claimed(name: str, known: Any) -> Any:
    """The system that claims this host by its own name, its product, or the name that Slurm has for it."""
    from nearfar.site import systems

    own = systems.claims(socket.gethostname(), systems.dmi_product(), known)
    return own or systems.claims(name, None, known)


def _partition(described: Any, wanted: str | None, last: _Last | None) -> Any:
    """The partition named, else that of the last run, else the only real one."""
    real = {name: one for name, one in described.partitions.items() if not one.modelled}
    for name in (wanted, None if last is None else last.partition):
        if name in real:
            return real[name]
    if wanted is None and len(real) == 1:
        return next(iter(real.values()))
    raise NearfarError(
        f"{described.file}: which of its partitions is this node of ({', '.join(real) or 'none is real'})? --partition NAME"
    )


def _driver(observed: Node) -> list[Finding]:
    """GPUs on the bus of which the driver says nothing at all were not looked at."""
    if not observed.gpus or any(gpu.uuid or gpu.fault for gpu in observed.gpus):
        return []
    return [messages.DRIVER_SILENT.finding("driver", gpus=len(observed.gpus), notes=list(observed.notes))]


def _against_last(observed: Node, last: _Last | None) -> list[Finding]:
    """What has become worse, or another, since the last run: no evidence by itself, for the site's file is the measure."""
    if last is None or last.node is None:
        return []
    from nearfar.topology import compare

    run = f"run {last.run} of {last.ended}"
    found = [replace(each, verdict="DEGRADED", hard=False) for each in compare(last.node, observed, source=run)]
    before = {gpu.pci: gpu.uuid for gpu in last.node.gpus}
    for gpu in observed.gpus:
        was = before.get(gpu.pci)
        if was and gpu.uuid and gpu.uuid != was:
            found.append(messages.OTHER_BOARD.finding(f"g{gpu.index}.uuid", run=run, gpu=gpu.index, pci=gpu.pci))
    return found


def _last(results: Path, node: str) -> _Last | None:
    """The last believed result of this node; None where there is none or none can be read."""
    from nearfar.slurm.results import result, results_directory
    from nearfar.slurm.trust import Trust

    try:
        trust = Trust(results, frozenset({0, results.stat().st_uid}))
        sweeps, _ = results_directory.sweeps(results, trust)
    except (CouldNotJudge, OSError):
        return None
    for sweep in sweeps[:_SWEEPS]:
        attempts = filter(results_directory.is_attempt, results_directory.names(f"{results}/{sweep}/nodes/{node}"))
        for attempt in sorted(map(int, attempts), reverse=True):
            place = result.place(results, sweep, node, attempt)
            try:
                found = result.read(place, trust)
                return _Last(found.run, found.ended, found.verdict, _partition_of(found), _node(found, trust))
            except (CouldNotJudge, OSError):
                continue
    return None


def _partition_of(found: Any) -> str | None:
    return next((check.partition for check in found.checks if check.partition), None)


def _node(found: Any, trust: Any) -> Node | None:
    from nearfar.topology import node_from_document

    folder = next((check.folder.parent for check in found.checks), None)
    if folder is None:
        return None
    try:
        return node_from_document(trust.object(folder / "node.json"))
    except NearfarError:
        return None
