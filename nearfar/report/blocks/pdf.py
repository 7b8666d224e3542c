"""placeholder"""

from .kinds import Shown


def shown_pdf(shown: Shown) -> bytes:
    """None yet."""
    return b"%PDF"
