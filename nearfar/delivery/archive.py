"""The record of a delivery: what is signed, with all that it rests on, in one ZIP."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

from nearfar.report import told_answers
from nearfar.report.blocks import Shown, shown_page

from . import document
from .decision import Delivery

#: Of a run's directory: what the decision rests on.
_KEPT = ("run.json", "index.html", "report.json", "*/node.json", "*/*/verdict.json")
#: All files of a ZIP have this time, so that the same record has the same bytes.
_TIME = (2000, 1, 1, 0, 0, 0)


def record(delivery: Delivery, shown: Shown, pdf: bytes, with_runs: bool) -> bytes:
    """A ZIP of ``record.pdf``, ``record.html``, ``delivery.json``, the order, and ``with_runs`` the runs of every node; ``SHA256SUMS``
    has the sum of each."""
    entries = {
        "record.pdf": pdf,
        "record.html": shown_page(shown).encode("utf-8", "replace"),
        "delivery.json": document.text(delivery).encode("utf-8", "replace"),
    }
    if with_runs:
        if delivery.order.file is not None:
            entries[f"order/{delivery.order.file.name}"] = delivery.order.file.read_bytes()
        entries |= dict(_runs(delivery))
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(entries.items()))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in [("SHA256SUMS", sums.encode()), *sorted(entries.items())]:
            archive.writestr(zipfile.ZipInfo(name, _TIME), content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def explained(delivery: Delivery) -> dict[str, str]:
    """What explains the slow figures of nodes, as the newest page of each says."""
    found = {}
    for node in delivery.nodes:
        for run in reversed([run for run in node.runs if run.counted]):
            if told := next(iter(told_answers(Path(run.run)).values()), None):
                found[node.name] = told.sentence
                break
    return found


def _runs(delivery: Delivery) -> Iterator[tuple[str, bytes]]:
    kept: set[Path] = set()  # a run of several nodes stands under the first of them
    for node in delivery.nodes:
        for folder in (Path(run.run) for run in node.runs):
            for path in (path for pattern in _KEPT for path in sorted(folder.glob(pattern)) if folder not in kept):
                yield f"runs/{node.name}/{folder.name}/{path.relative_to(folder)}", path.read_bytes()
            kept.add(folder)
