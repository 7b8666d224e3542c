"""Users' errors and the exit codes of every command."""

from __future__ import annotations

#: Exit codes: everything good (or merely degraded), the node failed, the command was used wrongly, nothing could be judged.
EXIT_GOOD = 0
EXIT_FAILED = 1
EXIT_WRONG_USE = 2
EXIT_COULD_NOT_JUDGE = 3
#: What reading a document that somebody made up may end in, whatever is checked before.
MADE_UP = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class NearfarError(Exception):
    """What a user can fix: one line that names the file, line or device, and what to do next.

    ``exit_code`` is what a command that stops on it returns.
    """

    exit_code = EXIT_WRONG_USE


class CouldNotJudge(NearfarError):
    """Measuring or reading was prevented by something other than the user's words; never counts as green."""

    exit_code = EXIT_COULD_NOT_JUDGE
