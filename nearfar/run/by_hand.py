"""The end of a session of ReFrame that ``nearfar validate`` did not start: the run's verdict, its page, and its place in the history.

``python -m nearfar.run.by_hand RUN`` in a process of its own: ReFrame's is about to end.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

from nearfar.base import NearfarError, places, say
from nearfar.site import identity, systems
from nearfar.verdict import verdict_file

from . import expected_cases, run_file, validation

#: ReFrame's report in a run directory.
REPORT = "reframe-report.json"


@cache
def finish_at_exit(folder: Path, pattern: str) -> None:
    """``finish`` a run that begins now, once: with its option ``-R`` ReFrame loads the checks' base for each of its files."""
    atexit.register(finish, folder, pattern, time.time())


def finish(folder: Path, pattern: str, started: float) -> None:
    """Make the run in ``folder`` whole and print its summary; nothing where no case was judged. ``pattern``: where ReFrame writes its
    report (``{sessionid}`` stands for a number); ``started``: when the session began."""
    # Clocks of file servers may be a little behind.
    began = started - 2
    if all(path.stat().st_mtime < began for path in folder.glob(f"*/*/{verdict_file.NAME}")):
        return
    report = _report(Path(os.path.expandvars(pattern)), began)
    if report is None:
        say(f"no verdict of the run in {folder}: ReFrame wrote no report (RFM_GENERATE_FILE_REPORTS=1 lets it)")
        return
    if report != folder / REPORT:
        shutil.copyfile(report, folder / REPORT)
    sys.stdout.flush()
    path = os.pathsep.join(filter(None, [str(places.IMPORT_PATH), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "nearfar.run.by_hand", str(folder)]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False)


def _report(pattern: Path, began: float) -> Path | None:
    """The newest report that this session can have written, by its time and its command line."""
    files = pattern.parent.glob(pattern.name.replace("{sessionid}", "*"))
    fresh = [file for file in files if not file.is_symlink() and file.stat().st_mtime > began]
    for file in sorted(fresh, key=lambda file: file.stat().st_mtime, reverse=True):
        with contextlib.suppress(ValueError, KeyError):  # another session's, half written
            session = json.loads(file.read_text(encoding="utf-8"))["session_info"]
            if (session["workdir"], session["cmdline"]) == (os.getcwd(), shlex.join(sys.argv)):
                return file
    return None


def _is_of_its_system(node: str, name: str) -> bool:
    """Whether a node may be kept in a system's history: no file of the site speaks against it."""
    system = systems.site().systems.get(name)
    if system is None:
        return True
    product = systems.dmi_product() if node == socket.gethostname() else system.product
    return not identity.differences(identity.Host(node, product, frozenset()), system, ())


def main(folder: Path) -> int:
    """Account for the cases, keep the figures, make the page, and print what ``nearfar validate`` ends with."""
    try:
        run_file.adopt(folder)
        if all(_is_of_its_system(verdict.node, verdict.system) for verdict in expected_cases.verdicts(folder)):
            validation.remember(folder)
        from nearfar import report

        report.build(folder)
        print(validation.headline(folder))
    except NearfarError as error:
        say(str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
