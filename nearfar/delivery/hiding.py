"""A delivery without the names of hosts, serial numbers and addresses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from .decision import Delivery

_T = TypeVar("_T")
#: What looks like an address of a network, whoever wrote it.
_ADDRESS = re.compile(
    r"\b(?:\d{1,3}\.){3}\d{1,3}\b|\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b|\b[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){4,7}\b", re.I
)


def anonymous(delivery: Delivery, told: Mapping[str, str]) -> tuple[Delivery, dict[str, str]]:
    """The same delivery: nodes are counted, boards have no serial number and no UUID, runs have no path; with what is ``told`` of nodes,
    by their names."""
    names = {node.name: f"node{number:03}" for number, node in enumerate(delivery.nodes, 1)}
    names |= {word: f"board {number}" for number, word in enumerate(sorted(set(_boards(delivery))), 1)}
    words = sorted(names, key=len, reverse=True)
    known = (
        re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, words))})(?:\.[a-z][\w.-]*)?(?![\w-])", re.I)
        if words
        else None
    )

    def hidden(text: str) -> str:
        if known is not None:
            text = known.sub(lambda found: names.get(found[0]) or names.get(_first(found[0], words), "hidden"), text)
        return _ADDRESS.sub("an address", text)

    plain = replace(
        delivery,
        nodes=tuple(
            replace(
                node,
                runs=tuple(replace(run, run="") for run in node.runs),
                gpus=tuple(replace(gpu, serial=None, uuid=None) for gpu in node.gpus),
            )
            for node in delivery.nodes
        ),
        order=replace(delivery.order, serials={}, file=None),
    )
    return mapped((plain, dict(told)), hidden)


def _first(found: str, words: list[str]) -> str:
    """The name that a host with its domain begins with."""
    return next((word for word in words if found.lower().startswith(word.lower())), "")


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
        found = replace(
            found, **{each.name: mapped(getattr(found, each.name), change) for each in fields(found) if each.init}
        )
    elif isinstance(found, Mapping):
        found = {mapped(key, change): mapped(each, change) for key, each in found.items()}
    elif isinstance(found, (tuple, list, set, frozenset)):
        found = type(found)(mapped(each, change) for each in found)
    result: _T = found
    return result
