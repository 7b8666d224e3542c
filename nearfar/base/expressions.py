"""Regular expressions that users write."""

from __future__ import annotations

import re

from .errors import NearfarError


def compiled(expression: str, option: str) -> re.Pattern[str]:
    """A regular expression; ``^`` and ``$`` are those of lines. Raises ``NearfarError``, which names the ``option``, where it is wrong."""
    try:
        return re.compile(expression, re.MULTILINE)
    except re.error as error:
        at = "" if error.pos is None else f" at character {error.pos + 1}"
        raise NearfarError(f"{option}: '{expression}' is no regular expression: {error.msg}{at}") from None
