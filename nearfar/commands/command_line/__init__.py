"""What all commands share at the command line: how help is shown, and what the shell's completion offers.

Needs: base, question.
"""

from __future__ import annotations

from .completion import values
from .help_format import HelpFormatter

__all__ = ["HelpFormatter", "values"]
