"""Why a collective is slower than its node allows: what NCCL fell back to, and what makes it do so, the likeliest first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from nearfar.base import Finding, plural
from nearfar.topology import Node, behind_nvswitch, nic_class, peer_class

from .log import NcclLog
from .messages import CAUSES

#: Nobody needs to read of more.
_MOST = 4
#: How sure a cause is: the log or the environment says it, the node shows it, others had it.
_SAID, _SHOWN, _USUAL = 3, 2, 1
#: Variables that decide each thing, and the values with which they do (a regular expression).
_DECIDES = {
    "p2p_off_shm": {"NCCL_P2P_DISABLE": "1", "NCCL_P2P_LEVEL": r"LOC|0|NVL|1|PIX|2|PXB"},
    "network_within_node": {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"},
    "socket_instead_of_ib": {"NCCL_IB_DISABLE": "1", "NCCL_NET": "(?i)socket", "NCCL_NET_PLUGIN": "none", "NCCL_IB_HCA": ".*"},
    "no_gdr": {"NCCL_NET_GDR_LEVEL": r"LOC|0|PIX|1|PXB|2", "NCCL_NET_GDR_READ": "0", "NCCL_DMABUF_ENABLE": "0"},
    "nvls_off": {"NCCL_NVLS_ENABLE": "0", "NCCL_ALGO": r"(?i)(?!.*nvls).*", "NCCL_CUMEM_ENABLE": "0"},
}  # fmt: skip
#: Variables that choose devices and names, and do not slow by themselves; all others may.
_HARMLESS = re.compile(
    r"NCCL_(DEBUG|SOCKET_|IB_(HCA|GID|TC|SL|TIMEOUT|RETRY|PKEY|ADAPTIVE|ROCE|DATA_DIRECT)|NET$|NET_PLUGIN|COMM|HOSTID|IGNORE|CHECK|LAUNCH|"
    r"RAS|NVLS_ENABLE|CUMEM_HOST|DMABUF|CONF|TUNER|PROFILER|OOB|SET_)"
)


class _Cause(NamedTuple):
    code: str
    how: int
    shown: str = ""


@dataclass(frozen=True)
class NcclEvidence:
    """What is known of a run."""

    node: Node
    log: NcclLog
    #: ``host_facts`` of the node.
    facts: Mapping[str, Any] = field(default_factory=dict)
    nodes: int = 1
    #: Whether the figures are below what the node allows, so that usual causes count too.
    slow: bool = True
    #: What they are as slow as: ``pcie``, ``shm``, ``no_nvls``.
    like: str | None = None
    #: Whether the node's links have NVLink's multicast.
    multicast: bool = False

    def causes(self) -> list[Finding]:
        """What NCCL fell back to, then why, the likeliest first."""
        fallen = list(self._fallbacks())
        reasons = [reason for fallback in fallen for reason in self._reasons(fallback.code)]
        reasons += self._of_any({fallback.code for fallback in fallen}) if self.slow else []
        # What others had is of use only where nothing better is known.
        least = _USUAL if self.slow and all(reason.how == _USUAL for reason in reasons) else _SHOWN
        chosen: dict[str, _Cause] = {}
        for cause in (*fallen, *sorted(reasons, key=lambda reason: -reason.how)):
            if cause.how >= least:
                chosen.setdefault(cause.code, cause)
        return [
            CAUSES[cause.code].finding(
                "nccl", how="possible" if cause.how == _USUAL else "", shown=cause.shown, channels=self.log.channels
            )
            for cause in list(chosen.values())[:_MOST]
        ]

    @property
    def _known(self) -> dict[str, str]:
        return {**self.facts.get("variables", {}), **self.log.variables}

    @property
    def _joined(self) -> list[str]:
        return sorted({link for link in self.node.peers.values() if link.startswith("NV")})

    def _fallbacks(self) -> Iterator[_Cause]:
        """What NCCL uses in place of what is faster."""
        log, like, signs = self.log, self.like, set(self.log.signs)
        between = [transport for transport in log.transports.values() if transport.startswith("NET/")]
        if self.nodes == 1 and between:
            yield _Cause("network_within_node", _SAID, ", ".join(sorted(set(between))))
            return
        through_host = [pair for pair, transport in log.transports.items() if transport == "SHM" and self._direct(pair)]
        if through_host or signs & {"p2p_disabled", "nvlink_p2p_disabled", "shm_failed"}:
            yield _Cause("p2p_off_shm", _SAID, _listed(through_host, "ranks "))
        elif self._decided("p2p_off_shm") or like == "shm":
            yield _Cause("p2p_off_shm", _SHOWN)
        if self._joined and like == "pcie":
            yield _Cause("pcie_instead_of_nvlink", _SHOWN, ", ".join(self._joined))
        if self.nodes > 1:
            host_memory = any(not transport.endswith("/GDRDMA") for transport in between)
            not_loaded = not between and self.node.settings.get("peermem") == "not loaded"
            if "NET/Socket" in between or (not between and "network_socket" in signs):
                yield _Cause("socket_instead_of_ib", _SAID)
            elif "gdr_disabled" in signs or host_memory or not_loaded:
                yield _Cause("no_gdr", _SHOWN if not_loaded else _SAID)
        if self.multicast and (log.nvls is False or like == "no_nvls" or self._decided("nvls_off")):
            yield _Cause("nvls_off", _SAID)

    def _direct(self, pair: str) -> bool:
        """Whether two ranks' GPUs may be expected to reach each other directly: over NVLink, or below one PCIe root."""
        a, b = (int(rank) % max(1, len(self.node.gpus)) for rank in pair.split(" → "))
        known = a != b and self.node.gpu(a) is not None and self.node.gpu(b) is not None
        return not known or not peer_class(self.node, a, b).startswith(("SYS", "NODE"))

    def _decided(self, what: str) -> str:
        """The variables that decide it, as written: ``NCCL_P2P_DISABLE=1``; empty: none does."""
        known, deciding = self._known, _DECIDES.get(what, {})
        return ", ".join(
            f"{name}={known[name]}"
            for name, value in deciding.items()
            if name in known and re.fullmatch(value, known[name])
        )

    def _reasons(self, code: str) -> Iterator[_Cause]:
        """What makes NCCL fall back."""
        signs, facts = self.log.signs, self.facts
        if set_by := self._decided(code):
            yield _Cause("env", _SAID, set_by)
            if code in ("p2p_off_shm", "network_within_node"):
                return
        if code == "p2p_off_shm":
            if "shm_failed" in signs:
                yield _Cause("container_limits", _SAID, _size("/dev/shm", facts.get("shm_bytes")))
            yield from self._pcie_settings()
        elif code in ("pcie_instead_of_nvlink", "nvls_off"):
            if behind_nvswitch(self.node) or code == "nvls_off":
                yield _Cause("fabric_manager", self._fabric() or _USUAL)
            if code != "nvls_off":
                yield _Cause("container_limits", _USUAL, "each container sees some of the GPUs")
        elif code == "socket_instead_of_ib":
            absent = "no_ib" in signs or facts.get("infiniband") is False
            yield _Cause(
                "container_limits", _SHOWN if absent else _USUAL, "no InfiniBand device is seen" if absent else ""
            )
        elif code == "no_gdr":
            peermem = self.node.settings.get("peermem", "")
            if peermem != "loaded" or "gdr_disabled" in signs:
                yield _Cause(
                    "no_peermem", _SHOWN if peermem == "not loaded" or "gdr_disabled" in signs else _USUAL, peermem
                )
            far = self._far_nics()
            yield _Cause("nic_far", _SHOWN if far else _USUAL, far)
            yield from self._pcie_settings()

    def _of_any(self, fallen: set[str]) -> Iterator[_Cause]:
        """What slows whatever it uses; ``fallen``: what it fell back to, which explains few channels."""
        log, several = self.log, self.nodes > 1
        if set_by := _listed([f"{name}={value}" for name, value in self._known.items() if not _HARMLESS.match(name)]):
            yield _Cause("env", _SAID, set_by)
        if how := self._fabric():
            yield _Cause("fabric_manager", how)
        if "memlock" in log.signs:
            yield _Cause("container_limits", _SAID, _size("locked memory", self.facts.get("memlock_bytes")))
        few = 2 if self._joined or several else 1
        if log.channels is not None and log.channels <= few and not fallen - {"nvls_off"}:
            yield _Cause("few_channels", _SAID)
        if narrow := self._narrow_links():
            yield _Cause("narrow_link", _SHOWN, narrow)
        if several and (far := self._far_nics()):
            yield _Cause("nic_far", _SHOWN, far)
        if several or not self._joined:
            yield from self._pcie_settings()

    def _pcie_settings(self) -> Iterator[_Cause]:
        """ACS, the IOMMU and a virtual machine; those that nobody could read are usual."""
        node, signs = self.node, self.log.signs
        read = {gpu.index: gpu.settings["acs"] for gpu in node.gpus if "acs" in gpu.settings}
        on = [f"GPU {index}" for index, value in read.items() if value == "on"]
        if on or "acs_hint" in signs or not read:
            yield _Cause("acs_on", _SAID if "acs_hint" in signs else _SHOWN if on else _USUAL, _listed(on, "above "))
        iommu = node.settings.get("iommu", "")
        if iommu != "off" and "identity" not in iommu:
            yield _Cause("iommu_on", _SHOWN if iommu else _USUAL, iommu)
        hypervisor = node.settings.get("hypervisor", "").replace("none", "")
        virtual = node.virtual_machine or hypervisor or "virtual_topology" in signs
        yield _Cause("vm_hides_pci", _SHOWN if virtual else _USUAL, hypervisor.removeprefix("yes"))

    def _fabric(self) -> int:
        """How sure it is that fabric manager has not done its work; 0: nothing speaks for it."""
        if {"fabric", "nvlink_p2p_disabled"} & set(self.log.signs):
            return _SAID
        return _SHOWN if self.facts.get("fabric_manager") is False else 0

    def _far_nics(self) -> str:
        """The GPUs of which every NIC is on another socket."""
        node = self.node
        far = [
            gpu.index
            for gpu in node.gpus
            if node.nics and all(nic_class(node, gpu.index, nic.name)[:3] == "SYS" for nic in node.nics)
        ]
        return _listed([f"GPU {index}" for index in far])

    def _narrow_links(self) -> str:
        """GPUs and NICs with fewer PCIe lanes than they can have, and GPUs at a switch with fewer NVLink lanes than others."""
        node, switched = self.node, behind_nvswitch(self.node)
        links = [*((f"GPU {gpu.index}", gpu.link) for gpu in node.gpus), *((nic.name, nic.link) for nic in node.nics)]
        narrow = [
            f"{name} has x{link.width} of x{link.max_width}"
            for name, link in links
            if 0 < (link.width or 0) < (link.max_width or 0)
        ]
        lanes = {gpu.index: gpu.nvlinks for gpu in node.gpus if gpu.nvlinks and gpu.index in switched}
        most = max(lanes.values(), default=0)
        return _listed(
            [
                *narrow,
                *(
                    f"GPU {gpu} has {plural(count, 'NVLink lane')} of {most}"
                    for gpu, count in lanes.items()
                    if count < most
                ),
            ]
        )


def _listed(parts: list[str], before: str = "") -> str:
    return (
        parts and f"{before}{', '.join(parts[:3])}" + (f" and {len(parts) - 3} more" if len(parts) > 3 else "")
    ) or ""


def _size(what: str, size: int | None) -> str:
    return "" if size is None else f"{what} has {size / 2**20:,.0f} MiB"
