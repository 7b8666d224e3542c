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
#: Slurm and people put words behind it: `` : reboot issued``, ``, called vendor``.
_RUN = r"[A-Za-z0-9_+@/%-]+(?:[.:][A-Za-z0-9_+@/%-]+)*"
_PATTERN = re.compile(rf"{PREFIX} FAIL (?P<check>{_WORD})(?P<what>(?: [A-Za-z0-9_.:+@/%<>-]+)*) run=(?P<run>{_RUN})")
#: A figure, its limit and their unit.
_FIGURES = re.compile(r" [^ ]+[<>][^ ]+ [^ ]+")
#: GPUs and NUMA nodes in a cell, a metric or a part.
_ENDPOINT = re.compile(r"(?<![A-Za-z0-9])[gn][0-9]+")
#: Characters of a unit, and of a check's and a run's name, that stand in a reason.
_UNIT, _NAME = 16, 24


@dataclass(frozen=True)
class DrainReason:
    """What a node was drained for. ``check`` lacks its ``_check``; ``what`` is the subject, with figure, limit, unit and part where it is
    a figure: `` d2h g2 27.1<52.6 GB/s g2.link``."""

    check: str
    what: str
    run: str

    def same(self, other: DrainReason | None) -> bool:
        """Whether another one speaks of the same finding: the same check of the same run."""
        return other is not None and (self.check, self.run) == (other.check, other.run)

    def __str__(self) -> str:
        """The line that ``read`` reads."""
        return f"{PREFIX} {self.headline}"

    @property
    def headline(self) -> str:
        """``FAIL host_device d2h g2 27.1<52.6 GB/s run=8f3a``."""
        return f"FAIL {self.check}{self.what} run={self.run}"

    @property
    def kind(self) -> tuple[str, str]:
        """What it has in common with those of other nodes: all but figures and run."""
        return self.check, _FIGURES.sub("", self.what)


def find(text: str | None) -> DrainReason | None:
    """The reason of ours that stands anywhere in a text, or None: ``scontrol reboot`` appends to it, and sites put a ticket's
    number before it."""
    match = re.search(rf"(?<!\S){_PATTERN.pattern}", text or "")
    return None if match is None else read(match[0])


def read(text: str | None) -> DrainReason | None:
    """The reason that one of ours is, to the letter; None for any other text."""
    match = _PATTERN.fullmatch(text or "")
    return None if match is None or len(match[0]) > LONGEST else DrainReason(**match.groupdict())


def reason(check: str, finding: Finding, run: str, part: str | None = None) -> DrainReason:
    """The reason that a FAIL of a check becomes, never longer than ``LONGEST``: the part goes first, then the subject is cut; check and
    run stay."""
    made = DrainReason(_plain(check.removesuffix("_check"))[:_NAME], "", _run(run))
    room = LONGEST - len(str(made))
    figures, unit = "", finding.fields.get("unit")
    value, limit = finding.fields.get("value"), finding.fields.get("limit")
    if value is not None and limit is not None and value != limit and isfinite(value) and isfinite(limit):
        shown, bound = _apart(value, limit)
        figures = (
            f" {shown}{'<' if value < limit else '>'}{bound} {'ratio' if unit == '1' else _plain(unit or '1')[:_UNIT]}"
        )
    figures = figures if len(figures) <= room else ""
    subject = "".join(f" {_plain(word)}" for word in _subject(finding))
    behind = f"{figures} {_plain(part)}" if part is not None and figures else figures
    behind = behind if len(subject) + len(behind) <= room else figures
    return replace(made, what=subject[: room - len(behind)].rstrip() + behind)


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
