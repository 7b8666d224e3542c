"""hwloc XML that was written on another machine, and read here from a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .hwloc_xml import UNNAMED
from .parts import Node


def as_stored(node: Node, text: str, name: str) -> Node:
    """The node of hwloc XML ``text`` that was read from the file ``name``: called like the file where the XML names no host, with a note
    where it was written without PCI devices."""
    hostname = Path(name).stem if node.hostname == UNNAMED and name != "-" else node.hostname
    note = "the file holds no PCI devices, so no GPU can be in it: write it with lstopo --of xml --whole-io FILE.xml"
    node = replace(node, hostname=hostname)
    return node if 'type="PCIDev"' in text else replace(node, notes=(*node.notes, note), gpus_unknown=note)
