#!/usr/bin/env python3
"""How long `nearfar slurm act` takes, all included, over a week of 1,000 nodes: the first time, and when nothing is new.

python benchmarks/sweep_merge.py --nodes 1000 --keep /tmp/results
python benchmarks/act.py /tmp/results [--nights 7]

The sweep is there so many times (in the directory that is named; links but for ``result.json``, which has the night's times and a run of
its own), a day older each. `scontrol` is a script that prints as many
idle nodes and counts how often it is called.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nearfar.base import utc_text, utc_time
from nearfar.slurm.results import result, results_directory
from nearfar.slurm.sweep import sweep_file

#: So often each is measured. The first call with nothing new forgets the older nights of healthy nodes.
_TIMES = 3
_CHECKOUT = Path(__file__).resolve().parents[1]
_SYSTEM = """\
system: bench
hosts: ["gpu[0001-9999]"]
act: {trusted: [root, USER], default: observe}
partitions:
  - {name: gpu}
"""
#: When a file came to be there nobody can make up, but when it was changed; and all of them were changed just now.
_ACT = """
import sys
from nearfar.slurm.findings import gathering, kept_readings
gathering._came = lambda place: place.lstat().st_mtime
kept_readings.SETTLED = -3600.0
from nearfar import cli
sys.exit(cli.main(sys.argv[1:]))
"""


def lay_out(results: Path, nights: int) -> list[str]:
    """The one sweep as several, a day apart; the names of its nodes."""
    (sweep,) = (path for path in results.iterdir() if path.is_dir() and "-night-" not in path.name)
    for night in range(nights):
        copy = results / (f"{sweep.name}-night-{night}" if night else sweep.name)
        if not copy.exists():
            shutil.copytree(sweep, copy, copy_function=os.link)
            own = (sweep / sweep_file.FILE).read_text().replace(f'"{sweep.name}"', f'"{copy.name}"', 1)
            (copy / sweep_file.FILE).unlink()
            (copy / sweep_file.FILE).write_text(own)
            for place in results_directory.folders(results, copy.name):
                _of_night(place / result.RESULT, copy.name, night)
        for place in results_directory.folders(results, copy.name):
            ended = json.loads((place / result.RESULT).read_text())["ended"]
            os.utime(place, (utc_time(ended).timestamp() + 1,) * 2)
    return sorted(path.name for path in (sweep / "nodes").iterdir())


def _of_night(path: Path, sweep: str, night: int) -> None:
    """Make a result one of another sweep, so many days ago."""
    raw = json.loads(path.read_text())
    times = {key: utc_text(utc_time(raw[key]).timestamp() - night * 86400) for key in ("started", "ended")}
    path.unlink()
    path.write_text(json.dumps({**raw, **times, "sweep": sweep, "run": f"{int(raw['run'], 16) ^ night:08x}"}))


def pretended(folder: Path, nodes: list[str]) -> dict[str, str]:
    """A site, and a Slurm of idle nodes; the variables that lead there."""
    (folder / "site" / "systems").mkdir(parents=True)
    (folder / "site" / "systems" / "bench.yaml").write_text(_SYSTEM.replace("USER", str(os.geteuid())))
    table = "\n".join(
        f"NodeName={node} Arch=x86_64 CoresPerSocket=48\n   CPUAlloc=0 CPUEfctv=192 CPUTot=192 CPULoad=0.10\n"
        "   State=IDLE ThreadsPerCore=1\n   Partitions=gpu\n   BootTime=2026-11-01T00:00:00 SlurmdStartTime=2026-11-01T00:00:00\n"
        for node in nodes
    )  # fmt: skip
    (folder / "table").write_text(table + "\n")
    (folder / "bin").mkdir()
    program = folder / "bin" / "scontrol"
    program.write_text(f'#!/bin/sh\necho "$*" >> {folder}/asked\nexec cat {folder}/table\n')
    program.chmod(0o755)
    return {"NEARFAR_SITE": str(folder / "site"), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}


def main() -> None:
    """Run it for the first time, and with what it has kept, several times each: others use the machine, too."""
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=Path)
    parser.add_argument("--nights", type=int, default=7)
    asked = parser.parse_args()
    results = asked.results.absolute()
    nodes = lay_out(results, asked.nights)
    print(f"{len(nodes)} nodes, {asked.nights} nights")
    with tempfile.TemporaryDirectory(prefix="nearfar-bench-") as place:
        folder = Path(place)
        variables = {**os.environ, "PYTHONPATH": str(_CHECKOUT), **pretended(folder, nodes)}
        command = [
            sys.executable,
            "-c",
            _ACT,
            "slurm",
            "act",
            "--results",
            str(results),
            "--state",
            str(folder / "state"),
        ]
        for words in (*["the first time"] * _TIMES, *["nothing new"] * (_TIMES + 1)):
            (folder / "asked").write_text("")
            if words == "the first time":
                shutil.rmtree(folder / "state", ignore_errors=True)
            before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            done = subprocess.run(command, env=variables, capture_output=True, text=True)
            seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            questions = len((folder / "asked").read_text().splitlines())
            kept = sum(path.stat().st_size for path in (folder / "state").glob("readings-*")) / 1e6
            print(
                f"{words}: {seconds:.2f} s ({cpu:.2f} s of CPU), {questions} question to slurmctld, {kept:.1f} MB kept; "
                f"exit code {done.returncode}, {len(done.stdout.splitlines())} lines and {len(done.stderr.splitlines())} warnings"
            )
        print(f"at most {after.ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
