"""A delivery of 40 nodes that nobody has, accepted with a real Slurm on this machine: two narrow links, a lost NVLink lane, a lost memory
channel, a node that is never measured, three with another BIOS; then the same nodes 30 % slow as a whole.

    python -m benchmarks.delivery DIRECTORY [NODES]      # as root, with slurmctld and slurmd; about NODES × 3 seconds each

Slurm, sweep, acceptance and record are real; the job of each node writes invented figures (tests/data/runs/delivered.py). The directory
keeps the sites, the runs, what was printed and the records.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from tests.support import fake_delivery_run, sweeping
from tests.support.private_slurm import PrivateSlurm

FAULTS = {"n3": "link", "n17": "link", "n9": "lane", "n22": "channel", "n30": "bios", "n31": "bios", "n32": "bios"}
ORDER = """order: rack-7
offer: ACME, offer 114 of 2026-09-01
count: {count}
nodes: ['n[1-{count}]']
expect: {{gpus: 8, packages: 2, numa_nodes: 2, gpu_model: NVIDIA H100 80GB HBM3, nvlinks: 18, link: {{kind: pcie, gen: 5, width: 16}}}}
memory_channels: {{count: 8, rate: 4800}}
software: {{bios: '1.4'}}
promised:
  host_device_check:
    near.h2d: {{value: 54, unit: GB/s, page: 12}}
"""


def accept(slurm: PrivateSlurm, place: Path, count: int, faults: dict[str, str]) -> None:
    """Two nights of one delivery, and its record."""
    variables = {**slurm.environment, **sweeping.site(place, slurm)}
    (place / "site/orders").mkdir()
    (place / "site/orders/rack-7.yaml").write_text(ORDER.format(count=count))
    fake_delivery_run.stand_in(place / "site")
    reports = place / "state/reports"
    reports.mkdir(parents=True)
    for node, fault in faults.items():
        (reports / f"{node}.fault").write_text(fault)
    for words in (
        ["--measure", "--partition", "all"],
        ["--measure", "--partition", "all", "--nodes", f"n[1-{count - 1}]"],
        ["--record", str(place / "rack-7.zip")],
        ["--record", str(place / "anonymous.zip"), "--anonymous"],
    ):
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "nearfar", "accept", "rack-7", *words],
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        print(
            f"\n$ nearfar accept rack-7 {' '.join(words)}   # exit code {done.returncode}, {time.monotonic() - began:.1f} s"
        )
        if "--measure" not in words or "--nodes" in words:
            print(done.stdout, flush=True)
        (place / f"{len(list(place.glob('*.log')))}.log").write_text(done.stdout + done.stderr)


def main(directory: str, nodes: str = "40") -> None:
    """Both deliveries."""
    count = int(nodes)
    for name, faults in {"faults": FAULTS, "slow": {"all": "slow"}}.items():
        place = Path(directory) / name
        place.mkdir(parents=True)
        with PrivateSlurm(cpus=1, gpus=0, nodes=count) as slurm:
            slurm.run(["scontrol", "update", f"nodename=n{count}", "state=drain", "reason=no cable"])
            accept(slurm, place, count, faults)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.delivery", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", metavar="DIRECTORY", help="where sites, runs and records are written; made")
    parser.add_argument("nodes", metavar="NODES", nargs="?", default="40", help="how many nodes (default: %(default)s)")
    main(**vars(parser.parse_args()))
