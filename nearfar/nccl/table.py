"""What nccl-tests print, and rccl-tests, which print the same."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEADING = r"size\s+count\b.*\bbusbw\b"
#: What they print first of all that nobody else does: also a run that fails before its table.
SIGN = re.compile(rf"^#\s+(?:Using devices\b|{_HEADING})", re.MULTILINE)
_NAMES = r"all_reduce|all_gather|reduce_scatter|alltoallv?|broadcast|reduce|gather|scatter|sendrecv|hypercube"
_NAME = re.compile(rf"Collective test starting: ({_NAMES})_perf|\b({_NAMES})_perf\b")
_STARTS = [re.compile(rf"^#\s+{words}\b", re.MULTILINE) for words in ("nccl-tests version", "nThread")]
_VERSION = re.compile(r"nccl-tests version (\S+)(?:.* nccl-headers=(\d+) nccl-library=(\d+))?")
_RANK = re.compile(
    r"^#\s+Rank\s+(\d+) .*\bon\s+(\S+) device\s+(\d+) \[(?:0x)?([0-9a-fA-F:.]+)\] (.+?)\s*$", re.MULTILINE
)
_ROW = re.compile(r"^\s*(\d+)\s+\d+\s+[a-z]\w*\s.*$")
_WRONG = re.compile(r"Out of bounds values\s*: (\d+) (?:OK|FAILED)")
_FAILURE = re.compile(r"Test (?:NCCL|CUDA|MPI) failure \S+ '(.+?)(?: / .*)?'")


@dataclass(frozen=True)
class TestedRank:
    """A rank, and the GPU that it used."""

    rank: int
    host: str
    device: int
    #: PCI address; older versions print the bus number alone.
    pci: str
    name: str


@dataclass(frozen=True)
class TableRow:
    """The figures of one size, out of place: microseconds, GB/s, and how many values were wrong (None: not compared)."""

    bytes: int
    time: float
    busbw: float
    wrong: int | None


@dataclass(frozen=True)
class NcclTable:
    """One run of one test."""

    collective: str
    rows: tuple[TableRow, ...]
    ranks: tuple[TestedRank, ...]
    version: str
    #: NCCL's version that the test was compiled with, and the library's that it ran with; empty: not printed.
    headers: str
    library: str
    #: Whether its last line is there.
    ended: bool
    #: Values that were not what they should be.
    wrong: int
    #: What it says that ended it.
    failure: str

    @property
    def hosts(self) -> tuple[str, ...]:
        """The nodes of its ranks."""
        return tuple(dict.fromkeys(rank.host for rank in self.ranks))

    @property
    def unlisted(self) -> str:
        """What its list of ranks, with its beginning or middle cut out, does not say; empty where it is whole, or there is none."""
        listed = {rank.rank for rank in self.ranks}
        ranks = max(listed, default=-1) + 1
        return f"{ranks - len(listed)} of {ranks} ranks are not listed" if ranks > len(listed) else ""

    @property
    def cut_short(self) -> str:
        """Why its figures are not all, as the end of a sentence; empty where they are."""
        last = max((row.bytes for row in self.rows), default=None)
        if self.failure:
            return f"ended with '{self.failure}'"
        if self.ended:
            return ""
        return f"its output ends {'before its first size' if last is None else f'behind {last} bytes'}"


def read_tables(text: str) -> list[NcclTable]:
    """Every run of a test in a text, in order; one that ended before its table has no rows."""
    return [_table(part) for part in _runs(text)]


def nccl_version(number: str) -> str:
    """``2.27.3`` of NCCL's number 22703, and of 2708 as older ones have it 2.7.8."""
    if not number.isdecimal():
        return number
    code = int(number)
    major = 10000 if code >= 10000 else 1000
    return f"{code // major}.{code % major // 100}.{code % 100}"


def _runs(text: str) -> list[str]:
    """The text of each run. A version's line stands before that of the options, where there is one."""
    starts = next((found for sign in _STARTS if (found := [each.start() for each in sign.finditer(text)])), [])
    if not starts and SIGN.search(text) is None:
        return []
    return [text[begin:end] for begin, end in itertools.pairwise([0, *starts[1:], len(text)])]


def _table(text: str) -> NcclTable:
    named, version = _NAME.search(text), _VERSION.search(text)
    wrong, failure = _WRONG.search(text), _FAILURE.search(text)
    rows = tuple(_rows(text.split("\n")))
    return NcclTable(
        collective=next(filter(None, named.groups()), "collective") if named else "collective",
        rows=rows,
        ranks=tuple(
            TestedRank(int(rank), host, int(device), _bus(pci), name)
            for rank, host, device, pci, name in dict.fromkeys(_RANK.findall(text))
        ),
        version=version[1] if version else "",
        headers=nccl_version(version[2] or "") if version else "",
        library=nccl_version(version[3] or "") if version else "",
        ended=wrong is not None,
        wrong=max(int(wrong[1]) if wrong else 0, sum(row.wrong or 0 for row in rows)),
        failure=failure[1] if failure else "",
    )


def _rows(lines: list[str]) -> Iterator[TableRow]:
    heading = next((line for line in lines if re.match(rf"#\s+{_HEADING}", line)), None)
    if heading is None:
        return
    columns = heading.lstrip("# ").split()
    at = columns.index("busbw")
    counted = at + 1 < len(columns) and columns[at + 1] == "#wrong"
    for line in lines:
        words = line.split()
        # A line that was cut has no figure of the second half.
        if not _ROW.match(line) or len(words) <= at + 1:
            continue
        try:
            time, busbw = float(words[at - 2]), float(words[at])
        except ValueError:
            continue
        if math.isfinite(time) and math.isfinite(busbw):
            wrong = int(words[at + 1]) if counted and words[at + 1].isdecimal() else None
            yield TableRow(int(words[0]), time, busbw, wrong)


def _bus(text: str) -> str:
    return text if ":" in text else f"0000:{text:0>2}:00"
