"""A node that a file describes."""

from __future__ import annotations

import json
from pathlib import Path

from nearfar.base import NearfarError

from .hwloc_xml import as_stored, parse_hwloc_xml
from .node_json import node_from_document
from .parts import Node


def stored_node(path: Path) -> Node:
    """The node of a file: hwloc XML, or what ``nearfar detect --json`` prints. Raises ``NearfarError`` with the file's name."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NearfarError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    try:
        if text.lstrip().startswith("{"):
            node = node_from_document(json.loads(text))
            if not node.numa_nodes:
                raise NearfarError(
                    "no node with NUMA nodes in it: name hwloc XML, or what nearfar detect --json printed"
                )
            return node
        return as_stored(parse_hwloc_xml(text), text, str(path))
    except json.JSONDecodeError as error:
        raise NearfarError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except NearfarError as error:
        raise NearfarError(f"{path}: {error}") from None
