"""Text from the templates of ``site/templates/``; a site's own directory comes first."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from .errors import NearfarError
from .site_file import site_directories


def render(name: str, values: Mapping[str, Any], directories: Sequence[Path] | None = None) -> str:
    """The text of a template, ``bind/srun.sh.j2``; every value that a shell reads goes through the filter ``quote``, a list of them through
    ``quoted_words``. ``directories``: the site directories (default: the user's, then the checkout's). Raises ``NearfarError`` that names
    file and line of a template that is wrong."""
    import jinja2

    below, _, file = name.rpartition("/")
    folders = tuple(str(folder / "templates" / below) for folder in directories or site_directories())
    try:
        return str(_environment(folders).get_template(file).render(dict(values)))
    except jinja2.TemplateSyntaxError as error:
        raise NearfarError(f"{error.filename}:{error.lineno}: template: {error.message}") from None
    except jinja2.TemplateNotFound as error:
        raise NearfarError(f"template {error.name} is in none of {', '.join(folders)}") from None
    except Exception as error:  # whatever a site's template does
        raise NearfarError(f"template {file}: {error}") from None


@cache
def _environment(folders: tuple[str, ...]) -> Any:
    """Jinja2's, which compiles each template once, and again where its file has changed."""
    import jinja2
    import jinja2.sandbox

    environment = jinja2.sandbox.SandboxedEnvironment(
        loader=jinja2.FileSystemLoader(folders), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
        # Bash counts an array with ${#name[@]}, which would begin a comment of Jinja2's own kind.
        comment_start_string="{%#", comment_end_string="#%}",
    )  # fmt: skip
    environment.filters |= {"quote": lambda value: shlex.quote(str(value)), "quoted_words": _quoted_words}
    return environment


def _quoted_words(values: Iterable[str]) -> str:
    """The words of a bash array; quoted all of them, since a comma in a bare one looks like a mistake."""
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in values)
