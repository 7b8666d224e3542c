"""One look at this node: its kernel log and its driver, its hardware against the site's file.

What may hang is read in a process of its own (``apart``). What was read is judged here, by pure functions.
"""

from __future__ import annotations

import importlib
import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from nearfar.base import NOT_JUDGED, Finding, NearfarError, text_or_empty
from nearfar.site import Policy
from nearfar.topology import Node
from nearfar.topology.inventory import kernel_lines

from . import apart, driver, kernel_log, messages
from .apart import TaskAnswer, Tasks
from .source import Now, Seen

#: Where findings go, unless the caller names a directory.
OUTPUT = Path("/var/lib/nearfar/health")
#: Seconds that the driver may take: without persistence mode it starts each GPU anew. Slurm ends a health check at 60.
LIMIT = 20.0
#: Seconds that each step of a quick check may take, for which a job waits.
QUICK_LIMIT = 3.0
#: The tree whose ``/sys``, ``/dev`` and ``/proc`` the sources read.
ROOT = Path("/")
#: Seconds for what lies on local disks, or must not hold up what follows.
SHORT = 5.0
#: Sources that wait for the driver. Where they hang in so many checks in a row, that is hard evidence.
DRIVER, IN_A_ROW = ("driver", "inventory"), 2


@dataclass(frozen=True)
class HealthOptions:
    """What is looked at and where the finding goes. Paths may be given as text."""

    output: Path = OUTPUT
    #: The partition in the system's file or in Slurm; None: the only one.
    partition: str | None = None
    #: Seconds that the driver, and every other source at most, may take.
    limit: float = LIMIT
    #: The check before or after a job: only a FAIL is written, so that the newest whole check stays.
    quick: bool = False
    #: The directory of Prometheus' text files; None: none is written.
    metrics: Path | None = None
    #: On this node's local disk, where places in logs and counts are kept; None: below ``STATE``, or as another user ``output``.
    state: Path | None = None
    #: Drain this node on hard evidence, where the site's policy allows it.
    drain: bool = False
    #: Directories of Slurm's commands, before the system's own.
    slurm_path: str = ""

    def __post_init__(self) -> None:
        """Make paths of texts."""
        for name in ("output", "metrics", "state"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else Path(value))


@dataclass(frozen=True)
class SiteCompared:
    """What the site's files say of this node."""

    system: str | None = None
    partition: str | None = None
    findings: tuple[Finding, ...] = ()
    #: InfiniBand ports that have to be active.
    ports: tuple[str, ...] = ()
    #: What the site allows; None, and why, where it cannot be read.
    policy: Policy | None = None
    note: str = ""


class Look:
    """One look at this node: what its sources answer, and what follows from it."""

    def __init__(self, options: HealthOptions, past: Mapping[str, Any], locks: Path) -> None:
        """``past``: as ``past`` of the last check; ``locks`` as ``apart.answers`` has it."""
        self._options, self._before, self._locks = options, past, locks
        self._boot, self._at = boot(ROOT), time.clock_gettime(time.CLOCK_BOOTTIME)
        self._answers: dict[str, TaskAnswer] = {}
        self._said: dict[str, str] = {}
        #: Index of each GPU by its bus id.
        self._gpus: Mapping[str, int] = {}
        kept = self._kept("site")
        self.site = SiteCompared(kept.get("system"), kept.get("partition"))
        self.findings: list[Finding] = []
        self.notes: list[str] = []
        self.unread: list[str] = []
        #: What each source wants to find at the next check, and in how many checks in a row the driver hung.
        self.past = dict(past)

    @property
    def sources(self) -> dict[str, Any]:
        """Of each source its seconds and what it said."""
        answers = self._answers.items()
        return {name: {"seconds": round(one.seconds, 3), "said": self._said.get(name, "")} for name, one in answers}

    def take(self, node: str, trust: Callable[[], None]) -> None:
        """Look. ``node``: Slurm's name; ``trust`` raises ``NearfarError`` where root would rely on what others can change, and so does
        this. Anything else that a site can cause is a finding, INDETERMINATE."""
        for module in ("pynvml", "nearfar.topology.inventory", "nearfar.site"):
            with suppress(ImportError):  # loaded in a source's process, it would count against its limit
                importlib.import_module(module)
        from nearfar.topology import inventory

        options, own = self._options, not (inventory.describes_another_machine(os.environ) and Path("/") == ROOT)
        self._ask(SHORT, {"kernel_log": partial(kernel_lines.read_ring, ROOT)} if own else {})
        self._ask(SHORT, {"trust": trust})
        if isinstance(error := self._answers["trust"].error, NearfarError):
            raise error
        trusted = self._answers["trust"].answered
        driver_too: Tasks = {"driver": partial(driver.read, ROOT)} if own else {}
        self._ask(options.limit, {**driver_too, **({"inventory": inventory.observe} if trusted else {})})
        observed, ring = self._value("inventory"), self._value("kernel_log")
        site = partial(_site, observed, node, options)
        journal: Tasks = {}
        before, after = (self._kept("kernel_log").get(name) for name in ("boot", "log_at"))
        if ring is not None and isinstance(before, str) and before != self._boot and isinstance(after, float):
            journal = {"journal": partial(kernel_log.end_of_boot, before, after)}
        self._ask(SHORT, {**journal, **({"site": site} if trusted else {})})
        self.site = self._value("site") or self.site
        ports: Tasks = {"infiniband": partial(_ports_down, ROOT, self.site.ports)} if self.site.ports else {}
        self._ask(SHORT, ports)
        seen = [gpu.pci for gpu in (observed.gpus if observed else ()) or self._value("driver") or ()]
        gpus = seen or list(self._kept("inventory").get("gpus", ()))
        self._gpus = {pci: index for index, pci in enumerate(gpus)}
        if ring is not None:
            previous = self._value("journal") or ((), "the journal did not answer" if journal else "")
            self._judge("kernel_log", lambda now: kernel_log.classify(now, ring, previous))
        if (answers := self._value("driver")) is not None:
            self._judge("driver", lambda now: driver.classify(now, answers))
        self._judge_driver_hung()
        found = [*self.findings, *self.site.findings, *_driver_silent(observed), *(self._value("infiniband") or ())]
        self.findings = [each for each in found if each.verdict not in ("PASS", NOT_JUDGED)]
        self.notes += [self.site.note] if self.site.note else []
        self.past["inventory"] = {"gpus": gpus}
        self.past["site"] = {"system": self.site.system, "partition": self.site.partition}

    def _ask(self, limit: float, tasks: Tasks) -> None:
        """Let sources read at the same time; a finding for each that did not answer."""
        limit = min(limit, self._options.limit)
        for name, answer in apart.answers(tasks, limit, self._locks).items():
            self._answers[name] = answer
            if not answer.answered:
                message = messages.SOURCE_TIMEOUT if answer.hung else messages.SOURCE_CUT_SHORT
                self.findings.append(message.finding(name, limit=limit))
                self._said[name] = "it hung" if answer.hung else "it was cut short by load"
            elif name == "inventory" and isinstance(answer.error, NearfarError):
                self.findings.append(messages.NODE_UNREADABLE.finding("node", error=str(answer.error)))
            elif answer.error is not None and not isinstance(answer.error, NearfarError):
                self._failed(name, answer.error)

    def _value(self, name: str) -> Any:
        return self._answers[name].value if name in self._answers else None

    def _kept(self, name: str) -> Mapping[str, Any]:
        kept = self._before.get(name)
        return kept if isinstance(kept, dict) else {}

    def _now(self, name: str) -> Now:
        return Now(self._gpus, self._boot, self._at, self._kept(name))

    def _judge(self, name: str, classify: Callable[[Now], Seen]) -> None:
        try:
            seen = classify(self._now(name))
        except Exception as error:  # a fault of ours in one source must not hide what the others see
            self._failed(name, error)
            self.past.pop(name, None)  # what it kept may be what it failed on
            return
        self.findings += seen.findings
        self.notes += [note.reason for note in seen.notes]
        self.unread += seen.unread
        self._said[name] = seen.said
        self.past[name] = {**seen.past, "boot": self._boot, "at": self._at}

    def _judge_driver_hung(self) -> None:
        """Count the checks in a row in which the driver hung. A quick check is too short."""
        asked = [name for name in DRIVER if name in self._answers]
        hung = [name for name in asked if self._answers[name].hung]
        kept = self._kept("hung")
        checks = kept.get("checks", 0) if kept.get("boot") == self._boot else 0
        if hung and not self._options.quick:
            checks += 1
        elif asked and all(self._answers[name].answered for name in asked):
            checks = 0
        self.past["hung"] = {"boot": self._boot, "checks": checks}
        if hung and checks >= IN_A_ROW:
            self.findings.append(messages.DRIVER_HUNG.finding("driver", checks=checks, sources=hung))

    def _failed(self, name: str, error: Exception) -> None:
        self.findings.append(messages.SOURCE_ERROR.finding(name, error=f"{type(error).__name__}: {error}"))


def boot(root: Path = Path("/")) -> str | None:
    """The kernel's name of this boot."""
    return text_or_empty(root / "proc/sys/kernel/random/boot_id") or None


def _site(observed: Node | None, name: str, options: HealthOptions) -> SiteCompared:
    """What the site's files say of this node, and what differs from them."""
    from nearfar.base import SiteFile, site_directories
    from nearfar.site import drain_policy, expectations, systems, topology_diff

    system = None
    try:
        directories = site_directories()
        known = systems.load_all(directories)
        described = systems.claims(socket.gethostname(), systems.dmi_product(), known) or systems.claims(
            name, None, known
        )
        if described is None:
            return SiteCompared(findings=(messages.UNKNOWN_NODE.finding("site", node=name),))
        system, policy, note = described.name, None, ""
        try:
            policy = drain_policy.of_system(SiteFile(described.file)) if described.file else None
        except NearfarError as error:
            note = f"it will not be drained from here: {error}"
        where = described.partitions[described.partition_of(options.partition)]
        node_type = where.load_node_type(directories)
        ports = tuple(where.expectation(node_type).get("infiniband") or ())
        why = topology_diff.not_compared(described, where, node_type)
        found = [] if why is None else [messages.NOT_COMPARED.finding("site", error=why)]
        if why is None and observed is not None:
            expected = where.expected_node(node_type, observed, expectations.gpu_models(directories))
            found = topology_diff.findings(described, where, node_type, expected, observed, None, acceptance=False)
        return SiteCompared(system, where.name, tuple(found), ports, policy, note)
    except NearfarError as error:
        return SiteCompared(system, options.partition, (messages.SITE_UNREADABLE.finding("site", error=str(error)),))


def _driver_silent(observed: Node | None) -> list[Finding]:
    if observed is None or not observed.gpus or any(gpu.uuid or gpu.fault for gpu in observed.gpus):
        return []
    return [messages.DRIVER_SILENT.finding("driver", gpus=len(observed.gpus), notes=list(observed.notes))]


def _ports_down(root: Path, ports: tuple[str, ...]) -> list[Finding]:
    """The InfiniBand ports, of those that the site's file names, that are not active: FAIL and not hard, for a switch may be at fault."""
    found = []
    for name in (port if "/" in port else f"{port}/1" for port in ports):
        device, _, number = name.partition("/")
        state = text_or_empty(root / "sys/class/infiniband" / device / "ports" / number / "state") or "missing"
        if (word := state.rpartition(":")[2].strip()) != "ACTIVE":
            subject = f"{name.removesuffix('/1').replace('/', 'p')}.port"
            found.append(messages.PORT_DOWN.finding(subject, port=name, state=word))
    return found
