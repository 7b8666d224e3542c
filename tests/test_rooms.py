"""The package's rooms: nothing lies loose, no import runs up, in a circle, or past a room's face."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import CHECKOUT

PACKAGE = CHECKOUT / "nearfar"
#: From the ground up: a room imports only from those before it.
ORDER = (
    "base", "topology", "cells", "measurement", "kernels", "model", "collective", "binding", "mpi", "nccl", "question", "verdict", "site",
    "history", "report", "compare", "cost", "reproduce", "delivery", "prometheus", "run", "kit", "foreign", "slurm", "commands",
)  # fmt: skip
LOOSE = ("__init__.py", "__main__.py", "cli.py")
#: More files than this, and one has to search.
MOST_FILES = 20


class Import(NamedTuple):
    """One name that a file imports: from ``room`` (``slurm.sweep``; empty: the package itself)."""

    file: Path
    line: int
    room: str
    name: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(CHECKOUT)}:{self.line}: from nearfar.{self.room} import {self.name}"


def room_of(file: Path) -> str:
    """The room that a file of the package is in; empty for those beside the rooms, and for what is no part of it."""
    return ".".join(file.relative_to(PACKAGE).parent.parts) if file.is_relative_to(PACKAGE) else ""


@cache
def rooms() -> list[str]:
    """Every folder of the package."""
    return sorted(room_of(file) for file in PACKAGE.rglob("*/__init__.py"))


def files() -> list[Path]:
    """All that imports from the package but for the tests, which look inside the rooms too."""
    return [
        *sorted(PACKAGE.rglob("*.py")),
        *sorted((CHECKOUT / "checks").rglob("*.py")),
        CHECKOUT / "reframe_config.py",
    ]


def imports(file: Path) -> Iterator[Import]:
    """Every name that a file imports from the package: at the top, in functions, for types alone."""
    room = room_of(file)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("nearfar."):
                    yield Import(file, node.lineno, name.name.partition(".")[2], "*")
        if not isinstance(node, ast.ImportFrom):
            continue
        module = node.module or ""
        if node.level and file.is_relative_to(PACKAGE):
            above = ["nearfar", *room.split(".")][: len(["nearfar", *room.split(".")]) - node.level + 1]
            module = ".".join([*above, module]).strip(".")
        if module.partition(".")[0] == "nearfar":
            for name in node.names:
                yield Import(file, node.lineno, module.partition(".")[2], name.name)


def test_places_alone_computes_where_things_are() -> None:
    """No other file uses its own path, or reads the variables that move the state. ReFrame loads its configuration and the checks
    without a path to import by."""
    loaded = {CHECKOUT / "reframe_config.py", CHECKOUT / "checks/__init__.py"}
    for file in set(files()) - loaded - {PACKAGE / "base" / "places.py"}:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = node.id if isinstance(node, ast.Name) else ""
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.environ.get", "os.getenv"):
                name = getattr(node.args[0], "value", "")
            assert name not in ("__file__", "NEARFAR_STATE", "XDG_STATE_HOME"), f"{file}:{node.lineno}: {name}"


def source(one: Import) -> str:
    """The room that a name is imported from."""
    below = f"{one.room}.{one.name}".strip(".")
    return next((room for room in (below, one.room) if room in rooms()), one.room.rpartition(".")[0])


def face(room: str) -> ast.Module:
    """A room's ``__init__``."""
    return ast.parse((PACKAGE / room.replace(".", "/") / "__init__.py").read_text(encoding="utf-8"))


def docstring(room: str) -> str:
    """What a room says of itself."""
    return ast.get_docstring(face(room)) or ""


@cache
def exported(room: str) -> set[str]:
    """What a room's ``__init__`` imports from its files or defines itself; where it says ``__all__``, that too."""
    names: set[str] = set()
    for node in face(room).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            names |= {one.asname or one.name for one in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            names |= set(ast.literal_eval(node.value))
    return names


def test_nothing_lies_loose() -> None:
    assert sorted(file.name for file in PACKAGE.glob("*.py")) == sorted(LOOSE)
    unknown = {room.partition(".")[0] for room in rooms()} ^ set(ORDER)
    assert not unknown, f"rooms that the order above does not know, or that are gone: {unknown}"


def test_no_room_is_so_full_that_one_has_to_search_it() -> None:
    # Checks are found by their names, one file each.
    files = {room: [*(PACKAGE / room.replace(".", "/")).glob("*.py")] for room in rooms()}
    full = {room: sum(not file.stem.endswith("_check") for file in found) for room, found in files.items()}
    assert not {room: count for room, count in full.items() if count > MOST_FILES + 1}


@pytest.mark.parametrize("room", rooms())
def test_a_room_says_what_it_is(room: str) -> None:
    text = docstring(room)
    assert text and len(text) > 30, f"nearfar/{room}/__init__.py does not say what the room gives"


def needs(room: str) -> list[str]:
    """The rooms that a room's own files import, in the order of ``ORDER``; its sub-rooms are part of it."""
    found = set()
    for file in (PACKAGE / room.replace(".", "/")).glob("*.py"):
        found |= {one for one in map(source, imports(file)) if one and f"{one}.".partition(f"{room}.")[0]}
    return sorted(found, key=lambda one: (ORDER.index(one.partition(".")[0]), one))


@pytest.mark.parametrize("room", rooms())
def test_a_room_says_what_it_needs(room: str) -> None:
    text = docstring(room)
    said = " ".join(text.rpartition("Needs: ")[2].split())
    assert said == (", ".join(needs(room)) or "nothing of the package") + ".", f"nearfar/{room}/__init__.py"


def test_no_import_reaches_past_a_face() -> None:
    faces = {room: exported(room) for room in rooms()}
    past = []
    for file in files():
        here = room_of(file)
        for one in imports(file):
            module = one.room.rpartition(".")
            own = one.room == here or (module[0] == here and one.room not in faces)
            parts = one.room == "" and (one.name in faces or one.name in ("__version__", "cli"))
            subroom = one.room in faces and f"{one.room}.{one.name}" in faces
            if file.is_relative_to(PACKAGE) and here == "" and one.room == "cli":
                continue
            if not (own or parts or subroom or one.name in faces.get(one.room, ())):
                past.append(str(one))
    assert not past, "not exported by that room's __init__:\n" + "\n".join(past)


def test_no_import_runs_up() -> None:
    up = []
    for file in sorted(PACKAGE.rglob("*.py")):
        here = room_of(file).partition(".")[0]
        for one in imports(file):
            there = (one.room or one.name).partition(".")[0]
            if here in ORDER and there in ORDER and ORDER.index(there) > ORDER.index(here):
                up.append(f"{one}  ({there} stands above {here})")
    assert not up, "imports that run up:\n" + "\n".join(up)


def test_no_rooms_import_each_other() -> None:
    arrows: dict[str, dict[str, Import]] = defaultdict(dict)
    for file in sorted(PACKAGE.rglob("*.py")):
        here = room_of(file)
        for one in imports(file):
            there = source(one)
            if there and there != here:
                arrows[here].setdefault(there, one)
    walked: list[str] = []
    done: set[str] = set()

    def walk(room: str) -> None:
        if room in walked:
            circle = [*walked[walked.index(room) :], room]
            lines = [str(arrows[a][b]) for a, b in itertools.pairwise(circle)]
            pytest.fail(f"rooms in a circle, {' → '.join(circle)}:\n" + "\n".join(lines))
        if room in done:
            return
        walked.append(room)
        for there in arrows.get(room, {}):
            walk(there)
        walked.pop()
        done.add(room)

    for room in rooms():
        walk(room)


def test_no_class_name_stands_twice() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{file.relative_to(CHECKOUT)}:{node.lineno}")
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_no_face_hides_a_module_behind_another_name() -> None:
    """``from nearfar.room import name`` must not mean the module in one file and a function in another."""
    hidden = []
    for room in rooms():
        folder = PACKAGE / room.replace(".", "/")
        modules = {path.stem for path in folder.glob("*.py")} | {
            path.parent.name for path in folder.glob("*/__init__.py")
        }
        for one in imports(folder / "__init__.py"):
            if one.room != room and one.name in modules:
                hidden.append(str(one))
    assert not hidden, "the same name as a module beside it:\n" + "\n".join(hidden)
