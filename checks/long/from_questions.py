"""The checks that are asked by name that need nothing beside their question (``nearfar/question``): one class each."""

import reframe  # noqa: F401  (ReFrame looks into files that import it)

from ..base import make_classes

make_classes(__name__, __file__)
