"""No code reads a sentence: what a reason, note or message says is told by codes and fields, never by its words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
#: What holds sentences, by its name.
SENTENCES = {
    "cause",
    "explanation",
    "message",
    "note",
    "notes",
    "problem",
    "reason",
    "reasons",
    "sentence",
    "why",
    "words",
}
#: What takes a sentence apart.
METHODS = {
    "count",
    "endswith",
    "find",
    "index",
    "partition",
    "removeprefix",
    "removesuffix",
    "replace",
    "rpartition",
    "startswith",
}
#: Foreign words, which nobody else can tell (of launchers, OSU, Spack, Slurm and its users), lists that are called so, and the tables
#: themselves.
FOREIGN = {
    "nearfar/base/messages.py",
    "nearfar/commands/explain.py",
    "nearfar/mpi/osu/measuring.py",
    "nearfar/run/spack/failures.py",
    "nearfar/slurm/drains/objections.py",
    "nearfar/slurm/sweep/job_loop.py",
}


def test_no_code_reads_a_sentence() -> None:
    files = [path for root in ("nearfar", "checks") for path in sorted((CHECKOUT / root).rglob("*.py"))]
    found = {str(path.relative_to(CHECKOUT)): list(_reads(path)) for path in files}
    reading = {name for name, lines in found.items() if lines}
    own = {name: found[name] for name in reading - FOREIGN}
    assert not own, f"these lines read a sentence; use its code or fields: {own}"
    assert reading >= FOREIGN, f"these read none any more: {FOREIGN - reading}"


def test_messages_alone_make_findings() -> None:
    """A sentence that is written beside the tables has no code, no fields and no page."""
    own = CHECKOUT / "nearfar/base/messages.py"
    files = [path for root in ("nearfar", "checks") for path in (CHECKOUT / root).rglob("*.py") if path != own]
    without = {f"{path.relative_to(CHECKOUT)}:{line}" for path in files for line in _codeless(path)}
    assert not without, f"make these of a Message in their package's messages.py: {without}"


def _codeless(path: Path) -> Iterator[int]:
    """The lines that make a finding of positional arguments, and give it no code."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and _name(node.func) == "Finding" and 0 < len(node.args) < 5:
            read_back = isinstance(node.args[0], ast.Starred)
            if not read_back and "code" not in [keyword.arg for keyword in node.keywords]:
                yield node.lineno


def _reads(path: Path) -> Iterator[int]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            if _name(node.comparators[0]) in SENTENCES:
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            by_expression = _name(node.func.value) == "re" and any(_name(word) in SENTENCES for word in node.args[1:])
            if by_expression or (node.func.attr in METHODS and _name(node.func.value) in SENTENCES):
                yield node.lineno


def _name(node: ast.expr) -> str:
    """What a value is called: ``reason`` of ``entry.reason or ""``, ``str(each["reason"])`` and ``reason.strip()``."""
    if isinstance(node, ast.BoolOp):
        return _name(node.values[0])
    if isinstance(node, ast.Subscript):
        key = node.slice
        return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else _name(node.value)
    if isinstance(node, ast.Call):
        own = isinstance(node.func, ast.Name) and node.func.id == "str" and node.args
        return _name(node.args[0]) if own else _name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
