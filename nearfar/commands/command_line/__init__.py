"""What all commands share at the command line: how help is shown, which numbers an option takes, and what the shell's completion offers.

Needs: base, question.
"""

from __future__ import annotations

from .completion import values
from .help_format import HelpFormatter
from .numbers import percent, positive, refuse_outside
from .output import print_json
from .parser import Parser
from .run_names import run_directories
