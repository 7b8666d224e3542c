"""Does Slurm answer as the installed scripts ask it, and is it one that is supported?"""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.base import CouldNotJudge, NearfarError
from nearfar.slurm.controller import versions

from .answer import DoctorAnswer, not_looked, ok, problem
from .installed_site import InstalledSite, first_line


def ask(site: InstalledSite) -> Iterator[DoctorAnswer]:
    """Its version, its nodes, and the rights of who runs ``act``."""
    try:
        version = site.version
        made_for = site.options.version
        if version != made_for:
            yield problem(
                "Slurm",
                f"it is {versions.words(version)}, and the files are for {versions.words(made_for)}",
                site.again(),
            )
        else:
            yield ok(
                "Slurm",
                f"{versions.words(version)}, at {site.options.environment.get('SLURM_CONF', 'its own slurm.conf')}",
            )
    except NearfarError as error:
        yield problem("Slurm", first_line(error), _remedy(site))
        return
    try:
        members = [name for name, node in site.nodes.items() if site.options.partition in node.partitions]
    except NearfarError as error:
        yield problem("slurmctld", first_line(error), _remedy(site))
        return
    if members:
        yield ok("slurmctld", f"{len(site.nodes)} nodes, {len(members)} in partition {site.options.partition}")
    else:
        yield problem(
            "slurmctld",
            f"partition {site.options.partition} has no nodes",
            f"{site.again('--partition=NAME')}, where NAME is one of: {', '.join(_partitions(site))}",
        )
    if "act" in site.parts:
        yield _rights(site)


def _remedy(site: InstalledSite) -> str:
    return f"is slurmctld up (scontrol ping)? else {site.again('--slurm-bin=DIR', '--slurm-conf=FILE')}"


def _partitions(site: InstalledSite) -> list[str]:
    return sorted({name for node in site.nodes.values() for name in node.partitions})


def _rights(site: InstalledSite) -> DoctorAnswer:
    user, about = site.options.act_user, "rights of act"
    try:
        slurm_user = site.settings.get("SlurmUser", "").split("(")[0]
        if user in ("root", slurm_user):
            return ok(about, f"{user} may do all")
        level = site.slurm.call(
            "sacctmgr", "--noheader", "--parsable2", "show", "user", user, "format=AdminLevel"
        ).strip()
    except CouldNotJudge as error:
        return problem(about, f"{user} is neither root nor SlurmUser, and sacctmgr knows nothing of users ({first_line(error)})",
                       site.again("--act-user=root"))  # fmt: skip
    except NearfarError as error:
        return not_looked(about, first_line(error))
    if level.splitlines()[:1] in (["Operator"], ["Administrator"]):
        return ok(about, f"{user} is {level.splitlines()[0]}")
    return problem(about, f"{user} may not drain nodes", f"sacctmgr modify user {user} set adminlevel=operator")
