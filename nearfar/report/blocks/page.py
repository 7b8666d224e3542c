"""What a command shows as one page that needs no other file."""

from __future__ import annotations

import nearfar
from nearfar.base import second_text

from .kinds import Shown
from .templates import rendered


def shown_page(shown: Shown, style: str = "") -> str:
    """The page; ``style``: a template of CSS for what it alone has."""
    values = {"shown": shown, "style": style, "version": nearfar.__version__, "made": second_text()}
    return rendered("answer.html", values)
