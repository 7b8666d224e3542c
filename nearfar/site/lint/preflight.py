"""What a run asks of its files before it measures, or of files that are proposed: errors end it, warnings are told in a few lines."""

from __future__ import annotations

import datetime
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nearfar.base import cannot_write, site_directories
from nearfar.site import systems

from .complaints import WARNING, Complaint, sorted_once, stop_on_errors
from .every_rule import known_checks, of_node_types, of_references, of_systems
from .reading import SiteContents

#: So many warnings are told, and so many errors; then where the others are.
_TOLD, _ERRORS_TOLD = 3, 12


def before_measuring() -> None:
    """Look at the files that a run on this system uses: all system files, and the node types and references of the
    partitions at hand. Warnings go to standard error. Raises ``NearfarError`` with every error's line."""
    directories = site_directories()
    reading = SiteContents(directories).add("systems").add("gpus")
    stop_on_errors(reading.complaints, _ERRORS_TOLD)  # before one of them is chosen
    complaints = used_by(reading, systems.site().systems[systems.site().here])
    stop_on_errors(complaints, _ERRORS_TOLD)
    tell_warnings(complaints)


def tell_warnings(complaints: Sequence[Complaint]) -> None:
    """The first warnings, and how many more there are, on standard error."""
    warnings = [complaint for complaint in complaints if complaint.level == WARNING]
    for complaint in warnings[:_TOLD]:
        print(f"nearfar: {complaint}", file=sys.stderr)
    if (more := len(warnings) - _TOLD) > 0:
        print(f"nearfar: {more} more warning{'s' if more > 1 else ''}; nearfar lint shows all", file=sys.stderr)


def used_by(reading: SiteContents, system: systems.System) -> list[Complaint]:
    """The complaints about what one system's partitions use, the system's own file among them: what is wrong with others'
    is theirs to fix."""
    partitions = system.partitions.values()
    wanted = {name for p in partitions for name in (p.references, p.node_type) if name}
    sharing = [p for read in reading.systems.values() if read.value for p in read.value.partitions.values()]
    # A row that another system's nodes use is not dead: theirs are looked at too.
    node_types = {p.node_type for p in (*partitions, *sharing) if p.node_type and wanted & {p.references, p.node_type}}
    reading.add("nodes", sorted(node_types)).add("references", sorted(wanted))
    checks = known_checks()
    own_files = {system.file, *(read.file.path for name, read in reading.node_types.items() if name in wanted)}
    own_files |= {read.file.path for read in reading.references.values()}
    every = [
        *reading.complaints, *of_systems(reading, checks.values()), *of_node_types(reading),
        *of_references(reading, checks, datetime.date.today()),
    ]  # fmt: skip
    return sorted_once(complaint for complaint in every if complaint.file in own_files)


def with_references(texts: Mapping[Path, str], system: systems.System, directories: Sequence[Path]) -> list[Complaint]:
    """The complaints about what a system uses, were these texts its reference files; told with the files' own names.

    Raises ``CouldNotJudge`` where there is no room for a copy in the temporary directory.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="nearfar-lint-") as place:
            first = Path(place)
            (first / "references").mkdir()
            own = {first / "references" / path.name: path for path in texts}
            for copy, path in own.items():
                copy.write_text(texts[path], encoding="utf-8")
            reading = SiteContents([first, *directories]).add("systems").add("gpus")
            complaints = used_by(reading, system)
    except OSError as error:
        raise cannot_write(Path(tempfile.gettempdir()), error, "set TMPDIR to a directory") from None
    return [replace(complaint, file=own.get(complaint.file, complaint.file)) for complaint in complaints]
