"""The checks, one file each, called as the check is: those of every run here, the others in ``quick`` and ``long``.

A class names its question (``nearfar/question``), which has what it asks; ``base`` has what all checks share.
"""

import sys
from pathlib import Path

# ReFrame loads this package by its path, also where a site's configuration knows nothing of the checkout.
sys.path.append(str(Path(__file__).resolve().parents[1]))
