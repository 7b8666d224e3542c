"""A site's own templates: do they render, and does anything ask for them?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from nearfar.base import NearfarError, did_you_mean, places

from .complaints import ERROR, WARNING, Complaint

#: The pack's own: what a site's template of the same name replaces.
_ROOTS = (places.SITE / "templates", places.PAGE_TEMPLATES)
#: The published node that launch lines are rendered for: every template is asked for GPUs on two NUMA nodes.
_NODE = "keeneland"
#: What Jinja2 renders; other files beside them are copied as they are.
_RENDERED = (".j2", ".html", ".css")
_PLACE = re.compile(r"(?P<file>.+):(?P<line>\d+): (?P<words>.*)")


def files(directories: Sequence[Path]) -> list[Path]:
    """Every template of the site's directories."""
    paths = [path for directory in directories for path in sorted((directory / "templates").rglob("*"))]
    return [path for path in paths if path.is_file() and not path.name.startswith(".")]


def complaints(directories: Sequence[Path]) -> Iterator[Complaint]:
    """What is wrong with the templates below the directories."""
    broken = set()
    for directory in directories:
        for path in files([directory]):
            for complaint in _of_template(path, path.relative_to(directory / "templates").as_posix()):
                broken |= {path} if complaint.level == ERROR else set()
                yield complaint
    own = [directory for directory in directories if directory != places.SITE]
    if any((directory / "templates" / "bind").is_dir() for directory in own):
        yield from (complaint for complaint in _of_launch_lines(directories) if complaint.file not in broken)


def _of_template(path: Path, name: str) -> Iterator[Complaint]:
    import jinja2

    # As nearfar.binding.launch_scripts has them: bash counts an array with what begins a comment of Jinja2's.
    marks = {"comment_start_string": "{%#", "comment_end_string": "#%}"} if name.endswith(".sh.j2") else {}
    try:
        if path.suffix in _RENDERED:
            jinja2.Environment(**marks).parse(path.read_text(encoding="utf-8"))  # type: ignore[arg-type]
    except jinja2.TemplateSyntaxError as error:
        yield Complaint(path, error.lineno, ERROR, "template", f"template: {error.message}")
        return
    except (OSError, UnicodeDecodeError) as error:
        yield Complaint(path, 1, ERROR, "template", f"cannot be read: {getattr(error, 'strerror', None) or error}")
        return
    known = {file.relative_to(root).as_posix() for root in _ROOTS for file in root.rglob("*") if file.is_file()}
    if name not in known and not _mentioned(path):
        message = f"unused: no template of the pack has the name {name}, and none beside it names it{did_you_mean(name, sorted(known))}"
        yield Complaint(path, 1, WARNING, "dead", message)


def _mentioned(path: Path) -> bool:
    """Whether a template beside one includes or extends it."""
    others = [other for other in path.parent.iterdir() if other != path and other.is_file()]
    return any(path.name in other.read_text(encoding="utf-8", errors="replace") for other in others)


def _of_launch_lines(directories: Sequence[Path]) -> Iterator[Complaint]:
    """Every launch line, rendered for a published node."""
    from nearfar.binding import FORMS, Layout, place, render
    from nearfar.model.prediction import load_node_type

    node = load_node_type(_NODE, [places.SITE]).node
    placements = place(node, Layout())
    for form in FORMS:
        try:
            render(form, node, placements, directories=directories)
        except NearfarError as error:
            match = _PLACE.fullmatch(str(error))
            own = (directory / "templates" / "bind" / f"{form}.sh.j2" for directory in directories)
            if match is not None:
                yield Complaint(Path(match["file"]), int(match["line"]), ERROR, "template", match["words"])
            else:
                yield Complaint(next(path for path in own if path.exists()), 1, ERROR, "template", str(error))
