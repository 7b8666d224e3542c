"""What findings about a question say."""

from __future__ import annotations

from nearfar.base import NOT_JUDGED, Message

_COSTS = "{program}[: {costs}] against {reference}"
_BOUND = "; at most {bound:g} % is allowed[ for {judged}]"
_COST_PAGE = "use.md"

SMALLER_SIZE = Message(
    "size.smaller",
    NOT_JUDGED,
    "{subject}: {line}; not compared with figures of the usual size",
    page="how-it-measures.md",
)
ALL_ARRIVED = Message("transfer.all_arrived", "PASS", "all {transfers:,} transfers arrived", page="how-it-measures.md")
SLOWEST_TRANSFER = Message(
    "transfer.slowest", NOT_JUDGED,
    "{path}: the slowest of {transfers:,} transfers took {ratio:.1f} times the median, at {seconds:.1f} s (sample {sample})",
    page="how-it-measures.md",
)  # fmt: skip
BINDING_COST = Message("binding.cost", NOT_JUDGED, f"{_COSTS}[; {{error}}]", page=_COST_PAGE)
BINDING_WITHIN = Message("binding.within", "PASS", f"{_COSTS}{_BOUND}", page=_COST_PAGE)
BINDING_BEYOND = Message(
    "binding.beyond", "FAIL", f"{_COSTS}{_BOUND}", "bind its ranks as nearfar bind prints", page=_COST_PAGE
)
BINDING_UNSETTLED = Message(
    "binding.unsettled", "INDETERMINATE",
    f"{_COSTS}{_BOUND}, but it takes more runs to decide[; {{error}}][; the program binds itself under {{bound_itself}}]",
    "run nearfar cost with more runs", page=_COST_PAGE,
)  # fmt: skip

# Why a check asks nothing of a node, or not all.
NO_PROGRAM = Message(
    "cells.no_program", NOT_JUDGED, "the partition lists no program", "add programs to it in the system file",
    page="reference/system-file.md",
)  # fmt: skip
ONE_GPU = Message("cells.one_gpu", NOT_JUDGED, "the node has one GPU, and this check compares several")
ONE_CORE = Message("cells.one_core", NOT_JUDGED, "fewer than two cores: a second rank has no core of its own")
NO_NIC = Message(
    "nodes.no_nic", "INDETERMINATE",
    "the node type lists no NIC for this partition's nodes, so nothing was measured between nodes",
    "add the NICs to the node type", page="describe.md",
)  # fmt: skip
ONE_NODE = Message(
    "nodes.one",
    NOT_JUDGED,
    "nothing was measured between nodes: the partition's jobs have one node each",
    page="how-it-measures.md",
)

# What ended a check.
ERROR = Message("check.error", "INDETERMINATE", "{error}")
REFUSED = Message("program.refused", "INDETERMINATE", "{line}")
