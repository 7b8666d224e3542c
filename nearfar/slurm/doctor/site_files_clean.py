"""Are the site's files sound, and does one of them say what ``act`` may do?"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from nearfar.base import NearfarError, site_directories
from nearfar.site.lint import ERROR, lint

from .answer import DoctorAnswer, ok, problem
from .installed_site import InstalledSite, first_line


def ask(site: InstalledSite) -> Iterator[DoctorAnswer]:
    """Errors of ``nearfar lint``, the site's directories, and the policy."""
    installed = site.options.environment.get("NEARFAR_SITE", "")
    here = os.environ.get("NEARFAR_SITE", "")
    if installed != here:
        as_here = site.again() if here else site.again("--drop", "NEARFAR_SITE")
        yield problem("site's directories", f"NEARFAR_SITE is '{here}' here, and '{installed}' in the installed scripts",
                      f"{_export(installed)}; or, to have it as here: {as_here}")  # fmt: skip
    try:
        found = lint(site_directories())
        errors = [complaint for complaint in found.complaints if complaint.level == ERROR]
    except NearfarError as error:
        yield problem("site's files", first_line(error), "nearfar lint")
        return
    if errors:
        yield problem("site's files", f"{len(errors)} errors: {errors[0]}", "nearfar lint")
    else:
        yield ok("site's files", f"{len(found.files)} files without an error")
    if "act" not in site.parts:
        return
    try:
        policy = site.policy
    except NearfarError as error:
        yield problem("what act may do", first_line(error), "`act:` in the system's file: docs/guide/slurm-act.md")
        return
    yield ok("what act may do", f"as system {policy.system} says")


def _export(value: str) -> str:
    return f"export NEARFAR_SITE={shlex.quote(value)}" if value else "unset NEARFAR_SITE"
