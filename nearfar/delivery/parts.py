"""What each node is made of: beside the order, beside the other nodes, and whether it is the same node in all its runs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nearfar.base import Finding, grouped, statistics
from nearfar.history import short_name
from nearfar.site import Order, orders
from nearfar.topology import GPU_MODEL, SETTINGS, Node, Setting, compare, spread, written_settings
from nearfar.verdict import NodeRun, Verdict

from . import messages

#: What is compared among the nodes beside versions.
PARTS = ("product", "packages", "numa_nodes", "gpus", "gpu_model", "link", "nvlinks", "nics", "memory")
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
        "numa_nodes": len(node.host_numa_nodes), "nvlinks": _of_all(gpu.nvlinks for gpu in node.gpus),
        "link": _of_all(
            written_link({"kind": gpu.link.kind, "gen": gpu.link.max_gen, "width": gpu.link.max_width}) for gpu in node.gpus if gpu.link
        ),
        "nics": len(node.nics), "software": versions(node),
    }  # fmt: skip


def written_link(link: Mapping[str, Any]) -> str:
    """A link to the host, of an order or a GPU: ``pcie 5 x16``."""
    width = link.get("width")
    return " ".join(str(part) for part in (link.get("kind"), link.get("gen"), width and f"x{width}") if part)


def _of_all(values: Iterable[Any]) -> str | None:
    """What all GPUs have, or each different value."""
    return " + ".join(str(value) for value in dict.fromkeys(values) if value is not None) or None


def versions(node: Node) -> dict[str, str]:
    """Versions and settings, by the names of ``Node.software`` and of the settings that cost."""
    known = {key: value for key, value in node.software.items() if key not in orders.NEVER_ORDERED}
    return dict(sorted({**known, **written_settings(node)}.items()))


def differences(order: Order, name: str, node: Node, verdicts: Sequence[Verdict]) -> Iterator[Finding]:
    """Where a node is not what was ordered."""
    under_load = {each["index"]: each for v in verdicts for each in v.document.get("gpus_under_load") or ()}
    yield from compare(node, node, under_load, order.expect, f"order {order.name}")
    if order.product is not None and node.product != order.product:
        product = node.product or "machine without a name"
        yield messages.PRODUCT.finding("product", found=product, expected=order.product)
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
    """By node, its GPUs that other nodes have too: those of the same nodes together."""
    owners = grouped((gpu.uuid, name) for name, node in nodes.items() for gpu in node.gpus if gpu.uuid)
    for holders, uuids in grouped((tuple(names), uuid) for uuid, names in owners.items()).items():
        for name in holders if len(holders) > 1 else ():
            others = [other for other in holders if other != name]
            yield name, messages.SAME_BOARD.finding("gpus", others=others, uuids=uuids)


def columns(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str | None]]:
    """Of what was ``found`` on nodes each kind of part, and each version, as it is written (None: it was not read). Memory that is about
    the same is."""
    memory = statistics.median(own["memory"] for own in nodes.values()) if nodes else 0
    whole = {name: {**{key: own[key] for key in PARTS}, **own["software"]} for name, own in nodes.items()}
    for own in whole.values():
        alike = abs(own["memory"] - memory) <= _SAME_MEMORY * memory
        own["memory"] = gib(memory if alike else own["memory"])
    keys = dict.fromkeys(key for own in whole.values() for key in own)
    values = {key: {name: own.get(key) for name, own in whole.items()} for key in keys}
    return {
        key: {name: None if value is None else str(value) for name, value in own.items()} for key, own in values.items()
    }


def gib(memory: float) -> str:
    """Bytes in GiB."""
    return f"{memory / (1 << 30):.0f} GiB"


def unlike(described: Mapping[str, Node]) -> Iterator[Finding]:
    """What the nodes do not have in common, of which nothing was measured: versions, settings, parts."""
    known = {setting.key: setting for setting in SETTINGS}
    for key, values in columns({name: found(node) for name, node in described.items()}).items():
        differing = spread(known.get(key, Setting(key, key.replace("_", " "), "", ())), values)
        if differing is not None:
            yield messages.UNLIKE.finding(key, groups=differing.sentence)


def settings_not_read(described: Mapping[str, Node]) -> Iterator[Finding]:
    """The settings that cost, and that some nodes do not tell: those of the same nodes together."""
    known = {name: written_settings(node) for name, node in described.items()}
    without = ((tuple(name for name, own in known.items() if each.key not in own), each.title) for each in SETTINGS)
    for names, titles in grouped(without).items():
        if names:
            nodes = names if len(names) < len(known) else "any node"
            yield messages.SETTINGS_NOT_READ.finding("settings", nodes=nodes, settings=", ".join(titles))


def item(finding: Finding) -> tuple[str, str]:
    """What a finding is about, whichever GPU it is of."""
    return finding.code, re.sub(r"^g\d+\b", "", finding.subject)


def not_as_ordered(differing: Mapping[str, Sequence[Finding]]) -> list[Finding]:
    """In what most nodes are not as ordered (``differences`` of each), the GPUs' model first."""
    by_item: dict[tuple[str, str], dict[str, Finding]] = defaultdict(dict)
    for name, findings in differing.items():
        for each in findings:
            by_item[item(each)].setdefault(name, each)
    most = [list(own.values()) for own in by_item.values() if 2 * len(own) > len(differing)]
    return [
        messages.NOT_AS_ORDERED.finding("order", nodes=len(own), of=len(differing), cause=own[0].reason)
        for own in sorted(most, key=lambda own: own[0].code != GPU_MODEL.code)
    ]


def not_read(order: Order, nodes: Sequence[Node]) -> Iterator[Finding]:
    """What was ordered and no node tells."""
    items = [key for key in order.software if nodes and not any(key in versions(node) for node in nodes)]
    if order.serials and nodes and not any(gpu.serial for node in nodes for gpu in node.gpus):
        items.append("serials")
    items += [key for key in ("infiniband",) if key in order.expect]
    if items:
        yield messages.NOT_READ.finding("order", items=items)
