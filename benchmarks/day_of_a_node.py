#!/usr/bin/env python3
"""The day of a node on a private Slurm: a GPU goes absent under a job, the epilog drains the node, an administrator
reboots it, it is retested.

    python -m benchmarks.day_of_a_node [--every 300]

Prints the transcript of docs/drains.md. Real are Slurm, `nearfar slurm install`, the epilog, act, the reboot and the
retest with its reservation and job; made up are the node's hardware (a file that hwloc reads) and what the retest's job measures.
What starts act every ``--every`` seconds is this program, in place of the timer. Needs root and Slurm, and changes nothing
on the machine: /etc and /srv are its own while it runs.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from nearfar.base.places import IMPORT_PATH as CHECKOUT
from nearfar.slurm.controller import Slurm
from tests.slurm.health.test_health import hardware
from tests.support.private_slurm import PrivateSlurm

_SYSTEM = """\
system: vm
hosts: ["n[1-9]"]
act: {trusted: [root], default: drain}
partitions:
  - {name: gpu, node_type: h200-x4-vm, scheduler: squeue, launcher: srun, access: [-p all]}
"""
_JOB = """\
#!/bin/bash
export PYTHONPATH={checkout}
exec {python} -m benchmarks.soaking.node_run /srv {own} {{{{ sweep|quote }}}} {{{{ level }}}} "$1"
"""
INSTALL = (
    "nearfar slurm install --partition all --results /srv/results --user root --state /srv/act --health-output /srv/health"
    " --what act health prolog epilog --apply"
)


def main() -> int:
    """Play it, in a namespace of mounts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=300, help="seconds between two calls of act")
    parser.add_argument("--inside", metavar="DIR", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        play(Path(asked.inside), asked.every)
        return 0
    with tempfile.TemporaryDirectory(prefix="nearfar-day-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        for name in ("upper", "work", "srv"):
            (place / name).mkdir()
        mounts = (
            f"mount -t overlay overlay -o lowerdir=/etc,upperdir={place}/upper,workdir={place}/work /etc && "
            f"mount --bind {place}/srv /srv"
        )
        again = shlex.join(
            [sys.executable, "-m", "benchmarks.day_of_a_node", f"--every={asked.every}", f"--inside={place}"]
        )
        return subprocess.run(["unshare", "--mount", "sh", "-c", f"{mounts} && exec {again}"], cwd=CHECKOUT).returncode


class Day:
    """Says what is typed and what comes of it."""

    def __init__(self, private: PrivateSlurm) -> None:
        self.private = private
        self.environment = {**private.environment, "NEARFAR_SITE": "/srv/site", "PYTHONPATH": str(CHECKOUT),
                            "NEARFAR_STATE": "/srv/nearfar", "NEARFAR_PROGRAMS": "/srv/bin"}  # fmt: skip

    @property
    def slurm(self) -> Slurm:
        """Its slurmctld."""
        return Slurm(self.private.environment)

    def say(self, words: str) -> None:
        """A line that is no command's."""
        print(f"# {time.strftime('%T', time.gmtime())}  {words}", flush=True)

    def type(self, line: str, shown: bool = True) -> None:
        """Run a command line, and show it with what it says."""
        program = f"{shlex.quote(sys.executable)} -m nearfar " if line.startswith("nearfar ") else ""
        done = subprocess.run(
            ["sh", "-c", program + line.removeprefix("nearfar ") if program else line], env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        if not shown and done.returncode:
            raise SystemExit(f"{line}\n{done.stdout}")
        if shown:
            code = f"(exit code {done.returncode})\n" if done.returncode else ""
            print(f"$ {line}\n{done.stdout}{code}", end="", flush=True)


def play(folder: Path, every: int) -> None:
    """The day."""
    for name in ("site/systems", "site/templates/slurm", "results", "health", "bin"):
        Path("/srv", name).mkdir(parents=True)
    Path("/srv/bin/nearfar-copy").symlink_to("/bin/true")
    Path("/srv/site/systems/vm.yaml").write_text(_SYSTEM)
    rebooted = Path("/srv/rebooted")
    Path("/srv/reboot").write_text(f"#!/bin/sh\nhostname > {rebooted}\n")
    Path("/srv/reboot").chmod(0o755)
    scripts = {name: f"/etc/nearfar/{name.lower()}" for name in ("Prolog", "Epilog")}
    settings = {
        **scripts, "PrologFlags": "Alloc", "HealthCheckProgram": "/etc/nearfar/health-check", "HealthCheckInterval": "300",
        "HealthCheckNodeState": "IDLE,CYCLE", "RebootProgram": "/srv/reboot", "ResumeTimeout": "60",
    }  # fmt: skip
    private = PrivateSlurm(cpus=1, gpus=0, nodes=4, settings=settings)
    job = _JOB.format(checkout=CHECKOUT, python=sys.executable, own=private.node)
    Path("/srv/site/templates/slurm/job.sh.j2").write_text(job)
    for name in private.names:
        private.own(name).mkdir(parents=True)
        hardware(private.own(name) / "topo.xml")
        (private.own(name) / "hardware").write_text("good")
    day = Day(private)
    with private:
        day.type(INSTALL, shown=False)
        check = Path("/etc/nearfar/health-check")
        seen = f'os.environ["HWLOC_XMLFILE"] = "{private.node}/topo.xml"\nos.environ["NEARFAR_SITE"] = "/srv/site"\nfrom nearfar'
        check.write_text(check.read_text().replace("from nearfar", seen, 1))
        _day(day, every, rebooted)


def _day(day: Day, every: int, rebooted: Path) -> None:
    private, began = day.private, time.monotonic()
    day.type("sinfo --Node --format='%n %t %E'")
    job = private.run(["sbatch", "--parsable", "-w", "n2", "--output=/dev/null", "--wrap", "sleep 45"]).stdout.strip()
    day.slurm.wait("n2", lambda node: not node.idle, 30)
    day.say(f"job {job} runs on n2")
    time.sleep(30)
    hardware(private.own("n2") / "topo.xml", without="08")
    absent = time.time()
    day.say("a GPU of n2 falls off the bus, under the job")
    _until(lambda: day.slurm.node("n2").drain)
    day.say(
        f"the job has ended, and the epilog has drained the node, {time.time() - absent:.0f} s after the GPU went absent"
    )
    day.type("sinfo --Node --format='%n %t %E'")
    time.sleep(max(0.0, began + every - time.monotonic()))
    day.say("the timer starts act")
    day.type("/etc/nearfar/act")
    day.type("nearfar slurm status n2")
    day.say("an administrator looks at it, and reboots it")
    day.type("scontrol reboot n2")
    _until(rebooted.exists)
    private.kill_node("n2")
    hardware(private.own("n2") / "topo.xml")
    time.sleep(2)
    private.start_node("n2", "-b")
    day.slurm.wait("n2", lambda node: not node.rebooting and not node.down, 60)
    day.say("n2 is up again, with all its GPUs")
    day.type("nearfar slurm retest n2")
    day.type("sinfo --Node --format='%n %t %E'")
    day.type("nearfar slurm status n2 --since 1h")
    day.type("nearfar slurm status")


def _until(holds: object) -> None:
    assert callable(holds)
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.2)


if __name__ == "__main__":
    os.chdir(CHECKOUT)
    sys.exit(main())
