"""The file that a kit leaves: read with limits, and refused where it is damaged, edited, of a newer kit, or does not fit itself.

Checksums find damage and careless edits. Whoever makes a whole file anew can make checksums too: what is left then is what the judge asks
of any document (figures within their samples, below what a link carries), and that the parts of the file agree.
"""

from __future__ import annotations

import re
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

from nearfar import measurement
from nearfar.base import MADE_UP, CouldNotJudge, NearfarError, strict_json, utc_time, validator
from nearfar.measurement import Document
from nearfar.question import CELLS
from nearfar.topology import Node, NumaNode, parse_hwloc_xml

SCHEMA = "nearfar-kit-result"
VERSION = 1
#: Bytes of the file, of what is in it, and how many files that may be.
LARGEST, LARGEST_UNPACKED, MOST_FILES = 64 * 2**20, 256 * 2**20, 200
#: How far a document's start may lie outside the time that the file gives itself, and a file's in the future.
_CLOCKS = timedelta(minutes=5)
_NAME = re.compile(r"result/(?:[A-Za-z0-9_-][A-Za-z0-9._-]*/){0,2}[A-Za-z0-9_-][A-Za-z0-9._-]*")
_SUM = re.compile(r"([0-9a-f]{64})  (\S+)")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
#: What no name of a part of a node has, and a page could take for markup, a terminal for commands.
_MARKUP = re.compile(r"[<>\x00-\x1f\x7f-\x9f]")
_SUMS, _RESULT, _TOPOLOGY = "SHA256SUMS", "result.json", "topology.xml"


@dataclass(frozen=True)
class KitCase:
    """One check of a kit. ``document`` is None where its program left none."""

    check: str
    exit_code: int
    seconds: float
    asked: tuple[str, ...]
    document: Document | None
    said: bytes


@dataclass(frozen=True)
class KitResult:
    """A kit's file, checked. ``digest`` is the SHA-256 of the whole; ``node`` as the documents have it; ``topology`` hwloc's XML, None
    where lstopo failed; ``words`` what driver and kernel said, by file name."""

    file: Path
    digest: str
    raw: Mapping[str, Any]
    started: datetime
    cases: tuple[KitCase, ...]
    node: Node
    topology: str | None
    words: Mapping[str, bytes]

    @property
    def anonymous(self) -> bool:
        """Whether names and numbers that tell who and where were taken out."""
        return bool(self.raw["anonymous"])

    @property
    def virtual_machine(self) -> bool | None:
        """Whether the node ran under a hypervisor; None where it does not say."""
        return {b"yes": True, b"no": False}.get(self.words.get("virtual-machine.txt", b"").strip())

    @property
    def product(self) -> str | None:
        """The machine's product name as its firmware gives it."""
        return self.words.get("product.txt", b"").decode("utf-8", "replace").strip() or None


def read(path: Path) -> KitResult:
    """Read and check a kit's file. Raises ``NearfarError`` where it is no such file, ``CouldNotJudge`` where it is damaged or contradicts
    itself; one line that says which part."""
    try:
        return _checked(path)
    except MADE_UP as error:
        raise not_understood(path, error) from None


def _checked(path: Path) -> KitResult:
    contents, digest = _unpack(path)
    _check_sums(path, contents)
    raw = _result(path, contents)
    try:
        started = utc_time(raw["started"])
    except ValueError:
        raise _refused(path, f"{_RESULT}: started '{raw['started']}' is not a time") from None
    if started > datetime.now(timezone.utc) + _CLOCKS:
        raise _refused(path, f"it was measured in the future ({raw['started']})")
    cases = tuple(_case(path, contents, entry) for entry in raw["cases"])
    measured_checks = {name.split("/")[1] for name in contents if name.startswith("checks/")}
    if measured_checks != {case.check for case in cases} or len(measured_checks) != len(cases):
        raise _refused(path, f"{_RESULT} does not list the same checks as are in the file")
    node = _node(path, cases)
    for case in cases:
        _check_case(path, case, raw, started, node)
    texts = {name.removeprefix("words/"): content for name, content in contents.items() if name.startswith("words/")}
    result = KitResult(path, digest, raw, started, cases, node, _topology(path, contents, node), texts)
    _refuse_markup(path, [result.product])
    return result


def not_understood(path: Path, error: Exception) -> CouldNotJudge:
    """The refusal of a file that somebody made up, in whose parts an error came up."""
    return _refused(path, f"it cannot be understood ({type(error).__name__}: {' '.join(str(error).split())[:120]})")


def _refused(path: Path, why: str) -> CouldNotJudge:
    return CouldNotJudge(f"{path}: {why}; nothing of it is used: ask for the file again, as the kit left it")


def _unpack(path: Path) -> tuple[dict[str, bytes], str]:
    """The files of the archive by name, without their folder; and the SHA-256 of the archive."""
    try:
        if not path.is_file():
            raise NearfarError(f"{path}: no such file; name the one that ./kit/run left")
        size = path.stat().st_size
        if size > LARGEST:
            raise _refused(path, f"{size / 2**20:.0f} MiB are more than a kit leaves ({LARGEST // 2**20})")
        digest = sha256(path.read_bytes()).hexdigest()
        contents: dict[str, bytes] = {}
        left = LARGEST_UNPACKED
        with tarfile.open(path, mode="r|gz") as archive:
            for entry in archive:
                if entry.isdir():
                    continue
                if not entry.isfile() or not _NAME.fullmatch(entry.name):
                    raise _refused(path, f"it holds {entry.name[:80]!r}, which no kit leaves")
                left -= entry.size
                if left < 0 or len(contents) >= MOST_FILES:
                    raise _refused(path, "it unpacks to more than a kit leaves")
                name = entry.name.removeprefix("result/")
                if name in contents:
                    raise _refused(path, f"{name} is in it twice")
                stream = archive.extractfile(entry)
                contents[name] = b"" if stream is None else stream.read()
    except PermissionError:
        raise NearfarError(f"{path}: no permission to read it") from None
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise _refused(path, f"damaged, or no tar.gz archive ({error})") from None
    return contents, digest


def _check_sums(path: Path, contents: dict[str, bytes]) -> None:
    if _SUMS not in contents:
        raise _refused(path, f"no {_SUMS} in it: it is not what a kit leaves")
    lines = contents.pop(_SUMS).decode("ascii", "replace").splitlines()
    listed = {match[2]: match[1] for match in map(_SUM.fullmatch, lines) if match}
    if len(listed) != len(lines) or listed.keys() != contents.keys():
        raise _refused(path, f"{_SUMS} does not list what is in it: it was edited, or cut short")
    for name, content in sorted(contents.items()):
        if sha256(content).hexdigest() != listed[name]:
            raise _refused(path, f"{name} is not as the kit wrote it (its checksum differs)")


def _result(path: Path, contents: Mapping[str, bytes]) -> Mapping[str, Any]:
    try:
        raw = strict_json(contents.get(_RESULT, b""))
    except ValueError as error:
        raise _refused(path, f"no {_RESULT} in it that can be read ({error})") from None
    name, _, version = str(raw.get("schema") if isinstance(raw, dict) else "").partition("/")
    if name != SCHEMA or not re.fullmatch("[0-9]{1,9}", version):
        raise _refused(path, f"{_RESULT} is no '{SCHEMA}'")
    if int(version) > VERSION:
        raise CouldNotJudge(
            f"{path}: left by a newer kit ({raw['schema']}); this nearfar reads version {VERSION}: update it"
        )
    flaw = next(iter(validator("kit-result-1").iter_errors(raw)), None)
    if flaw is not None:
        where = ".".join(map(str, flaw.absolute_path))
        raise _refused(path, f"{_RESULT}: {where + ': ' if where else ''}{flaw.message[:120]}")
    checked: Mapping[str, Any] = raw
    return checked


def _case(path: Path, contents: Mapping[str, bytes], entry: Mapping[str, Any]) -> KitCase:
    place = f"checks/{entry['check']}"
    text = contents.get(f"{place}/{measurement.DOCUMENT}")
    document = None
    if text is not None:
        try:
            document = measurement.loads(text.decode("utf-8"), f"{path}: {place}/{measurement.DOCUMENT}")
        except UnicodeDecodeError:
            raise _refused(path, f"{place}/{measurement.DOCUMENT} is not UTF-8") from None
    asked = tuple(contents.get(f"{place}/cells.txt", b"").decode("ascii", "replace").split())
    stderr = contents.get(f"{place}/stderr.txt", b"")
    return KitCase(entry["check"], entry["exit"], entry["seconds"], asked, document, stderr)


def _node(path: Path, cases: tuple[KitCase, ...]) -> Node:
    """What all documents say that the node is."""
    nodes = [case.document.node for case in cases if case.document is not None]
    if not nodes:
        raise _refused(path, "no program left a measurement document")
    # A run that measures host memory alone asks no driver for names.
    fullest = max(nodes, key=lambda node: (len(node.gpus), sum(gpu.name is not None for gpu in node.gpus)))
    boards = {(gpu.pci, gpu.uuid, gpu.name) for gpu in fullest.gpus}
    boards |= {(gpu.pci, None, None) for gpu in fullest.gpus}
    for node in nodes:
        alike = _numa_nodes(node) == _numa_nodes(fullest) and node.packages == fullest.packages
        if node.hostname != fullest.hostname or not alike or not {(g.pci, g.uuid, g.name) for g in node.gpus} <= boards:
            raise _refused(path, "its documents are of different nodes")
    if not _HOST.fullmatch(fullest.hostname):
        raise _refused(path, f"{fullest.hostname[:60]!r} is not a host name")
    texts = [fullest.product, *(text for gpu in fullest.gpus for text in (gpu.name, gpu.uuid, gpu.pci)), *fullest.notes]
    _refuse_markup(path, texts)
    return fullest


def _numa_nodes(node: Node) -> tuple[NumaNode, ...]:
    """The NUMA nodes without the size of their memory, which a virtual machine's host changes while it runs."""
    return tuple(replace(memory, memory=0) for memory in node.numa_nodes)


def _refuse_markup(path: Path, texts: Sequence[str | None]) -> None:
    odd = next((text for text in texts if text and (_MARKUP.search(text) or len(text) > 200)), None)
    if odd is not None:
        raise _refused(path, f"{odd[:60]!r} is not a part of a node")


def _check_case(path: Path, case: KitCase, raw: Mapping[str, Any], started: datetime, node: Node) -> None:
    """That a document is of the program, the time and the cells that the file says."""
    document, place = case.document, f"checks/{case.check}/{measurement.DOCUMENT}"
    if document is None:
        return
    program = document.raw.get("program") or {}
    if document.kind != "measured" or program.get("name") != CELLS or program.get("version") != raw["kit"]:
        raise _refused(path, f"{place} is not what {CELLS} {raw['kit']} measured")
    try:
        begun = utc_time(str(document.raw.get("started")))
    except ValueError:
        raise _refused(path, f"{place} does not record when it was measured") from None
    if not started - _CLOCKS <= begun <= started + timedelta(seconds=raw["seconds"]) + _CLOCKS:
        raise _refused(path, f"{place} was measured at another time than the file records")
    answered = {str(result.cell) for result in document.results if result.cell is not None}
    if strange := sorted(answered - set(case.asked)):
        raise _refused(path, f"{place} has cells that the kit did not ask, such as {strange[0][:60]}")
    if case.exit_code == 0 and document.failed:
        raise _refused(path, f"{place} has failed cells, and its program ended with exit code 0")


def _topology(path: Path, contents: Mapping[str, bytes], node: Node) -> str | None:
    content = contents.get(_TOPOLOGY)
    if content is None:
        return None
    text = content.decode("utf-8", "replace")
    if "<!ENTITY" in text:
        raise _refused(path, f"{_TOPOLOGY} declares entities, which hwloc never writes")
    try:
        listed = {gpu.pci for gpu in parse_hwloc_xml(text).gpus}
    except NearfarError as error:
        raise _refused(path, f"{_TOPOLOGY}: {error}") from None
    if listed and not {gpu.pci for gpu in node.gpus} <= listed:
        raise _refused(path, f"{_TOPOLOGY} is of another node than the documents: other GPUs")
    return text
