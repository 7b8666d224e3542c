"""What a shared host lets the times of single transfers say: neighbours that the node cannot see delay them, so none fails it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from nearfar.measurement import AnyMetric

from .few_nodes import worded
from .reference import Reference


def on_host(
    found: Mapping[str, Reference | None], figures: Iterable[AnyMetric], host: str
) -> dict[str, Reference | None]:
    """The references of figures by name. On a ``shared`` host those of single transfers (``tail_p99``, ``tail_worst``) have no FAIL
    bound: beyond it a figure is DEGRADED."""
    if host != "shared":
        return dict(found)
    tails = {metric.name for metric in figures if metric.derived.startswith("tail_")}
    return {name: _softened(each) if each is not None and name in tails else each for name, each in found.items()}


def _softened(reference: Reference) -> Reference:
    if reference.highest is None:
        return reference
    above = reference.highest if reference.degraded_above is None else reference.degraded_above
    return worded(replace(reference, upper=None, degraded_above=above))
