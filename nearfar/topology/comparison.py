"""Is this the node that the site's file describes? Differences, item by item, in sentences that a technician can act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.topology.parts import Gpu, Link, Nic, Node


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
    under_load: Sequence[Mapping[str, Any]] | None = None,
    expectation: Mapping[str, Any] | None = None,
) -> list[Difference]:
    """Where ``observed`` is not ``expected``.

    ``under_load`` is a measurement document's ``gpus_under_load``: links of idle GPUs say nothing, so without it only what
    device and slot allow at most is compared. What is not known on either side is not compared, except a locality that
    should be known. ``expectation`` overrides the expected node, by these keys:

    - ``gpus`` (their number), ``gpu_model``, ``numa_nodes`` (numbers of the host NUMA nodes), ``gpu_numa_nodes``
      (``{g0: 0}``), ``links`` (``{g0: {kind, gen, width}}``), ``nvlinks`` (lanes of each GPU);
    - ``pci: false``: addresses differ from node to node, GPUs are matched in their order; ``nics: false``: not compared.
    """
    return _Comparison(expected, observed, under_load or (), expectation or {}).differences()


class _Comparison:
    def __init__(
        self, expected: Node, observed: Node, under_load: Sequence[Mapping[str, Any]], expectation: Mapping[str, Any]
    ) -> None:
        self.expected, self.observed, self.expectation = expected, observed, expectation
        self.loaded = {entry.get("index"): entry.get("link") or {} for entry in under_load}
        self.by_address = expectation.get("pci", True)
        self.found: list[Difference] = []

    def differences(self) -> list[Difference]:
        self._numa_nodes()
        pairs = self._match_gpus()
        for wanted, present in pairs:
            self._gpu(wanted, present)
        self._nvlinks(pairs)
        if self.expectation.get("nics", True):
            self._nics()
        return self.found

    def _differ(self, item: str, expected: object, observed: object, sentence: str) -> None:
        self.found.append(Difference(item, str(expected), str(observed), sentence))

    def _numa_nodes(self) -> None:
        listed = self.expectation.get("numa_nodes")
        wanted = {n.index for n in self.expected.host_numa_nodes} if listed is None else set(listed)
        present = {n.index for n in self.observed.host_numa_nodes}
        for index in sorted(wanted - present):
            known = self.observed.numa_node(index)
            if known is not None and known.kind == "host":
                sentence = f"NUMA node {index} has no memory: look at its memory modules"
                self._differ(f"n{index}.memory", "memory", "none", sentence)
            else:
                sentence = (
                    f"NUMA node {index} is missing: look at the firmware's NUMA settings (nodes per socket, sub-NUMA "
                    f"clustering) and at the processors"
                )
                self._differ(f"n{index}", "present", "absent", sentence)
        for index in sorted(present - wanted):
            sentence = f"NUMA node {index} is not in the site's file: the firmware's NUMA settings have changed"
            self._differ(f"n{index}", "absent", "present", sentence)
        packages = len(self.expected.packages), len(self.observed.packages)
        if all(packages) and packages[0] != packages[1]:
            self._differ("packages", *packages, f"{packages[1]} processor packages, the site's file says {packages[0]}")

    def _match_gpus(self) -> list[tuple[Gpu, Gpu]]:
        """Pair expected with observed GPUs; say which are missing, new, moved or swapped."""
        wanted, present = self.expected.gpus, self.observed.gpus
        count = self.expectation.get("gpus", len(wanted))
        if len(present) != count:
            sentence = f"{_number(len(present), 'GPU')} on this node, the site's file says {count}"
            self._differ("gpus.count", count, len(present), sentence)
        if not self.by_address:
            return list(zip(wanted, present))
        by_address = {gpu.pci: gpu for gpu in present}
        pairs = [(gpu, by_address[gpu.pci]) for gpu in wanted if gpu.pci in by_address]
        missing = [gpu for gpu in wanted if gpu.pci not in by_address]
        new = [gpu for gpu in present if gpu.pci not in {g.pci for g in wanted}]
        if len(missing) == len(new):
            for gpu, other in zip(missing, new):
                sentence = f"GPU {gpu.index} is at {other.pci}, the site's file says {gpu.pci}: it is in another slot"
                self._differ(f"g{gpu.index}.pci", gpu.pci, other.pci, sentence)
            return sorted([*pairs, *zip(missing, new)], key=lambda pair: pair[0].index)
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
        self._gpu_locality(name, wanted, present)
        self._link(name, wanted, present)

    def _identity(self, name: str, wanted: Gpu, present: Gpu) -> None:
        model = self.expectation.get("gpu_model") or wanted.name
        if model and present.name and _plain(model) != _plain(present.name):
            sentence = f"GPU {wanted.index} at {present.pci} is a {present.name}, the site's file says {model}"
            self._differ(f"{name}.model", model, present.name, sentence)
        owners = {gpu.uuid: gpu for gpu in self.expected.gpus if gpu.uuid}
        owner = owners.get(present.uuid) if present.uuid and present.uuid != wanted.uuid else None
        if owner is not None and wanted.uuid:
            sentence = f"the GPU at {present.pci} is the one that was GPU {owner.index} at {owner.pci}: swapped"
            self._differ(f"{name}.uuid", wanted.uuid, present.uuid, sentence)

    def _gpu_locality(self, name: str, wanted: Gpu, present: Gpu) -> None:
        declared = self.expectation.get("gpu_numa_nodes") or {}
        numa = declared.get(name, wanted.numa_node)
        if numa is None or present.numa_node == numa or len(self.observed.host_numa_nodes) < 2:
            return
        said = "the system does not say which" if present.numa_node is None else f"it is on node {present.numa_node}"
        sentence = f"GPU {wanted.index} at {present.pci} should be on NUMA node {numa}, {said}"
        self._differ(f"{name}.numa_node", numa, "unknown" if present.numa_node is None else present.numa_node, sentence)

    def _link(self, name: str, wanted: Gpu, present: Gpu) -> None:
        declared = (self.expectation.get("links") or {}).get(name)
        nominal = _nominal(Link(**declared) if declared else wanted.link)
        if present.link.kind != nominal.kind:
            if present.link != Link(speed=present.link.speed):
                sentence = (
                    f"GPU {wanted.index} reaches the host over {present.link.kind}, the site's file says {nominal.kind}"
                )
                self._differ(f"{name}.link.kind", nominal.kind, present.link.kind, sentence)
            return
        loaded = self.loaded.get(present.index)
        state = (
            _nominal(present.link)
            if loaded is None
            else Link(present.link.kind, loaded.get("gen"), loaded.get("width"))
        )
        when = "can run at most at" if loaded is None else "runs under load at"
        what = {"pcie": "PCIe", "nvlink": "NVLink", "c2c": "C2C"}[nominal.kind]
        advice = "reseat it and look at its slot, riser and cable"
        if nominal.gen and state.gen and state.gen < nominal.gen:
            sentence = (
                f"GPU {wanted.index} at {present.pci}: its {what} link {when} generation {state.gen}, the site's file "
                f"says {nominal.gen}: {advice}"
            )
            self._differ(f"{name}.link.gen", nominal.gen, state.gen, sentence)
        if nominal.width and state.width and state.width < nominal.width:
            sentence = (
                f"GPU {wanted.index} at {present.pci}: its {what} link {when} x{state.width}, the site's file says "
                f"x{nominal.width}: {advice}"
            )
            self._differ(f"{name}.link.width", f"x{nominal.width}", f"x{state.width}", sentence)

    def _nvlinks(self, pairs: list[tuple[Gpu, Gpu]]) -> None:
        """Lanes of each GPU; pairs only where both their GPUs have all lanes, or both lack some (the lanes between them)."""
        short = set()
        for wanted, present in pairs:
            lanes = self.expectation.get("nvlinks", wanted.nvlinks)
            if lanes and present.nvlinks is not None and present.nvlinks < lanes:
                short.add(wanted.index)
                sentence = (
                    f"GPU {wanted.index} at {present.pci} has {_number(present.nvlinks, 'active NVLink lane')}, the "
                    f"site's file says {lanes}: look at nvidia-smi nvlink --status"
                )
                self._differ(f"g{wanted.index}.nvlinks", lanes, present.nvlinks, sentence)
        if not self.observed.peers:
            return
        now = {wanted.index: present.index for wanted, present in pairs}
        for (a, b), link in sorted(self.expected.peers.items()):
            if a not in now or b not in now or (a in short) != (b in short):
                continue
            first, second = sorted((now[a], now[b]))
            present_link = self.observed.peers.get((first, second), "no NVLink")
            if present_link != link:
                sentence = f"GPUs {a} and {b} are joined by {present_link}, the site's file says {link}"
                self._differ(f"g{a}-g{b}", link, present_link, sentence)

    def _nics(self) -> None:
        by_key = {self._nic_key(nic): nic for nic in self.observed.nics}
        for wanted in self.expected.nics:
            present = by_key.get(self._nic_key(wanted))
            where = f" at {wanted.pci}" if self.by_address else ""
            if present is None:
                sentence = f"the NIC {wanted.name}{where} is missing: look at its driver, then reseat it"
                self._differ(wanted.name, "present", "absent", sentence)
            elif wanted.numa_node is not None and present.numa_node not in (None, wanted.numa_node):
                sentence = (
                    f"the NIC {wanted.name}{where} is on NUMA node {present.numa_node}, the site's file says "
                    f"{wanted.numa_node}"
                )
                self._differ(f"{wanted.name}.numa_node", wanted.numa_node, present.numa_node, sentence)

    def _nic_key(self, nic: Nic) -> str:
        return nic.pci if self.by_address else nic.name


def _nominal(link: Link) -> Link:
    """What the link should run at: the most that is allowed, where the file holds both that and an idle state."""
    return Link(link.kind, link.max_gen or link.gen, link.max_width or link.width)


def _plain(model: str) -> str:
    return model.lower().replace("nvidia", "").strip()


def _model(gpu: Gpu) -> str:
    return f" ({gpu.name})" if gpu.name else ""


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count or 'no'} {what}s"
