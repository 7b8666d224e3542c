"""The measurement documents that a command line names: files, or what a run left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from nearfar.base import NearfarError

from .document import Document, load

#: What a run calls the document of a check (``RUN/NODE/CHECK/document.json``).
DOCUMENT = "document.json"
#: The help of an argument that names documents.
DOCUMENTS_HELP = "measurement documents of one node (JSON), or the directory of a run or of one node in it"


def named_documents(names: Iterable[str]) -> list[Document]:
    """The documents, in the order of their names; of a run's directory, or that of one of its nodes, all of that node.

    Raises ``NearfarError`` for a directory without documents, or with those of several nodes, and what ``measurement.load`` raises.
    """
    return [load(path) for name in names for path in _files(Path(name))]


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    found = sorted([*path.glob(DOCUMENT), *path.glob(f"*/{DOCUMENT}"), *path.glob(f"*/*/{DOCUMENT}")])
    if not found:
        raise NearfarError(f"{path}: no {DOCUMENT} in it: name a run's directory, that of a node in it, or documents")
    nodes = sorted({each.parents[1] for each in found})
    if len(nodes) > 1:
        raise NearfarError(f"{path}: documents of {len(nodes)} nodes; name one of them: {nodes[0]}")
    yield from found
