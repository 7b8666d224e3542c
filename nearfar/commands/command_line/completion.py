"""What the shell offers behind an option that takes a name: node types, systems, applications, checks."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from nearfar.base import site_directories, site_files

#: The folder of site/ whose files an option's value names, by the option and the word that help has for its value.
_FOLDERS = {
    ("--node", "TYPE"): "nodes",
    ("--system", "NAME"): "systems",
    ("--application", "NAME"): "applications",
}


def values(action: argparse.Action, **_: Any) -> Iterable[str]:
    """The values that an option may have, for argcomplete; files where nothing better is known."""
    import argcomplete

    option = next(iter(action.option_strings), "")
    folder = _FOLDERS.get((option, str(action.metavar)))
    if folder is not None:
        return site_files(folder, site_directories())
    if option == "--check":
        from nearfar.question import check_names

        return check_names()
    completed: Iterable[str] = argcomplete.completers.FilesCompleter()(**_)
    return completed
