"""What is installed, how that differs from what would be rendered now, and copying the files into place."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, NearfarError, cannot_write, write_atomically
from nearfar.slurm.results import make_for_all

from .options import FOLDER, InstallOptions, from_entry
from .rendering import LIST, SCHEMA, InstalledFile

#: What one does about a place that cannot be written.
_ELSEWHERE = "run this as root, or render the files elsewhere: --root DIR"
_ROOT = Path("/")


@dataclass(frozen=True)
class Installed:
    """An installation: its options, and the paths of its files."""

    options: InstallOptions
    files: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """A file that is not as it should be."""

    place: Path
    #: None: it is not there.
    before: str | None
    #: None: it is removed.
    after: str | None
    mode: int

    def diff(self) -> list[str]:
        """The lines of a unified diff."""
        old, new = ("/dev/null" if text is None else str(self.place) for text in (self.before, self.after))
        before, after = ((text or "").splitlines() for text in (self.before, self.after))
        diff = difflib.unified_diff(before, after, old, new, lineterm="")
        lines = [line.encode("utf-8", "replace").decode() for line in diff]
        return lines or [f"{self.place}: mode {self.mode:04o}"]

    def entry(self) -> dict[str, Any]:
        """For JSON."""
        action = "remove" if self.after is None else "write"
        return {"path": str(self.place), "action": action, "mode": f"{self.mode:04o}", "diff": self.diff()}


def read(folder: str = FOLDER, root: Path = _ROOT) -> Installed | None:
    """What is installed; None where nothing is. Raises ``CouldNotJudge`` for a list that cannot be read."""
    path = _place(root, f"{folder}/{LIST}")
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["schema"] != SCHEMA:
            raise ValueError(f"expected schema {SCHEMA}, found {raw['schema']}")
        return Installed(from_entry(raw["options"]), tuple(map(str, raw["files"])))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CouldNotJudge(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError, NearfarError) as error:
        words = f"not what nearfar slurm install wrote ({error}); remove it, and install again with all options"
        raise CouldNotJudge(f"{path}: {words}") from None


def changes(files: Sequence[InstalledFile], installed: Installed | None, root: Path = _ROOT) -> list[Change]:
    """What to write, and which installed files to remove because they are no longer among ``files``."""
    found = []
    wanted = {file.path for file in files}
    for path in () if installed is None else installed.files:
        before = _text(_place(root, path))
        if path not in wanted and before is not None:
            found.append(Change(_place(root, path), before, None, 0))
    for file in files:
        place = _place(root, file.path)
        before = _text(place)
        if before != file.text or place.stat().st_mode & 0o7777 != file.mode:
            found.append(Change(place, before, file.text, file.mode))
    return found


def apply(wanted: Sequence[Change]) -> None:
    """Make the changes in their order; the list of files comes last. Raises ``CouldNotJudge`` with the remedy."""
    for change in wanted:
        try:
            if change.after is None:
                change.place.unlink(missing_ok=True)
            else:
                make_for_all(change.place.parent)
                write_atomically(change.place, change.after, _ELSEWHERE, mode=change.mode)
        except OSError as error:
            raise cannot_write(change.place, error, _ELSEWHERE) from None


def _place(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def _text(place: Path) -> str | None:
    try:
        return place.read_bytes().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise CouldNotJudge(f"{place}: cannot be read: {error.strerror}") from None
