"""The reason that a drained node carries: one short line that a technician acts on and that a program reads back.

nearfar: FAIL host_device d2h g2 27.1<52.6 GB/s g2.link run=8f3a
nearfar: FAIL topology g2 gpu.missing run=8f3a
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

from nearfar.base import Finding, NearfarError
from nearfar.cells import parse

PREFIX = "nearfar:"
#: Slurm keeps longer ones, but what shows them (sinfo, mails) cuts.
LONGEST = 120
_WORD = r"[A-Za-z0-9_.:+@/%-]+"
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?"
#: Slurm and people put words behind it: `` : reboot issued``, ``, called vendor``.
_RUN = r"[A-Za-z0-9_+@/%-]+(?:[.:][A-Za-z0-9_+@/%-]+)*"
_PATTERN = re.compile(
    rf"{PREFIX} FAIL (?P<check>{_WORD})(?P<what>(?: {_WORD})*?)"
    rf"(?: (?P<value>{_NUMBER})(?P<sign>[<>])(?P<limit>{_NUMBER}) (?P<unit>{_WORD})(?: (?P<part>{_WORD}))?)? run=(?P<run>{_RUN})"
)  # fmt: skip
#: GPUs and NUMA nodes in a cell, a metric or a part.
_ENDPOINT = re.compile(r"(?<![A-Za-z0-9])[gn][0-9]+")
#: The unit of a ratio, which has none.
_RATIO = "ratio"
#: Characters of a unit that stand in a reason.
_UNIT = 16


@dataclass(frozen=True)
class DrainReason:
    """What a node was drained for. ``check`` lacks its ``_check``; ``figures`` are the value and the limit
    as shown, with unit, where it is a figure."""

    check: str
    what: tuple[str, ...]
    run: str
    figures: tuple[str, str, str] | None = None
    part: str | None = None

    def same(self, other: DrainReason | None) -> bool:
        """Whether another one speaks of the same finding: the same check of the same run."""
        return other is not None and (self.check, self.run) == (other.check, other.run)

    def __str__(self) -> str:
        """The line that ``read`` reads."""
        return f"{PREFIX} {self.headline}"

    @property
    def headline(self) -> str:
        """``FAIL host_device d2h g2 27.1<52.6 GB/s run=8f3a``."""
        words = ["FAIL", self.check, *self.what]
        if self.figures is not None:
            value, limit, unit = self.figures
            words += [f"{value}{'<' if float(value) < float(limit) else '>'}{limit}", unit]
            words += [self.part] if self.part else []
        return " ".join([*words, f"run={self.run}"])


def find(text: str | None) -> DrainReason | None:
    """The reason of ours that stands anywhere in a text, or None: ``scontrol reboot`` appends to it, and sites put a ticket's
    number before it."""
    match = re.search(rf"(?<!\S){_PATTERN.pattern}", text or "")
    return None if match is None else read(match[0])


def read(text: str | None) -> DrainReason | None:
    """The reason that one of ours is, to the letter; None for any other text."""
    match = _PATTERN.fullmatch(text or "")
    if match is None or len(text or "") > LONGEST:
        return None
    value = match["value"]
    figures = None if value is None else (value, match["limit"], match["unit"])
    found = DrainReason(match["check"], tuple(match["what"].split()), match["run"], figures, match["part"])
    return found if str(found) == text else None


def reason(check: str, finding: Finding, run: str, part: str | None = None) -> DrainReason:
    """The reason that a FAIL of a check becomes, never longer than ``LONGEST``: the part goes first, then words are
    cut, then the figures go; check and run stay."""
    figures, unit = None, finding.fields.get("unit") or "1"
    value, limit = finding.fields.get("value"), finding.fields.get("limit")
    if value is not None and limit is not None and value != limit and isfinite(value) and isfinite(limit):
        figures = (*_apart(value, limit), _plain(unit)[:_UNIT] if finding.fields.get("unit") != "1" else _RATIO)
    made = DrainReason(
        _plain(check.removesuffix("_check"))[:24], tuple(map(_plain, _subject(finding))), _run(run), figures,
        None if part is None or figures is None else _plain(part),
    )  # fmt: skip
    if len(str(made)) > LONGEST:
        made = replace(made, part=None)
    while len(str(made)) > LONGEST and made.what:
        spare = max(1, len(made.what[-1]) - (len(str(made)) - LONGEST))
        cut = made.what[-1][:spare]
        made = replace(made, what=(*made.what[:-1], cut) if len(cut) > 3 else made.what[:-1])
    return made if len(str(made)) <= LONGEST else replace(made, figures=None)


def part_of(blamed: Sequence[str], finding: Finding) -> str | None:
    """The first blamed part that a finding is about: one of its GPUs and NUMA nodes, or a link between others."""
    about = set(_ENDPOINT.findall(finding.fields.get("cell") or finding.subject))
    for part in blamed:
        named = set(_ENDPOINT.findall(part))
        if not named or named & about:
            return part
    return None


def _subject(finding: Finding) -> list[str]:
    """``d2h g2`` for a lone flow between host and GPU, else the metric's name; of what is no figure the subject and the code."""
    fields, path_class = finding.fields, finding.fields.get("class")
    if fields.get("value") is None:
        return [finding.subject, *([finding.code] if finding.code else [])]
    try:
        cell = parse(fields.get("cell") or "")
    except NearfarError:
        return [finding.subject]
    flow = cell.flows[0]
    plain = cell.lone and flow.kind == "host" and not flow.options and finding.subject.startswith(f"{path_class}.")
    if not plain or path_class is None or "_latency" in path_class:
        return [finding.subject]
    where = [] if path_class == "sole" else [f"n{flow.numa_node}"]
    return [str(flow.direction), f"g{flow.gpus[0]}", *where]


def _apart(value: float, limit: float) -> tuple[str, str]:
    """Both figures with three digits, or with as many as it takes to tell them apart."""
    for digits in range(3, 18):
        both = _digits(value, digits), _digits(limit, digits)
        if float(both[0]) != float(both[1]):
            return both
    return repr(value), repr(limit)


def _digits(value: float, digits: int) -> str:
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e" in text and 1 <= abs(value) < 1e7 else text


def _run(run: str) -> str:
    word = re.sub(r"[.:](?=[.:]|$)", "_", _plain(run)[:24])
    return word if re.match(r"[^.:]", word) else f"_{word[1:]}"


def _plain(word: str) -> str:
    """A word that stands in a reason: ASCII, no blanks, nothing that a shell or Slurm takes for more than a letter."""
    return re.sub(rf"(?!{_WORD}).", "_", word.replace("µ", "u"), flags=re.DOTALL) or "-"
