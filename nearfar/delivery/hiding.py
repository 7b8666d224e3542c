"""A delivery without the names of hosts, serial numbers and addresses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from nearfar.history import short_name

from .decision import DeliveredNode, Delivery

_T = TypeVar("_T")
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
#: What looks like an address of a network, whoever wrote it: IPv4 (a version such as 96.00.89.00.01 is none), MAC, GUID, IPv6.
_ADDRESS = re.compile(
    rf"(?<![\w.]){_OCTET}(?:\.{_OCTET}){{3}}(?!\w|\.\d)|\b(?:[0-9a-f]{{2}}[:-]){{5,}}[0-9a-f]{{2}}\b"
    r"|\b0x[0-9a-f]{16}\b|\b[0-9a-f]{4}(?::[0-9a-f]{4}){3}\b"
    r"|(?<![\w:])(?=[0-9a-f:]*::|(?:[0-9a-f]*:){4})[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){1,6}:(?:[0-9a-f]{1,4}|(?<=::))(?!\w)", re.I,
)  # fmt: skip
#: Nodes are counted with the first of these that begins no real name.
_CALLED = ("node", "unit", "machine", "anonymous")


def anonymous(delivery: Delivery, told: Mapping[str, str]) -> tuple[Delivery, dict[str, str]]:
    """The same delivery: nodes are counted, boards have no serial number and no UUID, runs have no path; with what is ``told`` of nodes,
    by their names."""
    hosts = [node.name for node in delivery.nodes]
    called = next((word for word in _CALLED if not any(host.startswith(word) for host in hosts)), _CALLED[-1])
    names = {host: f"{called}{number:03}" for number, host in enumerate(hosts, 1)}
    names = {short_name(host): "another host" for host in _other_hosts(delivery)} | names
    names |= {word: f"board {number}" for number, word in enumerate(sorted(set(_boards(delivery))), 1)}
    words = sorted(names, key=len, reverse=True)
    # Without a name the pattern matches nothing.
    either = "|".join(map(re.escape, words)) or r"(?!)"
    known = re.compile(rf"(?<![\w.])(?:{either})(?:[.-][a-z][\w.-]*)?(?![\w-])", re.I)

    def called_instead(found: re.Match[str]) -> str:
        """Of a host with its domain the name that it begins with."""
        first = next((word for word in words if found[0].lower().startswith(word.lower())), "")
        return names.get(found[0]) or names.get(first, "hidden")

    def hidden(text: str) -> str:
        return _ADDRESS.sub("an address", known.sub(called_instead, text))

    def plain(node: DeliveredNode) -> DeliveredNode:
        gpus = tuple(replace(gpu, serial=None, uuid=None) for gpu in node.gpus)
        return replace(node, runs=tuple(replace(run, run="") for run in node.runs), gpus=gpus)

    order = replace(delivery.order, serials={}, file=None)
    kept = replace(delivery, nodes=tuple(map(plain, delivery.nodes)), order=order)
    return mapped((kept, dict(told)), hidden)


def _other_hosts(delivery: Delivery) -> Iterator[str]:
    """The hosts that are named as others than the node."""
    for node in delivery.nodes:
        findings = (*node.evidence, *node.missing, *node.waived)
        yield from (str(each.fields["host"]) for each in findings if each.fields.get("host"))


def _boards(delivery: Delivery) -> Iterator[str]:
    for node in delivery.nodes:
        for gpu in node.gpus:
            yield from (word for word in (gpu.serial, gpu.uuid) if word)
    for serials in delivery.order.serials.values():
        yield from serials


def mapped(value: _T, change: Callable[[str], str]) -> _T:
    """A value of dataclasses, tuples, lists and mappings with every text changed."""
    found: Any = value
    if isinstance(found, str):
        found = change(found)
    elif is_dataclass(found) and not isinstance(found, type):
        parts = {each.name: mapped(getattr(found, each.name), change) for each in fields(found) if each.init}
        found = replace(found, **parts)
    elif isinstance(found, Mapping):
        found = {mapped(key, change): mapped(each, change) for key, each in found.items()}
    elif isinstance(found, (tuple, list, set, frozenset)):
        found = type(found)(mapped(each, change) for each in found)
    result: _T = found
    return result
