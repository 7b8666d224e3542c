"""The text of a file as the tool wrote it: without colours, carriage returns, and what a launcher puts before each line."""

from __future__ import annotations

import re

#: Escape sequences of terminals, and what moves a cursor.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
#: What pdsh and clush put before a line.
_HOST = re.compile(r"([A-Za-z][A-Za-z0-9.-]*\d[A-Za-z0-9.-]*): ")
#: What launchers and log collectors put before a line, the rank or host as the only group: srun -l, mpirun --tag-output, Hydra,
#: kubectl logs --prefix; a time stamp has none.
_LABELS = (
    re.compile(r" {0,3}(\d+): ?"),
    re.compile(r"\[\d+,(\d+)\]<std(?:out|err)>: ?"),
    re.compile(r"\[(\d+)\] "),
    _HOST,
    re.compile(r"\[(pod/[^\]\s]+)\] "),
    re.compile(r"()\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,0-9]*(?:Z|[+-]\d\d:?\d\d)?\]?(?: \||:)? "),
)
#: So many of a label's lines, of all that are not empty, make it one.
_MOST = 0.8


def decoded(data: bytes) -> str:
    """The text of a file's bytes: UTF-8, or UTF-16 as a PowerShell writes it."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def texts(data: bytes) -> list[tuple[str, str]]:
    """The outputs in a file, one for each rank or host that its lines are labelled with, and before it the host (empty: not said)."""
    plain = _ESCAPES.sub("", decoded(data)).replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ")
    found = _without_labels(plain, "", len(_LABELS))
    return [(host, "\n".join(_bare(line) for line in text.split("\n"))) for host, text in found]


def _bare(line: str) -> str:
    """Without indentation and the sign of a quotation, which whoever pasted it put before a line."""
    return re.sub(r"^(?:\s|>(?: |$))+", "", line)


def _without_labels(text: str, host: str, depth: int) -> list[tuple[str, str]]:
    """Without the labels of a launcher, and of what ran that launcher."""
    lines = text.split("\n")
    filled = [line for line in lines if line.strip()]
    for label in _LABELS if depth else ():
        labelled = sum(label.match(line) is not None for line in filled)
        # Rows of a matrix begin with their number, and have no colon behind it.
        if labelled < 3 or labelled < _MOST * len(filled):
            continue
        parts: dict[str, list[str]] = {}
        for line in lines:
            found = label.match(line)
            if found:
                parts.setdefault(found[1], []).append(line[found.end() :])
        return [
            one
            for name, part in parts.items()
            for one in _without_labels("\n".join(part), name if label is _HOST else host, depth - 1)
        ]
    return [(host, text)]
