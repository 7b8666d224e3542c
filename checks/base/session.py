"""The ReFrame session that the checks are part of: its system, where its run is kept, and what it ends with.

ReFrame's configuration may be nearfar's own (``reframe_config.py``) or a site's; neither has to set a variable.
"""

import functools
import os
import socket
import sys
import time
from pathlib import Path

import reframe.core.runtime as rt

from nearfar.base import NearfarError, node_lock
from nearfar.run import by_hand
from nearfar.site import reframe_system, systems
from nearfar.verdict import case_files

#: Seconds that cases of one session wait for each other on a node: ReFrame starts several at once there.
LONGEST_QUEUE = "900"


@functools.cache
def system():
    """The system of the session: ReFrame's, with what a file of the site adds. Raises ``NearfarError`` for a file that is wrong."""
    own = rt.runtime().system
    # With `--system NAME:PARTITION` ReFrame's public objects have that partition alone.
    every = rt.runtime().site_config._site_config["systems"]
    names = [partition["name"] for each in every if each["name"] == own.name for partition in each["partitions"]]
    return reframe_system.described(own, systems.site().systems.get(own.name), names)


def begin():
    """End the session here if a file of the site is wrong: ReFrame would leave out the checks, and pass. Name the run."""
    try:
        system()
    except NearfarError as error:
        print(f"nearfar: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    # Sessions of several hosts may begin in the same second.
    name = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{socket.gethostname()}-{os.getpid()}"
    os.environ.setdefault(case_files.RUN_DIRECTORY, str(Path(rt.runtime().output_prefix, "nearfar", name)))
    # `nearfar validate` runs one case after the other, and ends its run itself.
    if "NEARFAR_CHECKS" not in os.environ:
        os.environ.setdefault(node_lock.WAIT, LONGEST_QUEUE)
        report = rt.runtime().get_option("general/0/report_file")
        by_hand.finish_at_exit(case_files.run_directory(), report)
