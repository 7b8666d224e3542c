"""Questions to systemd and cron: are the timers enabled, and did what they start run?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from nearfar.base import find_program, process

from .installation import Installation, Problem

_LIMIT = 10.0
#: Seconds after which a night is missing: timers start one a day.
_NIGHT = 36 * 3600.0
_ASKED = "Id,LoadState,ActiveState,UnitFileState,Result,ExecMainStatus"
#: Exit codes that say something about nodes: one failed, or could not be judged.
_OF_NODES = ("0", "1", "3")


def nightly(site: Installation) -> str:
    """Whether nightly sweeps are started, and one left results within 36 hours."""
    enabled = _enabled(site, "nightly")
    return f"{enabled}; {_ran(site, 'nightly', Path(site.options.results).glob('*'), _NIGHT)}"


def act(site: Installation) -> str:
    """Whether ``act`` is started, and ran within three of its intervals and a quarter of an hour."""
    enabled = _enabled(site, "act")
    limit = 60.0 * (3 * site.options.every + 15)
    return f"{enabled}; {_ran(site, 'act', Path(site.options.state).glob('ledger.db*'), limit)}"


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
