"""One run of ``nearfar-copy`` that measures for all the checks of a session, so that no path is measured twice and GPUs are set up once.

``nearfar validate`` names the checks of its session in ``NEARFAR_CHECKS``. Without that, as under plain ReFrame, and where the jobs run
elsewhere, each check runs its program itself.
"""

import contextlib
import functools
import os
from pathlib import Path

import reframe.core.runtime as rt
import reframe.utility.sanity as sn
from reframe.core.builtins import run_after, run_before, sanity_function

from nearfar import measurement, question
from nearfar.base import NearfarError, node_lock, write_atomically

from .node_run import node_run


class copies(node_run):
    """The cells of every check that asks for some."""

    descr = "what several checks ask of nearfar-copy, measured once"
    program = question.CELLS
    #: The line of each cell that it measures: the cell, and behind a blank what else its check asks.
    lines = ()

    @run_after("init")
    def take_no_job(self):
        """Where it has nothing to measure, no scheduler is asked for a node."""
        self.local = "NEARFAR_CHECKS" not in os.environ

    @run_before("run")
    def ask_for_all(self):
        """Nothing where fewer than two checks ask for cells, or a file of the site is wrong: the checks say so themselves."""
        self.executable = "true"
        if not self.runs_here or self.partition.modelled:
            return
        with contextlib.suppress(NearfarError):
            self.read_site()
            asking = [question.named(name) for name in os.environ.get("NEARFAR_CHECKS", "").split()]
            asking = [each for each in asking if self.answers(each) and not each.unanswerable(self.expected)]
            asked = {each.name: lines_of(each, each.cells(self.expected)[0]) for each in asking}
            if sum(map(bool, asked.values())) < 2:
                return
            lines = tuple(dict.fromkeys(line for lines in asked.values() for line in lines))
            limit, wait = self.limit_for(lines), node_lock.wait()
            cells = Path(self.stagedir, "cells.txt")
            write_atomically(cells, "".join(f"{line}\n" for line in lines))
            program = self.program_command("--cells", str(cells), "--json", "--absent-fails")
            self.time_limit = wait + limit + 30
            self.start_python(
                "-m", "nearfar.base.supervise", "--limit", f"{limit:g}", "--wait", f"{wait:g}", "--", *program
            )
            self.lines = lines

    def answers(self, check):
        """Whether a question asks for cells, and its partition has what the question asks for."""
        partition = self.partition
        fits = check.fits(self.current_system.name, partition.name, partition.features)
        return fits and check.asks is not None

    @sanity_function
    def ran(self):
        """Each check judges its own part, also where the program ended badly."""
        return sn.assert_true(True)

    @functools.cached_property
    def document(self):
        """The program's document; None where it left none."""
        try:
            return measurement.load(Path(self.stagedir, str(self.stdout)))
        except NearfarError:
            return None

    def has_answered(self, lines, cells):
        """Whether it measured all of these lines, so that nothing else has to: where it broke off for the sake of a GPU, cells without one
        are still to be measured."""
        if not lines or not {*lines} <= {*self.lines} or self.document is None or rt.runtime().current_run > 0:
            return False
        broken = any(not entry.cell for entry in (*self.document.failed, *self.document.skipped))
        return not broken or any(cell.gpus for cell in cells)


def lines_of(check, cells):
    """The lines of a question's cells."""
    return [f"{cell} {check.asks}".strip() for cell in cells]
