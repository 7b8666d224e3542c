"""Questions to Slurm (is it reached, may ``act`` drain, do the nodes report, does slurm.conf name the installed programs?), and to systemd
and cron: are the timers enabled, and did what they start run?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from nearfar.base import NearfarError, find_program, plural, process
from nearfar.slurm.controller import node_names, versions
from nearfar.slurm.install import slurm_conf

from .installation import Installation, Problem

#: Seconds that an idle node may be without a finding, whatever the interval.
_LEAST = 1800.0
#: Seconds that systemd has for an answer.
_LIMIT = 10.0
#: Seconds after which a night is missing: timers start one a day.
_NIGHT = 36 * 3600.0
_ASKED = "Id,LoadState,ActiveState,UnitFileState,Result,ExecMainStatus"
#: Exit codes that say something about nodes: one failed, or could not be judged.
_OF_NODES = ("0", "1", "3")


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


def nightly(site: Installation) -> str:
    """Whether nightly sweeps are started, and one left results within 36 hours."""
    enabled = _enabled(site, "nightly")
    return f"{enabled}; {_ran(site, 'nightly', Path(site.options.results).glob('*'), _NIGHT)}"


def act(site: Installation) -> str:
    """Whether ``act`` is started, and ran within three of its intervals and a quarter of an hour."""
    enabled = _enabled(site, "act")
    limit = 60.0 * (3 * site.options.every + 15)
    return f"{enabled}; {_ran(site, 'act', Path(site.options.state).glob('ledger.db'), limit)}"


def _ran(site: Installation, part: str, traces: Iterable[Path], limit: float) -> str:
    """When a part ran last. ``traces``: what it leaves."""
    start = (
        f"systemctl start nearfar-{part}.service"
        if site.options.timer == "systemd"
        else f"{site.options.folder}/{part}"
    )
    try:
        times = [path.stat().st_mtime for path in traces]
    except OSError as error:
        raise Problem(f"{error.filename}: {error.strerror}", "as root: nearfar slurm doctor") from None
    if not times:
        raise Problem("has not run yet", start)
    ago = (site.now - max(times)) / 60
    words = f"ran {ago:.0f} minutes ago" if ago < 120 else f"ran {ago / 60:.0f} hours ago"
    if 60 * ago > limit:
        raise Problem(words, f"to see why: {start}")
    return words


def _enabled(site: Installation, part: str) -> str:
    timer, service = f"nearfar-{part}.timer", f"nearfar-{part}.service"
    if site.options.timer == "cron":
        if not any(find_program(name) or Path(f"/usr/sbin/{name}").exists() for name in ("cron", "crond")):
            raise Problem("there is no cron on this machine", "nearfar slurm install --timer systemd --apply")
        return f"/etc/cron.d/nearfar-{part}"
    if find_program("systemctl") is None:
        raise Problem("there is no systemd on this machine", "nearfar slurm install --timer cron --apply")
    answer = process.run(["systemctl", "show", timer, service, f"--property={_ASKED}"], _LIMIT)
    if answer.timed_out or answer.returncode:
        why = f"no answer within {_LIMIT:.0f} s" if answer.timed_out else answer.last_line
        raise Problem(f"systemctl: {why or 'failed'}", f"systemctl status {timer}")
    blocks = [dict(re.findall(r"^(\w+)=(.*)$", block, re.M)) for block in re.split(r"\n\s*\n", answer.stdout)]
    units = {block.get("Id", ""): block for block in blocks}
    states = [units.get(timer, {}).get(name, "unknown") for name in ("LoadState", "ActiveState", "UnitFileState")]
    if states != ["loaded", "active", "enabled"]:
        raise Problem(f"{timer} is {', '.join(states)}", f"systemctl daemon-reload && systemctl enable --now {timer}")
    ended = units.get(service, {})
    if ended.get("Result") != "success" and ended.get("ExecMainStatus") not in _OF_NODES:
        words = f"{service} ended with {ended.get('Result')}, exit code {ended.get('ExecMainStatus')}"
        raise Problem(words, f"journalctl -u {service}")
    return "enabled"
