"""The entry for ``healthy`` that an imported run writes is one that lint takes."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nearfar.kit import gpu_ranges
from nearfar.site import lint

GPU_FILE = """\
gpu_models: [Some GPU]
source: a data sheet
expect:
  link: {kind: pcie, gen: 5, width: 16}
healthy:
"""


@pytest.mark.parametrize("virtual", [True, False, None])
def test_the_entry_passes_lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, virtual: bool | None) -> None:
    monkeypatch.setattr(gpu_ranges, "ranges", lambda folder: {"sole.h2d": (55.0, 55.1)})
    result: Any = SimpleNamespace(
        node=SimpleNamespace(gpus=[SimpleNamespace(name="Some GPU")]), virtual_machine=virtual, product=None,
        raw={"kit": "0.1.0"}, started=datetime(2026, 11, 22, tzinfo=timezone.utc),
    )  # fmt: skip
    entry = gpu_ranges.write(tmp_path, result, "n1")
    assert entry is not None
    (tmp_path / "gpus").mkdir()
    (tmp_path / "gpus/some.yaml").write_text(GPU_FILE + entry.read_text(encoding="utf-8"), encoding="utf-8")
    assert not lint.lint([tmp_path]).complaints
