#!/usr/bin/env python3
"""Stands in for ``nearfar-copy --quick`` in tests: pairs of GPUs side by side, one of them measured again alone."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from nearfar.base.places import IMPORT_PATH as CHECKOUT
from nearfar.cells import Cell, parse_lines
from nearfar.model.prediction import load_node_type, modelled_document

#: GB/s of the pair that is slow, alone too, where ``FAKE_CASE`` says so.
SLOW = {"good": 390.0, "slow": 352.0}
AGAIN = "g2:g3"


def document(cells: list[Cell], slow: float = SLOW["good"]) -> dict[str, Any]:
    """A measured document of four H200s. Cells of pairs that share no GPU and are driven alike ran in one window; ``g2:g3``
    was doubted and measured again alone."""
    made = modelled_document(load_node_type("h200-x4-vm", [CHECKOUT / "site"]), cells)
    made.update(kind="measured", program={"name": "nearfar-copy", "quick": True})
    del made["node_type"]
    made["node"]["hostname"] = os.environ.get("FAKE_HOSTNAME", "fake")
    windows: list[list[Cell]] = []
    for cell in cells:
        if cell.flows[0].kind == "peer":
            room = next((w for w in windows if all(_beside(cell, other) for other in w)), None)
            windows.append([cell]) if room is None else room.append(cell)
    beside = {cell: [other for other in window if other != cell] for window in windows for cell in window}
    for result, cell in zip(made["results"], cells):
        result.update(bytes=1 << 28, method="windowed" if beside.get(cell) else "latched")
        if str(cell) == AGAIN:
            rate = {"unit": "GB/s", "median": slow, "mad": 0, "ci": [slow, slow], "min": slow, "max": slow, "n": 6}
            result["flows"][0]["rate"] = rate
            result.update(remeasured=True, method="latched")
        elif beside.get(cell):
            result["beside"] = [str(other) for other in beside[cell]]
    return made


def _beside(one: Cell, other: Cell) -> bool:
    a, b = one.flows[0], other.flows[0]
    return not set(a.gpus) & set(b.gpus) and (a.driver is None) == (b.driver is None)


def main() -> int:
    """Print what was asked for; anything but a quick look is refused."""
    if "--quick" not in sys.argv:
        print("nearfar-copy: this stand-in knows --quick alone", file=sys.stderr)
        return 2
    cells = parse_lines(sys.argv[sys.argv.index("--cells") + 1])
    print(json.dumps(document(cells, SLOW[os.environ.get("FAKE_CASE", "good")])), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
