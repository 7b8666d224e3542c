"""May those who run it read and write its directories, do the checkout and Python exist for them, and whose are the files?"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from nearfar.base import NearfarError
from nearfar.slurm.install import directories
from nearfar.slurm.trust import Trust

from .access import READ, RUN, WRITE, denied
from .answer import DoctorAnswer, not_looked, ok, problem
from .installed_site import InstalledSite, first_line

#: So many foreign files are looked for, and so many named.
_LOOKED_AT, _NAMED = 200_000, 3


def ask(site: InstalledSite) -> Iterator[DoctorAnswer]:
    """An answer for each directory, each user and the files of foreign owners."""
    options = site.options
    wanted = directories.wanted(options)
    for path, user in wanted.items():
        found = directories.complaint(Path(path), user)
        if found is None:
            yield ok("directory", f"{path}: {user}'s")
        else:
            words, _, remedy = found.rpartition("; ")
            yield problem("directory", words or found, remedy)
    for user, wants in _wants(site).items():
        yield _access(user, wants)
    if os.path.isdir(options.results) and {"nightly", "act"} & site.parts:
        yield _foreign(site)


def _wants(site: InstalledSite) -> dict[str, list[tuple[str, int]]]:
    """What each user has to be able to do."""
    options, found = site.options, {}
    common = [(options.python, RUN), (options.checkout, READ), (f"{options.checkout}/nearfar/cli.py", READ)]
    common += [(path, READ) for path in options.environment.get("NEARFAR_SITE", "").split(":") if path]
    if "SLURM_CONF" in options.environment:
        common.append((options.environment["SLURM_CONF"], READ))
    if "nightly" in site.parts:
        history = options.environment.get("NEARFAR_HISTORY")
        kept = [(path, WRITE) for path in (history, options.environment.get("NEARFAR_STATE")) if path]
        if not kept:
            kept = [(f"{options.checkout}/reports", WRITE)]
        found[options.user] = [*common, (f"{options.folder}/nightly", RUN), (options.results, WRITE), *kept]
    if "act" in site.parts:
        mine = [
            *common,
            (f"{options.folder}/act", RUN),
            (options.results, READ),
            (options.findings, READ),
            (options.state, WRITE),
        ]
        found[options.act_user] = list(dict.fromkeys([*found.get(options.act_user, []), *mine]))
    return found


def _access(user: str, wants: Sequence[tuple[str, int]]) -> DoctorAnswer:
    about = f"user {user}"
    try:
        which = denied(user, wants)
    except NearfarError as error:
        return problem(about, first_line(error), f"here and on the nodes: useradd --system --create-home {user}")
    if which is None:
        return not_looked(
            about,
            f"only root, or {user}, can see what {user} may do",
            f"as root, or: sudo -u {user} nearfar slurm doctor",
        )
    if which:
        words = ", ".join(
            f"{'write to' if how == WRITE else 'run' if how == RUN else 'read'} {path}" for path, how in which
        )
        return problem(about, f"{user} cannot {words}", "fix owner or mode of it and of the directories above it")
    return ok(about, f"may read, run and write all that it has to ({len(wants)} places)")


def _foreign(site: InstalledSite) -> DoctorAnswer:
    """Files in the results directory of users who are not trusted: they count for nothing, and are in the way of those who write."""
    root, about = Path(site.options.results), "owners of results"
    try:
        trusted = {0, *site.policy.trusted}
    except NearfarError as error:
        return not_looked(about, first_line(error))
    try:
        Trust(root, frozenset(trusted)).check_parents()
    except NearfarError as error:
        return problem(about, first_line(error), "fix the owner or the mode of that directory")
    found, looked = [], 0
    for place, folders, files in os.walk(root):
        for name in (*folders, *files):
            looked += 1
            path = Path(place, name)
            try:
                uid = path.lstat().st_uid
            except OSError:
                continue
            if uid not in trusted:
                found.append(f"{path} (user {uid})")
        if looked > _LOOKED_AT or len(found) > _NAMED:
            break
    if found:
        more = " …" if len(found) > _NAMED else ""
        return problem(about, f"of users that are not trusted: {', '.join(found[:_NAMED])}{more}",
                       "name them in the system's file (`act: trusted`), or remove the files")  # fmt: skip
    return ok(about, f"all {looked} entries of {root} are of trusted users")
