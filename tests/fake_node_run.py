"""Stands in for `nearfar slurm node` in tests: leaves a result at once. ``FAKE_SLOW`` names nodes that are slow in pairs,
``FAKE_SLOW_PAIR`` one pair that is slow though its nodes are well."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
from pathlib import Path

from nearfar.slurm import handover, result
from nearfar.slurm.handover import About


def main(results: str, sweep: str, pack: str, node: str, attempt: str) -> None:
    """Write a run with one verdict, and hand it over."""
    slow = set(os.environ.get("FAKE_SLOW", "").split()) & set(node.split("+")) or node == os.environ.get(
        "FAKE_SLOW_PAIR"
    )
    word, host = "FAIL" if "+" in node and slow else "PASS", socket.gethostname()
    reason = "latency between nodes: 9.0 us, expected at most 2.0"
    finding = {"item": "nodes", "verdict": word, "reason": reason if word == "FAIL" else "", "hard": False}
    verdict = {"schema": "nearfar-verdict/1", "check": "osu_check", "system": "mine", "node": host, "kind": "measured",
               "verdict": word, "metrics": [], "findings": [finding]}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder)
        (run / host / "osu_check").mkdir(parents=True)
        (run / host / "osu_check/verdict.json").write_text(json.dumps(verdict))
        (run / "run.json").write_text(json.dumps({"system": "mine", "missing_cases": [], "interrupted": False}))
        time = "2026-11-20T09:00:00Z"
        about = About(node, host, pack, sweep, time, time, None)
        handover.leave(run, result.place(Path(results), sweep, node, int(attempt)), about)


if __name__ == "__main__":
    main(*sys.argv[1:])
