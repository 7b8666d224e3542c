"""hwloc XML that was written on another machine, and read here from a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from .bitmaps import format_cpu_list
from .hwloc_xml import UNNAMED, left_out_cpus
from .parts import Node


def as_stored(node: Node, text: str, name: str) -> Node:
    """The node of hwloc XML ``text`` that was read from the file ``name``: called like the file where the XML names no host, with notes
    where it was written inside a cpuset or without PCI devices."""
    hostname = Path(name).stem if node.hostname == UNNAMED and name != "-" else node.hostname
    note = "the file holds no PCI devices, so no GPU can be in it: write it with lstopo --of xml --whole-io FILE.xml"
    node = replace(node, hostname=hostname, notes=(*node.notes, *_about_cpuset(node, text)))
    return node if 'type="PCIDev"' in text else replace(node, notes=(*node.notes, note), gpus_unknown=note)


def _about_cpuset(node: Node, text: str) -> Iterator[str]:
    again = "write it outside of a job to have the whole machine"
    if node.allowed_cpus is not None:
        yield f"the file was written inside a cpuset that allows only CPUs {format_cpu_list(node.allowed_cpus)}: {again}"
    elif hidden := left_out_cpus(text):
        yield f"the file leaves out CPUs {format_cpu_list(hidden)}, which are off, or outside of the cpuset that it was written in: {again}"
