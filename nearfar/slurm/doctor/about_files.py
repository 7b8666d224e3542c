"""Questions to this machine's files: the site's, the scripts, the results, and whose they are."""

from __future__ import annotations

import os
import pwd
import shlex
import stat
from pathlib import Path

from nearfar.base import NearfarError, SiteFile, plural, site_directories, user_name
from nearfar.base import site_files as files_by_name
from nearfar.site import drain_policy
from nearfar.site.lint import ERROR, lint
from nearfar.slurm import install
from nearfar.slurm.install import ON_NODES
from nearfar.slurm.trust import Trust, root_safe

from .installation import Installation, Problem

_ROOT = frozenset({0})


def site_files(site: Installation) -> str:
    """Whether ``nearfar lint`` finds no error, and one system's file says what ``act`` may do and trusts who measures."""
    checked = lint(site_directories())
    errors = [complaint for complaint in checked.complaints if complaint.level == ERROR]
    if errors:
        raise Problem(f"{plural(len(errors), 'error')}: {errors[0]}", "nearfar lint")
    if "act" not in site.options.what:
        return f"{len(checked.files)} files without an error"
    trusted = f"[root, {site.options.user}]"
    named = next((word.partition("=")[2] for word in site.options.act if word.startswith("--system=")), None)
    systems = [
        SiteFile(path) for name, path in files_by_name("systems", site_directories()).items() if named in (None, name)
    ]
    having = [file for file in systems if "act" in (file.data or {})]
    if not having:
        raise Problem(
            "no system's file has an `act` section", f"add to site/systems/NAME.yaml: act: {{trusted: {trusted}}}"
        )
    if len(having) > 1:
        raise Problem(
            f"{len(having)} systems have an `act` section", "nearfar slurm install --act=--system=NAME --apply"
        )
    policy = drain_policy.of_system(having[0])
    if _uid(site.options.user) not in policy.trusted:
        raise Problem(
            f"{having[0].path}: results of {site.options.user} are not trusted", f"there: act: {{trusted: {trusted}}}"
        )
    return f"{len(checked.files)} files without an error; act follows system {policy.system}"


def scripts(site: Installation) -> str:
    """Whether the installed files are those that would be rendered now, and what root runs is root's alone."""
    files = install.rendered(site.options)
    changed = [str(change.place) for change in install.changes(files, site.installed, site.root)]
    if changed:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise NearfarError(f"not as they would be rendered now: {', '.join(changed[:3])}{more}")
    if {"act", *ON_NODES} & {*site.options.what}:
        try:
            if str(site.root) == os.sep:  # an image is made by whoever makes it
                root_safe.refuse([Path(file.path) for file in files], _ROOT, "a script")
            root_safe.refuse([Path(site.options.python)], _ROOT, "Python")
            root_safe.refuse_tree(Path(site.options.checkout) / "nearfar", _ROOT, "nearfar")
        except NearfarError as error:
            raise Problem(str(error), "chown -R root and chmod -R go-w that, here and on the nodes") from None
    return f"{len(files)} files as they would be rendered now"


def results(site: Installation) -> str:
    """Whether the results directory is there, and the nightly user's alone."""
    path, user = Path(site.options.results), site.options.user
    uid = _uid(user)
    quoted = shlex.quote(str(path))
    try:
        status = path.stat()
    except OSError as error:
        raise Problem(f"{path}: {error.strerror}", f"install -d -o {user} -m 0755 {quoted}") from None
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != uid:
        owner = f"belongs to {user_name(status.st_uid)}, not to {user}"
        raise Problem(
            f"{path}: {owner if stat.S_ISDIR(status.st_mode) else 'not a directory'}", f"chown {user} {quoted}"
        )
    if status.st_mode & 0o022:
        mode = stat.S_IMODE(status.st_mode)
        raise Problem(
            f"{path}: other users can write to it (mode {mode:04o}); its results are refused", f"chmod go-w {quoted}"
        )
    Trust(path, {0, uid}).check_parents()
    return f"{path}: {user}'s, and writable by nobody else"


def two_users(site: Installation) -> str:
    """Whether one user measures and another drains, who owns the state of ``act``."""
    options = site.options
    if options.user == options.act_user:
        raise NearfarError(f"{options.user} both measures and drains: who can write results can drain the cluster")
    try:
        owner = Path(options.state).stat().st_uid
    except FileNotFoundError:
        owner = _uid(options.act_user)  # it is made by the first call of act
    except OSError as error:
        raise Problem(f"{options.state}: {error.strerror}", "as root: nearfar slurm doctor") from None
    if owner != _uid(options.act_user):
        words = f"{options.state}: belongs to {user_name(owner)}, not to {options.act_user}"
        raise Problem(words, f"chown -R {options.act_user} {shlex.quote(options.state)}")
    return f"{options.user} measures, {options.act_user} drains"


def _uid(user: str) -> int:
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        raise Problem(f"this machine knows no user {user}", f"useradd --system --create-home {user}") from None
