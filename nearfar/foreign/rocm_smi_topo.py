"""``rocm-smi --showtopo``, ``--showtoponuma``, ``amd-smi topology``, as text or JSON: pairs of AMD GPUs that xGMI joins, and their NUMA
nodes if shown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from nearfar.topology import Gpu, Node, NumaNode, normal_bus_id

from .nvidia_smi_topo import SOME_MEMORY, unknown_pci
from .output import ForeignOutput, Truncated, command_line

TOOL = "rocm-smi --showtopo"
_LINKS = re.compile(r"^=+ Link Type between two GPUs =+\s*$|^LINK TYPE TABLE:\s*$", re.MULTILINE)
#: Where JSON begins: rocm-smi names pairs in its keys, amd-smi lists the links of each GPU.
_JSON = re.compile(
    r'\{\s*"(?:card\d+|system)"\s*:\s*\{\s*"\(Topology\)|\[\s*\{\s*"gpu"\s*:\s*\d+\s*,\s*"bdf"[^]]*?"links"'
)
_PAIR = re.compile(r"\(Topology\) Link type between DRM devices (\d+) and (\d+)")
SIGN = re.compile(rf"{_LINKS.pattern}|^=+ Numa Nodes =+\s*$|{_JSON.pattern}", re.MULTILINE)
_NAME = re.compile(r"GPU\d+|[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")
_WORD = re.compile(r"XGMI|PCIE|SELF|0|N/A|UNKNOWN")
_NUMA = re.compile(r"^GPU ?\[?(\d+)\]?\s*: \(Topology\) Numa Node: (\d+)\s*$", re.MULTILINE)


def read(text: str) -> ForeignOutput:
    """The node of the first table of link types; of NUMA nodes alone one whose GPUs have unknown links. Raises ``Truncated`` where it
    lacks rows or columns."""
    if (start := _JSON.search(text)) is not None:
        return _of_json(text, start.start())
    found = _LINKS.search(text)
    numa = {int(index): int(node) for index, node in _NUMA.findall(text)}
    if found is None and numa:
        return _output(text, [f"GPU{index}" for index in sorted(numa)], {}, numa)
    lines = [line.split() for line in text[found.end() if found else 0 :].split("\n") if line.strip()]
    names = lines[0] if lines else []
    table = {row[0]: row[1:] for row in lines[1 : 1 + len(names)]}
    whole = all(len(row) == len(names) and all(map(_WORD.fullmatch, row)) for row in table.values())
    if not names or list(table) != names or not all(map(_NAME.fullmatch, names)) or not whole:
        raise Truncated(f"{TOOL}: the table of link types is cut short, or broken into other lines")
    pairs = {(a, b): table[one][b] for a, one in enumerate(names) for b in range(a + 1, len(names))}
    return _output(text, names, pairs, numa)


def _of_json(text: str, start: int) -> ForeignOutput:
    numa: dict[int, int] = {}
    try:
        raw = json.JSONDecoder().raw_decode(text[start:])[0]
        if isinstance(raw, list):
            names = [str(gpu["bdf"]) for gpu in raw]
            links = {(gpu["gpu"], link["gpu"]): str(link["link_type"]) for gpu in raw for link in gpu["links"]}
        else:
            shown = raw.get("system", {}).items()
            links = {(int(pair[1]), int(pair[2])): str(word) for key, word in shown if (pair := _PAIR.match(key))}
            cards = {int(card.removeprefix("card")): found for card, found in raw.items() if card != "system"}
            numa = {card: int(found["(Topology) Numa Node"]) for card, found in cards.items()}
            names = [f"GPU{index}" for index in range(1 + max([*numa, *(max(pair) for pair in links)]))]
        pairs = {(a, b): links.get((a, b)) or links[b, a] for b in range(len(names)) for a in range(b)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Truncated(f"{TOOL}: its JSON is cut short, or lacks pairs of GPUs") from None
    return _output(text, names, pairs, {card: node for card, node in numa.items() if node >= 0})


def _output(
    text: str, names: Sequence[str], pairs: Mapping[tuple[int, int], str], numa: Mapping[int, int]
) -> ForeignOutput:
    gpus = tuple(
        Gpu(at, normal_bus_id(name) if ":" in name else unknown_pci(at), numa_node=numa.get(at), vendor="amd")
        for at, name in enumerate(names)
    )
    memories = tuple(NumaNode(index, None, (), SOME_MEMORY) for index in sorted(set(numa.values()) or {0}))
    notes = (f"{TOOL} does not record which package a NUMA node is of",) if len(memories) > 1 else ()
    peers = {pair: "XGMI" if word == "XGMI" else "unknown" for pair, word in pairs.items()}
    node = Node(hostname="", packages=(), numa_nodes=memories, gpus=gpus, peers=peers, notes=notes)
    return ForeignOutput(TOOL, command=command_line(text.split("\n"), "rocm-smi"), node=node)
