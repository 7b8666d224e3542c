#!/usr/bin/env python3
"""An hour of everything at once: act, people and faults on a private Slurm, with what must hold looked at after each step.

    python -m benchmarks.soak --minutes 60 --seed 1 --nodes 16

Faults are published by sweeps and health checks; act, retests, sweeps, slurmctld and nodes are killed in the middle; clocks are off;
people drain, resume, reboot, clear and retest. After each step ``soaking/oracle.py`` checks that no node with hard evidence stays in use
while there is room to drain it, that nothing else was drained, that no drain by others was touched, that the caps are held, and that no
node stays reserved. Exit code 1 at the first that does not hold, with the steps before it; the folder is kept. The seed chooses the
steps; how the processes meet is the machine's. Needs root, Slurm (``NEARFAR_TEST_SLURM`` names another one).
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.soaking.events import WEIGHTS, Events
from benchmarks.soaking.world import IN_ALL, LEFT, PER_DAY, Ended, World
from nearfar.site.drain_policy import AvailableFloor

#: So many steps before a violation are told.
_BEFORE = 40


def soak(minutes: float, seed: int, nodes: int, folder: Path, verbose: bool) -> int:
    """Soak; the exit code."""
    chance, done, steps = random.Random(seed), Counter[str](), list[str]()
    codes, began = Counter[str](), time.monotonic()
    with World(folder, nodes) as world:
        events, least = Events(world, chance), AvailableFloor(LEFT).of(nodes)
        while time.monotonic() - began < minutes * 60:
            name, do = events.step()
            at = time.time()
            broken: list[str]
            try:
                words, ended = do()
                broken = list(world.truth.check(world, ended, PER_DAY, IN_ALL, least))
            except (TimeoutError, AssertionError) as error:
                words, ended, broken = name, None, [str(error)]
            done[name] += 1
            steps.append(_told(len(steps) + 1, at, words, ended))
            if ended is not None:
                codes[f"{ended.words[0]} {ended.returncode}"] += 1
            if verbose:
                print(steps[-1], flush=True)
            if broken:
                print("\n".join(steps[-_BEFORE:]))
                print("\n".join(f"VIOLATED: {each}" for each in broken))
                print(f"after {len(steps)} steps, {time.monotonic() - began:.0f} s, seed {seed}; kept: {folder}")
                for name, state in world.nodes().items():
                    print(f"  {name:<4} {state.words:<28} {state.reason or ''}")
                return 1
        truth = world.truth
        twice = sum(count > 1 for count in truth.measured.values())
        print(
            f"{len(steps)} steps in {(time.monotonic() - began) / 60:.1f} minutes, seed {seed}, {nodes} nodes: all held"
        )
        print(
            f"{truth.findings} hard findings published; {len(truth.measured)} nodes measured by jobs, {twice} of them twice"
        )
        print("steps: " + ", ".join(f"{done[name]} {name}" for name in WEIGHTS if done[name]))
        print("commands by exit code: " + ", ".join(f"{count} {name}" for name, count in sorted(codes.items())))
    return 0


def _told(number: int, at: float, words: str, ended: Ended | None) -> str:
    clock = time.strftime("%T", time.gmtime(at))
    line = f"{number:>5} {clock} {time.time() - at:5.1f} s  {words}"
    if ended is None:
        return line
    said = (ended.err.strip() or (ended.out.strip() if not ended.out.startswith("{") else "")).splitlines()
    return f"{line}: {ended.words[0]} ended with {ended.returncode}{' ' + said[-1][:160] if said else ''}"


def main() -> int:
    """Read the arguments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--verbose", action="store_true", help="each step as it is done")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="nearfar-soak-"))
    folder.chmod(0o755)
    code = soak(asked.minutes, asked.seed, asked.nodes, folder, asked.verbose)
    if code == 0:
        shutil.rmtree(folder)
    return code


if __name__ == "__main__":
    sys.exit(main())
