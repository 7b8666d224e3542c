"""What is found in a soak, and what lies among it: a step each."""

from __future__ import annotations

import os
import random
import secrets
import shutil
import time
from pathlib import Path

from nearfar.slurm.health import finding_files
from tests.support.node_results import leave, utc

from .node_run import publish
from .world import Ended, World

#: What a step did, and what it ran.
Step = tuple[str, Ended | None]


class Found:
    """Results and looks of one world's nodes."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self.world, self.truth, self.chance = world, world.truth, chance

    def _node(self) -> str:
        return self.chance.choice(self.world.names)

    def _job(self, node: str) -> int | None:
        """A run's job now: no job begins on a node that is out of use, but who drained it may measure it by hand."""
        return None if self.world.nodes()[node].out else 1

    def _acted(self, *words: str, clock: float = 0.0) -> Ended:
        return self.world.run("act", *words, clock=clock)

    def _wrong(self) -> Step:
        node = self._node()
        self.world.build(node, "wrong")
        return f"{node}: wrong data in run {publish(self.world.folder, node, True, job=self._job(node))}", None

    def _absent(self) -> Step:
        """A look that misses a GPU, and perhaps the next one that has it again."""
        node, gpu, run = self._node(), f"g{self.chance.randrange(8)}", secrets.token_hex(4)
        self._look(node, run, gpu)
        self.truth.publish(node, run)
        back = self.chance.random() < 0.5
        if back:
            self._look(node, secrets.token_hex(4), None)
        return f"{node}: a look without {gpu} (run {run}){', and one with it' if back else ''}", None

    def _look(self, node: str, run: str, gpu: str | None) -> None:
        found = (
            [] if gpu is None else [{"subject": gpu, "verdict": "FAIL", "hard": True, "reason": f"GPU {gpu} is absent"}]
        )
        look = {
            "schema": "nearfar-health/1", "run": run, "node": node, "hostname": node, "system": "vm", "partition": "gpu",
            "time": utc(time.time()), "boot": None, "seconds": 0.3, "verdict": "FAIL" if found else "PASS", "findings": found,
        }  # fmt: skip
        finding_files.store(self.world.health, look, "")

    def _slow(self) -> Step:
        node, runs = self._node(), [secrets.token_hex(4), secrets.token_hex(4)]
        for ago, run in zip((40.0, 5.0), runs):
            speed = 27.0 + self.chance.random()
            leave(self.world.results, node, run, at=time.time() - ago, speed=speed, took=3.0, job=None)
        self.truth.runs.update(runs)
        return f"{node}: slow twice, runs {' '.join(runs)}", None

    def _passing(self) -> Step:
        """A full run of one or more nodes that are well now."""
        nodes = self.chance.sample(self.world.names, self.chance.choice((1, 1, 3)))
        for node in nodes:
            self.world.build(node, "good")
            publish(self.world.folder, node, False, job=self._job(node), seconds=0.1)
        return f"{' '.join(nodes)}: a full run that passes", None

    def _sweeps(self) -> list[Path]:
        return sorted(path for path in self.world.results.iterdir() if path.is_dir() and not path.name.startswith("."))

    def _copy(self) -> Step:
        """Somebody copies a sweep, with its times or not."""
        found = [path for path in self._sweeps() if "-copy-" not in path.name]
        if not found:
            return "no sweep to copy", None
        sweep = self.chance.choice(found)
        copy = sweep.with_name(f"{sweep.name}-copy-{secrets.token_hex(2)}")
        copy_function = self.chance.choice((shutil.copy2, shutil.copy))
        shutil.copytree(sweep, copy, copy_function=copy_function)
        return f"{sweep.name} copied to {copy.name}", None

    def _forged(self) -> Step:
        """A result of another user says that a node is broken."""
        node, run = self._node(), secrets.token_hex(4)
        place = leave(self.world.results, node, run, at=time.time(), wrong="forged", speed=None)
        for path in (place, *place.rglob("*")):
            os.chown(path, 65534, 65534)
        ended = self._acted()
        shutil.rmtree(place)
        return f"{node}: a forged result {run}, and act", ended

    def _cut_short(self) -> Step:
        """A node writes half a look."""
        node = self._node()
        (self.world.health / f"{node}.json").write_text('{"schema": "nearfar-health/1", "run": "')
        ended = self._acted()
        self._look(node, secrets.token_hex(4), None)
        return f"{node}: half a look, act, and a whole one", ended

    def _tidy(self) -> Step:
        """After an act that was through, results are tidied away."""
        ended = self._acted()
        if ended.returncode in (0, 3) and ended.out:
            for path in self._sweeps()[:20]:
                path.rename(self.world.folder / f"tidied-{path.name}-{secrets.token_hex(2)}")
        return "act, and the oldest results are tidied away", ended
