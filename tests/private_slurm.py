"""A Slurm whose nodes are all this machine, started and ended by a test: its own munged, slurmctld and slurmds.

Its daemons run as this user. It binds CPUs and memory (task/affinity) and hands out pretended GPUs: links to /dev/null
under the driver's names. Started by root, every node has a host name of its own, which mpirun needs to tell them apart.
"""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "srun", "sbatch", "salloc", "scontrol", "scancel", "munged")


def missing() -> str | None:
    """The first program of Slurm that is not on the PATH (or in /usr/sbin), or None."""
    return next((name for name in PROGRAMS if not shutil.which(name, path=_path())), None)


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


class PrivateSlurm:
    """``with PrivateSlurm(cpus=2, gpus=2) as slurm: slurm.run(["srun", …])``. Up in a few tenths of a second.

    ``cpus`` and ``gpus`` are those of each of the nodes n1, n2, …
    """

    def __init__(self, cpus: int, gpus: int, nodes: int = 1) -> None:
        self.cpus, self.gpus = cpus, gpus
        self.names = [f"n{index + 1}" for index in range(nodes)]
        # Paths of UNIX sockets end at 108 bytes: pytest's folders are too deep.
        self.folder = Path(tempfile.mkdtemp(prefix="nfslurm-"))
        self.folder.chmod(0o755)
        self.daemons: list[subprocess.Popen[bytes]] = []
        self.environment = {**os.environ, "PATH": _path(), "SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self) -> PrivateSlurm:
        try:
            self._write_configuration()
            munge = ["socket", "key-file", "pid-file", "seed-file", "log-file"]
            self._start(["munged", "-F", *(f"--{name}={self.folder}/munge.{name}" for name in munge)])
            self._wait(lambda: (self.folder / "munge.socket").exists(), "munged")
            self._start(["slurmctld", "-D", "-i"])
            for name in self.names:
                self._start(self._as_host(name, ["slurmd", "-D", "-N", name]))
            self._wait(lambda: self._shown("SlurmdStartTime=20") and self._shown("State=IDLE "), "idle nodes")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._quietly("scancel", "-f", "-p", "all")
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
        """Run one of Slurm's commands, or a script that calls them."""
        return subprocess.run(
            command, env={**self.environment, **environment}, capture_output=True, text=True, timeout=60
        )

    def _as_host(self, name: str, command: list[str]) -> list[str]:
        """The command in a namespace where the machine is called ``name``, and knows the others' names."""
        if os.geteuid() != 0:
            return command
        commands = f"hostname {name} && mount --bind {self.folder}/hosts /etc/hosts && exec {shlex.join(command)}"
        return ["unshare", "--uts", "--mount", "sh", "-c", commands]

    def _start(self, command: list[str]) -> None:
        with open(self.folder / f"{len(self.daemons)}-{command[0]}.out", "wb") as log:
            # Foreground children of this process: they end with it even when it is killed.
            self.daemons.append(
                subprocess.Popen(
                    ["setpriv", "--pdeathsig", "TERM", *command], env=self.environment, cwd=self.folder,
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                )
            )  # fmt: skip

    def _wait(self, ready: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + 20
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
        for name in ("state", "dev", *(f"spool-{node}" for node in self.names)):
            (folder / name).mkdir()
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
        (folder / "hosts").write_text(f"127.0.0.1 localhost {socket.gethostname()} {' '.join(self.names)}\n")
        shared = "" if os.geteuid() == 0 else "NodeHostname=localhost "
        nodes = [
            f"NodeName={name} {shared}NodeAddr=127.0.0.1 Port={port} CPUs={self.cpus} Sockets=1 "
            f"CoresPerSocket={self.cpus} ThreadsPerCore=1 {gpus}State=UNKNOWN"
            for name, port in zip(self.names, ports)
        ]
        (folder / "slurm.conf").write_text(
            f"""\
ClusterName=private
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={control}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=1
KillWait=2
SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=1
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
GresTypes=gpu
{os.linesep.join(nodes)}
PartitionName=all Nodes={",".join(self.names)} Default=YES MaxTime=INFINITE State=UP
"""
        )
