"""What a path costs kernels: the host-device matrix is measured before them, since its rates say what the links alone cost."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import run_before

from nearfar import kernels, measurement
from nearfar.base import NOT_JUDGED, node_lock, supervise, write_atomically
from nearfar.verdict import case_files

from ..base import named, node_check

#: The folder of the stage directory that the matrix is measured in.
MATRIX = "matrix"


@rfm.simple_test
class kernel_penalty_check(node_check):
    """Kernels from every NUMA node, beside the rates of the same paths."""

    question = named("kernel_penalty_check")

    #: All kernels of a subject at both sizes take about so many seconds.
    cell_limit = 20.0
    # Times of whole calls, half a minute of them, explain; what is slow is looked at again by the checks of the paths.
    looks_again = False
    needs_known_node = True

    @run_before("run")
    def measure_the_matrix(self):
        if not self.asked:
            return
        cells = kernels.link_rates.cells_of(self.expected)
        file = Path(self.stagedir, "matrix.txt")
        with self.users_errors():
            write_atomically(file, "".join(f"{cell}\n" for cell in cells))
            limit, wait = self.program_limit + 2.0 * len(cells) + supervise.LAST_RESORT, node_lock.wait()
            copy = self.program_command("--cells", str(file), "--json", program="nearfar-copy")
        supervisor = [sys.executable, "-m", "nearfar.base.supervise", "--limit", f"{limit:g}", "--wait", f"{wait:g}"]
        line = shlex.join([*supervisor, "--", *copy])
        self.prerun_cmds += [f"(mkdir -p {MATRIX} && cd {MATRIX} && {line} > document.json 2> stderr.txt)"]
        self.time_limit += wait + limit

    def read_document(self):
        document, findings = super().read_document()
        folder = Path(self.stagedir, MATRIX)
        if document is None or not self.asked:
            return document, findings
        matrix, problems = case_files.read(folder, folder / "document.json", folder / "stderr.txt")
        if matrix is None:
            return document, [
                *findings,
                *(replace(problem, subject="matrix", verdict=NOT_JUDGED, hard=False) for problem in problems),
            ]
        return measurement.merge([document, matrix]), findings
