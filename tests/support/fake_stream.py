#!/usr/bin/env python3
"""Stands in for ``nearfar-copy`` in tests of host memory: 20 GB/s in every cell, on this machine's own node, without any memory."""

from __future__ import annotations

import json
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from nearfar.cells import parse_lines
from nearfar.topology import Node, NumaNode, node_to_document

RATE = {"unit": "GB/s", "median": 20.0, "mad": 0.0, "ci": [20.0, 20.0], "min": 20.0, "max": 20.0, "n": 9}


def main() -> int:
    """Print what was asked for."""
    cells = parse_lines(sys.argv[sys.argv.index("--cells") + 1])
    numa = sorted({flow.source.index for cell in cells for flow in cell.flows})
    node = Node(socket.gethostname(), (), tuple(NumaNode(index, 0, (index,), 1 << 33) for index in numa))
    results = [
        {"quantity": "stream", "cell": str(cell), "bytes": 1 << 28, "converged": True, "verified": True,
         "flows": [{"flow": str(flow), "rate": RATE} for flow in cell.flows], **({} if cell.lone else {"total": RATE})}
        for cell in cells
    ]  # fmt: skip
    print(json.dumps({
        "schema": "nearfar-measurement/2", "kind": "measured", "program": {"name": "nearfar-copy", "version": "1"},
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "node": node_to_document(node),
        "results": results, "skipped": [], "failed": [],
    }))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
