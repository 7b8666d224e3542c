"""Runs nccl-tests and prints a measurement document: ``python -m nearfar.nccl.measuring --cases FILE``.

Each case has a run of one iteration that checks the data, with NCCL's log, and runs with figures. On one node one process drives all GPUs;
between nodes the MPI's launcher starts one process on each.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar.base import EXIT_COULD_NOT_JUDGE, EXIT_FAILED, EXIT_GOOD, CouldNotJudge, NearfarError, process, utc_text
from nearfar.binding import launchers
from nearfar.measurement import dump
from nearfar.mpi import as_root
from nearfar.mpi.osu import CLOSE, agree, hosts, rate
from nearfar.mpi.osu import installed as mpi_installed
from nearfar.topology import Node, inventory, node_to_document

from . import installed
from .host_limits import host_facts
from .log import SUBSYSTEMS, NcclLog, read_log
from .run_findings import nccl_block
from .subjects import BUSBW, NcclCase, parse_case
from .table import NcclTable, read_tables

#: All powers of two between these sizes.
_SIZES = ["-b", "8", "-e", "1G", "-f", "2"]
_CHECKED, _TIMED = ["-n", "1", "-w", "1", "-c", "1"], ["-w", "1", "-c", "0"]
#: Iterations of a timed run: so many as last so long at the largest size, seconds; over sockets one takes half a second.
_LEAST, _MOST, _LASTING = 2, 20, 0.2


class NcclSession:
    """The cases of one node, or of two, and what came of them. ``limit``: seconds of one run."""

    def __init__(self, node: Node, nodes: Sequence[str], runs: int, limit: float) -> None:
        self.node, self.nodes, self.runs, self.limit = node, nodes, runs, limit
        self.failed: list[dict[str, str]] = []
        self.skipped: list[dict[str, str]] = []
        self.logs: list[str] = []
        self.checked: NcclTable | None = None
        self._iterations = _MOST

    def measure(self, asked: Sequence[NcclCase], command: Sequence[str]) -> dict[str, Any]:
        """The document of all cases."""
        started = time.time()
        results = [result for case in asked for result in self._results(case)]
        log, described = read_log("\n".join(self.logs)), node_to_document(self.node)
        library = (self.checked and self.checked.library) or next(iter(log.versions), "")
        described["software"] = {**described.get("software", {}), **({"nccl": library} if library else {})}
        version, set_here = self.checked.version if self.checked else "", _multicast(any(case.nvls for case in asked))
        return {
            "schema": "nearfar-measurement/2", "kind": "measured",
            "program": {"name": "nccl-tests", "version": version, "command": list(command)},
            "started": utc_text(started), "seconds": round(time.time() - started, 3), "node": described,
            "results": results, "skipped": self.skipped, "failed": self.failed,
            "nccl": nccl_block(log, self.checked, host_facts(), set_here),
        }  # fmt: skip

    def _results(self, case: NcclCase) -> list[dict[str, Any]]:
        """A case's results; none where a run went wrong, and then it is among the failed or the skipped."""
        program = installed.find(case.collective)
        if program is None or case.nodes != len(self.nodes):
            alone = f"the job has {len(self.nodes)} nodes, and the case is of {case.nodes}"
            code, reason = ("not_allowed", alone) if program else ("missing_library", installed.complaint())
            self.skipped.append({"cell": str(case), "reason": reason, "code": code})
            return []
        curves: list[dict[int, float]] = []
        for number in range(self.runs + 1):
            print(f"{case}: {f'run {number} of {self.runs}' if number else 'validation'}", file=sys.stderr, flush=True)
            try:
                table, trouble = self._run(case, program, check=number == 0)
            except CouldNotJudge as error:
                table, trouble = None, ("error", str(error))
            if table is None or trouble is not None:
                code, reason = trouble or ("error", "")
                self.failed.append({"cell": str(case), "reason": reason, "code": code})
                return []
            if number:
                curves.append({row.bytes: row.busbw for row in table.rows})
            if len(curves) > 1 and agree([curve[max(curve)] for curve in curves[-2:]], CLOSE):
                break
        samples = {
            size: [curve[size] for curve in curves] for size in curves[0] if any(curve[size] for curve in curves)
        }
        return [
            {
                "quantity": BUSBW, "cell": str(case), "bytes": size, "converged": agree(values), "verified": True,
                "flows": [{"flow": str(case), "rate": rate(values, "GB/s")}],
            }
            for size, values in samples.items()
        ]  # fmt: skip

    def _run(self, case: NcclCase, program: Path, check: bool) -> tuple[NcclTable | None, tuple[str, str] | None]:
        """The table of one run, and code and reason of what is wrong with it."""
        with tempfile.TemporaryDirectory(prefix="nccl-", dir=Path.cwd() if case.nodes > 1 else None) as folder:
            variables = {**_multicast(case.nvls), "NCCL_DEBUG": "WARN"}
            if check:
                variables |= {
                    "NCCL_DEBUG": "INFO",
                    "NCCL_DEBUG_SUBSYS": SUBSYSTEMS,
                    "NCCL_DEBUG_FILE": f"{folder}/%h.%p",
                }
            how = _CHECKED if check else [*_TIMED, "-n", str(self._iterations)]
            own = [str(program), *_SIZES, "-g", str(case.ranks // case.nodes), *how]
            done = process.run(self._launched(case, own, variables), self.limit, env={**os.environ, **variables})
            written = [path.read_text(encoding="utf-8", errors="replace") for path in sorted(Path(folder).iterdir())]
        text = "\n".join([*written, done.stdout, done.stderr])
        self.logs += [text] if check else []
        table = next((table for table in read_tables(done.stdout) if table.collective == case.collective), None)
        self.checked = self.checked or table
        if check and table is not None and table.rows:
            self._iterations = round(min(_MOST, max(_LEAST, _LASTING / max(table.rows[-1].time * 1e-6, 1e-9))))
        return table, _trouble(case, table, done, read_log(text), self.limit)

    def _launched(self, case: NcclCase, own: list[str], variables: Mapping[str, str]) -> list[str]:
        if case.nodes == 1:
            return own
        launcher = launchers.command(mpi_installed.mpi_of(Path(own[0])), case.nodes, tuple(self.nodes))
        # Launchers differ in how they hand variables on: env does it for all.
        return [
            *launcher,
            "env",
            *(f"{name}={value}" for name, value in {**as_root.environment(), **variables}.items()),
            *own,
        ]


def _multicast(nvls: bool | None) -> dict[str, str]:
    """The only variable that a run sets beside those of the log: NVLink's multicast, which all users of a switch share, is off unless it
    was asked for; a site's own word stands."""
    return {} if nvls or "NCCL_NVLS_ENABLE" in os.environ else {"NCCL_NVLS_ENABLE": "0"}


def _trouble(
    case: NcclCase, table: NcclTable | None, done: process.Finished, log: NcclLog, limit: float
) -> tuple[str, str] | None:
    name = f"{case.collective}_perf"
    if table is not None and table.wrong:
        return "wrong_data", f"nccl-tests found {table.wrong} wrong values in {case.collective}"
    if done.timed_out:
        return "hung_once", f"did not end within {limit:g} s, and was ended: {_waiting(case, table, log)}"
    if table is not None and table.rows and len(table.ranks) not in (0, case.ranks):
        built = "; between nodes they have to be built with MPI=1" if case.nodes > 1 else ""
        return "error", f"{name} ran with {len(table.ranks)} GPUs and not with {case.ranks}{built}"
    why = "it printed no table" if table is None else table.failure or table.cut_short
    if done.returncode or why:
        return "error", f"{name} ended with exit code {done.returncode}: {why or done.last_line}"
    return None


def _waiting(case: NcclCase, table: NcclTable | None, log: NcclLog) -> str:
    """Which ranks a run that hangs waits for."""
    missing = sorted(set(range(case.ranks)) - set(log.initialised))
    if missing and log.initialised:
        return f"rank{'s' * (len(missing) > 1)} {', '.join(map(str, missing))} of {case.ranks} did not become ready"
    if not log.initialised:
        return f"none of {case.ranks} ranks became ready"
    return f"all {case.ranks} ranks were ready, and {table.cut_short if table is not None else 'it printed no table'}"


def main(arguments: Sequence[str]) -> int:
    """Measure the cases of a file and print the document."""
    parser = argparse.ArgumentParser(prog="python -m nearfar.nccl.measuring", description="Run nccl-tests.")
    parser.add_argument("--cases", required=True, metavar="FILE", help="cases, one a line")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs of each, or two that agree (3)")
    parser.add_argument(
        "--limit", type=float, default=120.0, metavar="S", help="seconds after which a run is ended (120)"
    )
    args = parser.parse_args(arguments)
    try:
        asked = [parse_case(line) for line in Path(args.cases).read_text(encoding="utf-8").split()]
        nodes = hosts.of_job()[: max(case.nodes for case in asked)]
        session = NcclSession(inventory.observe(), nodes, args.runs, args.limit)
        document = session.measure(asked, [sys.executable, "-m", "nearfar.nccl.measuring", *arguments])
    except NearfarError as error:
        print(f"nearfar: {error}", file=sys.stderr)
        return error.exit_code
    sys.stdout.write(dump(document))
    return EXIT_FAILED if document["failed"] else EXIT_COULD_NOT_JUDGE if document["skipped"] else EXIT_GOOD


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
