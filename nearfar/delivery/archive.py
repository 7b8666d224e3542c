"""The decisions as a document, and the record of a delivery: what is signed, with all that it rests on, in one ZIP."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import nearfar
from nearfar.base import utc_text
from nearfar.history import short_name
from nearfar.report import told_answers
from nearfar.report.blocks import Shown, shown_page

from .decision import REFUSED, Delivery

SCHEMA = "nearfar-delivery/1"
#: Of a run's directory: what the decision rests on.
_KEPT = ("run.json", "index.html", "report.json", "*/node.json", "*/*/verdict.json")
#: All files of a ZIP have this time, so that the same record has the same bytes.
_TIME = (2000, 1, 1, 0, 0, 0)


def text(delivery: Delivery) -> str:
    """The decisions as JSON text (``nearfar-delivery/1``), ending in a newline."""
    about = {"schema": SCHEMA, "program": {"name": "nearfar", "version": nearfar.__version__}, "made": utc_text()}
    document = {**about, "counts": delivery.counts, **asdict(delivery)}
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False, default=str) + "\n"


def record(delivery: Delivery, decisions: bytes, shown: Shown, pdf: bytes, with_runs: bool) -> bytes:
    """A ZIP of ``record.pdf``, ``record.html``, ``delivery.json`` (the ``decisions``), the order, and ``with_runs`` the runs of every node;
    ``SHA256SUMS`` has the sum of each. No more than one of its files is held beside it: a large delivery has gigabytes."""
    sums: dict[str, str] = {}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _entries(delivery, decisions, shown, pdf, with_runs):
            archive.writestr(zipfile.ZipInfo(name, _TIME), content, zipfile.ZIP_DEFLATED)
            sums[name] = hashlib.sha256(content).hexdigest()
        lines = "".join(f"{own}  {name}\n" for name, own in sorted(sums.items()))
        archive.writestr(zipfile.ZipInfo("SHA256SUMS", _TIME), lines, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _entries(
    delivery: Delivery, decisions: bytes, shown: Shown, pdf: bytes, with_runs: bool
) -> Iterator[tuple[str, bytes]]:
    yield "record.pdf", pdf
    yield "record.html", shown_page(shown).encode("utf-8", "replace")
    yield "delivery.json", decisions
    if with_runs:
        if delivery.order.file is not None:
            yield f"order/{delivery.order.file.name}", delivery.order.file.read_bytes()
        yield from _runs(delivery)


def explained(delivery: Delivery) -> dict[str, str]:
    """What explains the slow figures of refused nodes, as the newest page of each says."""
    found = {}
    for node in delivery.nodes:
        for run in reversed([run for run in node.runs if run.counted and node.decision == REFUSED]):
            told = {short_name(folder): answer for folder, answer in told_answers(Path(run.run)).items()}
            if node.name in told:
                found[node.name] = told[node.name].sentence
                break
    return found


def _runs(delivery: Delivery) -> Iterator[tuple[str, bytes]]:
    """What the runs left, by node and time: directories of two sweeps have the same names. A run of several nodes is the first one's."""
    kept: dict[Path, str] = {}
    for node in delivery.nodes:
        for run in node.runs:
            folder, name = Path(run.run), f"runs/{node.name}/{re.sub('[^0-9TZ]', '', run.time)}"
            if folder in kept:
                continue
            kept[folder] = name
            alike = sum(other == name for other in kept.values())
            for path in (path for pattern in _KEPT for path in sorted(folder.glob(pattern))):
                yield f"{name}{f'-{alike}' if alike > 1 else ''}/{path.relative_to(folder)}", path.read_bytes()
