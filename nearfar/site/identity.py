"""Whether a host is of a system: by its name, its product and its CPUs alone. What is missing of it is for the checks to find."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nearfar.base import node_set, short_host_name
from nearfar.topology import Node
from nearfar.topology.inventory import cpu_models

from .systems import System, dmi_product


@dataclass(frozen=True)
class Host:
    """What a host is known by."""

    #: Its name, full or short.
    name: str
    #: Its DMI product name; None: not known.
    product: str | None
    #: The names of its CPUs; empty: not known.
    cpu_models: frozenset[str]


def this_host() -> Host:
    """The machine at hand, from the kernel alone (milliseconds)."""
    return Host(socket.gethostname(), dmi_product(), cpu_models(Path("/")))


def differences(host: Host, system: System, nodes: Iterable[Node]) -> list[str]:
    """What shows that a host is not of a system, each in a clause; ``nodes`` are those that its node types describe. A host that the
    system lists is always of it, and a system that claims no host (neither ``hosts`` nor ``product``) takes every one."""
    names = (host.name, short_host_name(host.name))
    listed = any(name in node_set(pattern) for pattern in system.hosts for name in names)
    if listed or not (system.hosts or system.product):
        return []
    differing = []
    if system.hosts and not (system.product and system.product == host.product):
        differing.append(f"it is not in {','.join(system.hosts)}")
    if system.product and system.product != host.product:
        differing.append(f"its product is {host.product or 'not known'}, not {system.product}")
    models = {package.model for node in nodes for package in node.packages if package.model}
    if models and host.cpu_models and not models & host.cpu_models:
        differing.append(f"its CPU is {' and '.join(sorted(host.cpu_models))}, not {' or '.join(sorted(models))}")
    return differing
