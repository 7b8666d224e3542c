"""What the checks stand on: ``node_check`` (one run of a program), ``launched_check`` (a program with several ranks)."""

from .contending_check import contending_check
from .launched_check import launched_check
from .node_check import node_check

__all__ = ["contending_check", "launched_check", "node_check"]
