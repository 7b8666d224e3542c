"""A Slurm whose nodes are all this machine, started and ended by a test: its own munged, slurmctld and slurmds.

Its daemons run as this user. It binds CPUs and memory (task/affinity) and hands out pretended GPUs: links to /dev/null
under the driver's names. Started by root, every node has a host name of its own, which mpirun needs to tell them apart,
and a directory of its own under a path that all share (``node``): there a test puts what differs from node to node, its
hardware. Nodes and slurmctld can be ended and started again.

``NEARFAR_TEST_SLURM`` names another installation of Slurm than the one on the PATH: its bin/ and sbin/ come first. munged is
taken from the PATH all the same where the installation has none. Such a Slurm needs ``./configure --enable-multiple-slurmd``: all
nodes share one munged, and without it the second node of a job refuses the job's credential as replayed.
"""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

PROGRAMS = ("slurmctld", "slurmd", "srun", "sbatch", "salloc", "scontrol", "scancel")
#: The environment variable that names an installation of Slurm.
INSTALLATION = "NEARFAR_TEST_SLURM"


def missing() -> str | None:
    """The first program of Slurm that is not on the PATH (or in /usr/sbin), or None.

    Raises ``RuntimeError`` where an installation is named that lacks one: another Slurm would be tested in its place.
    """
    named = os.environ.get(INSTALLATION)
    if named:
        absent = next((name for name in PROGRAMS if not shutil.which(name, path=f"{named}/bin:{named}/sbin")), None)
        if absent is not None:
            raise RuntimeError(f"{INSTALLATION}={named}: no {absent} in its bin or sbin")
    return next((name for name in (*PROGRAMS, "munged") if not shutil.which(name, path=search_path())), None)


def needed(root: bool = False) -> None:
    """Skip the test where Slurm is not installed; with ``root`` also where this user is not root."""
    absent = missing()
    if absent:
        pytest.skip(f"{absent} is not installed (Debian: slurmctld slurmd slurm-client munge)")
    if root and os.geteuid() != 0:
        pytest.skip("only root gives each node a host name of its own")


def search_path() -> str:
    """The PATH on which the Slurm to be tested is found first."""
    named = os.environ.get(INSTALLATION)
    first = f"{named}/bin:{named}/sbin:" if named else ""
    return f"{first}{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _instead() -> list[tuple[Path, Path]]:
    """The programs of the named installation, each with that of this machine's own Slurm which a node has it in place of: an
    mpirun that is called by its path looks beside itself for srun first."""
    named = os.environ.get(INSTALLATION)
    found = sorted(Path(named, "bin").iterdir()) if named else []
    return [(path, Path("/usr/bin", path.name)) for path in found if Path("/usr/bin", path.name).exists()]


class PrivateSlurm:
    """``with PrivateSlurm(cpus=2, gpus=2) as slurm: slurm.run(["srun", …])``. Up in a few tenths of a second.

    ``cpus`` and ``gpus`` are those of each of the nodes n1, n2, …; ``settings`` are lines of slurm.conf that replace or
    join those here. Commands have a configuration of their own: they give a slurmctld that is away up after two seconds,
    while slurmctld waits for its nodes as long as Slurm does by default, so that a busy machine loses none.
    """

    def __init__(self, cpus: int, gpus: int, nodes: int = 1, settings: Mapping[str, str] | None = None) -> None:
        self.cpus, self.gpus, self.settings = cpus, gpus, dict(settings or {})
        self.names = [f"n{index + 1}" for index in range(nodes)]
        # Paths of UNIX sockets end at 108 bytes: pytest's folders are too deep.
        self.folder = Path(tempfile.mkdtemp(prefix="nfslurm-"))
        self.folder.chmod(0o755)
        self.daemons: list[subprocess.Popen[bytes]] = []
        self.controller: subprocess.Popen[bytes] | None = None
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        #: The path under which every node, and every job on it, finds ``own(name)``: another directory on each.
        self.node = self.folder / "node"
        self.environment = {**os.environ, "PATH": search_path(), "SLURM_CONF": str(self.folder / "commands.conf")}

    def __enter__(self) -> PrivateSlurm:
        try:
            self._write_configuration()
            munge = ["socket", "key-file", "pid-file", "seed-file", "log-file"]
            self._start(["munged", "-F", *(f"--{name}={self.folder}/munge.{name}" for name in munge)])
            self._wait(lambda: (self.folder / "munge.socket").exists(), "munged")
            self.start_controller()
            for name in self.names:
                self.start_node(name)
            self._wait(lambda: self._shown("SlurmdStartTime=20") and self._shown("State=IDLE "), "idle nodes")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.controller is not None and self.controller.poll() is None:
            self._quietly("scancel", "-f", "-p", "all")
        for daemon in reversed(self.daemons):
            _end(daemon)
        for pid in self._strays():
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start_controller(self) -> None:
        """Start slurmctld; at once where it kept its state."""
        self.controller = self._start(["slurmctld", "-D", "-i"])
        self._wait(lambda: "is UP" in self._quietly("scontrol", "ping"), "slurmctld")

    def stop_controller(self) -> None:
        """End slurmctld; it saves its state, and jobs run on."""
        assert self.controller is not None
        self.daemons.remove(self.controller)
        _end(self.controller)

    def kill_controller(self) -> None:
        """What a power cut does to slurmctld: what it was told in its last seconds is lost."""
        assert self.controller is not None
        self.daemons.remove(self.controller)
        self.controller.kill()
        self.controller.wait()

    def own(self, name: str) -> Path:
        """A node's own directory, which it sees as ``self.node`` (root alone; else all share that)."""
        return self.folder / "nodes" / name if os.geteuid() == 0 else self.node

    def start_node(self, name: str, *options: str) -> None:
        """Start a node's slurmd; with ``-b`` it says that the node was booted just now."""
        self.nodes[name] = self._start(self._as_host(name, ["slurmd", "-D", "-N", name, *options]))

    def kill_node(self, name: str) -> None:
        """What a node's power cut does: its slurmd and its jobs are gone, and slurmctld is not told. For root alone."""
        daemon = self.nodes.pop(name)
        self.daemons.remove(daemon)
        host = _host(daemon.pid)
        daemon.kill()  # first: it would tell of its jobs' end
        daemon.wait()
        for pid in _processes():
            if _host(pid) == host:
                os.kill(pid, signal.SIGKILL)

    def until_nodes_answer(self) -> None:
        """Until slurmctld hears from every node whose slurmd runs; at once where slurmctld itself does not answer.

        A started slurmctld calls its nodes NOT_RESPONDING until each has answered; what it calls so is not resumed.
        """
        end = time.monotonic() + 60
        while time.monotonic() < end:
            shown = self._quietly("scontrol", "-o", "show", "nodes").splitlines()
            silent = {row.split()[0].removeprefix("NodeName=") for row in shown if "NOT_RESPONDING" in row}
            if not any(name in silent and daemon.poll() is None for name, daemon in self.nodes.items()):
                return
            time.sleep(0.1)

    def run(self, command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
        """Run one of Slurm's commands, or a script that calls them."""
        return subprocess.run(
            command, env={**self.environment, **environment}, capture_output=True, text=True, timeout=300
        )

    def batch(self, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        """Submit a batch script and wait for its job's end, whose exit code counts. ``sbatch --wait`` looks every ten seconds."""
        submitted = self.run(["sbatch", "--parsable", *map(str, words)], **environment)
        if submitted.returncode != 0:
            return submitted
        end = time.monotonic() + 180
        while True:
            shown = self._quietly("scontrol", "-o", "show", "job", submitted.stdout.strip())
            job = dict(word.split("=", 1) for word in shown.split() if "=" in word)
            if job.get("JobState", "PENDING") not in ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING"):
                code, _, signalled = job["ExitCode"].partition(":")
                submitted.returncode = int(code) or int(signalled)
                return submitted
            assert time.monotonic() < end, shown
            time.sleep(0.1)

    def _as_host(self, name: str, command: list[str]) -> list[str]:
        """The command in a namespace where the machine is called ``name``, and knows the others' names."""
        if os.geteuid() != 0:
            return command
        pairs = [(self.folder / "hosts", Path("/etc/hosts")), (self.own(name), self.node), *_instead()]
        mounts = " && ".join(f"mount --bind {place} {over}" for place, over in pairs)
        commands = f"hostname {name} && {mounts} && exec {shlex.join(command)}"
        return ["unshare", "--uts", "--mount", "sh", "-c", commands]

    def _start(self, command: list[str]) -> subprocess.Popen[bytes]:
        environment = {**self.environment, "SLURM_CONF": str(self.folder / "slurm.conf")}
        with open(self.folder / f"{len(self.daemons)}-{command[0]}.out", "ab") as log:
            # Foreground children of this process: they end with it even when it is killed.
            daemon = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", *command], env=environment, cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.daemons.append(daemon)
        return daemon

    def _strays(self) -> list[int]:
        """The slurmstepds of this Slurm: one whose slurmd was killed waits for ever."""
        mark = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        return [pid for pid in _processes() if _read(pid, "comm") == b"slurmstepd\n" and mark in _read(pid, "environ")]

    def _wait(self, ready: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + 60
        while not ready():
            ended = [daemon.args for daemon in self.daemons if daemon.poll() is not None]
            logs = "\n".join(path.read_text(errors="replace")[-800:] for path in self.folder.glob("*.out"))
            assert not ended and time.monotonic() < end, f"no {what}; ended: {ended}\n{logs}"
            time.sleep(0.02)

    def _shown(self, words: str) -> bool:
        return self._quietly("scontrol", "-o", "show", "nodes").count(words) == len(self.names)

    def _quietly(self, *command: str) -> str:
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=20, check=False
        ).stdout

    def _write_configuration(self) -> None:
        folder, user = self.folder, pwd.getpwuid(os.geteuid()).pw_name
        for name in ("state", "dev", "node", "nodes", *(f"spool-{node}" for node in self.names)):
            (folder / name).mkdir(exist_ok=True)
        for node in self.names:
            (folder / "nodes" / node).mkdir(exist_ok=True)  # a test may have put its files there
        key = folder / "munge.key-file"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        control, *ports = _free_ports(1 + len(self.names))
        gpus = f"Gres=gpu:{self.gpus} " if self.gpus else ""
        for index in range(self.gpus):
            (folder / "dev" / f"nvidia{index}").symlink_to("/dev/null")
        files = f"{folder}/dev/nvidia[0-{self.gpus - 1}]" if self.gpus > 1 else f"{folder}/dev/nvidia0"
        listed = [f"NodeName={name} Name=gpu File={files}" for name in self.names if self.gpus]
        (folder / "gres.conf").write_text("\n".join(["AutoDetect=off", *listed, ""]))
        # No control groups are used; the second version's plugin would ask systemd for some all the same.
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        (folder / "hosts").write_text(f"127.0.0.1 localhost {socket.gethostname()} {' '.join(self.names)}\n")
        shared = "" if os.geteuid() == 0 else "NodeHostname=localhost "
        nodes = [
            f"NodeName={name} {shared}NodeAddr=127.0.0.1 Port={port} CPUs={self.cpus} Sockets=1 "
            f"CoresPerSocket={self.cpus} ThreadsPerCore=1 {gpus}State=UNKNOWN"
            for name, port in zip(self.names, ports)
        ]
        settings = {
            "ClusterName": "private",
            "SlurmctldHost": "localhost(127.0.0.1)",
            "SlurmUser": f"{user}",
            "SlurmdUser": f"{user}",
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={folder}/munge.socket",
            "CredType": "cred/munge",
            "SlurmctldPort": f"{control}",
            "SlurmctldPidFile": f"{folder}/slurmctld.pid",
            "SlurmdPidFile": f"{folder}/slurmd-%n.pid",
            "StateSaveLocation": f"{folder}/state",
            "SlurmdSpoolDir": f"{folder}/spool-%n",
            "MailProg": "/bin/true",
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/affinity",
            "SwitchType": "switch/none",
            "MpiDefault": "none",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_Core",
            "SlurmdParameters": "config_overrides",
            "ReturnToService": "1",
            "KillWait": "2",
            "SchedulerParameters": "batch_sched_delay=0,bf_interval=1,sched_interval=1",
            "AccountingStorageType": "accounting_storage/none",
            "JobAcctGatherType": "jobacct_gather/none",
            "GresTypes": "gpu",
            "SlurmdTimeout": "60",
            **self.settings,
        }
        os.chown(folder / "state", pwd.getpwnam(settings["SlurmUser"]).pw_uid, -1)
        partition = f"PartitionName=all Nodes={','.join(self.names)} Default=YES MaxTime=INFINITE State=UP"
        for name, patience in (("slurm.conf", {}), ("commands.conf", {"MessageTimeout": "2"})):
            lines = [f"{key}={value}" for key, value in {**settings, **patience}.items()]
            (folder / name).write_text("\n".join([*lines, *nodes, partition, ""]))


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").glob("[0-9]*")]


def _read(pid: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""


def _host(pid: int) -> str | None:
    """What tells a node's processes from another's: the namespace of their host name."""
    try:
        return os.readlink(f"/proc/{pid}/ns/uts")
    except OSError:
        return None


def _end(daemon: subprocess.Popen[bytes]) -> None:
    daemon.terminate()
    try:
        daemon.wait(10)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()
