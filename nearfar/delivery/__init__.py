"""A delivery: its order beside what was measured, the nodes beside each other and beside the outside; accepted, refused, or measured again.

``assess`` decides from an order and run directories; ``text`` is the decision as JSON (``nearfar-delivery/1``). Nothing is measured, and
no figure is judged a second time by the site's references.

Needs: base, topology, cells, question, verdict, verdict.references, verdict.thresholds, site, history, history.tuning, report,
report.blocks.
"""

from . import messages
from .archive import explained, record, text
from .assessment import assess
from .blocks import folded, shown
from .decision import ACCEPTED, AGAIN, REFUSED, DeliveredNode, Delivery, Expected, MeasuredRun
from .hiding import anonymous
