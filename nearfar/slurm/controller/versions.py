"""What differs between versions of Slurm, as far as it matters here: each difference once, with where Slurm has it.

Versions are (major, minor), as (22, 5) for 22.05. Which of them were tested: docs/reference/slurm-versions.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: A version as (major, minor).
Version = tuple[int, int]

#: The oldest Slurm whose answers and options were read.
OLDEST: Version = (22, 5)


@dataclass(frozen=True)
class VersionDifference:
    """What is so ``since`` a version, and ``where`` Slurm has it: a file of its source, and what in it."""

    since: Version
    what: str
    where: str

    def holds(self, version: Version) -> bool:
        """Whether a version has it."""
        return version >= self.since


#: Both forms of all are read whatever the version: slurmctld and scontrol may be of two.
HEALTH_CHECK_TIMEOUT = VersionDifference(
    (26, 5), "HealthCheckTimeout can be set; before, a health check is ended at 60 s",
    "src/common/read_config.c: HealthCheckTimeout",
)  # fmt: skip
REASON_KEPT = VersionDifference(
    (23, 11), "without accounting, a node that was resumed keeps its reason until a job runs on it; before, and with accounting, "
    "it is gone at once. A reason means nothing on a node in use",
    "src/interfaces/accounting_storage.c: clusteracct_storage_g_node_up()",
)  # fmt: skip
REASON_JOINED = VersionDifference(
    (23, 11), "Slurm joins its own word to any reason with ' : '; before, a reason that holds the word is replaced by it",
    "src/slurmctld/node_mgr.c: set_node_reason()",
)  # fmt: skip
LAUNCH_FAILURE = VersionDifference(
    (23, 2), "a job whose output cannot be written ends with the reason RaisedSignal:53; before, with JobLaunchFailure",
    "CHANGELOG/slurm-23.02.md: FAIL_SIGNAL",
)  # fmt: skip
SCRIPTS_LISTED = VersionDifference(
    (24, 5), "Prolog and Epilog may be set several times, and are shown as Prolog[0], Prolog[1]",
    "src/api/config_info.c: Prolog[%d]",
)  # fmt: skip
REBOOT_TIMEOUT_KEEPS_DRAIN = VersionDifference(
    (24, 5), "a drained node whose reboot was not seen within ResumeTimeout is DOWN and drained, and so from 23.11.6 on; "
    "before, it is DOWN alone, with its reason and 'reboot timed out'", "src/slurmctld/node_mgr.c: reboot timed out",
)  # fmt: skip
REBOOT_ASAP_KEEPS_DRAIN = VersionDifference(
    (24, 11), "scontrol reboot ASAP leaves a node drained that was drained; before, it puts it into use: reboot a drained node "
    "without ASAP", "src/slurmctld/proc_req.c: REBOOT_FLAGS_ASAP",
)  # fmt: skip
KILL_TASK_NAMES_JOB = VersionDifference(
    (25, 5), "the reason 'Kill task failed' ends with the job: (JobId=… StepId=…)", "CHANGELOG/slurm-25.05.md"
)
DIFFERENCES = (
    LAUNCH_FAILURE,
    REASON_KEPT,
    REASON_JOINED,
    SCRIPTS_LISTED,
    REBOOT_TIMEOUT_KEEPS_DRAIN,
    REBOOT_ASAP_KEEPS_DRAIN,
    KILL_TASK_NAMES_JOB,
    HEALTH_CHECK_TIMEOUT,
)


def parse(text: str) -> Version | None:
    """The version in what ``scontrol --version`` says (``slurm-wlm 22.05.8``), or in ``22.05``; None where there is none."""
    match = re.search(r"(?<![\d.])(\d\d)\.(\d\d)(?!\d)", text)
    return None if match is None else (int(match[1]), int(match[2]))


def words(version: Version) -> str:
    """``22.05``."""
    return "{}.{:02}".format(*version)
