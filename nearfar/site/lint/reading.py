"""Everything that a site's directories hold, read as far as it can be, with all that the readers refuse.

A reader stops at the first fault. Here the culprit is taken out and the rest is read again, so that one look shows every
fault, and what is sound is still looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from nearfar.base import NearfarError, SiteFile, SiteFileError, Step, did_you_mean, schema, site_files
from nearfar.collective import captures
from nearfar.model import PublishedNode, published_nodes
from nearfar.model.prediction import NodeType
from nearfar.model.prediction import from_file as node_type_from
from nearfar.model.typical import FILE as TYPICAL
from nearfar.model.typical import experience_from
from nearfar.site import applications, orders, systems
from nearfar.verdict.references import ReferenceFile, known_checks, model_ranges

from .complaints import ERROR, WARNING, Complaint, refused

T = TypeVar("T")

#: Of each kind of file its schema.
SCHEMAS = {"systems": "system-1", "nodes": "node-type-1", "references": "references-1", "gpus": "gpu-1",
           "applications": "application-1", "orders": "order-1", published_nodes.FOLDER: "published-node-1",
           captures.FOLDER: "published-collective-1"}  # fmt: skip


@dataclass(frozen=True)
class ReadFile(Generic[T]):
    """A file and what it describes. ``file.data`` lacks what was refused; ``value`` is None where too little is left."""

    file: SiteFile
    value: T | None


class SiteContents:
    """A site's files by kind and name, and what is wrong with them."""

    def __init__(self, directories: Sequence[Path]) -> None:
        self.directories = directories
        #: Every file that was looked at, and those of a kind, by name, that are YAML.
        self.files: list[Path] = []
        self.systems: dict[str, ReadFile[systems.System]] = {}
        self.node_types: dict[str, ReadFile[NodeType]] = {}
        self.references: dict[str, ReadFile[ReferenceFile]] = {}
        self.orders: dict[str, ReadFile[orders.Order]] = {}
        self.gpus: dict[str, ReadFile[Mapping[str, Any]]] = {}
        self.published_nodes: dict[str, ReadFile[PublishedNode]] = {}
        self.published_collectives: dict[str, ReadFile[Any]] = {}
        self.complaints: list[Complaint] = []
        #: What the files of GPU models say, by model, of two files the first: what is expected of each, the nominal rate of its memory
        #: (GB/s, where a file has it), and the ranges of healthy figures.
        self.gpu_models: dict[str, Mapping[str, Any]] = {}
        self.gpu_memories: dict[str, float] = {}
        self.healthy: dict[str, Mapping[str, Sequence[model_ranges.HealthyRange]]] = {}

    def add(self, kind: str, names: Sequence[str] | None = None) -> SiteContents:
        """Read the files of a kind (``names``: these alone)."""
        loads: dict[str, tuple[dict[str, ReadFile[Any]], Callable[[SiteFile], Any]]] = {
            "systems": (self.systems, lambda file: systems.from_file(file, self.directories)),
            "nodes": (self.node_types, node_type_from),
            "references": (self.references, lambda file: ReferenceFile(file, known_checks())),
            "gpus": (self.gpus, self._gpu_model),
            "applications": ({}, applications.from_file),
            "orders": (self.orders, orders.from_file),
            # Without the GPU models: what is wrong with one of these is said of its own file.
            published_nodes.FOLDER: (self.published_nodes, lambda file: published_nodes.from_file(file, ())),
            captures.FOLDER: (self.published_collectives, captures.from_file),
        }
        into, load = loads[kind]
        folders = kind == published_nodes.FOLDER  # each in a folder of its own
        files = published_nodes.node_files(self.directories) if folders else site_files(kind, list(self.directories))
        for name, path in files.items():
            if names is None or name in names:
                self._read(name, path, SCHEMAS[kind], into, load)
        return self

    def add_typical(self) -> SiteContents:
        """Read what healthy machines typically carry, of the first directory that has it."""
        path = next((path for each in self.directories if (path := each / TYPICAL).is_file()), None)
        if path is not None:
            self._read(path.stem, path, "typical-1", {}, experience_from)
        return self

    def _read(
        self, name: str, path: Path, schema_name: str, into: dict[str, ReadFile[Any]], load: Callable[[SiteFile], Any]
    ) -> None:
        self.files.append(path)
        try:
            file = SiteFile(path)
        except SiteFileError as error:
            self.complaints.append(refused(error, "yaml"))
            return
        value, errors = salvage(file, schema_name, load)
        into[name] = ReadFile(file, value)
        self.complaints += errors

    def _gpu_model(self, file: SiteFile) -> Mapping[str, Any]:
        """A file of ``gpus/`` whose ranges of healthy figures can be read."""
        data, ranges = file.data, model_ranges.in_file(file)
        for model in data["gpu_models"]:
            self.gpu_models.setdefault(model, data["expect"])
            if "memory" in data:
                self.gpu_memories.setdefault(model, float(data["memory"]["bandwidth"]))
            self.healthy[model] = {**ranges, **self.healthy.get(model, {})}
        found: Mapping[str, Any] = data
        return found


def salvage(file: SiteFile, schema_name: str, load: Callable[[SiteFile], T]) -> tuple[T | None, list[Complaint]]:
    """What ``load`` makes of the file, with all that the schema and it refuse, and the culprits taken out of
    ``file.data``; None where the rest cannot be read either."""
    problems = file.problems(schema_name)
    complaints = [refused(problem, "schema") for problem in problems]
    while _cleaned(file, schema_name):
        try:
            return load(file), complaints
        except SiteFileError as error:
            complaints.append(refused(error, "names"))
            if not _take_out(file, error.steps, schema_name):
                break
        except NearfarError as error:
            complaints.append(Complaint(file.path, 1, ERROR, "names", str(error)))
            break
    return None, complaints


def _cleaned(file: SiteFile, schema_name: str) -> bool:
    """Take out all that the schema refuses, and what lacks something for it; whether a sound file is left."""
    while problems := file.problems(schema_name):
        removed = [_take_out(file, problem.steps, schema_name) for problem in problems]
        if not any(removed):
            return False
    return True


def _take_out(file: SiteFile, steps: Sequence[Step], schema_name: str) -> bool:
    """Remove a culprit, unless it is what every such file must have."""
    keys = [step for step in steps if isinstance(step, str)]
    return keys != [] and (len(keys) > 1 or keys[0] not in schema(schema_name)["required"]) and file.take_out(*steps)


def unread(directories: Sequence[Path], kinds: Sequence[str]) -> Iterator[Complaint]:
    """What stands in the site's directories and is not read."""
    for directory in directories:
        for path in sorted(directory.iterdir()):
            if path.is_dir() and path.name not in kinds and not path.name.startswith(".") and any(path.glob("*.y*ml")):
                yield Complaint(
                    path, 1, WARNING, "stray", f"no such folder is read{did_you_mean(path.name, list(kinds))}"
                )
        for kind in kinds[:-1]:
            for path in sorted((directory / kind).glob("*")):
                if path.suffix in (".yml", ".json"):
                    yield Complaint(path, 1, WARNING, "stray", f"is not read; call it {path.stem}.yaml")
