"""polars, loaded when it is first used: that takes a second, and where it is missing all but history and tuning works."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from nearfar.base import NearfarError

__all__ = ["need_polars", "no_polars", "pl"]


def no_polars() -> str | None:
    """Why there is no polars, and what brings it; None where it can be imported."""
    try:
        importlib.import_module("polars")
    except ImportError as error:
        why = "is not installed" if error.name == "polars" else f"cannot be imported ({error})"
        return f"polars {why}; pip install polars brings it where there is a wheel for this machine"
    return None


def need_polars(otherwise: str) -> None:
    """Raises ``NearfarError`` where polars cannot be imported; ``otherwise`` says what is not possible then."""
    why = no_polars()
    if why is not None:
        raise NearfarError(f"{otherwise}: {why}")


if TYPE_CHECKING:
    import polars as pl
else:

    class _Polars:
        def __getattr__(self, name: str) -> Any:
            why = no_polars()
            if why is not None:
                raise NearfarError(why)
            return getattr(importlib.import_module("polars"), name)

    pl = _Polars()
