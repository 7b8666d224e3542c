#!/usr/bin/env python3
"""How long the host matrix, the pairs of GPUs and the saturation ramps take in one nearfar-copy, buffers registered once.

Aim: under 20 s on four H200s, windows of 0.3 s at most and baselines shared. Beside it stands what each set takes of it, and the set-up.

    benchmarks/one_process.py                  three runs, medians
    benchmarks/one_process.py --runs 1 --keep documents/
    benchmarks/one_process.py --dry-run        the cells and their number, without a GPU
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from nearfar import cells  # noqa: E402
from nearfar.cells import Cell  # noqa: E402
from nearfar.topology import Node, inventory  # noqa: E402


def sets(node: Node) -> dict[str, list[Cell]]:
    """The cells of each check, in the order in which they are measured; one that an earlier check asks for is not asked again."""
    wanted = {
        "host matrix": cells.host_device_matrix(node)[0],
        "pairs": cells.peer_matrix(node)[0],
        "many GPUs": cells.exchanges(node)[0],
        "saturation": cells.saturation_ramps(node)[0],
    }
    seen: set[Cell] = set()
    found = {}
    for name, these in wanted.items():
        found[name] = [cell for cell in these if cell not in seen]
        seen.update(these)
    return found


def measure(wanted: dict[str, list[Cell]], keep: Path | None) -> dict[str, float]:
    """One run of the program over all cells; its times in seconds."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as asked:
        asked.write("".join(f"{cell}\n" for these in wanted.values() for cell in these))
        asked.flush()
        command = [str(CHECKOUT / "build" / "bin" / "nearfar-copy"), "--cells", asked.name, "--json"]
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        whole = time.monotonic() - began
    if not done.stdout.startswith("{"):
        sys.exit(f"nearfar-copy measured nothing (exit code {done.returncode}): {done.stderr.strip()}")
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{time.strftime('%H%M%S')}.json").write_text(done.stdout)
    document = json.loads(done.stdout)
    took = {result["cell"]: float(result["seconds"]) for result in document["results"]}
    times = {"all, with process start": whole, "set-up": sum(document.get("setup_seconds", {}).values())}
    return {**times, **{name: sum(took.get(str(cell), 0.0) for cell in these) for name, these in wanted.items()}}


def main() -> int:
    """Run it, report medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="how often (default: 3)")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep the documents there")
    parser.add_argument("--dry-run", action="store_true", help="tell the cells, measure nothing")
    options = parser.parse_args()
    wanted = sets(inventory.observe())
    if options.dry_run:
        for name, these in wanted.items():
            print(f"{name}: {len(these)} cells {' '.join(map(str, these))}")
        return 0
    runs = [measure(wanted, options.keep) for _ in range(options.runs)]
    print(f"seconds, medians of {len(runs)} runs; {sum(map(len, wanted.values()))} cells")
    for name in runs[0]:
        print(f"  {name:26} {statistics.median(run[name] for run in runs):7.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
