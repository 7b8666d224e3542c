"""Which checks there are, read from their sources without running them.

ReFrame drops a check file that it cannot import and still exits 0; what should have run is therefore known from here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

#: Directory of the checks in a checkout.
CHECKS = "checks"
#: Directory below of those that only a quick run asks.
QUICK = "quick"
#: Directory below of those that take long: asked by name alone.
LONG = "long"
_TEST_DECORATOR = "simple_test"


@dataclass(frozen=True)
class Check:
    """A class that ReFrame runs. ``valid_systems`` as written (the base's where the class has none)."""

    name: str
    file: Path
    line: int
    valid_systems: tuple[str, ...]
    #: Why the file cannot be loaded, where that can be told without running it.
    problem: str | None = None


def folders(checks: Path) -> tuple[Path, ...]:
    """Every directory that has checks, the one that ReFrame looks into first."""
    return checks, checks / QUICK, checks / LONG


def read(directory: Path) -> list[Check]:
    """The checks in a directory's files, in the order of files and lines."""
    found: list[Check] = []
    for file in sorted(directory.glob("*.py")):
        text = file.read_text(encoding="utf-8", errors="replace")
        try:
            found += _from_tree(file, ast.parse(text, str(file)))
        except (SyntaxError, ValueError) as error:
            found += _from_broken(file, text, error)
    return found


def _from_tree(file: Path, tree: ast.Module) -> Iterable[Check]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and any(_is_test(decorator) for decorator in node.decorator_list):
            yield Check(node.name, file, node.lineno, _valid_systems(node))


def _is_test(decorator: ast.expr) -> bool:
    name = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
    return bool(name == _TEST_DECORATOR)


def _valid_systems(node: ast.ClassDef) -> tuple[str, ...]:
    for statement in node.body:
        if isinstance(statement, ast.Assign) and any(
            getattr(t, "id", "") == "valid_systems" for t in statement.targets
        ):
            try:
                return tuple(ast.literal_eval(statement.value))
            except ValueError:
                break  # made by code: ReFrame alone knows; a case that it leaves out is told as missing
    return ("*",)


def _from_broken(file: Path, text: str, error: SyntaxError | ValueError) -> Iterable[Check]:
    """What a file that is not Python would have held: the classes that follow a test's decorator."""
    line = getattr(error, "lineno", None) or 1
    problem = f"{file}:{line}: {getattr(error, 'msg', None) or error}"
    names = re.findall(rf"@\w*\.?{_TEST_DECORATOR}\b[^\n]*\n\s*class\s+(\w+)", text)
    for name in names or [file.stem]:
        yield Check(name, file, line, ("*",), problem)


def fits(check: Check, system: str, partition: str, features: Iterable[str]) -> bool:
    """Whether ReFrame would run ``check`` on a partition, by its ``valid_systems`` (names and features; ReFrame's
    rules)."""
    return any(_fits(spec, system, partition, set(features)) for spec in check.valid_systems)


def _fits(spec: str, system: str, partition: str, features: set[str]) -> bool:
    for word in spec.split():
        if word[0] == "+":
            fitting = word[1:] in features
        elif word[0] == "-":
            fitting = word[1:] not in features
        else:
            wanted_system, _, wanted_partition = word.partition(":")
            fitting = wanted_system in ("*", system) and wanted_partition in ("", "*", partition)
        if not fitting:
            return False
    return True
