"""How often a sweep looks, asks and submits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    """Seconds: between two submissions, two looks at the results directory, two questions to slurmctld (the interval grows from
    the first to the last while nothing changes), two readings of all nodes' states, two saves. ``result_wait``: how long a
    result may take from the end of its job to this host's sight (NFS keeps attributes for a minute)."""

    submit: float = 0.2
    poll: float = 0.5
    query_first: float = 1.0
    query_last: float = 6.0
    nodes: float = 30.0
    result_wait: float = 75.0
    save: float = 2.0
