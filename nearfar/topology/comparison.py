"""Is this the node that the site's file describes? What differs, item by item, in a technician's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .parts import Gpu, Link, Node

_LINKS = {"pcie": "PCIe", "nvlink": "NVLink", "c2c": "C2C"}
_FIRMWARE = "look at the firmware's NUMA settings (nodes per socket, sub-NUMA clustering)"
_GIB = 1 << 30
#: The system keeps some of the modules' memory for itself; a missing module is a larger part of a node's.
_LEAST_MEMORY = 0.95


@dataclass(frozen=True)
class Difference:
    """One thing that is not as the site's file says. ``item`` names it: ``g2.link.width``, ``n1``, ``gpus.count``."""

    item: str
    expected: str
    observed: str
    sentence: str


def compare(
    expected: Node,
    observed: Node,
    under_load: Mapping[int, Mapping[str, Any]] | None = None,
    expectation: Mapping[str, Any] | None = None,
) -> list[Difference]:
    """Where ``observed`` is not ``expected``.

    ``under_load`` maps an expected GPU's index (programs count by the expected addresses) to its entry of a measurement
    document's ``gpus_under_load``: links of idle GPUs say nothing, so without it only what device and slot allow at
    most is compared. What is not known on either side is
    not compared, except a locality that should be known.

    ``expectation`` (the ``expect`` of a system file, see its schema) overrides the expected node by: ``gpus``,
    ``gpu_model``, ``packages``, ``numa_nodes``, ``memory``, ``link``, ``nvlinks``, ``nvlink_generation``, ``mig``,
    ``ecc``, ``nics``.
    """
    return _Comparison(expected, observed, under_load or {}, expectation or {}).differences()


class _Comparison:
    """The differences found so far; the methods add to them, each about one kind of part."""

    def __init__(
        self,
        expected: Node,
        observed: Node,
        under_load: Mapping[int, Mapping[str, Any]],
        expectation: Mapping[str, Any],
    ) -> None:
        self.expected, self.observed, self.expectation = expected, observed, expectation
        self.loaded = {index: entry.get("link") or {} for index, entry in under_load.items()}
        self.found: list[Difference] = []

    def differences(self) -> list[Difference]:
        self._packages()
        self._numa_nodes()
        self._memory()
        pairs = self._match_gpus()
        for wanted, present in pairs:
            self._gpu(wanted, present)
        self._peers(pairs, self._lanes(pairs))
        self._nics()
        return self.found

    def _differ(self, item: str, expected: object, observed: object, sentence: str) -> None:
        self.found.append(Difference(item, str(expected), str(observed), sentence))

    def _packages(self) -> None:
        wanted = self.expectation.get("packages", len(self.expected.packages))
        present = len(self.observed.packages)
        if wanted and present and wanted != present:
            sentence = f"{_number(present, 'processor package')}, the site's file says {wanted}"
            self._differ("packages", wanted, present, sentence)

    def _numa_nodes(self) -> None:
        listed = self.expectation.get("numa_nodes")
        present = {n.index for n in self.observed.host_numa_nodes}
        if isinstance(listed, int):
            if len(present) != listed:
                count = _number(len(present), "NUMA node")
                sentence = f"{count} with host memory, the site's file says {listed}: {_FIRMWARE}"
                self._differ("numa_nodes", listed, len(present), sentence)
            return
        wanted = {n.index for n in self.expected.host_numa_nodes} if listed is None else set(listed)
        for index in sorted(wanted - present):
            known = self.observed.numa_node(index)
            if known is not None and known.kind == "host":
                sentence = f"NUMA node {index} has no memory: look at its memory modules"
                self._differ(f"n{index}.memory", "memory", "none", sentence)
            else:
                sentence = f"NUMA node {index} is missing: {_FIRMWARE}, and at the processors"
                self._differ(f"n{index}", "present", "absent", sentence)
        for index in sorted(present - wanted):
            sentence = f"NUMA node {index} is not in the site's file: {_FIRMWARE}"
            self._differ(f"n{index}", "absent", "present", sentence)

    def _memory(self) -> None:
        wanted = self.expectation.get("memory")
        present = sum(n.memory for n in self.observed.host_numa_nodes)
        if wanted and present < _LEAST_MEMORY * wanted:
            has, should = f"{present / _GIB:.0f} GiB", f"{wanted / _GIB:.0f} GiB"
            sentence = f"{has} of host memory, the site's file says {should}: look at the memory modules"
            self._differ("memory", should, has, sentence)

    def _match_gpus(self) -> list[tuple[Gpu, Gpu]]:
        """Pair expected with observed GPUs; say which are missing, new or in another slot."""
        wanted, present = self.expected.gpus, self.observed.gpus
        count = self.expectation.get("gpus", len(wanted))
        if len(present) != count and (present or not wanted):
            sentence = f"{_number(len(present), 'GPU')} on this node, the site's file says {count}"
            self._differ("gpus.count", count, len(present), sentence)
        by_address = {gpu.pci: gpu for gpu in present}
        pairs = [(gpu, by_address[gpu.pci]) for gpu in wanted if gpu.pci in by_address]
        missing = [gpu for gpu in wanted if gpu.pci not in by_address]
        new = [gpu for gpu in present if gpu.pci not in {g.pci for g in wanted}]
        if len(missing) == len(new):
            for gpu, other in zip(missing, new):
                sentence = f"GPU {gpu.index} is at {other.pci}, the site's file says {gpu.pci}: it is in another slot"
                self._differ(f"g{gpu.index}.pci", gpu.pci, other.pci, sentence)
            return sorted([*pairs, *zip(missing, new)], key=lambda pair: pair[0].index)
        if missing and not present:
            sentence = (
                f"none of the {len(missing)} GPUs is on the PCI bus: look for their power, the baseboard, or what passes "
                f"them into a virtual machine"
            )
            self._differ("gpus", ", ".join(gpu.pci for gpu in missing), "absent", sentence)
            return pairs
        for gpu in missing:
            sentence = (
                f"GPU {gpu.index}{_model(gpu)} is missing at {gpu.pci}: look for Xid 79 in the kernel's log, then "
                f"reseat it"
            )
            self._differ(f"g{gpu.index}", gpu.pci, "absent", sentence)
        for gpu in new:
            sentence = f"a GPU{_model(gpu)} that the site's file does not have is at {gpu.pci}"
            self._differ(f"pci.{gpu.pci}", "absent", "present", sentence)
        return pairs

    def _gpu(self, wanted: Gpu, present: Gpu) -> None:
        name = f"g{wanted.index}"
        if present.fault:
            sentence = (
                f"GPU {wanted.index} at {present.pci} does not answer the driver ({present.fault}): look for Xid "
                f"messages in the kernel's log, then power-cycle the node"
            )
            self._differ(f"{name}.driver", "answers", present.fault, sentence)
        self._identity(name, wanted, present)
        self._modes(name, wanted, present)
        self._locality(name, wanted, present)
        self._link(name, wanted, present)

    def _identity(self, name: str, wanted: Gpu, present: Gpu) -> None:
        model = self.expectation.get("gpu_model") or wanted.name
        if model and present.name and _plain(model) != _plain(present.name):
            sentence = f"GPU {wanted.index} at {present.pci} is a {present.name}, the site's file says {model}"
            self._differ(f"{name}.model", model, present.name, sentence)
        owner = next((g for g in self.expected.gpus if g.uuid and g.uuid == present.uuid), None)
        if owner is not None and owner.index != wanted.index:
            sentence = f"the GPU at {present.pci} is the one that was GPU {owner.index} at {owner.pci}: swapped"
            self._differ(f"{name}.uuid", wanted.uuid, present.uuid, sentence)

    def _modes(self, name: str, wanted: Gpu, present: Gpu) -> None:
        for mode, what, on in (("mig", "MIG mode", present.mig), ("ecc", "ECC", present.ecc)):
            expected = self.expectation.get(mode, getattr(wanted, mode))
            if expected is not None and on is not None and on != expected:
                sentence = (
                    f"GPU {wanted.index} at {present.pci}: {what} is {_on(on)}, the site's file says {_on(expected)}: "
                    f"set it with nvidia-smi"
                )
                self._differ(f"{name}.{mode}", _on(expected), _on(on), sentence)

    def _locality(self, name: str, wanted: Gpu, present: Gpu) -> None:
        numa = wanted.numa_node
        if numa is None or present.numa_node == numa or len(self.observed.host_numa_nodes) < 2:
            return
        known = present.numa_node is not None
        said = f"it is on node {present.numa_node}" if known else "the system does not say which it is on"
        sentence = f"GPU {wanted.index} at {present.pci} should be on NUMA node {numa}, {said}: {_FIRMWARE}"
        self._differ(f"{name}.numa_node", numa, present.numa_node if known else "unknown", sentence)

    def _link(self, name: str, wanted: Gpu, present: Gpu) -> None:
        should, declared = _nominal(wanted.link), self.expectation.get("link") or {}
        should = Link(**{"kind": should.kind, "gen": should.gen, "width": should.width, **declared})
        gpu = f"GPU {wanted.index} at {present.pci}"
        if present.link.kind != should.kind:
            # A link of which nothing is known shows the default kind, and is no evidence.
            if present.link != Link(speed=present.link.speed):
                has, says = _LINKS[present.link.kind], _LINKS[should.kind]
                sentence = f"{gpu} reaches the host over {has}, the site's file says {says}"
                self._differ(f"{name}.link.kind", should.kind, present.link.kind, sentence)
            return
        # One in another slot was not loaded: the programs asked for the expected address.
        loaded = self.loaded.get(wanted.index, {}) if wanted.pci == present.pci else {}
        state, when = _nominal(present.link), "can run at most at"
        if loaded.get("gen") or loaded.get("width"):
            state, when = Link(present.link.kind, loaded.get("gen"), loaded.get("width")), "runs under load at"
        start, advice = (
            f"{gpu}: its {_LINKS[should.kind]} link {when}",
            "reseat it and look at its slot, riser and cable",
        )
        if should.gen and state.gen and state.gen < should.gen:
            sentence = f"{start} generation {state.gen}, the site's file says {should.gen}: {advice}"
            self._differ(f"{name}.link.gen", should.gen, state.gen, sentence)
        if should.width and state.width and state.width < should.width:
            sentence = f"{start} x{state.width}, the site's file says x{should.width}: {advice}"
            self._differ(f"{name}.link.width", f"x{should.width}", f"x{state.width}", sentence)

    def _lanes(self, pairs: list[tuple[Gpu, Gpu]]) -> set[int]:
        """Compare the NVLink lanes of each GPU; returns those that lack some."""
        short = set()
        for wanted, present in pairs:
            name, gpu = f"g{wanted.index}", f"GPU {wanted.index} at {present.pci}"
            generation = self.expectation.get("nvlink_generation", wanted.nvlink_generation)
            if generation and present.nvlink_generation and present.nvlink_generation != generation:
                sentence = f"{gpu} has NVLink {present.nvlink_generation}, the site's file says NVLink {generation}"
                self._differ(f"{name}.nvlink_generation", generation, present.nvlink_generation, sentence)
            lanes = self.expectation.get("nvlinks", wanted.nvlinks)
            if lanes and present.nvlinks is not None and present.nvlinks < lanes:
                short.add(wanted.index)
                has = _number(present.nvlinks, "active NVLink lane")
                sentence = f"{gpu} has {has}, the site's file says {lanes}: look at nvidia-smi nvlink --status"
                self._differ(f"{name}.nvlinks", lanes, present.nvlinks, sentence)
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
                self._differ(
                    f"g{a}-g{b}", link, has, f"GPUs {a} and {b} are joined by {has}, the site's file says {link}"
                )

    def _nics(self) -> None:
        """By address: the names of network devices depend on drivers and on the order in which they start."""
        count = self.expectation.get("nics")
        if count is not None and len(self.observed.nics) != count:
            sentence = f"{_number(len(self.observed.nics), 'NIC')} on this node, the site's file says {count}"
            self._differ("nics.count", count, len(self.observed.nics), sentence)
        by_address = {nic.pci: nic for nic in self.observed.nics}
        for wanted in self.expected.nics:
            nic, present = f"the NIC {wanted.name} at {wanted.pci}", by_address.get(wanted.pci)
            if present is None:
                sentence = f"{nic} is missing: look at its driver, then reseat it"
                self._differ(wanted.name, "present", "absent", sentence)
            elif wanted.numa_node is not None and present.numa_node not in (None, wanted.numa_node):
                sentence = f"{nic} is on NUMA node {present.numa_node}, the site's file says {wanted.numa_node}"
                self._differ(f"{wanted.name}.numa_node", wanted.numa_node, present.numa_node, sentence)


def _nominal(link: Link) -> Link:
    """What the link should run at: the most that is allowed, where the file holds both that and an idle state."""
    return Link(link.kind, link.max_gen or link.gen, link.max_width or link.width)


def _plain(model: str) -> str:
    return model.lower().replace("nvidia", "").strip()


def _model(gpu: Gpu) -> str:
    return f" ({gpu.name})" if gpu.name else ""


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count or 'no'} {what}s"


def _on(mode: bool) -> str:
    return "on" if mode else "off"
