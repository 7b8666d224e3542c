"""Runs on a command line: a directory, a pattern of several, a name below reports/, or ``latest``."""

from __future__ import annotations

import glob
from pathlib import Path

from nearfar.base import NearfarError, places


def run_directories(word: str) -> list[Path]:
    """The run directories that ``word`` names, oldest first; a name is looked for here and then below reports/."""
    reports = places.reports_directory()
    if word == "latest":
        latest = reports / "latest"
        if not latest.exists():
            raise NearfarError(f"{latest}: there is no run yet; ./validate makes one")
        return [latest.resolve()]
    paths = sorted(Path(path) for path in glob.glob(str(Path(word).expanduser()))) or sorted(
        reports.glob(word.lstrip("/"))
    )
    runs = [path for path in paths if path.is_dir()]
    if len(paths) > 1:
        # A pattern may catch files and folders beside the runs; a single name is taken at its word.
        runs = [path for path in runs if any((path / name).exists() for name in ("run.json", "reframe-report.json"))]
    if not runs:
        raise NearfarError(f"{word}: no run directory of that name here or in {reports}")
    return runs
