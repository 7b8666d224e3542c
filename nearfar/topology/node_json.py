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
        hostname=top.text("hostname") or "unknown",
        packages=tuple(_made(Package, row) for row in top.rows("packages")),
        numa_nodes=tuple(_numa_node(row) for row in top.rows("numa_nodes")),
        gpus=tuple(_made(Gpu, row) for row in top.rows("gpus")),
        nics=tuple(_made(Nic, row) for row in top.rows("nics")),
        peers=dict(_peer(row) for row in top.rows("peers")),
        distances=_distances(top.inner("distances")),
        product=top.text("product"),
        virtual_machine=top.flag("virtual_machine"),
        allowed_cpus=allowed.cpus("cpus") if allowed and allowed.has("cpus") else None,
        allowed_numa_nodes=allowed.numbers("numa_nodes") if allowed and allowed.has("numa_nodes") else None,
        cores=tuple(parse_cpu_list(text) for text in top.texts("cores")),
        software=top.named_texts("software"),
        settings=top.named_texts("settings"),
        notes=top.texts("notes"),
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
    return _made(NumaNode, row, kind=row.choice("kind", "host", "gpu"), memory=row.integer("memory") or 0)


def _link(row: _NodeReader | None) -> Link:
    return Link() if row is None else _made(Link, row, kind=row.choice("kind", "pcie", "nvlink", "c2c"))


def _made(part: Callable[..., _P], row: _NodeReader, **given: Any) -> _P:
    """A part of the node, each field read as its annotation asks; what is missing takes the field's default."""
    for field in fields(part):  # type: ignore[arg-type]
        if field.name not in given:
            value = _READERS[field.type](row, field.name)
            if value is not None or field.default is MISSING:
                given[field.name] = value
    return part(**given)


def _peer(row: _NodeReader) -> tuple[tuple[int, int], str]:
    pair = sorted(row.numbers("gpus"))
    if len(pair) != 2:
        raise row.wrong("gpus", "two GPU numbers")
    return (pair[0], pair[1]), row.text("link") or ""


def _distances(row: _NodeReader | None) -> dict[tuple[int, int], int]:
    if row is None:
        return {}
    nodes, values = row.numbers("nodes"), row.value.get("values") or []
    square = isinstance(values, list) and all(isinstance(line, list) and len(line) == len(nodes) for line in values)
    if not square or len(values) != len(nodes):
        raise row.wrong("values", "a square matrix over its nodes")
    distances = {}
    for a, line in zip(nodes, values):
        for b, value in zip(nodes, line):
            if value is not None:
                if isinstance(value, bool) or not isinstance(value, int):
                    raise row.wrong("values", "a matrix of whole numbers")
                distances[a, b] = value
    return distances


class _NodeReader:
    """One JSON object, read key by key; ``place`` is where it stands, for errors."""

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise NearfarError(f"{place}: expected an object, found {_short(value)}")
        self.value, self.place = value, place

    def wrong(self, key: str, expected: str) -> NearfarError:
        return NearfarError(f"{self.place}.{key}: expected {expected}, found {_short(self.value.get(key))}")

    def has(self, key: str) -> bool:
        return self.value.get(key) is not None

    def choice(self, key: str, *known: str) -> str:
        value = self.text(key) or known[0]
        if value not in known:
            *most, last = map(repr, known)
            raise self.wrong(key, f"{', '.join(most)} or {last}")
        return value

    def _checked(self, key: str, kinds: type | tuple[type, ...], expected: str) -> Any:
        """The value, None where it is not there; true and false are no numbers."""
        value = self.value.get(key)
        if value is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool)):
            raise self.wrong(key, expected)
        return value

    def text(self, key: str) -> str | None:
        value: str | None = self._checked(key, str, "a text")
        return value

    def integer(self, key: str) -> int | None:
        value = self._checked(key, (int, float), "a whole number")
        if isinstance(value, float) and not value.is_integer():
            raise self.wrong(key, "a whole number")
        return None if value is None else int(value)

    def number(self, key: str) -> int:
        value = self.integer(key)
        if value is None:
            raise self.wrong(key, "a whole number")
        return value

    def real(self, key: str) -> float | None:
        value = self._checked(key, (int, float), "a number")
        return None if value is None else float(value)

    def flag(self, key: str) -> bool | None:
        value: bool | None = self._checked(key, bool, "true or false")
        return value

    def cpus(self, key: str) -> tuple[int, ...]:
        return parse_cpu_list(self.text(key) or "")

    def _list(self, key: str) -> list[Any]:
        return self._checked(key, list, "a list") or []

    def texts(self, key: str) -> tuple[str, ...]:
        values = self._list(key)
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(key, "a list of texts")
        return tuple(values)

    def numbers(self, key: str) -> tuple[int, ...]:
        values = self._list(key)
        if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            raise self.wrong(key, "a list of whole numbers")
        return tuple(values)

    def rows(self, key: str) -> list[_NodeReader]:
        return [_NodeReader(value, f"{self.place}.{key}[{i}]") for i, value in enumerate(self._list(key))]

    def named_texts(self, key: str) -> dict[str, str]:
        return {str(name): str(text) for name, text in (self._checked(key, dict, "an object") or {}).items()}

    def inner(self, key: str) -> _NodeReader | None:
        return _NodeReader(self.value[key], f"{self.place}.{key}") if self.has(key) else None


#: How a field of a part is read, by its annotation.
_READERS: Mapping[Any, Callable[[_NodeReader, str], Any]] = {
    "int": _NodeReader.number,
    "int | None": _NodeReader.integer,
    "float | None": _NodeReader.real,
    "bool": _NodeReader.flag,
    "bool | None": _NodeReader.flag,
    "str": lambda row, key: row.text(key) or "",
    "str | None": _NodeReader.text,
    "tuple[int, ...]": _NodeReader.cpus,
    "tuple[str, ...]": _NodeReader.texts,
    "dict[str, str]": _NodeReader.named_texts,
    "dict[int, str]": lambda row, key: {int(gpu): way for gpu, way in row.named_texts(key).items() if gpu.isdecimal()},
    "Link": lambda row, key: _link(row.inner(key)),
}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
