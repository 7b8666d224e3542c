"""What happens in a soak: each method is one step, with what it did in words and the command that was run, if any."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Sequence

from nearfar.slurm.controller import NodeState
from nearfar.slurm.drains import drained_by_us

from .found import Found, Step
from .world import Ended, World

FOREIGN = "ticket"
#: How often each event happens, in proportion.
WEIGHTS = {
    "act": 24, "wrong": 14, "absent": 8, "slow": 4, "passing": 8, "copy": 2, "forged": 1, "act_killed": 6, "acts_at_once": 2,
    "act_beside_restart": 3, "retest": 8, "retest_killed": 5, "retest_beside_restart": 2, "sweep": 3, "sweep_killed": 2, "restart": 2,
    "slurmctld_killed": 2, "slurmd_killed": 3, "power_cut": 2, "reboot": 4, "foreign_drain": 4, "foreign_resume": 4, "resume_ours": 3,
    "replace": 2, "clear": 6, "clock": 4, "status": 3, "tidy": 1, "cut_short": 1,
}  # fmt: skip


class Events(Found):
    """Chooses and does the steps of one world."""

    def __init__(self, world: World, chance: random.Random) -> None:
        super().__init__(world, chance)
        self._down = self.truth.off
        #: When an administrator resumed a node last.
        self._resumed: dict[str, float] = {}
        self._count = 0

    def step(self) -> tuple[str, Callable[[], Step]]:
        """The next event by name, not done yet."""
        names = list(WEIGHTS)
        name = self.chance.choices(names, [WEIGHTS[each] for each in names])[0]
        return name, getattr(self, f"_{name}")

    def heal(self) -> None:
        """Start every node again that is off, so that the last acts see all."""
        for name in sorted(self._down):
            self._start(name)

    def _some(self, holds: Callable[[NodeState], bool]) -> str | None:
        found = [name for name, state in self.world.nodes().items() if holds(state)]
        return self.chance.choice(found) if found else None

    # The robot

    def _act(self) -> Step:
        return "act", self._acted()

    def _act_killed(self) -> Step:
        after = self.chance.uniform(0.2, 2.5)
        started = self.world.start("act")
        time.sleep(after)
        return f"act, kill -9 after {after:.2f} s", self.world.kill(started, self.chance.random() < 0.5, "act")

    def _acts_at_once(self) -> Step:
        started = [self.world.start("act") for _ in range(3)]
        ended = [self.world.end(each, "act") for each in started]
        return f"three acts at once: {[each.returncode for each in ended]}", ended[-1]

    def _act_beside_restart(self) -> Step:
        after, killed = self.chance.uniform(0.2, 1.5), self.chance.random() < 0.5
        started = self.world.start("act")
        time.sleep(after)
        self._away(killed)
        return f"act, slurmctld {'killed' if killed else 'restarted'} after {after:.2f} s", self.world.end(
            started, "act"
        )

    def _clock(self) -> Step:
        ahead = self.chance.choice((120.0, 250.0, -120.0, -4000.0))
        for name in [name for name, at in self._resumed.items() if time.time() - at < 600]:
            self.truth.answer(name)  # within the error of a clock the order of things cannot be known
        return f"act by a clock that is {ahead:+.0f} s off", self._acted(clock=ahead)

    def _status(self) -> Step:
        words = self.chance.choice(((), (self._node(),), ("--json",)))
        return f"status {' '.join(words)}", self.world.run("status", *words)

    # Measuring

    def _suspect(self) -> str | None:
        return self._some(lambda state: drained_by_us(state) and state.base == "IDLE")

    def _prepared(self) -> str | None:
        """A drained node that was repaired, as most are before they are retested."""
        node = self._suspect()
        if node is not None and self.chance.random() < 0.7:
            self.world.build(node, "good")
        return node

    def _retested(self, node: str, passed: bool) -> None:
        """A retest that was interrupted may have released a node that is well."""
        well = (self.world.private.own(node) / "hardware").read_text() == "good"
        if passed or well:
            self.truth.read_jobs()
            self.truth.answer(node)

    def _retest(self) -> Step:
        node = self._prepared()
        if node is None:
            return "no node to test again", None
        ended = self.world.run("retest", node)
        self._retested(node, ended.returncode == 0)
        return f"retest {node}", ended

    def _retest_killed(self) -> Step:
        node = self._prepared()
        if node is None:
            return "no node to test again", None
        after, everything = self.chance.uniform(0.5, 8.0), self.chance.random() < 0.5
        started = self.world.start("retest", node)
        time.sleep(after)
        ended = self.world.kill(started, everything, "retest", node)
        self._retested(node, False)
        return f"retest {node}, kill -9 {'of all' if everything else 'of it'} after {after:.1f} s", ended

    def _retest_beside_restart(self) -> Step:
        node = self._prepared()
        if node is None:
            return "no node to test again", None
        after, killed = self.chance.uniform(0.5, 6.0), self.chance.random() < 0.5
        started = self.world.start("retest", node)
        time.sleep(after)
        self._away(killed)
        ended = self.world.end(started, "retest", node)
        self._retested(node, ended.returncode == 0)
        return f"retest {node}, slurmctld {'killed' if killed else 'restarted'} after {after:.1f} s", ended

    def _sweep_words(self) -> tuple[str, Sequence[str]] | None:
        idle = self.world.idle()
        if len(idle) < 2:
            return None
        self._count += 1
        nodes = ",".join(self.chance.sample(sorted(idle), 2))
        name = f"sweep{self._count}-{secrets.token_hex(2)}"
        return name, (
            "--partition=all",
            f"--nodes={nodes}",
            f"--results={self.world.results}",
            f"--name={name}",
            "--result-wait=3",
        )

    def _sweep(self) -> Step:
        found = self._sweep_words()
        if found is None:
            return "no idle nodes to measure", None
        return f"sweep {found[0]} {found[1][1]}", self.world.run("sweep", *found[1])

    def _sweep_killed(self) -> Step:
        found = self._sweep_words()
        if found is None:
            return "no idle nodes to measure", None
        started = self.world.start("sweep", *found[1])
        time.sleep(self.chance.uniform(0.5, 5.0))
        self.world.kill(started, True, "sweep")
        again = self.world.run("sweep", f"--results={self.world.results}", "--resume", found[0])
        return f"sweep {found[0]} {found[1][1]}, kill -9, --resume", again

    # Slurm

    def _away(self, killed: bool) -> None:
        private = self.world.private
        self.truth.away = time.time()
        if killed:
            private.kill_controller()
        else:
            private.stop_controller()
        time.sleep(self.chance.uniform(0.0, 3.0))
        private.start_controller()
        self.truth.away = time.time()
        self.world.until(
            lambda: not any(n.base == "UNKNOWN" for n in self.world.nodes().values()), "nodes register", 60
        )
        if killed:
            self._lost()

    def _lost(self) -> None:
        """What slurmctld was told in its last seconds it does not know any more: others' drains too."""
        nodes = self.world.nodes()
        for name, reason in list(self.truth.foreign.items()):
            if not nodes[name].drain or not (nodes[name].reason or "").startswith(reason):
                del self.truth.foreign[name]
        for name, state in nodes.items():
            words = state.why_out or ""
            if state.drain and words.startswith(FOREIGN):
                self.truth.foreign.setdefault(name, words)

    def _restart(self) -> Step:
        self._away(False)
        return "slurmctld restarted", None

    def _slurmctld_killed(self) -> Step:
        self._away(True)
        return "slurmctld killed and started", None

    def _start(self, name: str, *options: str) -> None:
        self.world.private.start_node(name, *options)
        self._down.discard(name)

    def _slurmd_killed(self) -> Step:
        """A node goes down; those that are down come back after a while."""
        words = []
        if self._down and (len(self._down) > 2 or self.chance.random() < 0.6):
            name = self.chance.choice(sorted(self._down))
            self._start(name)
            words.append(f"{name}: slurmd started")
        else:
            name = self.chance.choice(sorted(set(self.world.names) - self._down))
            self.world.private.kill_node(name)
            self._down.add(name)
            words.append(f"{name}: power off")
        return ", ".join(words), None

    def _booted(self, name: str) -> None:
        if name not in self._down:
            self.world.private.kill_node(name)
        self._start(name, "-b")

    def _power_cut(self) -> Step:
        name = self._node()
        self._booted(name)
        return f"{name}: power cut, and booted", None

    def _reboot(self) -> Step:
        """scontrol reboot: RebootProgram runs on the node, which comes up again."""
        node = self._some(lambda state: state.base == "IDLE" and not state.down and not state.rebooting)
        if node is None or node in self._down:
            return "no node to reboot", None
        mark = self.world.folder / f"reboot-{node}"
        mark.unlink(missing_ok=True)  # of a reboot that began after it was given up
        words = ["reboot", *self.chance.choice(([], ["ASAP"], ["ASAP", "reason=kernel"])), node]
        if not self.world.scontrol(*words):
            return f"scontrol {' '.join(words)}: refused", None
        if "reason=kernel" in words and node in self.truth.foreign:
            self.truth.foreign[node] = "kernel"
        end = time.monotonic() + 20
        while not mark.exists() and time.monotonic() < end:
            time.sleep(0.1)
        if not mark.exists() and self.world.scontrol("cancel_reboot", node):
            return f"scontrol {' '.join(words)}: not begun, cancelled", None
        if node in self.truth.foreign:  # behind the reason, or in its place, Slurm writes "reboot issued"
            self.truth.foreign[node] = self.world.nodes()[node].reason or ""
        if "ASAP" in words and self.world.slurm.version() < "24.11":
            self.truth.answer(node)  # who types it puts the node into use as well
            self.truth.foreign.pop(node, None)
        self._booted(node)
        return f"scontrol {' '.join(words)}", None

    # People

    def _foreign_drain(self) -> Step:
        node = self._some(lambda state: not state.drain)
        if node is None:
            return "no node to drain", None
        reason = f"{FOREIGN} {self.chance.randrange(1000)}"
        # Written down first: a kill of slurmctld may come between.
        self.world.scontrol("update", f"nodename={node}", "state=drain", f"reason={reason}")
        self.truth.foreign[node] = reason
        return f"{node}: drained by others with '{reason}'", None

    def _resume(self, node: str) -> None:
        self.truth.foreign.pop(node, None)
        self.world.scontrol("update", f"nodename={node}", "state=resume")
        self._resumed[node] = time.time()

    def _foreign_resume(self) -> Step:
        """That others take back their own drain answers nothing."""
        node = self._some(lambda state: state.out and not drained_by_us(state))
        if node is None:
            return "no node that others drained", None
        self._resume(node)
        return f"{node}: resumed by others", None

    def _resume_ours(self) -> Step:
        """An administrator resumes what act has seen drained."""
        node = self._some(drained_by_us)
        if node is None:
            return "no node that act drained", None
        ended = self._acted()
        if self.world.nodes()[node].drain:
            self.world.build(node, "good")
            self._resume(node)
            self.truth.read_jobs()
            self.truth.answer(node)
        return f"{node}: drained by act, resumed by an administrator", ended

    def _replace(self) -> Step:
        """Another program drains a node that act has drained."""
        node = self._some(drained_by_us)
        if node is None:
            return "no node that act drained", None
        reason = f"{FOREIGN} {self.chance.randrange(1000)}"
        self.world.scontrol("update", f"nodename={node}", "state=drain", f"reason={reason}")
        self.truth.foreign[node] = reason
        return f"{node}: drained by act, and by others with '{reason}'", self._acted()

    def _say(self, command: str, node: str) -> Ended:
        ended = self.world.run(command, node, "--because", "seen to")
        if ended.returncode == 0:
            self.truth.read_jobs()
            self.truth.answer(node)
        return ended

    def _clear(self) -> Step:
        node = self._some(drained_by_us) if self.chance.random() < 0.7 else self._node()
        if node is None:
            return "no node to clear", None
        self.world.build(node, "good")
        return f"clear {node}", self._say("clear", node)
