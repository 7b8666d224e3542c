"""The blocks of a page of the manual that a reader pastes into a shell: read, run, and compared with what the page shows.

All blocks of a page are run in one shell. ``console``: commands behind ``$ ``, each with its output below (a block without a language, or
indented by four, counts where a line of it begins with ``$ ``). ``sh``: commands alone, one a line. Every command ends with exit
code 0. In output ``…`` stands for what is left out, in a line or as a line. A comment above a block says otherwise::

    <!-- not run: needs Slurm -->        (behind "blocks of this page are": all blocks of the page)
    <!-- file: site/nodes/x.yaml -->     the block is what the reader writes to that file, below HOME

``python -m tests.support.console_blocks PAGE…`` writes what the commands print today into the pages; outputs with a line ``…`` stay.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base.places import IMPORT_PATH as CHECKOUT

_COMMENT = re.compile(r"\s*<!-- (.+?) -->\s*")
_WHOLE_PAGE = re.compile(r"^<!-- blocks of this page are not run: (.+?) -->$", re.MULTILINE)
#: What the pages call the home directory and the checkout.
HOME, HERE = "/home/me", "/home/me/nearfar"
LEFT_OUT = "…"
#: Seconds that the commands of one page may take.
LIMIT = 300


@dataclass
class Command:
    """A command and the output below it. ``shown`` None: the page shows none. ``first``, ``last``: the output's lines in the page."""

    text: str
    shown: list[str] | None = None
    first: int = 0
    last: int = 0
    indent: str = ""


@dataclass
class Block:
    """A block of a page from ``line`` (1 is the first). ``not_run``: why it is not run. ``file``: where a reader writes it to."""

    page: Path
    line: int
    language: str
    lines: list[str]
    indent: str = ""
    not_run: str = ""
    file: str = ""

    def commands(self) -> list[Command]:
        """What is typed, with what is shown below it."""
        if self.language == "sh":
            return [
                Command(line, None, number + 1) for number, line in enumerate(self.lines, self.line) if line.strip()
            ]
        found: list[Command] = []
        for number, line in enumerate(self.lines, self.line):
            if line.startswith("$ "):
                found.append(Command(line[2:], [], number + 1, number, self.indent))
            elif found and found[-1].text.endswith("\\"):
                found[-1].text += "\n" + line
                found[-1].first, found[-1].last = number + 1, number
            elif found:
                assert found[-1].shown is not None
                found[-1].shown.append(line)
                found[-1].last = number
        for command in found:
            while command.shown and not command.shown[-1].strip():
                command.shown.pop()
                command.last -= 1
        return found


@dataclass
class Ran:
    """A command of a page, and what came of it in a shell."""

    block: Block
    command: Command
    code: int
    output: list[str] = field(default_factory=list)

    @property
    def as_shown(self) -> bool:
        """Whether the page shows what was printed."""
        return self.command.shown is None or fits(self.command.shown, self.output)


def blocks(page: Path) -> list[Block]:
    """The blocks of a page that are run, written to files, or marked as not run."""
    text = page.read_text(encoding="utf-8")
    whole = _WHOLE_PAGE.search(text)
    found = [block for block in _all_blocks(page, text.splitlines()) if block.file or _is_typed(block)]
    for block in found:
        if whole:
            block.not_run = whole[1]
    return found


def _is_typed(block: Block) -> bool:
    return block.language == "sh" or (
        block.language in ("", "console") and any(line.startswith("$ ") for line in block.lines)
    )


def _all_blocks(page: Path, lines: list[str]) -> list[Block]:
    found: list[Block] = []
    remarks: list[str] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        fence = re.match(r"```(\w*)\s*$", line)
        end = number + 1
        if fence:
            while end < len(lines) and not lines[end].startswith("```"):
                end += 1
            found.append(Block(page, number + 2, fence[1], lines[number + 1 : end]))
            end += 1
        elif line.startswith("    ") and (number == 0 or not lines[number - 1].strip()):
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            found.append(Block(page, number + 1, "", [each[4:] for each in lines[number:end]], "    "))
        else:
            comment = _COMMENT.fullmatch(line)
            if comment:
                remarks.append(comment[1])
            elif line.strip():
                remarks = []
            number += 1
            continue
        for remark in remarks:
            kind, _, words = remark.partition(": ")
            if kind == "not run":
                found[-1].not_run = words
            elif kind == "file":
                found[-1].file = words
        remarks = []
        number = end
    return found


def run_page(page: Path, folder: Path) -> list[Ran]:
    """Run a page's blocks one after the other in one shell, in the checkout, with an empty home directory below ``folder``."""
    home, state, kept = folder / "home", folder / "state", folder / "kept"
    for each in (home, state, kept):
        each.mkdir(parents=True)
    own = os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"])
    typed = [
        (block, command)
        for block in blocks(page)
        if not block.not_run and not block.file
        for command in block.commands()
    ]
    path = own if any("./activate" in command.text for _, command in typed) else f"{CHECKOUT / 'bin'}:{own}"
    script = []
    count = 0
    for block in blocks(page):
        if block.not_run:
            continue
        if block.file:
            source = kept / f"file.{block.line}"
            source.write_text("\n".join(block.lines) + "\n", encoding="utf-8")
            script.append(f"cp {source} ~/{block.file}")
            continue
        for command in block.commands():
            script.append(f"{{ {command.text}\n}} >{kept}/{count}.out 2>&1 </dev/null; echo $? >{kept}/{count}.code")
            count += 1
    environment = {
        "HOME": str(home), "PATH": path, "PYTHONPATH": str(CHECKOUT), "NEARFAR_STATE": str(state), "NEARFAR_PYTHON": sys.executable,
        "LC_ALL": "C.UTF-8", "TERM": "dumb", "NEARFAR_NODE_PART": os.environ.get("NEARFAR_NODE_PART", ""),
    }  # fmt: skip
    done = subprocess.run(
        ["bash"], input="\n".join(script), cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=LIMIT
    )
    assert not done.stderr, f"{page}: the shell itself says: {done.stderr}"
    found = []
    for number, (block, command) in enumerate(typed):
        said = (kept / f"{number}.out").read_text(encoding="utf-8")
        for name, path_ in ((HERE, state), (HERE, CHECKOUT), (HOME, home)):
            said = said.replace(str(path_), name)
        found.append(Ran(block, command, int((kept / f"{number}.code").read_text()), said.rstrip().splitlines()))
    return found


def fits(shown: list[str], output: list[str]) -> bool:
    """Whether the output is what is shown, but for what is left out, times, dates, the time that is left and blanks at the end of lines."""
    pattern = ""
    for line in shown:
        if line.strip() in (LEFT_OUT, "..."):
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += "[^\n]*?".join(map(re.escape, _timeless(line).split(LEFT_OUT))) + "\n"
    return re.fullmatch(pattern, "".join(f"{_timeless(line)}\n" for line in output)) is not None


def _timeless(line: str) -> str:
    line = re.sub(r"; about [\w ]+ left$", "", line.rstrip())
    line = re.sub(r"\b20\d{6}T\d{6}\b", "TIME", line)
    return re.sub(r"\b20\d\d-\d\d-\d\d\b", "DATE", line)


def rewrite(page: Path) -> list[str]:
    """Write what the commands of a page print today into it; returns what has to be looked at by a person."""
    with tempfile.TemporaryDirectory() as folder:
        ran = run_page(page, Path(folder))
    lines, told = page.read_text(encoding="utf-8").splitlines(), []
    for each in reversed(ran):
        command = each.command
        if each.code:
            told.append(f"{page}:{command.first - 1}: exit code {each.code}: {each.output[-1:]}")
        if each.as_shown or command.shown is None:
            continue
        if LEFT_OUT in (line.strip() for line in command.shown):
            told.append(
                f"{page}:{command.first}: does not fit, and leaves something out; printed:\n" + "\n".join(each.output)
            )
            continue
        lines[command.first - 1 : command.last] = [(command.indent + line).rstrip() for line in each.output]
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return told


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print("\n".join(rewrite(Path(name))))
