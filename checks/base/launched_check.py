"""Checks whose program has several ranks: the supervisor starts the launcher, once for all of them."""

import os
import shlex
import shutil
from pathlib import Path

from reframe.core.backends import getlauncher
from reframe.core.builtins import run_before

from nearfar import question
from nearfar.base import NearfarError
from nearfar.mpi import as_root, messages, rank_deaths
from nearfar.mpi.osu import INSTALL_MPI
from nearfar.verdict import case_files

from .node_check import node_check
from .node_run import UNBOUND


class launched_check(node_check):
    """A check says how many ranks (``ranks``) and gives its program's options (``options``); the document is a file."""

    # Apart from what launchers print.
    document_file = "launched.json"
    needs_known_node = True
    lacking, remedy = "no MPI was found", INSTALL_MPI
    #: Whether the program binds its ranks itself, and the launcher is to bind none.
    unbound = False

    @property
    def ranks(self):
        """Ranks in all."""
        raise NotImplementedError

    @property
    def ranks_per_node(self):
        """Ranks on a node; all of them unless a check says otherwise."""
        return self.ranks

    def launch_here(self):
        """The launcher's words in a session on the node."""
        return ["mpirun", "-n", str(self.ranks)]

    def options(self):
        """The program's options."""
        raise NotImplementedError

    @run_before("run")
    def launch_below_the_supervisor(self):
        """ReFrame's own launcher would start a supervisor a rank."""
        if not self.asked:
            return
        self.num_tasks = self.job.num_tasks = self.ranks
        self.num_tasks_per_node = self.job.num_tasks_per_node = self.ranks_per_node
        launcher = self.job.launcher
        with self.users_errors():
            self.require_program()
            argv = self.launch_here() if self.runs_here else [*launcher.command(self.job), *launcher.options]
            self.require_launcher(argv[0])
        self.job.launcher = getlauncher("local")()
        at = self.executable_opts.index("--") + 1
        self.executable_opts[at:at] = [shlex.quote(part) for part in argv]
        self.env_vars |= as_root.environment()
        if self.unbound:
            self.env_vars |= UNBOUND

    def require_launcher(self, launcher):
        """Raises ``NearfarError`` where there is none on the node's PATH."""
        path = os.pathsep.join([*self.programs.path, os.environ.get("PATH", "")])
        if self.runs_here and shutil.which(launcher, path=path) is None:
            raise NearfarError(f"there is no {launcher} on PATH: {INSTALL_MPI}")

    def command(self, cells):
        return self.program_command(*self.options(), f"--json={self.document_file}")

    def read_document(self):
        if not self.asked:
            return super().read_document()
        stage = Path(self.stagedir)
        stderr = stage / str(self.stderr)
        document, findings = case_files.read(stage, stage / self.document_file, stderr)
        text = stderr.read_text(encoding="utf-8", errors="replace") if stderr.exists() else ""
        line = case_files.own_words(text, self.question.program)
        if document is None and line and not any(finding.hard for finding in findings):
            findings = [question.messages.REFUSED.finding("program", line=line)]
        return document, [*findings, *as_root.notes(document), *self.who_died(document, text)]

    def who_died(self, document, text):
        """The rank that the launcher names, with how it died: some launchers kill rank 0 before it can tell."""
        if document is None or not any(failure.code == "error" for failure in document.failed):
            return []
        ranks = (document.raw.get("mpi") or {}).get("ranks") or []
        died = rank_deaths.death(text, {rank.get("pid"): rank.get("rank") for rank in ranks})
        return [] if died is None or died.rank is None else [messages.DIED.finding("rank", **vars(died))]
