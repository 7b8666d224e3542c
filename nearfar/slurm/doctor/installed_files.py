"""Are the installed files there, as they were written, and as this version would write them?"""

from __future__ import annotations

import os
from collections.abc import Iterator

from nearfar import __version__
from nearfar.base import NearfarError
from nearfar.slurm.install import InstalledPart, digest, rendered

from .answer import DoctorAnswer, ok, problem
from .installed_site import InstalledSite, first_line


def ask(site: InstalledSite) -> Iterator[DoctorAnswer]:
    """An answer for each part."""
    for name, part in sorted(site.known.parts.items()):
        problems = list(_problems(site, name, part))
        yield from problems
        if not problems:
            yield ok(f"files of {name}", f"{len(part.files)} as installed")


def _problems(site: InstalledSite, name: str, part: InstalledPart) -> Iterator[DoctorAnswer]:
    about, again = f"files of {name}", site.again()
    try:
        wanted = {file.path: file for file in rendered(part.options) if file.part == name}
    except NearfarError as error:
        yield problem(about, first_line(error), "fix the template, then " + again)
        return
    if part.version != __version__:
        yield problem(about, f"installed by nearfar {part.version}; this is {__version__}", again)
    for path in sorted({*part.files, *wanted}):
        place = site.known.place(path)
        try:
            text = place.read_bytes().decode("utf-8", "surrogateescape")
            status = place.stat()
        except OSError as error:
            yield problem(about, f"{path}: {error.strerror}", again)
            continue
        if path in part.files and digest(text) != part.files[path]:
            yield problem(
                about, f"{path}: edited since it was installed", f"{again} --force, or a template of the site's own"
            )
        elif path in wanted and text != wanted[path].text:
            yield problem(about, f"{path}: not as the templates have it now", again)
        mode = wanted[path].mode if path in wanted else status.st_mode & 0o7777
        if status.st_mode & 0o7777 != mode:
            yield problem(
                about, f"{path}: mode {status.st_mode & 0o7777:04o}, expected {mode:04o}", f"chmod {mode:o} {path}"
            )
        # An image is made by whoever makes it.
        if status.st_uid != 0 and str(site.known.root) == os.sep:
            yield problem(about, f"{path}: belongs to user {status.st_uid}, and root runs it", f"chown root: {path}")
