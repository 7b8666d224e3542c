"""The page of many nodes: all at a glance, worst first, what they share, and how each figure lies across them.

Needs: base, topology, question, verdict, report, report.blocks, report.charts, report.figures.
"""

from .distributions import Distributions
from .hosts import gather
from .nodes import Batch, BatchNode
from .page import render
