"""GPUs whose link to the host is slower than that of others of their model in the same node."""

from __future__ import annotations

from collections.abc import Callable

from .parts import Gpu, Link, Node

#: What tells two links apart, by what is known of both: lanes and generation that device and slot allow, the present lanes (an idle GPU
#: lowers its generation, not its lanes), and the rate that hwloc gives.
_MEASURES: tuple[tuple[str, Callable[[Link], float | None]], ...] = (
    ("x{:g}", lambda link: link.max_width),
    ("generation {:g}", lambda link: link.max_gen),
    ("x{:g} now", lambda link: link.width),
    ("{:.1f} GB/s", lambda link: link.speed),
)


def unlike_links(node: Node) -> list[str]:
    """A sentence for each GPU that has less than the most of its model in this node; none where nothing is known of a link."""
    return [sentence for gpu in node.gpus if (sentence := _of(gpu, node)) is not None]


def _of(gpu: Gpu, node: Node) -> str | None:
    like = [other for other in node.gpus if other.name == gpu.name and other.link.kind == gpu.link.kind]
    for template, measure in _MEASURES:
        own = measure(gpu.link)
        most = max((known for other in like if (known := measure(other.link)) is not None), default=None)
        if own is not None and most is not None and own < most:
            has, others = template.format(own), template.format(most)
            model = f" of model {gpu.name}" if gpu.name else ""
            return (
                f"g{gpu.index} ({gpu.pci}): its link to the host is {has}, of other GPUs{model} in this node {others}"
            )
    return None
