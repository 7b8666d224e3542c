"""Whom a site trusts to measure."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearfar.site import drain_policy


def test_users_that_may_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARFAR_SITE", str(tmp_path))
    folder = tmp_path / "systems"
    folder.mkdir()
    for name, text in (
        ("one", "act: {trusted: [nobody, 4711]}"),
        ("two", "act: {}"),
        ("torn", "act: ["),
        ("none", "system: x"),
        ("odd", "[]"),
    ):
        (folder / f"{name}.yaml").write_text(f"{text}\n")
    assert drain_policy.measuring_users() == {0, 65534, 4711}
