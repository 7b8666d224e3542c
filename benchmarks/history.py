#!/usr/bin/env python3
"""A year of nightly results of a large system: how long does a node's history take, in how much memory?

The real documents of tests/data/h200-x4 go through `record`, which gives the rows of one night of one node. These rows are
then written under 1,000 names and 365 dates, with noise, by the function that compaction writes with, two nights in a
file: what `record` every night and `nearfar history --compact` after it leave (docs/reference/history.md). Then `nearfar history` is
asked as a user asks it, in a process of its own.

Aims: 146 million rows; a node's history within 5 s and 4 GiB.

    benchmarks/history.py                          makes it in a temporary directory, asks, and removes it
    benchmarks/history.py --nodes 100 --nights 30
    benchmarks/history.py --keep /scratch/history  leaves it there; a second time it is only asked
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl

from nearfar import history, measurement, verdict
from nearfar.history import node_rows
from nearfar.history.compaction import write_sorted
from nearfar.history.places import VERSION
from nearfar.history.schema import row_schema
from nearfar.verdict import references, verdict_file
from nearfar.verdict.document_findings import CaseInfo

CHECKOUT = Path(__file__).resolve().parents[1]
DOCUMENTS = CHECKOUT / "tests" / "data" / "h200-x4"
CHECKS = ("host_memory_check", "host_device_check", "peer_check", "saturation_check", "sharing_check", "size_sweep_check",
          "latency_check")  # fmt: skip
METRICS = 400
SYSTEM = "redwood"
FIRST_NIGHT = date(2026, 1, 1)
NIGHTS_IN_A_FILE = 2
SPREAD_BETWEEN_NODES, SPREAD_BETWEEN_NIGHTS = 0.003, 0.002


def one_night(folder: Path) -> pl.DataFrame:
    """The rows of one node and night, as ``record`` writes them."""
    run = folder / "20260101T020000"
    leave_run(run)
    kept = history.record(run, folder / "record")
    rows = pl.read_parquet(next(kept.rglob("*.parquet"))).sort("check", "metric")
    copies = -(-METRICS // len(rows))
    more = [rows.with_columns(metric=pl.col("metric") + (f".again{n}" if n else "")) for n in range(copies)]
    return pl.concat(more).head(METRICS)


def leave_run(run: Path) -> None:
    """One run of one node, ``vm``, judged."""
    for check in CHECKS:
        document = measurement.load(DOCUMENTS / f"{check}.json")
        metrics = measurement.metrics(document)
        found = references.resolve(metrics, check, [], document.node)
        subject = CaseInfo(check, SYSTEM, "gpu", "system", "vm", document.raw["started"])
        place = run / "vm" / check
        place.mkdir(parents=True)
        judged = verdict.judge(document, found, subject=subject, metrics=metrics)
        (place / "verdict.json").write_text(verdict_file.dump(judged))
        (place / "document.json").write_text(measurement.dump(document))


def nights(template: pl.DataFrame, first: int, count: int, nodes: int, noise: pl.Series) -> pl.DataFrame:
    """The rows of ``count`` nights from number ``first`` on, of all nodes."""
    shifts = noise.sample(nodes, with_replacement=True, seed=0) * SPREAD_BETWEEN_NODES
    named = pl.DataFrame({"node": [f"gpu{n:04}" for n in range(nodes)], "shift": shifts})
    starts = [
        datetime.combine(FIRST_NIGHT + timedelta(first + n), datetime.min.time(), timezone.utc) for n in range(count)
    ]
    dated = pl.DataFrame({"night": starts, "sequence": pl.Series(range(first + 1, first + count + 1), dtype=pl.Int64)})
    rows = template.drop("node", "sequence").join(named, how="cross").join(dated, how="cross")
    factor = (
        1 + pl.col("shift") + SPREAD_BETWEEN_NIGHTS * noise.sample(len(rows), with_replacement=True, seed=first + 1)
    )
    own = pl.col("night") + (pl.col("node").hash(1) % 3_600_000_000).cast(pl.Duration("us"))
    return rows.with_columns(
        *((pl.col(name) * factor).round_sig_figs(7) for name in ("value", "low", "high")),
        source=(pl.col("source") + pl.col("node") + pl.col("night").cast(pl.String)).hash(2).cast(pl.String),
        started=own.dt.truncate("1s"), recorded=own + pl.duration(minutes=2), run=pl.col("night").dt.strftime("%Y%m%dT%H%M%S"),
        gpu_uuid=pl.col("gpu_uuid").str.replace_all("GPU-", "GPU-" + pl.col("node")),
    ).select(list(row_schema()))  # fmt: skip


def generate(directory: Path, nodes: int, count: int) -> int:
    """Write the history; returns its number of rows."""
    generator = random.Random(1)
    noise = pl.Series([generator.gauss(0, 1) for _ in range(200_000)])
    with tempfile.TemporaryDirectory() as place:
        template = one_night(Path(place))
    rows = 0
    for first in range(0, count, NIGHTS_IN_A_FILE):
        last = min(first + NIGHTS_IN_A_FILE, count)
        frame = nights(template, first, last - first, nodes, noise)
        month = directory / VERSION / f"system={SYSTEM}" / f"month={FIRST_NIGHT + timedelta(first):%Y-%m}"
        month.mkdir(parents=True, exist_ok=True)
        write_sorted(month, frame)
        rows += len(frame)
        print(f"\r{rows:,} rows", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    counters = directory / VERSION / f"system={SYSTEM}" / "sequence"
    counters.mkdir(parents=True, exist_ok=True)
    for n in range(nodes):
        (counters / f"gpu{n:04}").write_text(f"{count}\n")
    return rows


def ask(directory: Path, *words: str) -> dict[str, Any]:
    """One ``nearfar history`` in a process of its own: seconds, peak memory in GiB and the last line it said."""
    command = [sys.executable, "-m", "nearfar", "history", *words]
    environment = {**os.environ, "NEARFAR_HISTORY": str(directory), "PYTHONPATH": str(CHECKOUT)}
    began = time.monotonic()
    child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    said = child.stdout.read() if child.stdout else ""
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.monotonic() - began
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    lines = said.splitlines()
    return {"command": f"nearfar history {' '.join(words)}", "seconds": round(seconds, 2), "gib": round(used.ru_maxrss / 2**20, 2),
            "lines": len(lines), "first": lines[0] if lines else ""}  # fmt: skip


def look_back(directory: Path, node: str, count: int) -> str:
    """What a node's run the night after needs for its own past, all checks together: seconds, and what it found."""
    with tempfile.TemporaryDirectory() as place:
        leave_run(Path(place))
        paths = [Path(place, "vm", check, "verdict.json") for check in CHECKS]
        raws = [json.loads(path.read_text().replace('"GPU-', f'"GPU-{node}')) for path in paths]
        judged = [verdict_file.from_raw({**raw, "node": node}, path) for path, raw in zip(paths, raws)]
    now = datetime.combine(FIRST_NIGHT, datetime.min.time(), timezone.utc) + timedelta(count)
    began = time.monotonic()
    node_rows.keep(history.History(directory, print), SYSTEM, node, now)
    kept = time.monotonic() - began
    began = time.monotonic()
    own = history.NodeHistory(directory, now)
    found = [past for one in judged for past in own.of(one, {}).values()]
    seconds = time.monotonic() - began
    runs = max((len(past.values) for past in found), default=0)
    nights = max((len(past.later) for past in found), default=0)
    words = f"the node's own past in a run of {len(CHECKS)} checks: {len(found)} figures, {runs} nights each and {nights} after these"
    return f"{seconds:7.2f} s  {words}; {kept:.2f} s to keep the baselines"


def main() -> None:
    """Make the history unless it is there, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = args.keep or Path(temporary)
        began = time.monotonic()
        there = (directory / VERSION).is_dir()
        rows = None if there else generate(directory, args.nodes, args.nights)
        written = time.monotonic() - began
        files = list(directory.rglob("*.parquet"))
        size = sum(file.stat().st_size for file in files)
        last = f"gpu{args.nodes - 1:04}"
        past = look_back(directory, last, args.nights)
        answers = [ask(directory, "--system", SYSTEM, *words) for words in (
            ("--node", last, "--check", "host_device_check", "--metric", "sole.n0_g0"),
            ("--node", last), ("--metric", "sole.n0_g0", "--since", f"{FIRST_NIGHT + timedelta(args.nights - 31)}"),
            ("--metric", "sole.n0_g0"),
        )]  # fmt: skip
        if args.json:
            print(
                json.dumps(
                    {
                        "rows": rows,
                        "files": len(files),
                        "bytes": size,
                        "written_s": written,
                        "own_past": past.strip(),
                        "answers": answers,
                    }
                )
            )
            return
        what = "there already" if rows is None else f"{rows:,} rows, written in {written:.0f} s"
        print(f"{what}: {len(files)} files, {size / 2**30:.2f} GiB")
        print(past)
        for answer in answers:
            print(
                f"{answer['seconds']:7.2f} s  {answer['gib']:5.2f} GiB  {answer['lines']:4d} lines  {answer['command']}"
            )


if __name__ == "__main__":
    main()
