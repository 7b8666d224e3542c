"""What predictions lack, in words: which capacities nobody knows, what stands for them, and which keys would tell."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from nearfar.cells import CellError, parse

from .capacities import Capacity
from .node_types import NodeType


def not_known(unknown: Collection[Capacity], node_type: NodeType) -> Iterator[str]:
    """A line for each reason why capacities are not known, one for each limit that stands for some, and one that says which keys
    of the node type's file would tell."""
    reasons: dict[str, list[str]] = {}
    limits: dict[str, list[str]] = {}
    for capacity in unknown:
        reasons.setdefault(capacity.source, []).append(capacity.name)
        if capacity.peak is not None:
            limits.setdefault("at most, by its peak", []).append(f"{capacity.name} {capacity.peak:.2f}")
        elif capacity.nominal is not None:
            limits.setdefault(f"nominal: {capacity.nominal_words}", []).append(
                f"{capacity.name} {capacity.nominal:.2f}"
            )
    for reason, names in reasons.items():
        yield f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not known: {reason}"
    for why, names in limits.items():
        yield f"{', '.join(names)} GB/s {why}"
    if unknown:
        yield f"to give their values, add to {node_type.where}: {'; '.join(_keys(unknown, node_type))}"


def _keys(unknown: Collection[Capacity], node_type: NodeType) -> Iterator[str]:
    """The keys that would say most: links of which generation or width is not known, then capacities, then caps; one example each."""
    gpus = {gpu.index: gpu for gpu in node_type.node.gpus}
    crossed = {int(name[1:]) for c in unknown if (name := c.name.partition(".")[0])[:1] == "g" and name[1:].isdigit()}
    vague = [index for index in sorted(crossed) if None in (gpus[index].link.gen, gpus[index].link.width)]
    if vague:
        kind = gpus[vague[0]].link.kind
        yield f"links: {{g{vague[0]}: {{kind: {kind}, gen: …, width: …}}}}{_more(len(vague))}"
    names = list(dict.fromkeys(c.told_by or c.name for c in unknown))
    caps = [name for name in names if _is_cell(name)]
    shared = [name for name in names if name not in caps]
    for section, named in (("capacities", shared), ("caps", caps)):
        if named:
            yield f"{section}: {{{named[0]}: {{value: …, source: …}}}}{_more(len(named))}"


def _more(count: int) -> str:
    return f" and {count - 1} more" if count > 1 else ""


def _is_cell(name: str) -> bool:
    try:
        parse(name)
    except CellError:
        return False
    return True
