"""The text of a file as the tool wrote it: without colours, carriage returns, and what a launcher puts before each line."""

from __future__ import annotations

import re
from typing import NamedTuple

#: Escape sequences of terminals, and what moves a cursor.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
#: What pdsh and clush put before a line.
_HOST = re.compile(r"([A-Za-z][A-Za-z0-9._-]*|\d+(?:\.\d+){3}): ?")
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
#: What dshbak and clush -b, and Ansible, put above a node's lines; of nodes with the same lines once (``n[1-4]``).
_NAMES = r"[A-Za-z][A-Za-z0-9.,\[\]-]*\d[A-Za-z0-9.,\[\]-]*"
_HEADING = re.compile(
    rf"^(?:-{{4,}}\n({_NAMES})(?: \(\d+\))?\n-{{4,}}|({_NAMES}) \| [A-Z]+(?: \| rc=\d+)? >>)\n", re.MULTILINE
)
#: So many of a label's lines, of all that are not empty, make it one.
_MOST = 0.8
#: So many of the odd, or the even, bytes are zero in UTF-16 without its mark.
_ZEROS = 0.3


class LabelledText(NamedTuple):
    """The lines of one rank or host: the host (empty: not said), what stood before each line (empty: nothing), and the rest."""

    host: str
    label: str
    text: str


def decoded(data: bytes) -> str:
    """The text of a file's bytes: UTF-8, or UTF-16 as a PowerShell writes it, with or without its mark."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    even, odd = data[:1000:2].count(0), data[1:1000:2].count(0)
    if max(even, odd) > _ZEROS * len(data[:1000:2]) and min(even, odd) < max(even, odd) / 10:
        return data.decode("utf-16-be" if even > odd else "utf-16-le", "replace")
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def texts(data: bytes) -> list[LabelledText]:
    """The outputs in a file, one for each rank or host that its lines are labelled with."""
    plain = _ESCAPES.sub("", decoded(data)).replace("\r\n", "\n").replace("\r", "\n").replace("\xa0", " ")
    before, *headed = _HEADING.split(plain)
    parts = [
        LabelledText("", "", before),
        *(LabelledText(a or b, "", text) for a, b, text in zip(*(iter(headed),) * 3)),
    ]
    found = [each for part in parts if part.text.strip() for each in _without_labels(part, len(_LABELS))]
    return [part._replace(text="\n".join(_bare(line) for line in part.text.split("\n"))) for part in found]


def _bare(line: str) -> str:
    """Without indentation and the sign of a quotation, which whoever pasted it put before a line."""
    return re.sub(r"^(?:\s|>(?: |$))+", "", line)


def _without_labels(part: LabelledText, depth: int) -> list[LabelledText]:
    lines = part.text.split("\n")
    filled = [line for line in lines if line.strip()]
    for label in _LABELS if depth else ():
        labelled = sum(label.match(line) is not None for line in filled)
        # Rows of a matrix begin with their number, and have no colon behind it.
        if labelled < 3 or labelled < _MOST * len(filled):
            continue
        parts: dict[str, list[str]] = {}
        labels: dict[str, str] = {}
        for line in lines:
            found = label.match(line)
            if found:
                parts.setdefault(found[1], []).append(line[found.end() :])
                labels.setdefault(found[1], found[0].strip())
        return [
            each
            for name, own in parts.items()
            for each in _without_labels(
                LabelledText(
                    name if label is _HOST else part.host, labels[name] if name else part.label, "\n".join(own)
                ),
                depth - 1,
            )
        ]
    return [part]
