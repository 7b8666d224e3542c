"""How large a page is at most."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from nearfar import report
from tests.data.runs import golden, large_nodes, modelled, synthetic

#: Bytes of a page.
MOST = 300_000
LARGE: dict[str, Callable[[Path], Path]] = {
    "summit": modelled.write,
    "summit-slow": partial(modelled.write, degrade={"g2.d2h": 0.5}),
    "golden-slow": partial(golden.write, slow={"n0:g2": 0.5, "g2:n0": 0.5}),
    "sixteen": large_nodes.sixteen_gpus,
    "many-numa": synthetic.many_numa,
}


@pytest.mark.parametrize("name", LARGE)
def test_page_has_at_most_300_kb(tmp_path: Path, name: str) -> None:
    page = report.build(LARGE[name](tmp_path / "run"))
    assert page.stat().st_size <= MOST
