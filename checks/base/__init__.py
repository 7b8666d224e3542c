"""What the checks stand on: ``node_check`` (one run of a program) and ``copy_check`` (one run of nearfar-copy for several
checks), ``launched_check`` (a program with several ranks), ``own_ranks_check`` (one that starts its ranks itself)."""

from reframe.core.exceptions import ReframeSyntaxError

from nearfar import question
from nearfar.base import NearfarError

from . import session
from .contending_check import contending_check
from .launched_check import launched_check
from .node_check import copy_check, node_check
from .own_ranks_check import own_ranks_check

__all__ = ["contending_check", "copy_check", "launched_check", "named", "node_check", "own_ranks_check"]

session.begin()


def named(check):
    """The question of a check. ReFrame leaves out the file of one that there is not, and loads the others."""
    try:
        return question.named(check)
    except NearfarError as error:
        raise ReframeSyntaxError(str(error)) from None
