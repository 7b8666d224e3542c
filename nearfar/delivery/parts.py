"""What each node is made of: beside the order, beside the other nodes, and whether it is the same node in all its runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nearfar.base import Finding, plural, statistics
from nearfar.history import short_name
from nearfar.site import Order
from nearfar.topology import Node, as_one, compare, setting_values
from nearfar.verdict import NodeRun, Verdict

from . import messages

#: What is compared among the nodes beside versions.
_PARTS = ("product", "packages", "gpus", "gpu_model", "nics", "memory")
#: Versions that differ from node to node and explain nothing.
_NO_VERSIONS = ("hwloc", "architecture")
#: The system keeps some of the modules' memory for itself; a missing module is a larger part of a node's.
_SAME_MEMORY = 0.05


def boards(run: NodeRun) -> frozenset[str]:
    """The UUIDs of its GPUs."""
    return frozenset(gpu.uuid for gpu in run.node.gpus if gpu.uuid) if run.node else frozenset()


def found(node: Node) -> dict[str, Any]:
    """What stands beside the order."""
    return {
        "product": node.product, "packages": len(node.packages), "memory": sum(numa.memory for numa in node.host_numa_nodes),
        "gpus": len(node.gpus), "gpu_model": " + ".join(dict.fromkeys(gpu.name or "unknown" for gpu in node.gpus)) or None,
        "nics": len(node.nics), "software": versions(node),
    }  # fmt: skip


def versions(node: Node) -> dict[str, str]:
    """Versions and settings, by the names of ``Node.software`` and of the settings that cost."""
    settings = {key: as_one(values) for key, values in setting_values(node).items()}
    known = {**{key: value for key, value in node.software.items() if key not in _NO_VERSIONS}, **settings}
    return dict(sorted(known.items()))


def differences(order: Order, name: str, node: Node, verdicts: Sequence[Verdict]) -> Iterator[Finding]:
    """Where a node is not what was ordered."""
    under_load = {each["index"]: each for v in verdicts for each in v.document.get("gpus_under_load") or ()}
    yield from compare(node, node, under_load, order.expect, f"order {order.name}")
    if order.product is not None and node.product != order.product:
        yield messages.PRODUCT.finding(
            "product", found=node.product or "machine without a name", expected=order.product
        )
    known = versions(node)
    for key, expected in order.software.items():
        if known.get(key, expected) != expected:
            yield messages.SOFTWARE.finding(key, found=known[key], expected=expected)
    serials = order.serials.get(name)
    strange = [gpu.serial for gpu in node.gpus if gpu.serial and gpu.serial not in serials] if serials else []
    if strange:
        yield messages.SERIAL.finding("serials", serials=strange)


def other_host(name: str, verdicts: Sequence[Verdict]) -> Iterator[Finding]:
    """Documents of another machine among the node's own."""
    for verdict in verdicts:
        host = None if verdict.measurement is None else verdict.measurement.hostname
        if host and short_name(host) != name:
            yield messages.WRONG_HOST.finding(name, check=verdict.check, host=host)


def shared_boards(nodes: Mapping[str, Node]) -> Iterator[tuple[str, Finding]]:
    """By node, its GPUs that another node has too."""
    owners: dict[str, list[str]] = defaultdict(list)
    for name, node in nodes.items():
        for gpu in node.gpus:
            if gpu.uuid:
                owners[gpu.uuid].append(name)
    for uuid, names in owners.items():
        for name in names if len(names) > 1 else ():
            yield name, messages.SAME_BOARD.finding(uuid, others=[other for other in names if other != name])


def unlike(described: Mapping[str, Node]) -> Iterator[Finding]:
    """What the nodes do not have in common, of which nothing was measured: versions, settings, parts."""
    nodes = {name: found(node) for name, node in described.items()}
    memory = statistics.median(own["memory"] for own in nodes.values()) if nodes else 0
    columns: dict[str, dict[str, str]] = defaultdict(dict)
    for name, own in nodes.items():
        for key, value in {**{key: own[key] for key in _PARTS}, **own["software"]}.items():
            if key == "memory":
                value = memory if abs(value - memory) <= _SAME_MEMORY * memory else value
                value = f"{value / (1 << 30):.0f} GiB"
            if value is not None:
                columns[key][name] = str(value)
    for key, values in columns.items():
        groups = Counter(values.values())
        (most, many), *others = groups.most_common()
        words = [f"{value} on {_named(name for name, own in values.items() if own == value)}" for value, _ in others]
        if words:
            yield messages.UNLIKE.finding(key, groups=f"{most} on {plural(many, 'node')}, {', '.join(words)}")


def not_read(order: Order, nodes: Sequence[Node]) -> Iterator[Finding]:
    """What was ordered and no node tells."""
    items = [key for key in order.software if nodes and not any(key in versions(node) for node in nodes)]
    if order.serials and nodes and not any(gpu.serial for node in nodes for gpu in node.gpus):
        items.append("serials")
    items += [key for key in ("infiniband",) if key in order.expect]
    if items:
        yield messages.NOT_READ.finding("order", items=items)


def _named(names: Iterator[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:6]) + (f" and {len(listed) - 6} more" if len(listed) > 6 else "")
