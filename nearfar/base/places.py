"""Where data, state and the checkout are. No other module computes such a path (bash and ``setup/``, which run before it, have their own).

*Data* is what nearfar reads and never writes: at the top of a checkout, in ``nearfar/data`` of an installed wheel.
*State* is what it writes: ``NEARFAR_STATE``, else the checkout, else ``XDG_STATE_HOME/nearfar`` (``~/.local/state``).
The *checkout* is needed to build the programs: by ``validate`` unless ``NEARFAR_PROGRAMS`` names built ones, and by ``kit --with-pack``.
"""

from __future__ import annotations

import os
from pathlib import Path

from .errors import NearfarError

PACKAGE = Path(__file__).resolve().parents[1]
#: The directory that ``PYTHONPATH`` names for another Python to import this package.
IMPORT_PATH = PACKAGE.parent
#: The checkout; None in an installed wheel.
CHECKOUT = None if (PACKAGE / "data").is_dir() else IMPORT_PATH
_SHIPPED = CHECKOUT or PACKAGE / "data"

SITE = _SHIPPED / "site"
CHECKS = _SHIPPED / "checks"
REFRAME_CONFIG = _SHIPPED / "reframe_config.py"
SCHEMAS = PACKAGE / "base" / "schemas"
PAGE_TEMPLATES = PACKAGE / "report" / "templates"
KIT_FILES = PACKAGE / "kit" / "files"
#: The program that ``mpirun`` starts as each rank.
MPI_RANK = PACKAGE / "mpi" / "rank.py"


def in_checkout(path: str, what: str) -> Path:
    """``path`` in the checkout. Raises ``NearfarError`` in an installed wheel; ``what`` needs it, such as ``nearfar validate``."""
    if CHECKOUT is None:
        raise NearfarError(f"{what} needs a checkout of nearfar; {PACKAGE} is an installed package, without {path}")
    return CHECKOUT / path


def state_directory() -> Path:
    """Where ``build/`` and ``reports/`` live. Raises ``NearfarError`` where nothing says it, or by a path that is not absolute: programs
    that a run starts have other working directories."""
    own = os.environ.get("NEARFAR_STATE")
    if own and not Path(own).is_absolute():
        raise NearfarError(f"NEARFAR_STATE={own}: not an absolute path (a ~ is the shell's to replace)")
    if own or CHECKOUT is not None:
        return Path(own) if own else CHECKOUT or Path()
    xdg = Path(os.environ.get("XDG_STATE_HOME", ""))
    if xdg.is_absolute():  # the specification says to ignore others
        return xdg / "nearfar"
    try:
        return Path.home() / ".local" / "state" / "nearfar"
    except RuntimeError:
        raise NearfarError(
            f"user {os.getuid()} has no home directory: NEARFAR_STATE=/a/folder sets where to write"
        ) from None


def programs_directory() -> Path:
    """Where the set-up links the programs that it built last."""
    return state_directory() / "build" / "bin"


def spack_directory() -> Path:
    """Where Spack's environments live, and what it builds."""
    return state_directory() / "build" / "spack"


def reports_directory() -> Path:
    """Where runs are kept."""
    return state_directory() / "reports"
