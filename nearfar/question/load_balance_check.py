"""Are the ranks of a node balanced that transfer, compute and wait for each other: as launched, and bound to their GPUs?"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from nearfar.cells import Skip
from nearfar.measurement import Document
from nearfar.mpi import load_balance
from nearfar.mpi.osu import INSTALL_MPI
from nearfar.topology import Node

from . import synthetic_documents
from .question import ACCEPT, Question, one_gpu


def subjects(node: Node, bindings: str = "default,gpu") -> tuple[list[str], list[Skip]]:
    """One rank a GPU in POP's saxpy pattern, by binding; the pack's own is at least as good as the launcher's.

    With one NUMA node there is nothing to compare it with: the launcher's uses the same memory."""
    wanted = bindings.split(",")
    if len(node.host_numa_nodes) == 1:
        wanted = [each for each in wanted if each != "default"] or wanted
    return [load_balance.subject(each) for each in wanted] if len(node.gpus) > 1 else [], []


def synthetic(node: Node, features: Collection[str]) -> Document:
    """Under every binding."""
    units = {"run_time": "ms", "h2d": "GB/s", "d2h": "GB/s", "kernel": "GB/s"}
    whats = ("load_balance", "communication_efficiency", "parallel_efficiency", "transfer_imbalance", *units)
    entries = [(binding, what, "rank0") for binding in load_balance.BINDINGS for what in whats]
    entries += [("gpu", "speedup", other) for other in load_balance.BINDINGS if other != "gpu"]
    results: dict[tuple[str, str], dict[str, Any]] = {}
    for binding, what, flow in entries:
        result = results.setdefault((binding, what), {
            "quantity": f"saxpy.{what}", "cell": load_balance.subject(binding), "converged": True, "verified": True, "flows": [],
        })  # fmt: skip
        result["flows"].append({"flow": flow, "rate": {"unit": units.get(what, "1"), "median": 1.0}})
    return synthetic_documents.document({"results": list(results.values())}, node)


QUESTION = Question(
    name="load_balance_check",
    title="Load balance",
    key="efficiency|speedup",
    description="load balance of one rank a GPU, by binding",
    program="nearfar-kernels",
    options=("saxpy",),
    cells=subjects,
    levels=(ACCEPT,),
    # A site asks for it with the feature `ranks`; a machine that no file describes has it where an MPI is found. No waiting
    # is predicted.
    systems=("+gpu +ranks -modelled",),
    nothing_to_ask="no GPU on this node",
    without_cells=one_gpu,
    quantities=lambda subject: load_balance.QUANTITIES,
    figures=lambda document, node: load_balance.figures(document),
    findings=load_balance.findings,
    remedy=INSTALL_MPI,
    synthetic=synthetic,
)
