"""What an installation changes, and doing it: shown as a diff, then written; files that somebody has edited are kept."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nearfar import __version__
from nearfar.base import NearfarError, cannot_write, write_atomically
from nearfar.slurm.results import make_for_all

from .manifest import ELSEWHERE, InstalledPart, InstallManifest
from .options import InstallOptions
from .rendering import digest, rendered

_ENABLED = "etc/systemd/system/timers.target.wants"


@dataclass(frozen=True)
class Change:
    """A file that is not as it should be. ``after`` None: it is to go. ``edited``: by hand since it was installed, or there before;
    such a one is kept unless the caller insists."""

    part: str
    path: str
    place: Path
    before: str | None
    after: str | None
    mode: int
    edited: bool

    def diff(self) -> list[str]:
        """The lines of a unified diff."""
        name = str(self.place)
        old, new = ("/dev/null" if text is None else name for text in (self.before, self.after))
        before, after = (text or "" for text in (self.before, self.after))
        found = difflib.unified_diff(before.splitlines(), after.splitlines(), old, new, lineterm="")
        # What is there may hold anything.
        lines = [line.encode("utf-8", "replace").decode() for line in found]
        return lines or [f"{name}: mode {self.mode:04o}"]

    def entry(self, kept: bool) -> dict[str, Any]:
        """For JSON."""
        return {
            "path": str(self.place), "part": self.part, "action": "write" if self.after is not None else "remove",
            "mode": f"{self.mode:04o}", "kept": kept, "diff": self.diff(),
        }  # fmt: skip

    def carry_out(self) -> None:
        """Write or remove the file. Raises ``CouldNotJudge`` with the remedy."""
        try:
            if self.after is not None:
                make_for_all(self.place.parent)
                write_atomically(self.place, self.after, ELSEWHERE, mode=self.mode)
            else:
                self.place.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(self.place, error, ELSEWHERE) from None


def changes(options: InstallOptions, known: InstallManifest) -> list[Change]:
    """What is to be written and removed. Raises what ``rendered`` does, and for a file that cannot be read."""
    found = []
    files = rendered(options)
    for file in files:
        place = known.place(file.path)
        now = _present(place)
        if now == file.text and place.stat().st_mode & 0o7777 == file.mode:
            continue
        edited = now not in (None, file.text) and digest(now or "") != known.digest(file.path)
        found.append(Change(file.part, file.path, place, now, file.text, file.mode, edited))
    present = {file.path for file in files}
    return [*found, *(gone for gone in _gone(known, options.what) if gone.path not in present)]


def noted_otherwise(options: InstallOptions, known: InstallManifest) -> bool:
    """Whether writing would change what the manifest says of the parts, be their files as they are or not."""
    parts = [known.parts.get(name) for name in options.what]
    if any(
        part is None or (replace(part.options, what=options.what), part.version) != (options, __version__)
        for part in parts
    ):
        return True
    files = [file for file in rendered(options) if _present(known.place(file.path)) == file.text]
    return any(known.digest(file.path) != file.digest for file in files)


def removal(known: InstallManifest, what: Sequence[str]) -> list[Change]:
    """What goes with some parts. Raises ``NearfarError`` where a timer is still enabled."""
    found = _gone(known, what)
    timers = [Path(change.path).name for change in found if change.path.endswith(".timer")]
    enabled = [name for name in timers if (known.root / _ENABLED / name).is_symlink()]
    if enabled:
        raise NearfarError(f"{', '.join(enabled)}: still enabled; first: systemctl disable --now {' '.join(enabled)}")
    return found


def _gone(known: InstallManifest, what: Sequence[str]) -> list[Change]:
    """The removal of every file of some parts that is there."""
    found = []
    for name, part in known.parts.items():
        for path, sha in part.files.items() if name in what else ():
            now = _present(known.place(path))
            if now is not None:
                found.append(Change(name, path, known.place(path), now, None, 0, digest(now) != sha))
    return found


def write(wanted: Sequence[Change], options: InstallOptions, known: InstallManifest) -> None:
    """Make the changes, and note what is installed now, also where one fails: what it is made from first, so that an installation that
    was interrupted goes on where it is begun again. Raises ``CouldNotJudge`` with the remedy."""
    for name in options.what:
        before = known.parts[name].files if name in known.parts else {}
        known.parts[name] = InstalledPart(options, __version__, {**before})
    for file in rendered(options):
        if _present(known.place(file.path)) == file.text:
            known.parts[file.part].files[file.path] = file.digest
    try:
        make_for_all(known.path.parent)
    except OSError as error:
        raise cannot_write(known.path.parent, error, ELSEWHERE) from None
    known.write()
    try:
        for change in wanted:
            change.carry_out()
            files = known.parts[change.part].files
            files.pop(change.path, None)
            if change.after is not None:
                files[change.path] = digest(change.after)
    finally:
        known.write()


def remove(wanted: Sequence[Change], known: InstallManifest, what: Sequence[str]) -> None:
    """Remove files, and forget them and those that are not there; then the directory, where nothing is left in it."""
    for change in wanted:
        change.carry_out()
    for name in [name for name in known.parts if name in what]:
        files = known.parts[name].files
        for path in [path for path in files if not known.place(path).exists()]:
            del files[path]
        if not files:
            del known.parts[name]
    if known.parts:
        known.write()
        return
    known.path.unlink(missing_ok=True)
    with suppress(OSError):
        os.rmdir(known.path.parent)


def _present(place: Path) -> str | None:
    """What is there now; None where nothing is."""
    try:
        return place.read_bytes().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise NearfarError(f"{place}: cannot be read: {error.strerror}") from None
