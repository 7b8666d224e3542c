"""The line of a check that runs kernels of GPUs: what they get of their own memory, and all at once."""

from __future__ import annotations

from collections.abc import Callable

from nearfar.report.figures import Figure, span
from nearfar.topology import LOCAL_CLASS


def line(found: list[Figure], expected: Callable[[list[Figure]], str]) -> str | None:
    """Triad where there is any, else each kernel; None for checks without kernels of GPUs."""
    kernels = [f for f in found if f.cell is not None and all(flow.kind == "gpu_stream" for flow in f.cell.flows)]
    if not kernels:
        return None
    own = [f for f in kernels if f.cell and f.cell.lone and f.path_class == LOCAL_CLASS]
    rates: dict[str, list[float]] = {}
    for figure in own:
        if figure.cell is not None and figure.value is not None:
            rates.setdefault(figure.cell.flows[0].direction, []).append(figure.value)
    shown = {"triad": rates["triad"]} if "triad" in rates else rates
    parts = [f"{kernel} {span(values)}" for kernel, values in shown.items()]
    together = [f.value for f in kernels if f.is_total and f.value is not None]
    parts += [f"all GPUs at once {span(together)}"] if together else []
    return f"GPUs' own memory: {', '.join(parts) or 'no figure'} GB/s ({expected(own)})"
