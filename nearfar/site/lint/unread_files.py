"""Files and folders beside those that are read: misspelt names that make a file count for nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from nearfar.base import did_you_mean

from .complaints import WARNING, Complaint


def complaints(directories: Sequence[Path], kinds: Sequence[str]) -> Iterator[Complaint]:
    """What stands in the site's directories and is not read."""
    for directory in directories:
        for path in sorted(directory.iterdir()):
            if path.is_dir() and path.name not in kinds and not path.name.startswith(".") and any(path.glob("*.y*ml")):
                yield Complaint(
                    path, 1, WARNING, "stray", f"no such folder is read{did_you_mean(path.name, list(kinds))}"
                )
        for kind in kinds[:-1]:
            for path in sorted((directory / kind).glob("*")):
                if path.suffix in (".yml", ".json"):
                    yield Complaint(path, 1, WARNING, "stray", f"is not read; call it {path.stem}.yaml")
