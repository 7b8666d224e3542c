"""Templates of pages, the pack's and a site's own."""

from __future__ import annotations

import contextlib
import functools
import re
import traceback
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

import nearfar
from nearfar.base import NearfarError, places, second_text, site_directories
from nearfar.report.figures import SIGNS

from .kinds import Shown


def rendered(name: str, values: dict[str, Any]) -> str:
    """A template of the pack's or of the site's. Raises ``NearfarError`` that names file and line of one that is wrong."""
    try:
        page = _environment(tuple(site_directories())).get_template(name).render(values)
    except jinja2.TemplateSyntaxError as error:
        raise NearfarError(f"{error.filename or error.name}:{error.lineno}: template: {error.message}") from None
    except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        # Jinja2 rewrites its frames so that they carry the template's own lines.
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith((".html", ".css"))]
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else name
        raise NearfarError(f"{place}: template: {error}") from None
    # Indentation is a thirtieth of a page; that of quoted output stays.
    return "".join(
        part if part.startswith("<pre") else re.sub(r"\n\s+", "\n", part)
        for part in re.split(r"(?s)(<pre.*?</pre>)", page)
    )


def shown_page(shown: Shown, style: str = "") -> str:
    """What a command shows as one page that needs no other file; ``style``: a template of CSS for what it alone has."""
    values = {"shown": shown, "style": style, "version": nearfar.__version__, "made": second_text()}
    return rendered("answer.html", values)


def prepare() -> None:
    """Compile the templates, which takes half a second, before a page is due. What is wrong with one is reported when it is rendered."""
    environment = _environment(tuple(site_directories()))
    for path in places.PAGE_TEMPLATES.glob("*.*"):
        with contextlib.suppress(jinja2.TemplateError, OSError):
            environment.get_template(path.name)


@functools.lru_cache(maxsize=1)
def _environment(site: tuple[Path, ...]) -> jinja2.Environment:
    own = [str(directory / "templates") for directory in site]
    # A site's page.html may extend the pack's: {% extends "nearfar/page.html" %}.
    shipped = jinja2.FileSystemLoader(str(places.PAGE_TEMPLATES))
    loader = jinja2.ChoiceLoader([jinja2.FileSystemLoader(own), shipped, jinja2.PrefixLoader({"nearfar": shipped})])
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(coded=coded, sentence=sentence, heading=heading, sign=SIGNS.get)
    return environment


def coded(text: str) -> Markup:
    """A text with what stands between backticks as code."""
    parts = str(escape(text)).split("`")
    return Markup("".join(f"<code>{part}</code>" if place % 2 else part for place, part in enumerate(parts)))


def heading(text: str) -> str:
    """A text that begins with a capital; a name such as ``n0`` or ``osu_bw`` stays."""
    name = text.partition(" ")[0].rstrip(",:;.")
    return text[:1].upper() + text[1:] if name.isalpha() else text  # of ``Markup`` it stays one


def sentence(text: str) -> str:
    """A text that begins with a capital and ends with a full stop."""
    return f"{heading(text)}{'' if text.endswith(('.', '?', '!')) else '.'}"
