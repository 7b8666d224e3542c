"""The real runs on one, two and four H200s as a history: what ``site/references/h200-*.yaml`` are tuned from.

``python -m tests.data.runs.h200 DIRECTORY`` writes it: the documents of single runs, as run directories too, and the rows
of repeated runs, which ``tests/data/h200-history`` keeps as they were recorded. The virtual machines were all called
``vm``; here each is named by the UUID of its first GPU. Nothing else is changed; documents are judged anew, without any
reference file.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from nearfar import history, measurement, verdict
from nearfar.measurement.document import from_raw
from nearfar.site.lint import known_metrics
from nearfar.verdict import references
from nearfar.verdict.document_findings import CaseInfo
from tests.data.runs import golden
from tests.data.runs.synthetic import Run

DATA = Path(__file__).parents[1]
#: The documents of single runs, by system.
RUNS = {
    "h200-vm": (DATA / "h200-x4-earlier" / "d347bcb8", DATA / "h200-x4-earlier" / "744da397", DATA / "h200-x4"),
}
#: The rows of repeated runs: five nodes with one GPU, seven with two (two of them with the checks of memory and tails alone).
ROWS = DATA / "h200-history"


def write(directory: Path) -> Path:
    """The runs, and the history of them, which is returned."""
    shutil.copytree(ROWS, directory / "history")
    for system, folders in RUNS.items():
        for folder in folders:
            history.record(_run(system, folder, directory), directory / "history")
    return directory / "history"


def _run(system: str, folder: Path, directory: Path) -> Path:
    raws = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*_check.json"))}
    described = raws["host_device_check"]["node"]
    name = f"h200-{described['gpus'][0]['uuid'].removeprefix('GPU-')[:8]}"
    started = min(raw["started"] for raw in raws.values())
    run = Run(directory / started.replace("-", "").replace(":", "").rstrip("Z"), system, [system], hostname=name)
    for check, raw in raws.items():
        raw["node"]["hostname"] = name
        document = from_raw(raw)
        run.node(name, {**described, "hostname": name})
        figures = (
            known_metrics.rows(check, document.node, frozenset()) or {}
        )  # what the check itself judges of its document
        metrics = [metric for metric in measurement.metrics(document, document.node) if metric.name in figures]
        found = references.resolve(metrics, check, [], document.node)
        subject = CaseInfo(check, system, "gpu", "system", name, raw["started"])
        judged = verdict.judge(document, found, subject=subject, metrics=metrics)
        run.check(name, judged, golden._Document(document.raw))  # type: ignore[arg-type]
    return run.finish()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.data.runs.h200", description=__doc__)
    parser.add_argument("directory", metavar="DIRECTORY", type=Path, help="where the history is written; made")
    print(write(parser.parse_args().directory))
