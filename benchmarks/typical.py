"""Learn from the published nodes what is typical, and write ``site/typical.yaml``; run it after a change of ``site/published-nodes``.

``python benchmarks/typical.py`` writes the file; how well such shares predict a node that they were not learnt from, ``nearfar reproduce
--nodes`` says.
"""

from __future__ import annotations

import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from nearfar.model.published_nodes import published_nodes  # noqa: E402
from nearfar.model.typical import FILE, healthy_shares, learnt  # noqa: E402

_HEAD = "# Learnt from the healthy ones of site/published-nodes/: python benchmarks/typical.py\nshares:\n"


def text() -> str:
    """The file that the published nodes of this checkout give."""
    shares = learnt(healthy_shares(published_nodes([CHECKOUT / "site"])).values())
    lines = (f"  {name}: {{typical: {each.typical:g}, nodes: {each.nodes}}}\n" for name, each in shares.items())
    return _HEAD + "".join(lines)


if __name__ == "__main__":
    (CHECKOUT / "site" / FILE).write_text(text(), encoding="utf-8")
