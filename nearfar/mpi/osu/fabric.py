"""Forcing the NIC between two nodes, and reading back which one was used.

UCX takes its device from ``UCX_NET_DEVICES``, libfabric from a variable of each provider, Open MPI's TCP from an MCA parameter. UCX names,
at log level ``info``, the devices of every endpoint that it makes; of all others the NICs' own counters of sent bytes tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from .benchmarks import LARGEST

#: ``ep_cfg[2]: tag(rc_mlx5/mlx5_0:1)``, since UCX 1.16 ``cfg#2 tag(tcp/eth0)``: from a line of UCX's log.
_ENDPOINT = re.compile(r"(?:ep_cfg\[\d+\]|cfg#\d+)[^\n]*")
_TRANSPORT = re.compile(r"\b(?P<transport>\w+)/(?P<device>[\w.-]+(?::\d+)?)")
#: Transports within a node.
_LOCAL = ("self", "posix", "sysv", "xpmem", "cma", "knem", "cuda_ipc", "cuda_copy", "gdr_copy")
#: Names of network interfaces; fabrics' devices have others.
_INTERFACE = re.compile(r"(en|eth|em|ib|hsn|lo|wl|br|bond)[a-z0-9]*")
#: Of what was sent, the part that other NICs may have had: services of the machine talk too.
_OTHERS = 0.1
#: InfiniBand counts words of four bytes.
_WORD = 4


#: The environment without which UCX's NICs read and write GPU memory themselves (GPUDirect).
STAGED = {"UCX_IB_GPU_DIRECT_RDMA": "no"}


def forcing(nic: str) -> dict[str, str]:
    """The environment that lets MPIs use a NIC alone, or several (``mlx5_0-mlx5_1``): an interface by its name, a fabric's device on its
    first port."""
    names = nic.split("-")
    if all(map(_INTERFACE.fullmatch, names)):
        listed = ",".join(names)
        own = {"UCX_NET_DEVICES": listed, "FI_TCP_IFACE": names[0], "OMPI_MCA_btl_tcp_if_include": listed}
    else:
        own = {
            "UCX_NET_DEVICES": ",".join(f"{name}:1" for name in names), "FI_VERBS_DEVICE_NAME": names[0],
            "FI_CXI_DEVICE_NAME": names[0], "PSM3_NIC": names[0],
        }  # fmt: skip
    rails = {"UCX_MAX_RNDV_RAILS": str(len(names)), "UCX_MAX_EAGER_RAILS": str(len(names))} if len(names) > 1 else {}
    return {**own, **rails, "UCX_LOG_LEVEL": "info"}


def used(text: str) -> tuple[str, ...]:
    """The NICs of all endpoints in a run's output, without their ports; empty where nobody said."""
    names = [
        match["device"].partition(":")[0]
        for line in _ENDPOINT.findall(text)
        for match in _TRANSPORT.finditer(line)
        if match["transport"] not in _LOCAL
    ]
    return tuple(sorted(set(names)))


def sent(root: Path = Path("/")) -> dict[str, int]:
    """The bytes that each NIC of this machine has sent since it was started, by the kernel's counters.

    Interfaces without a device (loopback, bonds, bridges) are none: they count what their NICs count.
    """
    counters: dict[str, int] = {}
    for counter, factor in (("infiniband/*/ports/*/counters/port_xmit_data", _WORD), ("net/*/statistics/tx_bytes", 1)):
        for file in root.glob(f"sys/class/{counter}"):
            name = file.relative_to(root / "sys/class").parts[1]
            if counter.startswith("net/") and not file.parents[1].joinpath("device").exists():
                continue
            try:
                counters[name] = counters.get(name, 0) + int(file.read_text()) * factor
            except (OSError, ValueError):
                continue
    return counters


def which(text: str, before: Mapping[str, int], after: Mapping[str, int]) -> tuple[str, ...]:
    """The NICs that a run used: by UCX's word, else by what they sent (``sent`` before and after); empty where nobody knows."""
    named = used(text)
    if named:
        return named
    moved = {name: count - before.get(name, count) for name, count in after.items()}
    most = max(moved.values(), default=0)
    return tuple(sorted(name for name, count in moved.items() if count > _OTHERS * most)) if most >= LARGEST else ()


def not_forced(nic: str, nics: tuple[str, ...]) -> str | None:
    """Why the figures may not be that NIC's, in a sentence; None where it alone was used."""
    if not nics:
        unknown = (
            "the MPI did not report which NIC it used (no endpoint of UCX in its output), and no NIC's counter moved"
        )
        return f"{unknown}: that it was {nic} is not proven"
    if set(nics) != set(nic.split("-")):
        return f"{nic} was forced, and the MPI used {', '.join(nics)}"
    return None
