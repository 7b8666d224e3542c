"""Write manual pages: what ``--help`` of ``nearfar``, of each of its commands and of each built program prints, under man's headings.

usage: python setup/man_pages.py FOLDER [FOLDER_OF_PROGRAMS]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nearfar import __version__, cli

#: What a help text calls a section, where man has another word for it.
SECTIONS = {"exit codes": "EXIT STATUS", "positional arguments": "ARGUMENTS"}


class HelpText(NamedTuple):
    """What ``--help`` of a command or program prints. ``summary``: the line of NAME; empty: it stands in the text."""

    name: str
    text: str
    summary: str = ""
    see_also: str = "nearfar(1)"


def page(name: str, help_text: str, summary: str = "", see_also: str = "") -> str:
    """The manual page, as roff, of a help text that begins with its usage, its lines as they are.

    ``summary`` is the line of NAME; without one it stands behind the first colon of the help text's first line.
    """
    usage, _, rest = help_text.strip().removeprefix("usage: ").partition("\n\n")
    if not summary:
        usage, summary = usage.split(": ", 1)
    text = f"{usage}\n\n@DESCRIPTION\n{rest}\n" + (f"@SEE ALSO\n{see_also}\n" if see_also else "")
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)
    text = re.sub(
        r"^([a-z][a-z ]+):(?:\n| (?=\d))",
        lambda match: f"@{SECTIONS.get(match[1], match[1].upper())}\n",
        text,
        flags=re.M,
    )
    text = re.sub(r"\n+@([A-Z ]+)\n+", r"\n.fi\n.SH \1\n.nf\n", text)
    head = f'.TH "{name.upper()}" "1" "" "nearfar {__version__}" "nearfar"\n.SH NAME\n{name} \\- {summary}\n'.replace(
        "-", "\\-"
    )
    return head.replace("\\\\-", "\\-") + f".SH SYNOPSIS\n.nf\n{text}.fi\n"


def of_commands() -> Iterator[HelpText]:
    """Of ``nearfar`` and all its commands."""
    return _of_parser("nearfar", cli.parser(None), cli.SUMMARY, "")


def _of_parser(name: str, parser: argparse.ArgumentParser, summary: str, above: str) -> Iterator[HelpText]:
    """Of a command and its own commands."""
    below = [(choice.dest, action.choices[choice.dest], str(choice.help)) for action in parser._actions
             if isinstance(action, argparse._SubParsersAction) for choice in action._choices_actions]  # fmt: skip
    if not above:  # nearfar's own: a command's parser knows its options once that is the chosen one
        chosen = [cli.parser(command)._subparsers._group_actions[0].choices[command] for command, _, _ in below]  # type: ignore[union-attr, index]
        below = [(command, one, words) for (command, _, words), one in zip(below, chosen)]
    with contextlib.redirect_stdout(io.StringIO()) as written, contextlib.suppress(SystemExit):
        parser.parse_args(["--help"])  # some take their arguments only when they are called
    others = [*filter(None, [above]), *(f"{name}-{command}(1)" for command, _, _ in below)]
    yield HelpText(name, written.getvalue(), summary, ", ".join(others))
    for command, one, words in below:
        yield from _of_parser(f"{name}-{command}", one, words, f"{name}(1)")


def of_programs(folder: Path) -> Iterator[HelpText]:
    """Of each program in this folder."""
    for program in sorted(folder.glob("nearfar-*")):
        done = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=30)
        if done.returncode == 0:
            yield HelpText(program.name, done.stdout)


if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"
    target, *programs = map(Path, sys.argv[1:])
    target.mkdir(parents=True, exist_ok=True)
    for each in [*of_commands(), *(text for folder in programs for text in of_programs(folder))]:
        (target / f"{each.name}.1").write_text(page(*each), encoding="utf-8")
