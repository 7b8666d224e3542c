"""What Slurm and systemd are given: text from ``site/templates/slurm/``; a site's own directory comes first."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import cache
from typing import Any

from nearfar.base import NearfarError, site_directories

#: The templates' folder in a site directory.
TEMPLATES = "templates/slurm"


def render(name: str, values: Mapping[str, Any]) -> str:
    """The text of a template; every value that a shell reads goes through the filter ``quote``. Raises ``NearfarError`` that names file and
    line of a template that is wrong."""
    import jinja2

    folders = tuple(str(folder / TEMPLATES) for folder in site_directories())
    try:
        text: str = _environment(folders).get_template(f"{name}.j2").render(dict(values))
        return text
    except jinja2.TemplateSyntaxError as error:
        raise NearfarError(f"{error.filename}:{error.lineno}: template: {error.message}") from None
    except jinja2.TemplateNotFound as error:
        raise NearfarError(f"template {error.name} is in none of {', '.join(folders)}") from None
    except Exception as error:  # whatever a site's template does
        raise NearfarError(f"template {name}.j2: {error}") from None


@cache
def _environment(folders: tuple[str, ...]) -> Any:
    """Jinja2's, which compiles each template once, and again where its file has changed."""
    import jinja2
    import jinja2.sandbox

    environment = jinja2.sandbox.SandboxedEnvironment(
        loader=jinja2.FileSystemLoader(folders), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["quote"] = lambda value: shlex.quote(str(value))
    return environment
