"""Asking slurmctld and telling it: every call has a time limit, and what cannot be read is an exception.

Callers take ``CouldNotJudge`` as "do nothing". One query shows all nodes; nothing here asks once per node in a loop but where
each is written to.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Mapping

from nearfar.base import CouldNotJudge, NearfarError, printable, process

from .node_state import NodeState, parse_nodes, seconds_of

#: Seconds that a query or an update may take; a busy slurmctld answers within its MessageTimeout (10 s by default).
LIMIT = 30.0
#: The oldest Slurm whose answers and options were read.
OLDEST = "22.05"
_VERSION = re.compile(r"(?<![\d.])\d\d\.\d\d(?!\d)")
#: What Slurm's commands say where they find no slurm.conf.
_NO_CONF = "Could not establish a configuration source"
#: What Slurm's commands, as all that use getopt, say of an option that is not one.
_MISUSED = re.compile(
    r"(?:unrecognized|invalid|ambiguous) option|option '.*' (?:requires|doesn't allow) an argument|is ambiguous;"
)
#: What slurmctld says that does not take a change of this one node.
_THIS_NODE = "Invalid node"
_FORBIDDEN = ("Invalid user id", "Access/permission denied", "Operation not permitted", "Access denied")

#: What variables begin with that would change the commands' options, or were said of this host's own job or GPUs: neither they nor the jobs
#: get them. ``_KEPT``: which cluster, and who asks.
_DROPPED = (
    "SLURM_", "SBATCH_", "SQUEUE_", "SINFO_", "SCANCEL_", "SCONTROL_", "CUDA_", "NEARFAR_", "PMI", "OMPI_", "BASH_ENV",
)  # fmt: skip
_KEPT = ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT")

#: Says why a write must not happen in the node's present state, or None.
Objection = Callable[[NodeState], "str | None"]


class Refused(NearfarError):
    """The node's state, read again just before the write, forbids it, or slurmctld does (``why``); nothing was written."""

    def __init__(self, node: str, why: str) -> None:
        super().__init__(f"{node}: {why}")
        self.why = why


class NotSeen(CouldNotJudge):
    """What was ordered, and said to be done, does not show on this node; slurmctld answers."""


class NoSlurm(NearfarError):
    """This machine has none of Slurm's commands."""


class NoSlurmConf(NoSlurm, CouldNotJudge):
    """This machine has Slurm's commands, which find no slurm.conf."""


class WrongOption(NearfarError):
    """An option that the command does not have, or not so; nothing was done."""


class Slurm:
    """The commands of one cluster. ``environ`` replaces this process' environment (SLURM_CONF, PATH); ``_DROPPED`` is left out of both.

    Raises ``NearfarError`` for a SLURM_CONF that is not there: Slurm's commands would look for it for half a minute."""

    def __init__(self, environ: Mapping[str, str] | None = None, limit: float = LIMIT) -> None:
        self.limit = limit
        given = os.environ if environ is None else environ
        self.environ = {name: value for name, value in given.items() if name in _KEPT or not name.startswith(_DROPPED)}
        self.environ |= {"TZ": "UTC", "LC_ALL": "C"}
        # A site's habit of relative or local times would change what is read here.
        self.environ["SLURM_TIME_FORMAT"] = "standard"
        self._cluster: str | None = None
        self._ahead = 0.0
        conf = self.environ.get("SLURM_CONF")
        if conf and not os.path.exists(conf):
            raise NearfarError(f"SLURM_CONF: {conf}: no such file that this user can see; name slurm.conf, or unset it")

    def call(self, *command: str) -> str:
        """Standard output of one of Slurm's commands. Raises ``NearfarError`` where Slurm is not installed or permission is lacking,
        ``WrongOption`` for options, ``CouldNotJudge`` for every other failure."""
        plain = [word for word in command if not word.startswith("-")]
        name = " ".join(plain[:3] if len(plain) > 1 else command)
        if shutil.which(command[0], path=self.environ.get("PATH")) is None:
            words = "is not on the PATH; run this on a host that has Slurm's commands"
            raise NoSlurm(f"no Slurm here: {command[0]} {words}")
        answer = process.run(command, self.limit, env=self.environ, newline="\n")
        text = printable(answer.last_line or answer.stdout.strip().split("\n")[-1])
        if answer.timed_out:
            words = f"no answer within {self.limit:.0f} s; is slurmctld well? nothing was concluded"
            raise CouldNotJudge(f"{name}: {words}")
        if answer.returncode:
            if any(words in answer.stderr + answer.stdout for words in _FORBIDDEN):
                words = "this needs Slurm's operator rights (sacctmgr: AdminLevel=Operator)"
                raise NearfarError(f"{name}: {text}: {words}")
            lines = list(map(str.strip, answer.stderr.splitlines()))
            misused = next(filter(_MISUSED.search, lines), None)
            if misused is not None:
                raise WrongOption(misused)
            # A SlurmctldHost that nobody knows: the last line says "No error".
            unknown = next((line for line in lines if "Unable to resolve" in line), None)
            if _NO_CONF in text:
                raise NoSlurmConf("no Slurm here: this machine has no slurm.conf; set SLURM_CONF=FILE")
            raise CouldNotJudge(f"{name}: {unknown or text or f'exit code {answer.returncode}'}")
        return answer.stdout

    def refuse_absence(self) -> None:
        """Raise ``NoSlurm`` where there is none on this machine; whatever else is wrong with it is no matter here."""
        try:
            self.call("scontrol", "--version")
        except NoSlurm:
            raise
        except NearfarError:
            pass

    def version(self) -> str:
        """Slurm's version as ``22.05``. Raises ``NearfarError`` for one older than 22.05."""
        text = self.call("scontrol", "--version")
        match = _VERSION.search(text)
        if match is None:
            raise CouldNotJudge(f"scontrol --version prints '{text.strip()[:60]}', not a version")
        if match[0] < OLDEST:
            raise NearfarError(f"Slurm {match[0]} is too old: {OLDEST} or later is needed")
        return match[0]

    def started(self) -> float | None:
        """When slurmctld was started, in seconds since 1970; None where it does not say."""
        return seconds_of(self.settings().get("BOOT_TIME", ""))

    def settings(self) -> dict[str, str]:
        """Slurm's settings by name, as text (``(null)``: not set). Of one that is set several times
        (``slurm-versions.md``) all values, separated by commas. Raises ``CouldNotJudge`` for an answer that holds none."""
        found: dict[str, str] = {}
        text = self.call("scontrol", "show", "config")
        match = re.search(r"^Configuration data as of (\S+)", text, re.MULTILINE)
        theirs = None if match is None else seconds_of(match[1])
        self._ahead = 0.0 if theirs is None else time.time() - theirs
        for line in text.splitlines():
            match = re.fullmatch(r"(\w+)(?:\[\d+\])?\s*=\s?(.*)", line)
            if match is not None:
                found[match[1]] = f"{found[match[1]]},{match[2].strip()}" if match[1] in found else match[2].strip()
        if "SlurmctldPort" not in found and "ClusterName" not in found:
            raise CouldNotJudge("scontrol show config: no settings in the answer; nothing is concluded from that")
        return found

    def cluster(self) -> str:
        """The cluster's name."""
        if self._cluster is None:
            self._cluster = self.settings().get("ClusterName", "")
        return self._cluster

    def clock_ahead(self) -> float:
        """Seconds that this host's clock is ahead of slurmctld's; 0 where Slurm does not tell its time."""
        self.cluster()
        return self._ahead

    def nodes(self) -> dict[str, NodeState]:
        """All nodes, those of hidden partitions too, in one query."""
        found = parse_nodes(self.call("scontrol", "--all", "show", "nodes"))
        if not found:
            raise CouldNotJudge("scontrol shows no nodes at all; nothing is concluded from an empty answer")
        return found

    def node(self, name: str) -> NodeState:
        """One node, read now."""
        found = parse_nodes(self.call("scontrol", "--all", "show", "nodes", name))
        if set(found) != {name}:
            raise CouldNotJudge(f"scontrol shows {', '.join(found) or 'nothing'} where node {name} was asked for")
        return found[name]

    def update(self, name: str, objection: Objection, *, state: str, reason: str | None = None) -> None:
        """Set a node's state and reason, unless its present state meets an objection. Slurm has no compare-and-set: between this
        read and the write a few milliseconds remain. Raises ``Refused`` with the objection, and whatever ``call`` raises."""
        why = objection(self.node(name))
        if why is not None:
            raise Refused(name, why)
        try:
            words = [] if reason is None else [f"reason={reason}"]
            self.call("scontrol", "update", f"nodename={name}", f"state={state}", *words)
        except CouldNotJudge as error:
            if _THIS_NODE not in str(error):
                raise
            raise Refused(name, str(error)) from None

    def wait(self, name: str, until: Callable[[NodeState], bool], limit: float) -> NodeState:
        """A node once ``until`` holds, asked every half second; a slurmctld that does not answer is asked again. Raises
        ``NotSeen`` after ``limit`` seconds: what was to be waited for was ordered, and the command said that it had done it."""
        end = time.monotonic() + limit
        while True:
            try:
                present = self.node(name)
                if until(present):
                    return present
                error: CouldNotJudge = NotSeen(
                    f"{name}: still {present.words} after {limit:.0f} s, though scontrol update ended with 0: slurmctld's log "
                    "has the reason, or scontrol is a wrapper that hides errors"
                )
            except CouldNotJudge as unanswered:
                error = unanswered
            if time.monotonic() >= end:
                raise error
            time.sleep(0.5)
