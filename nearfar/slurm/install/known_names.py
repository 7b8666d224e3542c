"""Are the users and the partition of an installation known, on this machine and to its Slurm?"""

from __future__ import annotations

import pwd

from nearfar.base import NearfarError, did_you_mean
from nearfar.slurm.controller import Slurm

from .options import InstallOptions


def check(options: InstallOptions, slurm: Slurm) -> list[str]:
    """A line for each name that could not be checked. Raises ``NearfarError`` for one that is not known."""
    for option, user, part in (("--user", options.user, "nightly"), ("--act-user", options.act_user, "act")):
        if part in options.what and not _known(user):
            raise NearfarError(
                f"{option} {user}: this machine knows no such user; first, here and on the nodes: useradd --system --create-home {user}"
            )
    try:
        partitions = slurm.partitions()
    except NearfarError as error:
        return [f"not checked whether Slurm has partition {options.partition}: {str(error).splitlines()[0]}"]
    if options.partition not in partitions:
        guess = did_you_mean(options.partition, partitions)
        raise NearfarError(f"--partition {options.partition}: Slurm has no such partition{guess}")
    return []


def _known(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
