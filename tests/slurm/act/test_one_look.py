"""``act`` looks once, whatever it finds to be tidied first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nearfar.slurm.act import act, view
from tests.support.told import Told


def test_a_lost_retest_that_was_ended_is_no_reason_to_read_everything_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Told(tmp_path)
    site.wrong_data("n1", "00000001")
    read: list[str] = []
    gather = view.gather

    def counted(*arguments: Any) -> Any:
        read.append("results")
        return gather(*arguments)

    def ended(past: Any, nodes: Any, slurm: Any, log: Any) -> tuple[list[str], list[str]]:
        site.slurm.drain("n2", "as before")
        return ["nearfar-retest-1: an interrupted retest"], []

    monkeypatch.setattr(view, "gather", counted)
    monkeypatch.setattr(act, "left_over", ended)
    told = site.act()
    assert read == ["results"]
    assert list(told.done.recovered) == ["nearfar-retest-1: an interrupted retest"]
    assert told.seen.nodes["n2"].reason == "as before", "decided from what Slurm shows afterwards"
