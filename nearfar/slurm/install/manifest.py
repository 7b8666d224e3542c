"""``installed.json`` beside the scripts: which files were installed, from what, so that an edited one is known."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base import CouldNotJudge, write_atomically

from .options import InstallOptions, from_entry

NAME = "installed.json"
_SCHEMA = "nearfar-install/1"


@dataclass(frozen=True)
class InstalledPart:
    """A part as it was installed: what it was made from, by which version, and the digest of each file by its path."""

    options: InstallOptions
    version: str
    files: dict[str, str]


@dataclass
class InstallManifest:
    """All parts by name; empty where nothing is known to be installed. ``path`` is the file's, ``root`` a directory that stands
    for ``/``."""

    path: Path
    root: Path
    parts: dict[str, InstalledPart] = field(default_factory=dict)

    def place(self, path: str) -> Path:
        """Where a file of the machine is below the root."""
        return self.root / path.lstrip("/")

    def digest(self, path: str) -> str | None:
        """That of a file as it was installed."""
        return next((part.files[path] for part in self.parts.values() if path in part.files), None)

    def write(self) -> None:
        """Write it. Raises ``CouldNotJudge``."""
        parts = {
            name: {"version": part.version, "options": part.options.entry(), "files": dict(part.files)}
            for name, part in sorted(self.parts.items())
        }
        text = json.dumps({"schema": _SCHEMA, "parts": parts}, indent=1) + "\n"
        write_atomically(self.path, text, ELSEWHERE, mode=0o644)


#: What one does about a place that cannot be written.
ELSEWHERE = "run this as root, or stage it: --root DIR, a directory"


def read(folder: str, root: Path = Path("/")) -> InstallManifest:
    """The manifest of an installation. Raises ``CouldNotJudge`` for one that cannot be read."""
    path = root / folder.lstrip("/") / NAME
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["schema"] != _SCHEMA:
            raise ValueError(f"expected schema {_SCHEMA}, found {raw['schema']}")
        parts = {
            str(name): InstalledPart(from_entry(part["options"]), str(part["version"]), dict(part["files"]))
            for name, part in raw["parts"].items()
        }
    except FileNotFoundError:
        return InstallManifest(path, root)
    except OSError as error:
        raise CouldNotJudge(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CouldNotJudge(
            f"{path}: not what nearfar slurm install wrote ({error}); move it away, and install again with --force"
        ) from None
    return InstallManifest(path, root, parts)
