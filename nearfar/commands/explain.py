"""``nearfar explain``: what a code of a finding means, and what to do next."""

from __future__ import annotations

import argparse
import importlib
import json
import re
from collections.abc import Iterator

from nearfar.base import MESSAGES, Message, NearfarError, columns, did_you_mean

#: The tables of messages.
MODULES = (
    "history.messages", "kernels.messages", "kit.messages", "mpi.messages", "question.messages", "report.messages", "site.messages",
    "slurm.act.messages", "slurm.health.messages", "slurm.health.sources.messages", "topology.messages",
    "verdict.messages",
)  # fmt: skip

_EPILOG = """examples:
  nearfar explain                    every code, a line each
  nearfar explain gpu.none           what it means, and what to do
  nearfar explain --json gpu.none
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = "Explain a code: of a finding in verdict.json, a drain reason, or a health check."
    parser.epilog = _EPILOG
    parser.add_argument("code", nargs="?", metavar="CODE", help="such as gpu.none (default: list all codes)")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    """Print it, or the list of all. Raises ``NearfarError`` for a code that does not exist."""
    known = messages()
    if args.code is not None and args.code not in known:
        raise NearfarError(f"{args.code}: no such code{did_you_mean(args.code, list(known))}")
    chosen = list(known.values()) if args.code is None else [known[args.code]]
    if args.json:
        print(json.dumps([vars(each) for each in chosen], indent=1, ensure_ascii=False))
    elif args.code is None:
        print("\n".join(columns([(each.code, _severity(each), _shown(each.sentence)) for each in chosen])))
    else:
        print("\n".join(_lines(chosen[0])))
    return 0


def messages() -> dict[str, Message]:
    """Every message by its code, sorted."""
    for module in MODULES:
        importlib.import_module(f"nearfar.{module}")
    return dict(sorted(MESSAGES.items()))


def _severity(message: Message) -> str:
    return f"{message.verdict}, hard evidence" if message.hard else message.verdict


def _lines(message: Message) -> Iterator[str]:
    yield f"{message.code}: {_severity(message)}"
    yield f"  {_shown(message.sentence)}"
    if message.next:
        yield f"  next: {_shown(message.next)}"
    if message.page:
        yield f"  more: docs/{message.page}"


def page() -> str:
    """The text of ``docs/reference/messages.md``."""
    head = """# Messages

Every finding has a code, here and in `verdict.json`; `nearfar explain CODE` prints its row. `{…}` stands for a field of the finding; a part
in `[ ]` is left out where its field is not known. *Hard evidence* stands without a second run: it drains a node at once.

| code | verdict | message | what to do next |
|---|---|---|---|
"""
    return head + "".join(map(_row, messages().values()))


def _row(message: Message) -> str:
    more = f" ([more](../{message.page}))" if message.page else ""
    cells = f"`{message.code}`", _severity(message), _shown(message.sentence), f"{_shown(message.next)}{more}".strip()
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _shown(sentence: str) -> str:
    """A sentence as people read it: ``{n:#error}`` is ``{n} errors``."""
    return re.sub(r"\{(\w+):[^#}][^}]*\}", r"{\1}", re.sub(r"\{(\w+):#([^}]*)\}", r"{\1} \2s", sentence))
