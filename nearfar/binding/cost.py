"""What the wrong side costs, as far as a node type's prediction knows it."""

from __future__ import annotations

from nearfar.cells import parse
from nearfar.model.prediction import NodeType, predict
from nearfar.topology import host_class


def wrong_side(node_type: NodeType) -> list[str]:
    """A sentence for each class of path that is not ``near``: one copy alone, at the first GPU that has such a path."""
    node = node_type.node
    sentences = []
    for path in ("on_socket", "off_socket"):
        paths = [
            (near.index, far.index, gpu.index)
            for gpu in node.gpus
            for near in node.host_numa_nodes
            for far in node.host_numa_nodes
            if host_class(node, near.index, gpu.index) == "near" and host_class(node, far.index, gpu.index) == path
        ]
        losses = [_change(node_type, *paths[0], to_gpu) for to_gpu in (True, False)] if paths else []
        known = [loss for loss in losses if loss]
        if known:
            near, far, gpu = paths[0]
            sentences.append(
                f"From the wrong side, {path} (n{far} in place of n{near} for g{gpu}): {', '.join(known)}."
            )
    return sentences


def _change(node_type: NodeType, near: int, far: int, gpu: int, to_gpu: bool) -> str:
    """``H2D 4.90 GB/s in place of 5.70 (-14 %)``, or nothing where a rate depends on what nobody knows."""
    rates = []
    for numa in (near, far):
        cell = parse(f"n{numa}:g{gpu}" if to_gpu else f"g{gpu}:n{numa}")
        prediction = predict(cell, node_type)
        if prediction.unknown or prediction.total is None:
            return ""
        rates.append(prediction.total)
    change = 100 * (rates[1] / rates[0] - 1)
    return f"{'H2D' if to_gpu else 'D2H'} {rates[1]:.2f} GB/s in place of {rates[0]:.2f} ({change:+.0f} %)"
