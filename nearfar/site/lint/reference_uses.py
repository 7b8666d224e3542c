"""Which nodes a file of references is for: the partitions that name it, and the node type that is called like it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nearfar.base import NearfarError
from nearfar.site import Partition, System, filled
from nearfar.topology import Node

from .reading import SiteContents


@dataclass(frozen=True)
class FileUse:
    """One kind of node that a file is used for. ``partition`` is None for a node type that no partition names; ``node``
    is None where nothing is known of it (the machine that no file describes, a node type with faults of its own)."""

    name: str
    node: Node | None
    system: System | None = None
    partition: Partition | None = None

    @property
    def features(self) -> frozenset[str]:
        """The partition's."""
        return frozenset(self.partition.features if self.partition else ())


def uses(reading: SiteContents, name: str) -> list[FileUse]:
    """The uses of ``site/references/<name>.yaml``."""
    file_uses = list(_of_partitions(reading, name))
    if name in reading.node_types and not any(use.partition for use in file_uses):
        read = reading.node_types[name]
        node = None if read.value is None else filled(read.value.node, reading.gpu_models)
        file_uses.append(FileUse(f"node type {name}", node))
    if name == "local":
        file_uses.append(FileUse("the machine that no file describes", None))
    return file_uses


def _of_partitions(reading: SiteContents, name: str) -> Iterator[FileUse]:
    models = reading.gpu_models
    for read in reading.systems.values():
        system = read.value
        for partition in system.partitions.values() if system else ():
            assert system is not None
            if name in (partition.references, partition.node_type):
                node = expected(reading, partition, models)
                yield FileUse(f"{system.name}:{partition.name}", node, system, partition)


def expected(reading: SiteContents, partition: Partition, models: Mapping[str, Mapping[str, Any]]) -> Node | None:
    """The node that a partition expects, as far as its files can be read."""
    read = reading.node_types.get(partition.node_type or "")
    if read is None or read.value is None:
        return None
    try:
        return partition.expected_node(read.value, None, models)
    except NearfarError:
        return None
