"""Is this the node that the site's file describes? What differs, item by item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearfar.base import Finding, Message

from . import messages
from .parts import LINK_KINDS, Gpu, Link, Node

_GIB = 1 << 30
#: The system keeps some of the modules' memory for itself; a missing module is a larger part of a node's.
_LEAST_MEMORY = 0.95
#: The fields of a message that name a GPU.
_Board = dict[str, Any]


def compare(
    expected: Node,
    observed: Node,
    under_load: Mapping[int, Mapping[str, Any]] | None = None,
    expectation: Mapping[str, Any] | None = None,
    source: str = "the site's file",
) -> list[Finding]:
    """Where ``observed`` is not ``expected``, which ``source`` says: hard evidence, each naming its part (``g2.link.width``, ``n1``).

    ``under_load`` maps an expected GPU's index (programs count by the expected addresses) to its entry of a measurement document's
    ``gpus_under_load``: links of idle GPUs say nothing, so without it only what device and slot allow at most is compared. What is not
    known on either side is not compared, except a locality that should be known.

    ``expectation`` (the ``expect`` of a system file, see its schema) overrides the expected node by: ``gpus``, ``gpu_model``, ``packages``,
    ``numa_nodes``, ``memory``, ``link``, ``nvlinks``, ``nvlink_generation``, ``mig``, ``ecc``, ``nics``.
    """
    return _Comparison(expected, observed, under_load or {}, expectation or {}, source).differences()


class _Comparison:
    """The differences found so far; the methods add to them, each about one kind of part."""

    def __init__(
        self,
        expected: Node,
        observed: Node,
        under_load: Mapping[int, Mapping[str, Any]],
        expectation: Mapping[str, Any],
        source: str,
    ) -> None:
        self.expected, self.observed, self.expectation, self.source = expected, observed, expectation, source
        self.loaded = {index: entry.get("link") or {} for index, entry in under_load.items()}
        self.found: list[Finding] = []

    def differences(self) -> list[Finding]:
        self._packages()
        self._numa_nodes()
        self._memory()
        pairs = self._match_gpus()
        for wanted, present in pairs:
            self._gpu(wanted, present)
        self._peers(pairs, self._lanes(pairs))
        self._nics()
        return self.found

    def _differ(self, item: str, message: Message, **fields: Any) -> None:
        self.found.append(message.finding(item, source=self.source, **fields))

    def _packages(self) -> None:
        wanted = self.expectation.get("packages", len(self.expected.packages))
        present = len(self.observed.packages)
        if wanted and present and wanted != present:
            self._differ("packages", messages.PACKAGES, expected=wanted, found=present)

    def _numa_nodes(self) -> None:
        listed = self.expectation.get("numa_nodes")
        present = {n.index for n in self.observed.host_numa_nodes}
        if isinstance(listed, int):
            if len(present) != listed:
                self._differ("numa_nodes", messages.NUMA_COUNT, expected=listed, found=len(present))
            return
        wanted = {n.index for n in self.expected.host_numa_nodes} if listed is None else set(listed)
        for index in sorted(wanted - present):
            known = self.observed.numa_node(index)
            if known is not None and known.kind == "host":
                self._differ(f"n{index}.memory", messages.NUMA_WITHOUT_MEMORY, numa_node=index)
            else:
                self._differ(f"n{index}", messages.NUMA_MISSING, numa_node=index)
        for index in sorted(present - wanted):
            self._differ(f"n{index}", messages.NUMA_UNEXPECTED, numa_node=index)

    def _memory(self) -> None:
        wanted = self.expectation.get("memory")
        present = sum(n.memory for n in self.observed.host_numa_nodes)
        if wanted and present < _LEAST_MEMORY * wanted:
            self._differ("memory", messages.MEMORY, expected=wanted / _GIB, found=present / _GIB)

    def _match_gpus(self) -> list[tuple[Gpu, Gpu]]:
        """Pair expected with observed GPUs; say which are missing, new or in another slot."""
        wanted, present = self.expected.gpus, self.observed.gpus
        count = self.expectation.get("gpus", len(wanted))
        if len(present) != count and (present or not wanted):
            self._differ("gpus.count", messages.GPU_COUNT, expected=count, found=len(present))
        by_address = {gpu.pci: gpu for gpu in present}
        pairs = [(gpu, by_address[gpu.pci]) for gpu in wanted if gpu.pci in by_address]
        missing = [gpu for gpu in wanted if gpu.pci not in by_address]
        new = [gpu for gpu in present if gpu.pci not in {g.pci for g in wanted}]
        if len(missing) == len(new):
            for gpu, other in zip(missing, new):
                self._differ(f"g{gpu.index}.pci", messages.GPU_SLOT, gpu=gpu.index, expected=gpu.pci, found=other.pci)
            return sorted([*pairs, *zip(missing, new)], key=lambda pair: pair[0].index)
        if missing and not present:
            self._differ("gpus", messages.GPU_NONE_ON_BUS, expected=len(missing))
            return pairs
        for gpu in missing:
            self._differ(f"g{gpu.index}", messages.GPU_MISSING, gpu=gpu.index, model=gpu.name, pci=gpu.pci)
        for gpu in new:
            self._differ(f"pci.{gpu.pci}", messages.GPU_UNEXPECTED, model=gpu.name, pci=gpu.pci)
        return pairs

    def _gpu(self, wanted: Gpu, present: Gpu) -> None:
        name, board = f"g{wanted.index}", {"gpu": wanted.index, "pci": present.pci}
        if present.fault:
            self._differ(f"{name}.driver", messages.GPU_DRIVER, **board, fault=present.fault)
        self._identity(name, board, wanted, present)
        self._modes(name, board, wanted, present)
        self._locality(name, board, wanted, present)
        self._link(name, board, wanted, present)

    def _identity(self, name: str, board: _Board, wanted: Gpu, present: Gpu) -> None:
        model = self.expectation.get("gpu_model") or wanted.name
        if model and present.name and _plain(model) != _plain(present.name):
            self._differ(f"{name}.model", messages.GPU_MODEL, **board, expected=model, found=present.name)
        owner = next((g for g in self.expected.gpus if g.uuid and g.uuid == present.uuid), None)
        if owner is not None and owner.index != wanted.index:
            self._differ(f"{name}.uuid", messages.GPU_SWAPPED, **board, was=owner.index, was_at=owner.pci)

    def _modes(self, name: str, board: _Board, wanted: Gpu, present: Gpu) -> None:
        for mode, what, on in (("mig", "MIG mode", present.mig), ("ecc", "ECC", present.ecc)):
            expected = self.expectation.get(mode, getattr(wanted, mode))
            if expected is not None and on is not None and on != expected:
                fields = {"expected": _on(expected), "found": _on(on)}
                self._differ(f"{name}.{mode}", messages.GPU_MODE, **board, mode=what, **fields)

    def _locality(self, name: str, board: _Board, wanted: Gpu, present: Gpu) -> None:
        numa = wanted.numa_node
        if numa is None or present.numa_node == numa or len(self.observed.host_numa_nodes) < 2:
            return
        message = messages.GPU_NUMA_UNKNOWN if present.numa_node is None else messages.GPU_NUMA_NODE
        self._differ(f"{name}.numa_node", message, **board, expected=numa, found=present.numa_node)

    def _link(self, name: str, board: _Board, wanted: Gpu, present: Gpu) -> None:
        should, declared = wanted.link.nominal, self.expectation.get("link") or {}
        should = Link(**{"kind": should.kind, "gen": should.gen, "width": should.width, **declared})
        if present.link.kind != should.kind:
            # A link of which nothing is known shows the default kind, and is no evidence.
            if present.link != Link(speed=present.link.speed):
                fields = {"expected": LINK_KINDS[should.kind], "found": LINK_KINDS[present.link.kind]}
                self._differ(f"{name}.link.kind", messages.LINK_KIND, **board, **fields)
            return
        # One in another slot was not loaded: the programs asked for the expected address.
        loaded = self.loaded.get(wanted.index, {}) if wanted.pci == present.pci else {}
        state, when = present.link.nominal, "can run at most at"
        if loaded.get("gen") or loaded.get("width"):
            state, when = Link(present.link.kind, loaded.get("gen"), loaded.get("width")), "runs under load at"
        about = {**board, "kind": LINK_KINDS[should.kind], "when": when}
        if should.gen and state.gen and state.gen < should.gen:
            self._differ(f"{name}.link.gen", messages.LINK_GENERATION, **about, expected=should.gen, found=state.gen)
        if should.width and state.width and state.width < should.width:
            self._differ(f"{name}.link.width", messages.LINK_WIDTH, **about, expected=should.width, found=state.width)

    def _lanes(self, pairs: list[tuple[Gpu, Gpu]]) -> set[int]:
        """Compare the NVLink lanes of each GPU; returns those that lack some."""
        short = set()
        for wanted, present in pairs:
            name, board = f"g{wanted.index}", {"gpu": wanted.index, "pci": present.pci}
            should, has = self.expectation.get("nvlink_generation", wanted.nvlink_generation), present.nvlink_generation
            if should and has and has != should:
                message = messages.NVLINK_GENERATION
                self._differ(f"{name}.nvlink_generation", message, **board, expected=should, found=has)
            lanes = self.expectation.get("nvlinks", wanted.nvlinks)
            if lanes and present.nvlinks is not None and present.nvlinks < lanes:
                short.add(wanted.index)
                self._differ(f"{name}.nvlinks", messages.NVLINK_LANES, **board, expected=lanes, found=present.nvlinks)
        return short

    def _peers(self, pairs: list[tuple[Gpu, Gpu]], short: set[int]) -> None:
        """Compare pairs where both GPUs have all their lanes, or both lack some (those between them).

        A GPU that lacks some alone, behind a switch, explains all its pairs.
        """
        now = {wanted.index: present.index for wanted, present in pairs}
        for (a, b), link in sorted(self.expected.peers.items() if self.observed.peers else ()):
            if a not in now or b not in now or (a in short) != (b in short):
                continue
            first, second = sorted((now[a], now[b]))
            has = self.observed.peers.get((first, second), "no NVLink")
            if has != link:
                self._differ(f"g{a}-g{b}", messages.PEER_LINK, gpu=a, peer=b, expected=link, found=has)

    def _nics(self) -> None:
        """By address: the names of network devices depend on drivers and on the order in which they start."""
        count = self.expectation.get("nics")
        if count is not None and len(self.observed.nics) != count:
            self._differ("nics.count", messages.NIC_COUNT, expected=count, found=len(self.observed.nics))
        by_address = {nic.pci: nic for nic in self.observed.nics}
        for wanted in self.expected.nics:
            name, present = {"nic": wanted.name, "pci": wanted.pci}, by_address.get(wanted.pci)
            if present is None:
                self._differ(wanted.name, messages.NIC_MISSING, **name)
            elif wanted.numa_node is not None and present.numa_node not in (None, wanted.numa_node):
                fields = {"expected": wanted.numa_node, "found": present.numa_node}
                self._differ(f"{wanted.name}.numa_node", messages.NIC_NUMA_NODE, **name, **fields)


def _plain(model: str) -> str:
    return model.lower().replace("nvidia", "").strip()


def _on(mode: bool) -> str:
    return "on" if mode else "off"
