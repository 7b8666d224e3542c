"""What healthy machines typically carry, learnt from published nodes, beside what their links could carry at most.

``crossed`` says what the flows of a cell share, ``experience`` how much of it they get, ``rate`` what follows for a cell.

Needs: base, topology, cells, model, model.prediction.
"""

from __future__ import annotations

from .experience import FILE, Experience, Share, experience_from, healthy_shares, learnt, load_experience, spread
from .rate import TypicalRate, typical_rate
