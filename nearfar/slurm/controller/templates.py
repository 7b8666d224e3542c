"""What Slurm and cron are given: text from ``site/templates/slurm/``; a site's own directory comes first."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, site_directories

#: The templates' folder in a site directory.
TEMPLATES = "templates/slurm"


def render(name: str, values: Mapping[str, Any], directories: Sequence[Path] | None = None) -> str:
    """The text of a template; every value that a shell reads goes through the filter ``quote``.

    Raises ``NearfarError`` that names file and line of a template that is wrong.
    """
    import jinja2
    import jinja2.sandbox

    folders = [str(folder / TEMPLATES) for folder in (site_directories() if directories is None else directories)]
    environment = jinja2.sandbox.SandboxedEnvironment(
        loader=jinja2.FileSystemLoader(folders), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["quote"] = lambda value: shlex.quote(str(value))
    try:
        return environment.get_template(f"{name}.j2").render(dict(values))
    except jinja2.TemplateSyntaxError as error:
        raise NearfarError(f"{error.filename}:{error.lineno}: template: {error.message}") from None
    except jinja2.TemplateNotFound as error:
        raise NearfarError(f"template {error.name} is in none of {', '.join(folders)}") from None
    except Exception as error:  # whatever a site's template does
        raise NearfarError(f"template {name}.j2: {error}") from None
