"""A private Slurm with a site whose nodes act may drain, and the commands of nearfar in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearfar.base.places import IMPORT_PATH as CHECKOUT
from nearfar.slurm.controller import NodeState, Slurm
from tests.support.private_slurm import PrivateSlurm

from .oracle import Oracle

#: The caps of the site.
PER_DAY, IN_ALL = 8, 8
#: The share of the nodes that has to stay usable.
LEFT = 0.4
#: Seconds within which every command has to end.
LONGEST = 240.0
_SYSTEM = f"""\
system: vm
hosts: ["n[1-99]"]
act:
  trusted: [root]
  default: drain
  max_age: 10m
  cap:
    per_day: {{nodes: {PER_DAY}, share: 1.0}}
    in_all: {{nodes: {IN_ALL}, share: 1.0}}
    available: {{share: {LEFT}}}
  same_metric: {{nodes: 99, share: 1.0}}
  flaps: {{drains: 99, within: 1d}}
partitions:
  - {{name: gpu, scheduler: squeue, launcher: srun, access: [-p all]}}
"""
_JOB = """\
#!/bin/bash
export PYTHONPATH={checkout}
exec {python} -m benchmarks.soaking.node_run {folder} {own} {{{{ sweep|quote }}}} {{{{ level }}}} "$1"
"""
#: It runs on the node, as slurmd's child.
_REBOOT = "#!/bin/sh\nhostname > {folder}/reboot-$(hostname)\n"


@dataclass(frozen=True)
class Ended:
    """A command that has ended. ``returncode``: negative where it was killed."""

    words: tuple[str, ...]
    returncode: int
    out: str
    err: str


class World:
    """``with World(folder, nodes) as world``: the Slurm runs; ``truth`` knows what happened in it."""

    def __init__(self, folder: Path, nodes: int) -> None:
        self.folder, self.truth = folder, Oracle(folder)
        self.results, self.state, self.health = folder / "results", folder / "act", folder / "health"
        for place in (self.results, self.health, folder / "site/systems", folder / "site/templates/slurm"):
            place.mkdir(parents=True)
        (folder / "reboot").write_text(_REBOOT.format(folder=folder))
        (folder / "reboot").chmod(0o755)
        settings = {
            "MessageTimeout": "3",
            "SlurmdTimeout": "6",
            "RebootProgram": str(folder / "reboot"),
            "ResumeTimeout": "60",
        }
        self.private = PrivateSlurm(cpus=1, gpus=0, nodes=nodes, settings=settings)
        self.environment = {
            **self.private.environment, "NEARFAR_SITE": str(folder / "site"), "PYTHONPATH": str(CHECKOUT),
            "NEARFAR_STATE": str(folder / "nearfar"), "NEARFAR_PROGRAMS": str(folder / "bin"),
        }  # fmt: skip
        (folder / "bin").mkdir()
        (folder / "bin/nearfar-copy").symlink_to("/bin/true")  # its jobs start nothing of it
        (folder / "site/systems/vm.yaml").write_text(_SYSTEM)
        job = _JOB.format(checkout=CHECKOUT, python=sys.executable, folder=folder, own=self.private.node)
        (folder / "site/templates/slurm/job.sh.j2").write_text(job)

    def __enter__(self) -> World:
        """Start it."""
        self.private.__enter__()
        self.slurm = Slurm(self.private.environment)
        for name in self.private.names:
            self.build(name, "good")
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.private.__exit__()

    @property
    def names(self) -> list[str]:
        """The nodes."""
        return self.private.names

    def build(self, node: str, hardware: str) -> None:
        """Put hardware into a node: ``good`` or ``wrong``."""
        (self.private.own(node) / "hardware").write_text(hardware)

    def nodes(self) -> dict[str, NodeState]:
        """As slurmctld shows them; asked again while it is away."""
        end = time.monotonic() + 60
        while True:
            try:
                return self.slurm.nodes()
            except Exception:
                if time.monotonic() > end:
                    raise
                time.sleep(0.3)

    def scontrol(self, *words: str) -> bool:
        """A person's word to Slurm; whether it was taken."""
        return self.private.run(["scontrol", *words]).returncode == 0

    def start(self, name: str, *words: str, clock: float = 0.0) -> subprocess.Popen[str]:
        """Start a command of ``nearfar slurm`` on this site; ``clock``: seconds that its host's clock is ahead."""
        places = {"results": self.results, "health": self.health, "state": self.state}
        given = [] if name == "sweep" else [f"--{key}={value}" for key, value in places.items()]
        program = ["-m", "nearfar"] if not clock else ["-m", "benchmarks.soaking.other_clock", str(clock)]
        return subprocess.Popen(
            [sys.executable, *program, "slurm", name, *given, *words], env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def run(self, name: str, *words: str, clock: float = 0.0) -> Ended:
        """Run one to its end."""
        return self.end(self.start(name, *words, clock=clock), name, *words)

    def end(self, started: subprocess.Popen[str], *words: str) -> Ended:
        """Wait for one. Raises ``TimeoutError`` where it hangs."""
        try:
            out, err = started.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            raise TimeoutError(f"{' '.join(words)}: still running after {LONGEST:.0f} s") from None
        return Ended(words, started.returncode, out, err)

    def kill(self, started: subprocess.Popen[str], everything: bool, *words: str) -> Ended:
        """kill -9 of one, or of its children too; then wait for what it left running."""
        if started.poll() is None:
            if everything:
                os.killpg(started.pid, signal.SIGKILL)
            else:
                started.kill()
        ended = self.end(started, *words)
        self.until(lambda: not _session(started.pid), "the children of a killed command end")
        return ended

    def until(self, holds: object, what: str, limit: float = 120.0) -> None:
        """Wait for a condition. Raises ``TimeoutError`` where it does not come."""
        assert callable(holds)
        end = time.monotonic() + limit
        while not holds():
            if time.monotonic() > end:
                raise TimeoutError(f"waited {limit:.0f} s in vain: {what}")
            time.sleep(0.1)

    def idle(self) -> Sequence[str]:
        """The nodes that are idle."""
        return [name for name, node in self.nodes().items() if node.idle]


def _session(leader: int) -> list[int]:
    """The processes of a session that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found
