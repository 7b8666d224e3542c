"""Write manual pages from the help texts: of ``nearfar`` and each of its commands, and of the programs that are built.

A page is what ``--help`` prints, in the sections that ``man`` knows; nothing is written twice.
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

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from nearfar import __version__, cli  # noqa: E402

#: What a help text calls a section, where man has another word for it.
SECTIONS = {"exit codes": "EXIT STATUS", "positional arguments": "ARGUMENTS"}
#: Columns of a help text before it is cut into lines: more than any has.
UNWRAPPED = "100000"
#: Sections whose lines are shown as they are.
AS_TYPED = ("examples",)
#: What argparse writes above a list of commands.
HEADS_OF_LISTS = ("COMMAND", "ACTION")


def escaped(text: str) -> str:
    """Text in which roff sees no command."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def page(name: str, help_text: str, summary: str = "", see_also: str = "") -> str:
    """The manual page, as roff, of a help text that begins with its usage.

    ``summary`` is the line of NAME; without one it stands behind the first colon of the help text's first line.
    """
    help_text = re.sub(r"\n+(?=exit codes: )", "\n\n", help_text.rstrip())
    head, *paragraphs = filter(None, help_text.split("\n\n"))
    synopsis = head.removeprefix("usage: ")
    if not summary:
        synopsis, summary = synopsis.split(": ", 1)
    lines = [f'.TH "{name.upper()}" "1" "" "nearfar {__version__}" "nearfar"', ".ad l", ".SH NAME"]
    lines += [f"{escaped(name)} \\- {escaped(summary)}", ".SH SYNOPSIS", escaped(synopsis), ".SH DESCRIPTION"]
    current = "description"
    for paragraph in paragraphs:
        title, below = titled(paragraph, current)
        if title != current:
            lines.append(f".SH {SECTIONS.get(title, title.upper())}")
            current = title
        lines += body(title, below)
    if see_also:
        lines += [".SH SEE ALSO", escaped(see_also)]
    return "\n".join(lines) + "\n"


def titled(paragraph: str, current: str) -> tuple[str, str]:
    """The section that a paragraph of a help text belongs to, and what of it stands below the section's heading."""
    match = re.match(r"([a-z][a-z ]*):(?=\n| *\d)\s", paragraph)
    if match:
        return match[1], paragraph[match.end() :]
    if paragraph.startswith("  -") and current in ("description", "examples"):
        return "options", paragraph
    return (
        "description" if current == "description" else current if paragraph.startswith("  ") else "notes"
    ), paragraph


def body(title: str, below: str) -> Iterator[str]:
    """Roff of a paragraph without its heading: lines as typed, entries with their words, or text."""
    if title in AS_TYPED:
        yield from (".nf", *map(escaped, below.split("\n")), ".fi")
        return
    if not below.startswith("  "):
        yield ".PP"
    for line in below.split("\n"):
        entry = re.match(r" {2,4}(-\S.*?|\S+|\S.*?(?= {2}))(?: {2,}(\S.*))?$", line)
        if entry and entry[1] not in HEADS_OF_LISTS:
            yield from (".TP", f"\\fB{escaped(entry[1])}\\fR", *([escaped(entry[2])] if entry[2] else []))
        elif not entry:
            yield escaped(line.strip())


def shown_by(parser: argparse.ArgumentParser) -> str:
    """The help text of a parser, which may take its arguments only when it is called."""
    with contextlib.redirect_stdout(io.StringIO()) as written, contextlib.suppress(SystemExit):
        parser.parse_args(["--help"])
    return written.getvalue()


def of_commands() -> Iterator[tuple[str, str]]:
    """Name and roff of ``nearfar``'s page and those of its commands, and of theirs."""
    os.environ["COLUMNS"] = UNWRAPPED
    top = cli.parser(None)
    pages = [f"nearfar-{command}(1)" for command in cli.COMMANDS]
    yield "nearfar", page("nearfar", top.format_help(), cli.SUMMARY, ", ".join(pages))
    for command, summary in cli.COMMANDS.items():
        parser, _ = commands_of(cli.parser(command))[command]
        yield from of_parser(f"nearfar-{command}", parser, summary, "nearfar(1)")


def of_parser(name: str, parser: argparse.ArgumentParser, summary: str, above: str) -> Iterator[tuple[str, str]]:
    """Name and roff of a command's page and those of its own commands."""
    below = commands_of(parser)
    see_also = ", ".join([above, *(f"{name}-{command}(1)" for command in below)])
    yield name, page(name, shown_by(parser), summary, see_also)
    for command, (one, words) in below.items():
        yield from of_parser(f"{name}-{command}", one, words, f"{name}(1)")


def commands_of(parser: argparse.ArgumentParser) -> dict[str, tuple[argparse.ArgumentParser, str]]:
    """The commands of a parser that its help shows, each with its parser and the line of that help."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return {shown.dest: (action.choices[shown.dest], str(shown.help)) for shown in action._choices_actions}
    return {}


def of_programs(folder: Path) -> Iterator[tuple[str, str]]:
    """Name and roff of the page of each program in this folder."""
    for program in sorted(folder.glob("nearfar-*")):
        done = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=30)
        if done.returncode == 0:
            yield program.name, page(program.name, done.stdout, see_also="nearfar(1)")


def main() -> int:
    """Write the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--programs", type=Path, metavar="FOLDER", help="the folder of the programs, for their pages too"
    )
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="the pages come to FOLDER/man1/")
    options = parser.parse_args()
    pages = dict(of_commands())
    if options.programs:
        pages.update(of_programs(options.programs))
    folder = options.to / "man1"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (folder / f"{name}.1").write_text(text, encoding="utf-8")
    print(f"{len(pages)} manual pages: {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
