"""Questions to Slurm: is it reached, may ``act`` drain, do the nodes report, does slurm.conf name the installed programs?"""

from __future__ import annotations

import re
from pathlib import Path

from nearfar.base import NearfarError, plural
from nearfar.slurm.controller import node_names, versions
from nearfar.slurm.install import slurm_conf

from .installation import Installation, Problem

#: Seconds that an idle node may be without a finding, whatever the interval.
_LEAST = 1800.0


def reached(site: Installation) -> str:
    """Whether Slurm answers, is supported, and has nodes in the partition."""
    if isinstance(site.slurm_answers, NearfarError):
        raise site.slurm_answers
    if not site.nodes:
        known = ", ".join(sorted({name for node in site.slurm_answers[1].values() for name in node.partitions}))
        remedy = f"nearfar slurm install --partition NAME --apply, where NAME is one of: {known}"
        raise Problem(f"partition {site.options.partition} has no nodes", remedy)
    version = versions.words(site.slurm.version())
    return f"{version}, {plural(len(site.nodes), 'node')} in partition {site.options.partition}"


def rights(site: Installation) -> str:
    """Whether the user that runs ``act`` may drain nodes."""
    user = site.options.act_user
    if user in ("root", site.settings.get("SlurmUser", "").split("(")[0]):
        return f"{user} may do all"
    try:
        level = site.slurm.call("sacctmgr", "--noheader", "--parsable2", "show", "user", user, "format=AdminLevel")
    except NearfarError as error:
        words = f"{user} is neither root nor SlurmUser, and sacctmgr knows no users ({str(error).splitlines()[0]})"
        raise Problem(words, "nearfar slurm install --act-user root --apply") from None
    first = level.strip().partition("\n")[0]
    if first not in ("Operator", "Administrator"):
        raise Problem(f"{user} may not drain nodes", f"sacctmgr modify user {user} set adminlevel=operator")
    return f"{user} is {first}"


def findings(site: Installation) -> str:
    """Whether nodes that are idle leave health findings: this alone shows from here that they have the files."""
    folder = Path(site.options.health_output)
    try:
        written = {path.stem: path.stat().st_mtime for path in folder.iterdir() if path.suffix == ".json"}
    except OSError as error:
        raise Problem(
            f"{folder}: {error.strerror}", f"install -d -o root -m 0755 {folder}, shared by all nodes"
        ) from None
    interval = re.match(r"\d+", site.settings.get("HealthCheckInterval", ""))
    patience = max(_LEAST, 3.0 * float(interval[0] if interval else 0))
    fresh = {name for name in site.nodes if site.now - written.get(name, 0.0) <= patience}
    idle = {name for name, node in site.nodes.items() if node.idle and site.now - (node.busy or 0.0) > patience}
    silent = idle - fresh
    if silent or not fresh:
        nodes = node_names.fold(silent or set(site.nodes))
        words = f"none from {nodes} in {folder} for {patience / 60:.0f} minutes"
        remedy = f"on such a node, as root: {site.options.folder}/health-check (root of the nodes writes there: no root_squash)"
        raise Problem(words, remedy)
    return f"{len(fresh)} of {plural(len(site.nodes), 'node')} within {patience / 60:.0f} minutes, every idle one among them"


def conf(site: Installation) -> str:
    """Whether slurm.conf names HealthCheckProgram, Prolog and Epilog, or programs of this machine that call them."""
    lacking = slurm_conf.changes(site.options, site.settings)
    if lacking:
        lines = "; ".join(line.replace("    # ", " (") + ")" for line in lacking)
        raise Problem(f"missing: {lines}", "put that into slurm.conf, then: scontrol reconfigure")
    return ", ".join(slurm_conf.lines(site.options))
