"""Bandwidth over size, with the sizes as a variable."""

import reframe as rfm
from reframe.core.builtins import variable

from .base import copy_check, named


@rfm.simple_test
class size_sweep_check(copy_check):
    """One path of each class; the largest size is judged, and the size of half the largest rate is told."""

    question = named("size_sweep_check")

    #: The sizes, as nearfar-copy takes them. A modelled node has its largest rate alone.
    #:
    #: :type: str
    #: :default: ``'1KiB..1GiB'``
    sizes = variable(str, value=question.options[-1], loggable=True)

    def program_options(self):
        return ["--sizes", self.sizes]
