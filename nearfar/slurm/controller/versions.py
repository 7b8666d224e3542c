"""Versions of Slurm as (major, minor), as (22, 5) for 22.05, and what differs between them (docs/reference/slurm-versions.md): both
forms of all are read whatever the version, since slurmctld and scontrol may be of two."""

from __future__ import annotations

import re
from typing import NamedTuple

#: A version as (major, minor).
Version = tuple[int, int]

#: The oldest Slurm whose answers and options were read.
OLDEST: Version = (22, 5)

#: The versions that ``pytest -m slurm`` passed with, and where they came from.
TESTED = {"22.05.8": "Debian 12's package; every change of nearfar is tested with it", "25.11.7": "built from source"}


class Difference(NamedTuple):
    """What changed in a version of Slurm."""

    since: Version
    what: str
    #: Where Slurm's source has it, at the tag of that version.
    source: str


DIFFERENCES = (
    Difference((23, 2), "A job whose output cannot be written ends with RaisedSignal:53; before with JobLaunchFailure.",
               "CHANGELOG/slurm-23.02.md: FAIL_SIGNAL"),
    Difference((23, 11), "Without slurmdbd a resumed node keeps its reason until a job runs on it; before, and with slurmdbd, it is gone "
               "at once.", "src/interfaces/accounting_storage.c: clusteracct_storage_g_node_up()"),
    Difference((23, 11), "Slurm appends its own reason to any other with ' : '; before it replaced one that held its text.",
               "src/slurmctld/node_mgr.c: set_node_reason()"),
    Difference((24, 5), "Prolog and Epilog may be set several times, shown as Prolog[0], Prolog[1].",
               "src/api/config_info.c: Prolog[%d]"),
    Difference((24, 5), "A drained node whose reboot was not seen within ResumeTimeout is DOWN and drained (also in 23.11.6 and later); "
               "before DOWN alone, with its reason and 'reboot timed out'.", "src/slurmctld/node_mgr.c: reboot timed out"),
    Difference((24, 11), "`scontrol reboot ASAP` leaves a drained node drained; before it put it into use, so reboot a drained node "
               "without ASAP.", "src/slurmctld/proc_req.c: REBOOT_FLAGS_ASAP"),
    Difference((25, 5), "The reason 'Kill task failed' ends with the job: (JobId=… StepId=…).", "CHANGELOG/slurm-25.05.md"),
    Difference((26, 5), "HealthCheckTimeout can be set; before a health check is ended at 60 s.",
               "src/common/read_config.c: HealthCheckTimeout"),
)  # fmt: skip


def parse(text: str) -> Version | None:
    """The version in what ``scontrol --version`` says (``slurm-wlm 22.05.8``), or in ``22.05``; None where there is none."""
    match = re.search(r"(?<![\d.])(\d\d)\.(\d\d)(?!\d)", text)
    return None if match is None else (int(match[1]), int(match[2]))


def words(version: Version) -> str:
    """``22.05``."""
    return "{}.{:02}".format(*version)
