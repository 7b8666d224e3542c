"""What every run of a program on a node stands on: the site's description of the node, the programs, and how ReFrame's job starts one."""

import contextlib
import functools
import os
import shlex
import sys
import threading
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import fixture, run_after, variable

from nearfar import history
from nearfar.base import places, supervise
from nearfar.mpi import as_root
from nearfar.site import expectations, systems
from nearfar.topology import inventory
from nearfar.verdict import references

from . import session
from .programs import programs

#: Launchers bind a lone rank to a core; nearfar's programs bind their own threads.
UNBOUND = {
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    "SLURM_CPU_BIND": "none",
    "HYDRA_BINDING": "none",
    "I_MPI_PIN": "off",
}


@functools.lru_cache(maxsize=1)
def observed_here():
    """This machine, looked at once in a session."""
    return inventory.observe()


@functools.lru_cache(maxsize=1)
def load_polars():
    """Once in a session, in the background; a session that ends meanwhile needs it no more."""

    def load():
        with contextlib.suppress(RuntimeError):
            history.no_polars()

    threading.Thread(target=load, daemon=True).start()


class node_run(rfm.RunOnlyRegressionTest, pin_prefix=True):
    """One run of a program on one node."""

    #: Seconds that a healthy node may take, beside those of the cells. The program keeps its own deadlines; much later it is ended with all
    #: that it started.
    #:
    #: :type: float
    #: :default: ``60.0``
    program_limit = variable(float, value=60.0, loggable=True)

    #: Seconds beside these for each cell that is asked: nodes with many NUMA nodes and GPUs have hundreds.
    #:
    #: :type: float
    #: :default: ``2.0``
    cell_limit = variable(float, value=2.0, loggable=True)

    valid_prog_environs = ["*"]
    num_tasks = 1
    exclusive_access = True
    programs = fixture(programs, scope="environment")

    #: The name of the program, of the build's folder.
    program = None
    #: The node at hand, where that is this machine.
    observed = None

    @classmethod
    def loggable_attrs(cls):
        """All but ReFrame's ``variables``: it is deprecated, and reading it searches the whole stack, for each record of a log."""
        return [(name, alias) for name, alias in type(cls).loggable_attrs(cls) if name != "variables"]

    @property
    def system(self):
        """ReFrame's and the site's description of the system."""
        return session.system()

    @property
    def partition(self):
        """The site's description of the partition that the check runs on."""
        return self.system.partitions[self.current_partition.name]

    @property
    def kind(self):
        return "modelled" if self.partition.modelled else "measured"

    @property
    def runs_here(self):
        """Whether the job runs on the machine that this session runs on, so that one look at it serves both."""
        return self.partition.scheduler == "local" and self.partition.launcher == "local"

    @run_after("setup")
    def ask_the_scheduler_for_gpus(self):
        """For as many as the partition should have; ReFrame does so where the site's file has its resource ``_rfm_gpu``."""
        if "gpu" in self.partition.features:
            self.num_gpus_per_node = self.partition.expect.get("gpus")

    def read_site(self):
        """Read the expected node and its references. Raises ``NearfarError`` for a file that is wrong."""
        site = systems.site()
        self.node_type = self.partition.load_node_type(list(site.directories))
        self.reference_files = references.for_partition(self.partition.references, self.node_type, site.directories)
        self.observed = observed_here() if self.runs_here and not self.partition.modelled else None
        self.models = expectations.gpu_models(list(site.directories))
        self.ranges = references.model_ranges.read(site.directories)
        # Of nodes that no file describes, each job finds out what its node has.
        unknown = self.node_type is None and not self.runs_here
        self.expected = None if unknown else self.partition.expected_node(self.node_type, self.observed, self.models)

    def program_command(self, *options, program=None):
        """The command line of the program (or of another ``program`` of its folder) with all GPUs of the expected node, within the
        environment's image where it has one."""
        gpus = [gpu.pci for gpu in self.expected.gpus] if self.expected else []
        command = [
            str(Path(self.programs.folder, program or self.program)),
            *options,
            *(["--gpus", ",".join(gpus)] if gpus else []),
        ]
        container = self.programs.container
        return command if container is None else [*container.words(self.stagedir), *command]

    @run_after("run")
    def load_the_history_meanwhile(self):
        """What reads the history takes half a second to load, and the program has just begun to set itself up."""
        if self.executable != "true":
            load_polars()

    def limit_for(self, cells):
        """Seconds after which a program that was asked for these cells is ended."""
        return self.program_limit + self.cell_limit * len(cells) + supervise.LAST_RESORT

    def start_python(self, *words):
        """Let the job run a module of this Python."""
        self.env_vars["PYTHONPATH"] = f'"{places.IMPORT_PATH}${{PYTHONPATH:+:$PYTHONPATH}}"'
        if self.programs.path:
            self.env_vars["PATH"] = f'"{os.pathsep.join(self.programs.path)}:$PATH"'
        if self.partition.launcher != "local":
            self.env_vars |= UNBOUND | as_root.environment()
        python = shlex.quote(sys.executable)
        # In the shell's place: a cancelled job is then the supervisor itself, which ReFrame lets end the program.
        self.executable = f"exec {python}" if self.partition.launcher == "local" else python
        self.executable_opts = [shlex.quote(word) for word in words]
