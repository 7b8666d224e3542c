"""``nearfar explain``: what a code of a finding means, and what to do next."""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from nearfar.base import MESSAGES, NOT_JUDGED, Message, NearfarError, columns, did_you_mean, site_directories
from nearfar.verdict.references import usual_rates

from .command_line import print_json

#: The packages with a table of messages (``messages.py``), and the headings of these in the manual.
TABLES = {
    "verdict": "Figures and documents", "topology": "Parts of a node", "site": "A node beside its site's files",
    "question": "Questions", "model.diagnosis": "What diagnose finds", "kernels": "Kernels", "mpi": "MPI", "nccl": "NCCL",
    "history": "History", "delivery": "Deliveries", "kit": "Kits", "foreign": "Output of other tools",
    "slurm.health": "The health check", "slurm.act": "Drains", "slurm.drains": "Limits of drains", "report": "Runs",
}  # fmt: skip

_EPILOG = """examples:
  nearfar explain                    list all codes
  nearfar explain gpu.none           what it means, and what to do
  nearfar explain --json gpu.none
  nearfar explain --gpu H100 --h2d 38         is 38 GB/s from host to device usual, and if not, what are likely causes?
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments and help."""
    parser.description = (
        "Explain the code of a finding, a drain reason or a health check, or whether a rate is usual for a GPU."
    )
    parser.epilog = _EPILOG
    parser.add_argument("code", nargs="?", metavar="CODE", help="such as gpu.none (default: list all codes)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--gpu", metavar="MODEL", help="with a rate: a GPU model of site/gpus/, such as H100")
    for way, words in usual_rates.WAYS.items():
        parser.add_argument(
            f"--{way}", metavar="RATE", type=_rate, help=f"is this many GB/s usual for {words}, measured alone?"
        )


def _rate(text: str) -> float:
    """A rate in GB/s, with or without its unit."""
    try:
        rate = float(text.removesuffix("GB/s"))
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1e5:
        raise argparse.ArgumentTypeError(f"'{text}' is not a rate: give a number of GB/s above 0, such as 38")
    return rate


def run(args: argparse.Namespace) -> int:
    """Print it, or the list of all. Raises ``NearfarError`` for a code that does not exist."""
    rates = {way: rate for way in usual_rates.WAYS if (rate := getattr(args, way)) is not None}
    if args.gpu is not None or rates:
        if args.gpu is None or not rates or args.code is not None:
            raise NearfarError("--gpu MODEL takes a rate in GB/s with it, such as --gpu H100 --h2d 38, and no code")
        if args.json:
            known_rates = ((usual_rates.usual(args.gpu, way, site_directories()), rate) for way, rate in rates.items())
            print_json([{"rate": rate, "low": known.low, **asdict(known)} for known, rate in known_rates])
            return 0
        for way, rate in rates.items():
            print("\n".join(usual_rates.lines(args.gpu, way, rate, site_directories())))
        return 0
    known = messages()
    if args.code is not None and args.code not in known:
        near = did_you_mean(args.code, list(known), else_all=False)
        raise NearfarError(f"'{args.code}': no such code{near or '; nearfar explain lists them'}")
    chosen = list(known.values()) if args.code is None else [known[args.code]]
    if args.json:
        print_json([vars(message) for message in chosen])
    elif args.code is None:
        print("\n".join(columns([(message.code, _severity(message), _shown(message.sentence)) for message in chosen])))
    else:
        print("\n".join(_lines(chosen[0])))
    return 0


def messages() -> dict[str, Message]:
    """Every message by its code, sorted."""
    for package in TABLES:
        _table(package)
    return dict(sorted(MESSAGES.items()))


def _table(package: str) -> list[Message]:
    """A package's messages, in the order of its table."""
    values = vars(importlib.import_module(f"nearfar.{package}.messages")).values()
    groups = [value.values() if isinstance(value, dict) else (value,) for value in values]
    return [each for group in groups for each in group if isinstance(each, Message)]


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
    text = """# Messages

The codes of findings, of drains and of the health check; `nearfar explain CODE` prints one. `{…}` is a field of the finding, a part in
`[ ]` is left out if its field is unknown, *hard* is [hard evidence](../drains.md), and *GPU …* stands for its number and PCI
address.
"""
    for package, heading in TABLES.items():
        table = _table(package)
        pages = dict.fromkeys(each.page for each in table if each.page)
        links = ", ".join(f"[{Path(page).name}](../{page})" for page in pages)
        more = f"More: {links}.\n\n" if links else ""
        text += (
            f"\n## {heading}\n\n{more}| code | verdict | message | next |\n|---|---|---|---|\n{''.join(_rows(table))}"
        )
    return text


def _rows(table: Sequence[Message]) -> Iterator[str]:
    """The lines of a table. Messages that differ only in the number of their code and what follows it share one."""
    from nearfar.slurm.health import SHOWN_ONCE

    rows: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for each in table:
        verdict = each.verdict.replace(NOT_JUDGED, "") + (", hard" if each.hard else "")
        sentence = each.sentence
        for long, short in SHOWN_ONCE.items():
            sentence = sentence.replace(long, short)
        number = each.code.partition(".")[2]
        before, _, after = sentence.partition(f" {number}, ") if number.isdecimal() else (sentence, "", "")
        rows.setdefault((verdict, before, each.next), {}).setdefault(after, []).append(each.code)
    for (verdict, before, step), afters in rows.items():
        numbered = [
            f"{', '.join(code.partition('.')[2] for code in codes)} {after}" for after, codes in afters.items() if after
        ]
        first, *others = (code for codes in afters.values() for code in codes)
        code = f"`{first.partition('.')[0]}.N`" if numbered else ", ".join(f"`{each}`" for each in (first, *others))
        cells = code, verdict, f"{before} {'; '.join(numbered)}".strip(), step
        yield f"| {' | '.join(_shown(cell).replace('|', chr(92) + '|') for cell in cells)} |\n"


def _shown(sentence: str) -> str:
    """A sentence as people read it: ``{n:#error}`` is ``{n} errors``."""
    return re.sub(r"\{(\w+):[^#}][^}]*\}", r"{\1}", re.sub(r"\{(\w+):#([^}]*)\}", r"{\1} \2s", sentence))
