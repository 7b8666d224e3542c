"""The shipped references of four H200s are what ``nearfar tune`` makes of the shipped documents."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nearfar import cli
from nearfar.files import CHECKOUT
from tests.data.runs import h200

SHIPPED = CHECKOUT / "site/references/h200-vm.yaml"


def test_the_command_in_their_provenance_makes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site"
    for kind in ("systems", "nodes"):
        shutil.copytree(CHECKOUT / "site" / kind, site / kind)
    written = site / "references/h200-vm.yaml"
    written.parent.mkdir()
    head = "".join(line for line in SHIPPED.read_text().splitlines(keepends=True) if line.startswith("#"))
    written.write_text(f'{head}provenance: {{tuned: {{date: "2026-11-20", n: 1}}}}\n')
    monkeypatch.setenv("NEARFAR_SITE", str(site))
    monkeypatch.setenv("NEARFAR_HISTORY", str(h200.write(tmp_path / "runs")))
    assert cli.main(["tune", "--system", "h200-vm", "--apply"]) == 0
    assert "provisional (n = 3)" in capsys.readouterr().err
    assert written.read_text() == SHIPPED.read_text()
