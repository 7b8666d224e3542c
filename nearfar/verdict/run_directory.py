"""Reading a run directory: ``run.json``, and for each node ``node.json`` and the verdicts of its checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nearfar.base import ORDER, NearfarError, shown_verdict
from nearfar.measurement import DOCUMENT
from nearfar.question import check_rank
from nearfar.topology import Node, node_from_document

from . import build_provenance, verdict_file
from .verdict_types import Verdict

_MODELLED_SUFFIX = "-modelled"
#: Lists of ``run.json``, each of whose entries is of a ``check``.
_CASES = ("ran_cases", "missing_cases", "not_asked")


def worst(verdicts: list[str]) -> str:
    """The worst of some verdicts; an unknown word counts as INDETERMINATE, and none at all too."""
    ranks = [ORDER.index(v) if v in ORDER else ORDER.index("INDETERMINATE") for v in verdicts]
    return ORDER[min(ranks)] if ranks else "INDETERMINATE"


@dataclass(frozen=True)
class CheckRecord:
    """One check on one node."""

    name: str
    folder: Path
    verdict: Verdict | None

    @property
    def document(self) -> Mapping[str, Any]:
        """The measurement document of its verdict; empty where there is none."""
        return self.verdict.document if self.verdict else {}

    @property
    def word(self) -> str:
        """The check's verdict; a check that left none could not be judged."""
        return self.verdict.verdict if self.verdict else "INDETERMINATE"

    @property
    def problem(self) -> str | None:
        """What is missing of this check, in a sentence."""
        return f"{self.name} left no verdict: it did not finish" if self.verdict is None else None


@dataclass(frozen=True)
class NodeRun:
    """What a run found out about one node. ``node`` is what was observed or modelled, None where no file says.

    ``name`` is the host's, or the node type's where the node is modelled.
    """

    folder: Path
    name: str
    system: str
    modelled: bool
    node: Node | None
    checks: tuple[CheckRecord, ...]
    #: What the kernel's log of its last boot held of its GPUs when the run ended: lines, or a sentence; empty where nobody looked.
    kernel_log: tuple[str, ...] = ()

    @property
    def foreign(self) -> bool:
        """Whether another tool measured it."""
        return any(check.verdict is not None and check.verdict.kind == "foreign" for check in self.checks)

    @property
    def word(self) -> str:
        """The worst verdict of the node's checks."""
        return worst([check.word for check in self.checks])


@dataclass(frozen=True)
class RunDirectory:
    """A run directory as read; ``raw`` is ``run.json``."""

    folder: Path
    raw: dict[str, Any]
    nodes: tuple[NodeRun, ...]
    #: Where the programs of each partition and environment came from, as ``nearfar.verdict.build_provenance`` reads it.
    programs: tuple[dict[str, Any], ...] = ()

    @property
    def shown(self) -> str:
        """The run's verdict as shown: a run in which nothing was measured is MODELLED, not PASS, and one whose files are gone is
        INDETERMINATE where ``run.json`` says less."""
        word = str(self.raw["verdict"])
        if word == "MODELLED":
            return word
        if self.nodes and all(node.modelled for node in self.nodes):
            return shown_verdict(worst([word]), modelled=True)
        unread = any(check.verdict is None for node in self.nodes if not node.modelled for check in node.checks)
        return worst([word, "INDETERMINATE"]) if unread or self._gone else worst([word])

    @property
    def missing_cases(self) -> list[dict[str, Any]]:
        """The cases that should have run and did not, each with its ``reason`` where one is known."""
        return [*self.raw.get("missing_cases", ()), *self._gone]

    @property
    def _gone(self) -> list[dict[str, Any]]:
        """The cases that ran and left a verdict, and that no folder speaks of any more."""
        there = {check.name.partition("@")[0] for node in self.nodes for check in node.checks}
        there |= {case["check"] for case in self.raw.get("missing_cases", [])}
        gone = [case for case in self.raw.get("ran_cases", []) if case["check"] not in there]
        return [{**case, "reason": f"it ran, but its folder is no longer in {self.folder}"} for case in gone]

    @property
    def not_asked(self) -> list[dict[str, Any]]:
        """The checks that were not asked for lack of a program: ``check``, ``title``, ``reason``, ``remedy``."""
        return list(self.raw.get("not_asked", []))


def read(folder: Path) -> RunDirectory:
    """Read a run directory. Raises ``NearfarError`` that names the file which is missing, cut short or too new."""
    path = folder / "run.json"
    raw = verdict_file.load_object(path)
    if raw is None:
        raise NearfarError(f"{path}: not there; name a run directory, as ./validate prints them, or 'latest'")
    verdict_file.check_schema(path, "nearfar-run/1", raw.get("schema"))
    wrong = [key for key in ("system", "verdict") if not isinstance(raw.get(key), str)]
    wrong += [key for key in _CASES if not _are_cases(raw.get(key, []))]
    if wrong:
        raise NearfarError(f"{path}: '{wrong[0]}' is missing or of the wrong type; the file was changed or cut short")
    nodes = [_node(place, raw) for place in sorted(folder.iterdir()) if place.is_dir()]
    # What was really measured comes first.
    found = sorted((node for node in nodes if node is not None), key=lambda node: (node.modelled, node.name))
    if logged := tuple(map(str, raw.get("kernel_log") or ())):  # of the one machine that was measured
        found = [node if node.modelled else replace(node, kernel_log=logged) for node in found]
    return RunDirectory(folder, raw, tuple(found), tuple(build_provenance.read(folder)))


def _are_cases(entries: Any) -> bool:
    return isinstance(entries, list) and all(isinstance(e, dict) and isinstance(e.get("check"), str) for e in entries)


def _node(place: Path, run: dict[str, Any]) -> NodeRun | None:
    left = {path.parent for name in (verdict_file.NAME, DOCUMENT, "stderr.txt") for path in place.glob(f"*/{name}")}
    folders = sorted(sorted(left), key=lambda each: check_rank(each.name))
    checks = tuple(CheckRecord(each.name, each, verdict_file.read(each)) for each in folders)
    observed = verdict_file.load_object(place / "node.json")
    if not checks and observed is None:
        return None
    verdicts = [check.verdict for check in checks if check.verdict]
    kinds = {verdict.kind for verdict in verdicts}
    modelled = "modelled" in kinds or (not kinds and place.name.endswith(_MODELLED_SUFFIX))
    bare = place.name.removesuffix(_MODELLED_SUFFIX) if modelled else place.name
    name = next((verdict.node for verdict in verdicts if verdict.node), bare)
    system = next((verdict.system for verdict in verdicts if verdict.system), str(run["system"]))
    return NodeRun(place, name, system, modelled, _machine(place, observed, checks), checks)


def _machine(place: Path, observed: dict[str, Any] | None, checks: tuple[CheckRecord, ...]) -> Node | None:
    """The node as observed, its GPUs numbered as the programs numbered them; else as the fullest document has it."""
    documents = [
        _parsed(check.folder / verdict_file.NAME, check.document["node"])
        for check in checks
        if isinstance(check.document.get("node"), dict)
    ]
    fullest = max(documents, key=lambda node: len(node.gpus), default=None)
    if observed is None:
        return fullest
    node = _parsed(place / "node.json", observed)
    # Programs count the GPUs that the site's file expects, so one that is absent leaves a gap; looking alone cannot know.
    numbers = {gpu.pci: gpu.index for gpu in fullest.gpus} if fullest else {}
    if not all(gpu.pci in numbers for gpu in node.gpus):
        return node
    renamed = {gpu.index: numbers[gpu.pci] for gpu in node.gpus}
    gpus = sorted((replace(gpu, index=numbers[gpu.pci]) for gpu in node.gpus), key=lambda gpu: gpu.index)
    peers = {(renamed[a], renamed[b]): link for (a, b), link in node.peers.items() if a in renamed and b in renamed}
    return replace(node, gpus=tuple(gpus), peers=peers)


def _parsed(path: Path, document: dict[str, Any]) -> Node:
    try:
        return node_from_document(document)
    except NearfarError as error:
        raise NearfarError(f"{path}: {error}") from None
