"""nearfar-copy beside nvbandwidth: which of their figures are compared. Both programs are scripts here."""

from __future__ import annotations

import json

import pytest

from benchmarks.beside_nvbandwidth import main

RATE = {"unit": "GB/s", "median": 54.0, "ci": [53.0, 55.0]}
PLATEAU = RATE | {"plateau": 55.0, "interval": [54.945, 55.055]}


@pytest.fixture
def programs(tmp_path):
    """An nvbandwidth whose tries read 50, 55.5, 54 and 51 in turn, and a nearfar-copy with a plateau where a flow is alone."""
    (tmp_path / "nvbandwidth").write_text(
        f"""#!/bin/sh
echo >> {tmp_path}/calls
set -- 50 55.5 54 51
shift $(( ($(wc -l < {tmp_path}/calls) - 1) % 4 ))
echo '{{"nvbandwidth": {{"testcases": [{{"bandwidth_matrix": [["'$1'"]]}}]}}}}'
"""
    )
    (tmp_path / "nearfar-copy").write_text(
        f"""#!/usr/bin/env python3
import json, sys
cells = [word for word in sys.argv[1:] if word != "--json"]
results = [
    {{"cell": cell, "flows": [{{"flow": f, "rate": {RATE} if "+" in cell else {PLATEAU}}} for f in cell.split("+")]}}
    for cell in cells
]
print(json.dumps({{"node": {{"gpus": [{{}}]}}, "results": results, "skipped": [], "failed": []}}))
"""
    )
    for path in tmp_path.iterdir():
        path.chmod(0o755)
    return tmp_path


def test_a_plateau_is_held_against_the_best_try_and_a_median_against_their_median(programs, capsys):
    said = programs / "said.json"
    assert main(["--nvbandwidth", str(programs / "nvbandwidth"), "--programs", str(programs), "--json", str(said)]) == 0
    rows = {row["case"]: row for row in json.loads(said.read_text())["rows"]}
    lone, both = rows["host_to_device_memcpy_ce"], rows["host_to_device_bidirectional_memcpy_ce"]
    assert (lone["nvbandwidth"], lone["nearfar"]) == ([55.5], [55.0])
    assert (both["nvbandwidth"], both["nearfar"]) == ([52.5], [54.0])
    assert lone["ratio"] == pytest.approx(55 / 55.5)
    assert (lone["interval"], both["interval"]) == pytest.approx((0.001, 1 / 54))
    assert "| `host_to_device_memcpy_ce` | 55.50 | 55.00 | ± 0.10% | 0.9910 |" in capsys.readouterr().out
