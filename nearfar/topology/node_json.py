"""A ``Node`` as the ``node`` object of a measurement document (JSON), and back without loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from nearfar.base import NearfarError

from .bitmaps import format_cpu_list, parse_cpu_list
from .parts import Gpu, Link, Nic, Node, NumaNode, Package

_P = TypeVar("_P")


def node_to_document(node: Node) -> dict[str, Any]:
    """The node as plain JSON values; CPUs are Linux lists (``0-31``), memory is in bytes."""
    allowed = None
    if node.allowed_cpus is not None or node.allowed_numa_nodes is not None:
        allowed = {
            "cpus": None if node.allowed_cpus is None else format_cpu_list(node.allowed_cpus),
            "numa_nodes": None if node.allowed_numa_nodes is None else list(node.allowed_numa_nodes),
        }
    known = sorted({index for pair in node.distances for index in pair})
    return {
        "hostname": node.hostname,
        "product": node.product,
        **({} if node.virtual_machine is None else {"virtual_machine": node.virtual_machine}),
        "packages": [_package_to_document(package) for package in node.packages],
        **({"cores": [format_cpu_list(core) for core in node.cores]} if node.cores else {}),
        "numa_nodes": [_numa_node_to_document(n) for n in node.numa_nodes],
        "gpus": [_device_to_document(gpu) for gpu in node.gpus],
        "nics": [_device_to_document(nic) for nic in node.nics],
        "peers": [{"gpus": list(pair), "link": link} for pair, link in sorted(node.peers.items())],
        "distances": {"nodes": known, "values": [[node.distances.get((a, b)) for b in known] for a in known]},
        "allowed": allowed,
        "software": dict(node.software),
        **({"settings": dict(node.settings)} if node.settings else {}),
        "notes": list(node.notes),
    }


def node_from_document(document: Any) -> Node:
    """The node of a document's ``node`` object. Keys that are not known are ignored, those that are missing take their
    defaults; a value of the wrong kind raises ``NearfarError`` with its place."""
    top = _NodeReader(document, "node")
    allowed = top.inner("allowed")
    return Node(
        hostname=top.get("hostname", "str") or "unknown",
        packages=tuple(_made(Package, row) for row in top.rows("packages")),
        numa_nodes=tuple(_numa_node(row) for row in top.rows("numa_nodes")),
        gpus=tuple(_made(Gpu, row) for row in top.rows("gpus")),
        nics=tuple(_made(Nic, row) for row in top.rows("nics")),
        peers=dict(_peer(row) for row in top.rows("peers")),
        distances=_distances(top.inner("distances")),
        product=top.get("product", "str"),
        virtual_machine=top.get("virtual_machine", "bool"),
        allowed_cpus=allowed.get("cpus", "tuple[int, ...]") if allowed else None,
        allowed_numa_nodes=allowed.get("numa_nodes", "numbers") if allowed else None,
        cores=tuple(parse_cpu_list(text) for text in top.get("cores", "tuple[str, ...]") or ()),
        software=top.get("software", "dict[str, str]") or {},
        settings=top.get("settings", "dict[str, str]") or {},
        notes=top.get("notes", "tuple[str, ...]") or (),
    )


def _package_to_document(package: Package) -> dict[str, Any]:
    model = {} if package.model is None else {"model": package.model}
    return {"index": package.index, "cpus": format_cpu_list(package.cpus), **model}


def _device_to_document(device: Gpu | Nic) -> dict[str, Any]:
    whole = {**vars(device), "link": dict(vars(device.link)), "uplinks": list(device.uplinks)}
    return {key: value for key, value in whole.items() if key not in ("settings", "slot", "vendor", "paths") or value}


def _numa_node_to_document(numa: NumaNode) -> dict[str, Any]:
    whole = {**vars(numa), "cpus": format_cpu_list(numa.cpus)}
    return {key: value for key, value in whole.items() if key != "peak" or value is not None}


def _numa_node(row: _NodeReader) -> NumaNode:
    return _made(NumaNode, row, kind=row.choice("kind", "host", "gpu"), memory=row.get("memory", "int") or 0)


def _link(row: _NodeReader | None) -> Link:
    return Link() if row is None else _made(Link, row, kind=row.choice("kind", "pcie", "nvlink", "c2c"))


def _made(part: Callable[..., _P], row: _NodeReader, **given: Any) -> _P:
    """A part of the node, each field read as its annotation asks; what is missing takes the field's default, else is empty."""
    for field in fields(part):  # type: ignore[arg-type]
        if field.name in given:
            continue
        kind = str(field.type)
        value = _link(row.inner(field.name)) if kind == "Link" else row.get(field.name, kind)
        required = field.default is MISSING and field.default_factory is MISSING
        if value is None and required and "None" not in kind:
            if kind == "int":
                raise row.wrong(field.name, "a whole number")
            value = "" if kind == "str" else ()
        if value is not None or required:
            given[field.name] = value
    return part(**given)


def _peer(row: _NodeReader) -> tuple[tuple[int, int], str]:
    pair = sorted(row.get("gpus", "numbers") or ())
    if len(pair) != 2:
        raise row.wrong("gpus", "two GPU numbers")
    return (pair[0], pair[1]), row.get("link", "str") or ""


def _distances(row: _NodeReader | None) -> dict[tuple[int, int], int]:
    if row is None:
        return {}
    nodes, values = row.get("nodes", "numbers") or (), row.value.get("values") or []
    square = isinstance(values, list) and all(isinstance(line, list) and len(line) == len(nodes) for line in values)
    if not square or len(values) != len(nodes):
        raise row.wrong("values", "a square matrix over its nodes")
    distances = {(a, b): value for a, line in zip(nodes, values) for b, value in zip(nodes, line) if value is not None}
    if not all(type(value) is int for value in distances.values()):
        raise row.wrong("values", "a matrix of whole numbers")
    return distances


class _NodeReader:
    """One JSON object, read key by key; ``place`` is where it stands, for errors."""

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise NearfarError(f"{place}: expected an object, found {_short(value)}")
        self.value, self.place = value, place

    def wrong(self, key: str, expected: str) -> NearfarError:
        return NearfarError(f"{self.place}.{key}: expected {expected}, found {_short(self.value.get(key))}")

    def get(self, key: str, kind: str) -> Any:
        """The value of a key, None where it is not there; true and false are no numbers."""
        types, make, expected = _KINDS[kind.removesuffix(" | None")]
        value = self.value.get(key)
        if value is None:
            return None
        try:
            if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
                raise ValueError
            return make(value)
        except (ValueError, OverflowError):
            raise self.wrong(key, expected) from None

    def choice(self, key: str, *known: str) -> str:
        value: str = self.get(key, "str") or known[0]
        if value not in known:
            *most, last = map(repr, known)
            raise self.wrong(key, f"{', '.join(most)} or {last}")
        return value

    def rows(self, key: str) -> list[_NodeReader]:
        return [_NodeReader(value, f"{self.place}.{key}[{i}]") for i, value in enumerate(self.get(key, "list") or ())]

    def inner(self, key: str) -> _NodeReader | None:
        value = self.value.get(key)
        return None if value is None else _NodeReader(value, f"{self.place}.{key}")


def _whole(value: float) -> int:
    if not float(value).is_integer():
        raise ValueError
    return int(value)


def _all(kind: type) -> Callable[[list[Any]], tuple[Any, ...]]:
    def of_kind(values: list[Any]) -> tuple[Any, ...]:
        if not all(type(value) is kind for value in values):
            raise ValueError
        return tuple(values)

    return of_kind


#: How a value is read, by the annotation of its field: the types that JSON has it in, what is made of it, and what is expected.
_KINDS: Mapping[str, tuple[Any, Callable[[Any], Any], str]] = {
    "int": ((int, float), _whole, "a whole number"),
    "float": ((int, float), float, "a number"),
    "bool": (bool, bool, "true or false"),
    "str": (str, str, "a text"),
    "list": (list, list, "a list"),
    "numbers": (list, _all(int), "a list of whole numbers"),
    "tuple[int, ...]": (str, parse_cpu_list, "a text"),
    "tuple[str, ...]": (list, _all(str), "a list of texts"),
    "dict[str, str]": (dict, lambda named: {str(name): str(text) for name, text in named.items()}, "an object"),
    "dict[int, str]": (
        dict,
        lambda named: {int(n): str(way) for n, way in named.items() if str(n).isdecimal()},
        "an object",
    ),
}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
