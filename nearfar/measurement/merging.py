"""Several documents of one node as one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from nearfar.base import NearfarError

from .document import CELL_QUANTITIES, Document, from_raw, result_key, subject_key
from .machine import machines


def merge(documents: Sequence[Document]) -> Document:
    """One document of several of the same node, the earliest first.

    On each cell the later word counts, except that a skip erases neither a figure nor a failure. What was measured
    beside aggressors is merged with its like alone; one quick look makes the whole quick. Who else used the machine is kept of
    each (``machines``).
    """
    if not documents:
        raise NearfarError("no documents to merge")
    first = documents[0]
    node = max(documents, key=_known_of_node).raw["node"]
    merged: dict[str, Any] = {**first.raw, "node": node, "results": [], "skipped": [], "failed": []}
    for document in documents:
        if _identity(document) != _identity(first):
            words = "is of another node or kind"
            raise NearfarError(
                f"{document.source}: {words} than {first.source}; name documents of one node and kind only"
            )
        if document.aggressors != first.aggressors:
            words = f"has other aggressors ({', '.join(document.aggressors) or 'none'})"
            raise NearfarError(f"{document.source}: {words} than {first.source}; name documents with the same only")
        _add(merged, document)
    if any(d.raw["program"].get("quick") for d in documents):
        merged["program"] = {**first.raw["program"], "quick": True}
    if any("seconds" in d.raw for d in documents):
        merged["seconds"] = sum(d.raw.get("seconds", 0) for d in documents)
    under_load = {entry["index"]: entry for d in documents for entry in d.raw.get("gpus_under_load", [])}
    if under_load:
        merged["gpus_under_load"] = [under_load[index] for index in sorted(under_load)]
    merged.pop("machine", None)
    if uses := [use for d in documents for use in machines(d.raw)]:
        merged["machines"] = uses
    return from_raw(merged, _source([d.source for d in documents]))


def _add(merged: dict[str, Any], document: Document) -> None:
    """Lay a later document over what was merged so far."""
    known = {_asked(raw) for key in ("results", "failed") for raw in (*merged[key], *document.raw[key])}
    skipped = {_asked(raw): raw for raw in (*merged["skipped"], *document.raw["skipped"])}
    figures = {result_key(result) for result in document.results}
    measured = {_asked(raw) for raw in document.raw["results"]}
    failed = {_asked(raw) for raw in document.raw["failed"]}
    merged["results"] = [
        raw for raw in merged["results"] if _raw_key(raw) not in figures and _asked(raw) not in failed
    ] + document.raw["results"]
    merged["failed"] = [raw for raw in merged["failed"] if _asked(raw) not in measured | failed] + document.raw[
        "failed"
    ]
    merged["skipped"] = [raw for asked, raw in skipped.items() if asked not in known]


def _asked(raw: dict[str, Any]) -> object:
    """What an entry answers: a cell, and which aspect of it."""
    return subject_key(raw["cell"]), raw.get("aspect", "")


def _known_of_node(document: Document) -> int:
    """How much a document says of its node's GPUs: a run of host memory alone asks no driver."""
    node = document.raw["node"]
    return len(node.get("peers") or []) + sum(value is not None for gpu in node["gpus"] for value in gpu.values())


def _identity(document: Document) -> object:
    return document.kind, document.node.hostname, tuple(gpu.pci for gpu in document.node.gpus)


def _raw_key(raw: dict[str, Any]) -> object:
    subject = subject_key(raw["cell"]) if raw["quantity"] in CELL_QUANTITIES else raw["cell"]
    return raw["quantity"], subject, raw.get("bytes"), raw.get("aspect", "")


def _source(sources: Sequence[str]) -> str:
    """``now.json + stream.json``; of many files how many, and the directory that has them."""
    if len(sources) <= 2:
        return " + ".join(sources)
    directories = [os.path.dirname(each) for each in sources]
    of = f" of {os.path.commonpath(map(os.path.abspath, directories))}" if all(directories) else ""
    return f"{len(sources)} documents{of}"
