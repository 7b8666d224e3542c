"""The site as it would be with files that nobody has written yet."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nearfar.base import cannot_write
from nearfar.site import System

from .complaints import Complaint
from .preflight import used_by
from .reading import SiteContents


def with_references(texts: Mapping[Path, str], system: System, directories: Sequence[Path]) -> list[Complaint]:
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
