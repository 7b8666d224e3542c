"""The two parsers of the notation, C++ and Python, agree on any text: what it means, or where it goes wrong."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

from nearfar.cells import CellError, parse

TEXTS = 20_000
#: What cells are made of, and what is mistaken for it.
PARTS = (
    "n0", "n1", "g0", "g1", "c0", "c1", ":", ":", "+", "@", "@g0", "@g1", "@n0", "/", "/sm", "/staged", "/pageable", "/huge", "/x2",
    "/x64", "/x65", "/threads", "/copy", "/scale", "/add", "/triad", "/Triad", "/dot", "/fill", "/one", "/half", "/mid",
    "n01", "g12345", "q0", " ", "9", "a",
)  # fmt: skip
ENDS = ("n0", "n1", "g0", "g1", "c0")
OPTIONS = tuple(part for part in PARTS if part.startswith("/"))


def flow(chance: random.Random) -> str:
    """A flow that may be right: two ends, perhaps a driver, a few options."""
    driver = chance.choice(("", "", "", "@g0", "@g1", "@n1"))
    ends = f"{chance.choice(ENDS)}:{chance.choice(ENDS)}"
    return ends + driver + "".join(chance.choices(OPTIONS, k=chance.choice((0, 0, 1, 1, 2, 3))))


def text(chance: random.Random) -> str:
    """Flows, or their parts in any order."""
    if chance.random() < 0.2:
        return "".join(chance.choices(PARTS, k=chance.randint(0, 8)))
    return "+".join(flow(chance) for _ in range(chance.choice((1, 1, 1, 2, 3))))


def by_python(cell: str) -> str:
    """As cell_lines prints it."""
    try:
        return f"ok\t{parse(cell)}"
    except CellError as error:
        return f"bad\t{error.column}"


def test_both_parsers_read_alike(build_folder: Path) -> None:
    chance = random.Random(14)
    texts = [text(chance) for _ in range(TEXTS)]
    program = build_folder / "bin" / "cell_lines"
    given = "".join(f"{each}\n" for each in texts)
    ran = subprocess.run([str(program)], input=given, capture_output=True, text=True, timeout=60, check=True)
    found = ran.stdout.splitlines()
    assert len(found) == TEXTS
    assert sum(line.startswith("ok") for line in found) > TEXTS / 50, "texts that mean nothing compare nothing"
    differ = [(cell, line, by_python(cell)) for cell, line in zip(texts, found) if line != by_python(cell)]
    assert not differ, f"{len(differ)}, such as {differ[:5]}"
