"""A site of two H200s a node whose history a test has filled, and what ``nearfar tune`` makes of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from nearfar import cli, history
from nearfar.verdict.references import ReferenceFile
from nearfar.verdict.references.reference_row import ReferenceRow

SITE = (
    "system: redwood\nhosts: ['gpu[000-064]']\npartitions:\n  - {name: gpu, node_type: h200-x2-vm, features: [gpu]}\n"
)


def tuned(runs: Iterable[Path], folder: Path, monkeypatch: pytest.MonkeyPatch, check: str) -> list[ReferenceRow]:
    """The rows that a check's figures in these runs give."""
    for run in runs:
        history.record(run, folder / "history")
    (folder / "site/systems").mkdir(parents=True)
    (folder / "site/systems/redwood.yaml").write_text(SITE)
    monkeypatch.setenv("NEARFAR_SITE", str(folder / "site"))
    monkeypatch.setenv("NEARFAR_HISTORY", str(folder / "history"))
    assert cli.main(["tune", "--system", "redwood", "--apply"]) == 0
    return list(ReferenceFile(folder / "site/references/redwood.yaml", [check]).rows())
