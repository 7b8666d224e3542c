"""The modelled counterpart of the Keeneland paper's table 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import keeneland_kernels
from tests.conftest import CHECKOUT

DOCUMENT = CHECKOUT / "tests/data/h200-x2-kernels/kernels.json"


def test_the_links_alone_take_about_what_was_published(capsys: pytest.CaptureFixture[str]) -> None:
    assert keeneland_kernels.main([str(DOCUMENT)]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "3.3 %" in lines["sgemm"] and "13.9 %" in lines["reduction"]
    assert "the transfers alone take longer" in lines["sfft"], (
        "a published call that is shorter than its transfers counts something else"
    )
    study = Path(CHECKOUT / "benchmarks/studies/kernels.md").read_text(encoding="utf-8")
    assert all(line in study for line in lines.values()), "the study shows what it prints"
