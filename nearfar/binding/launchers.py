"""The one table of what starts ranks: how it is detected, how its command line binds nothing or binds itself, what its ranks' environment
holds, and which launch line of ``nearfar bind`` is its own. OSU's runs, ``cost``, ``bind`` and the wrapper of each rank read it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Mpi:
    """An MPI as found."""

    #: One of ``MPIS``, or the name of a launcher that starts the ranks of any.
    implementation: str
    version: str
    #: The path of what starts its ranks.
    launcher: str
    #: Whose command line that takes: a name in ``LAUNCHERS``.
    kind: str
    #: The library that a program is linked with; empty: no program was asked.
    library: str

    @property
    def name(self) -> str:
        """``Open MPI 4.1.4``, as the software stamp has it."""
        return f"{title(self.implementation)} {self.version}".strip()


@dataclass(frozen=True)
class Implementation:
    """An MPI library."""

    title: str
    #: Its row in ``LAUNCHERS``.
    launcher: str
    #: What its launcher prints with ``--version``; the group is the version. None: its launcher calls itself another's.
    version: str | None
    #: What the library calls itself (``MPI_Get_library_version``), likewise.
    library: str | None
    #: The library's file, where its name tells the implementation.
    file: str | None = None
    #: Environment without which it moves ranks that are bound.
    no_binding: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LauncherRow:
    """What starts ranks, by the command line that it takes."""

    #: What it may be called on the PATH; none: ``bind`` alone knows its ranks.
    programs: tuple[str, ...] = ()
    #: Debian's package.
    package: str = ""
    #: What it prints with ``--version`` where it is of no MPI and starts the ranks of any, inside a job that has this variable.
    version: str | None = None
    job: str = ""
    #: Where a rank finds its number, and its number among those of its node.
    rank: tuple[str, ...] = ()
    local_rank: tuple[str, ...] = ()
    #: Its words for so many ranks that it binds to nothing, divided among nodes (none: this machine).
    unbound: Callable[[Mpi, int, Sequence[str]], list[str]] = lambda mpi, ranks, nodes: ["-n", str(ranks)]
    #: Its words for so many ranks on this machine that it binds as it does; whether they may share cores.
    own: Callable[[int, bool], list[str]] = lambda ranks, oversubscribe: ["-n", str(ranks)]
    #: Environment that lets it start ranks as root.
    as_root: tuple[str, ...] = ()
    #: The form of ``nearfar bind`` that is its launch line; ``numactl`` binds under any launcher.
    form: str = "numactl"
    #: How it tells of a rank's death.
    death: str | None = None
    #: What to do where it started each rank as a job of its own.
    lone_ranks: str = ""


def _open_mpi_unbound(mpi: Mpi, ranks: int, nodes: Sequence[str]) -> list[str]:
    # Slots are the scheduler's tasks, of which a job of one process has one; that ranks share no core is asserted.
    old = mpi.version.startswith(("1.", "2.", "3.", "4."))
    many = ["--oversubscribe"] if old else ["--map-by", ":OVERSUBSCRIBE"]
    where = ["--host", ",".join(f"{host}:{ranks // len(nodes)}" for host in nodes)] if nodes else []
    return ["--bind-to", "none", *many, *where, "--mca", "mpi_yield_when_idle", "0", "-n", str(ranks)]


def _hydra_unbound(mpi: Mpi, ranks: int, nodes: Sequence[str]) -> list[str]:
    where = ["-hosts", ",".join(nodes), "-ppn", str(ranks // len(nodes))] if nodes else []
    return [*([] if mpi.implementation == "intelmpi" else ["-bind-to", "none"]), *where, "-n", str(ranks)]


def _srun_unbound(mpi: Mpi, ranks: int, nodes: Sequence[str]) -> list[str]:
    hosts = max(1, len(nodes))
    per_host = ranks // hosts
    cpus = ["-c", str(max(1, len(os.sched_getaffinity(0)) // per_host))]
    options = ["--kill-on-bad-exit=1", "--cpu-bind=none", "--mem-bind=none", "--overlap", "--ntasks-per-node"]
    return [
        "-N",
        str(hosts),
        "-n",
        str(ranks),
        *options,
        str(per_host),
        *cpus,
        *(["-w", ",".join(nodes)] if nodes else []),
    ]


#: What ``--launcher`` takes, in the order in which a rank believes them: under ``mpirun`` in a Slurm job all ranks of a node inherit the
#: same ``SLURM_LOCALID``.
LAUNCHERS = {
    "openmpi": LauncherRow(
        programs=("mpirun", "mpirun.openmpi", "mpiexec"), package="openmpi-bin", form="openmpi",
        rank=("OMPI_COMM_WORLD_RANK", "PMIX_RANK"), local_rank=("OMPI_COMM_WORLD_LOCAL_RANK",),
        unbound=_open_mpi_unbound,
        own=lambda ranks, oversubscribe: [*(["--oversubscribe"] if oversubscribe else []), "-n", str(ranks)],
        as_root=("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"),
        death=r"process rank (?P<rank>\d+) with PID \d+ on node (?P<host>\S+) exited on signal (?P<signal>\d+)",
    ),
    "mpich": LauncherRow(
        programs=("mpirun", "mpirun.mpich", "mpiexec", "mpiexec.hydra"), package="mpich", form="mpich",
        rank=("PMI_RANK", "MV2_COMM_WORLD_RANK"),
        local_rank=("MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PALS_LOCAL_RANKID"),
        unbound=_hydra_unbound,
        death=r"(?s)PID (?P<pid>\d+) RUNNING AT (?P<host>\S+).*?EXIT CODE: (?P<code>\d+)",
    ),
    "flux": LauncherRow(local_rank=("FLUX_TASK_LOCAL_ID",)),
    "srun": LauncherRow(
        programs=("srun",), package="slurm-client", version=r"(?m)^slurm(?:-wlm)? ([\w.]+)", job="SLURM_JOB_ID", form="slurm",
        rank=("SLURM_PROCID",), local_rank=("SLURM_LOCALID",),
        unbound=_srun_unbound,
        own=lambda ranks, oversubscribe: ["-N", "1", "-n", str(ranks), "--kill-on-bad-exit=1",
                                          *(["--overcommit"] if oversubscribe else [])],
        death=r"task (?P<rank>\d+): (?P<word>Killed|Terminated|Segmentation fault|Aborted)",
        lone_ranks="srun and this MPI speak of different process managers: set SLURM_MPI_TYPE (srun --mpi=list)",
    ),
}  # fmt: skip
#: The MPI libraries, in the order in which what a launcher or library prints is read.
MPIS = {
    "openmpi": Implementation(
        "Open MPI", "openmpi", r"\((?:OpenRTE|Open MPI|PRRTE)\) v?([\w.]+)", r"Open MPI v?([\w.]+)", r"libmpi\.so\.(?:40|20)\b",
    ),
    "intelmpi": Implementation(
        "Intel MPI", "mpich", r"Intel\(R\) MPI Library.*?Version ([\w.]+)", r"Intel\(R\) MPI Library ([\w.]+)",
        no_binding={"I_MPI_PIN": "0"},
    ),
    "mvapich": Implementation(
        "MVAPICH", "mpich", r"(?i)MVAPICH[\w-]*\s+Version\s*:?\s*([\w.]+)", r"MVAPICH[\w-]*\s+(?:Version)?\s*:?\s*([\w.]+)",
        no_binding={"MV2_ENABLE_AFFINITY": "0", "MVP_ENABLE_AFFINITY": "0"},
    ),
    "mpich": Implementation(
        "MPICH", "mpich", r"HYDRA build details:\s+Version:\s+([\w.]+)", r"MPICH Version:?\s*([\w.]+)", r"libmpich(?:-\w+)?\.so",
    ),
    "craympich": Implementation(
        "Cray MPICH", "mpich", None, None, r"libmpi_(cray|gnu|nvidia|intel|amd|aocc)", no_binding={"MPICH_CPU_BIND": "none"},
    ),
}  # fmt: skip


def startable() -> list[str]:
    """The launchers that nearfar can start a program with."""
    return [name for name, row in LAUNCHERS.items() if row.programs]


def programs(name: str | None = None) -> list[str]:
    """What a launcher, or any MPI's, may be called."""
    rows = [LAUNCHERS[mpi.launcher] for mpi in MPIS.values()] if name is None else [LAUNCHERS[name]]
    return list(dict.fromkeys(program for row in rows for program in row.programs))


def title(name: str) -> str:
    """What an implementation, or a launcher of none, is called."""
    return MPIS[name].title if name in MPIS else name


def identified(printed: str) -> tuple[str | None, str]:
    """Whose launcher prints this with ``--version``: an implementation, or a launcher of none; None where nobody knows. And its version."""
    patterns = {
        **{name: mpi.version for name, mpi in MPIS.items()},
        **{name: row.version for name, row in LAUNCHERS.items() if row.version},
    }
    for name, pattern in patterns.items():
        if pattern is not None and (match := re.search(pattern, printed)):
            return name, match[1]
    return None, ""


def command(mpi: Mpi, ranks: int, nodes: Sequence[str] = ()) -> list[str]:
    """The launcher and its words for so many ranks that it binds to nothing, divided among ``nodes`` (none: this machine)."""
    return [mpi.launcher, *LAUNCHERS[mpi.kind].unbound(mpi, ranks, nodes)]


def no_binding() -> dict[str, str]:
    """The environment in which no MPI moves what the rank's wrapper bound."""
    return {name: value for mpi in MPIS.values() for name, value in mpi.no_binding.items()}


def rank_variables() -> list[str]:
    """Where launchers say which rank a process is."""
    return [name for row in LAUNCHERS.values() for name in row.rank]


def local_rank_variables() -> list[str]:
    """Where launchers say which rank of its node a process is."""
    return [name for row in LAUNCHERS.values() for name in row.local_rank]


def forms() -> list[str]:
    """The launchers' own forms of ``nearfar bind``."""
    return [row.form for row in LAUNCHERS.values() if row.form != "numactl"]
