"""Can those that are to know be told: Prometheus' directory, and the site's hooks?"""

from __future__ import annotations

import pwd
from collections.abc import Iterator
from pathlib import Path

from nearfar.base import NearfarError
from nearfar.prometheus import catalogue
from nearfar.site import hook_problem

from .access import WRITE, denied
from .answer import DoctorAnswer, not_looked, ok, problem
from .installed_site import InstalledSite, first_line

#: Seconds after which the file of ``act`` is old, in intervals of its timer.
_INTERVALS = 3


def ask(site: InstalledSite) -> Iterator[DoctorAnswer]:
    """An answer for the directory of text files, where there is one, and for each hook."""
    if "act" not in site.parts:
        return
    if site.options.metrics is not None:
        yield _text_files(site, Path(site.options.metrics))
    try:
        programs = site.policy.hooks.programs
        users = {0, pwd.getpwnam(site.options.act_user).pw_uid}
    except (NearfarError, KeyError) as error:
        why = first_line(error) if isinstance(error, NearfarError) else f"no user {site.options.act_user}"
        yield not_looked("hooks", why)
        return
    for hook, program in programs.items():
        found = hook_problem(program, users)
        if found is None:
            yield ok(hook, f"{program} can be called")
        else:
            yield problem(hook, f"{found.place}: {found.flaw}", found.remedy)


def _text_files(site: InstalledSite, folder: Path) -> DoctorAnswer:
    about, user = "text files for Prometheus", site.options.act_user
    if not folder.is_dir():
        return problem(about, f"{folder}: no such directory", "make it, and have node_exporter read it")
    try:
        refused = denied(user, [(str(folder), WRITE)])
    except NearfarError as error:
        return not_looked(about, first_line(error))
    if refused:
        return problem(about, f"{user} cannot write to {folder}", "fix its mode: docs/guide/monitoring.md")
    try:
        age = site.now - (folder / catalogue.FLEET).stat().st_mtime
    except OSError:
        return problem(about, f"{folder / catalogue.FLEET}: not there: act has written none yet", "check again later")
    if age > _INTERVALS * 60 * site.options.every:
        return problem(about, f"{folder / catalogue.FLEET}: {age / 60:.0f} minutes old", "check the timer of act")
    return ok(about, f"{folder}: that of act is {max(0.0, age) / 60:.0f} minutes old")
