"""docs/guide/when-it-says.md: every message of the code that asks a person to do something has a row.

The messages are found in the code: texts that are said (no help, no docstring) and hold a command to type, or a word that asks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT
from tests.slurm.act.test_when_it_says import NOT_PLAYED, ROWS

ASKS = re.compile(
    r"(?<!by )nearfar slurm (?!doctor\)|install has)[a-z]|nearfar (?:tune|lint)\b|scontrol (?:update|ping|reconfigure|delete)"
    r"|sacctmgr modify|systemctl (?:enable|status|daemon-reload)|journalctl -u|\bch(?:own|mod) |useradd|chronyc|scancel --"
    r"|\bmend (?:it|its|that|or|the|owner|…)|name another|name (?:its|that|a) |by hand|mounted|[Rr]emove (?:…|or|the)"
    r"|move (?:it|the file) away|; wait (?:for|until)|: wait |set (?:the|that) clock|look again|look at (?:its|the|what)|one checkout"
    r"|start its timer|install it,|bring it back|continue it|--because WORDS|echo … >|: --(?:state|results) DIR"
)
#: On the nodes, or by who installs: they say what to do in their own pages.
ELSEWHERE = {"health", "install.py", "node.py", "node_run.py", "hook_process.py"}
#: What of the installation the doctor says.
OF_INSTALL = {"directories.py", "manifest.py"}


def said(path: Path) -> Iterator[tuple[str, str]]:
    """Place and text of all that a file may say; what varies is ``…``."""
    tree, passed = ast.parse(path.read_text(encoding="utf-8")), set[ast.AST]()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            first = node.body[0]
            passed |= {*ast.walk(first)}
        if isinstance(node, ast.JoinedStr):
            passed |= {*node.values}
        if isinstance(node, ast.keyword) and node.arg in ("help", "metavar"):
            passed |= {*ast.walk(node.value)}
        if isinstance(node, ast.Assign) and {"_EPILOG", "description", "epilog"} & {
            _name(each) for each in node.targets
        }:
            passed |= {*ast.walk(node.value)}
    for node in ast.walk(tree):
        if node in passed:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts = (
                re.split(r"[][]", re.sub(r"\{\w+\}", "…", node.value)) if path.name == "messages.py" else [node.value]
            )
            yield from ((f"{path.relative_to(CHECKOUT)}:{node.lineno}", part) for part in parts)
        elif isinstance(node, ast.JoinedStr):
            text = "".join(str(each.value) if isinstance(each, ast.Constant) else "…" for each in node.values)
            yield f"{path.relative_to(CHECKOUT)}:{node.lineno}", text


def _name(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""


def plain(text: str) -> str:
    return re.sub("…+", "…", " ".join(text.replace("`", "").split()))


def files() -> Iterator[Path]:
    for path in (*(CHECKOUT / "nearfar/slurm").rglob("*.py"), *(CHECKOUT / "nearfar/commands/slurm").glob("*.py")):
        of_install = path.parent.name == "install" and path.name not in OF_INSTALL
        if not (of_install or ELSEWHERE & set(path.parts)):
            yield path


SAID = [(place, plain(text)) for path in sorted(files()) for place, text in said(path)]
TOLD = [(plain(words), plain(f"{means} {what}")) for words, means, what in ROWS]


def pattern(text: str) -> re.Pattern[str]:
    return re.compile(".*?".join(map(re.escape, text.removeprefix("nearfar: or ").strip("…;:, →").split("…"))))


def answered(message: str) -> bool:
    """Whether a row holds the message, whatever stands in its gaps, or the message holds the row's words."""
    ask = pattern(message)
    return any(
        ask.search(words) or ask.search(rest) or (len(words) > 14 and pattern(words).search(message))
        for words, rest in TOLD
    )


def test_there_are_messages() -> None:
    assert len([text for _, text in SAID if ASKS.search(text) and " " in text]) > 90


@pytest.mark.parametrize("room", sorted({str(Path(place).parent) for place, _ in SAID}))
def test_what_asks_for_something_has_a_row(room: str) -> None:
    mine = [(place, text) for place, text in SAID if str(Path(place).parent) == room]
    without = [f"{place}: {text}" for place, text in mine if ASKS.search(text) and " " in text and not answered(text)]
    assert not without, "no row of docs/guide/when-it-says.md says what to do:\n" + "\n".join(without)


@pytest.mark.parametrize("words", [words for words, _, _ in NOT_PLAYED])
def test_what_is_not_played_stands_in_the_code(words: str) -> None:
    assert any(plain(words) in text or plain(words).strip("…;: ") in text for _, text in SAID), words
