"""A made-up finding, on its way from a node's look to what ``act`` would do; neither Slurm nor act's own directory is touched."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from nearfar.base import Finding, NearfarError, utc_text
from nearfar.slurm.act import DRAIN, view
from nearfar.slurm.controller import NodeState, Slurm
from nearfar.slurm.health import kept_looks

from . import drains_left
from .answer import DoctorAnswer, not_looked, ok, problem
from .installed_site import InstalledSite, first_line

_ABOUT = "dry walk"
_RUN = "d0c70000"


class _PretendedSlurm(Slurm):
    """Shows nodes that were read before, one of them idle; it answers nothing else."""

    def __init__(self, nodes: dict[str, NodeState]) -> None:
        super().__init__()
        self._nodes = nodes

    def call(self, *command: str) -> str:
        """Nothing is asked of Slurm on a dry walk."""
        raise NearfarError(f"{' '.join(command)}: not asked on a dry walk")

    def nodes(self) -> dict[str, NodeState]:
        """The nodes it was made with."""
        return self._nodes

    def started(self) -> float | None:
        """Not known."""
        return None


def ask(site: InstalledSite) -> Iterator[DoctorAnswer]:
    """What ``act`` would do about a GPU that is absent from an idle node."""
    if "act" not in site.parts:
        return
    if os.geteuid() != 0:
        yield not_looked(
            _ABOUT, "findings count as root's alone, and so does a made-up one", "as root: nearfar slurm doctor"
        )
        return
    try:
        yield _walk(site)
    except NearfarError as error:
        yield problem(_ABOUT, first_line(error), "fix that; until then act does nothing")


def _walk(site: InstalledSite) -> DoctorAnswer:
    nodes, node = _nodes(site)
    absent = Finding("g0", "FAIL", "GPU 0 is absent (made up by nearfar slurm doctor)", True, "gpu.missing")
    finding = {
        "schema": "nearfar-health/1", "run": _RUN, "node": node, "hostname": node, "time": utc_text(site.now), "boot": None,
        "seconds": 0.0, "verdict": "FAIL", "system": site.policy.system, "partition": None, "last": None,
        "findings": [absent.to_raw()],
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="nearfar-doctor-") as place:
        kept_looks.store(Path(place), finding, "set TMPDIR to a directory")
        seen = view.look(site.act_options(None, Path(place)), _PretendedSlurm(nodes), site.now)
    if seen.refused:
        return problem(_ABOUT, f"a finding of root's own is not believed: {seen.refused[0]}", "fix that")
    decision = next((each for each in seen.decisions.nodes if each.node == node), None)
    made_up = f"a GPU absent from {node} (made up)"
    if decision is None:
        return problem(_ABOUT, f"{made_up}: act would not even name the node", "nearfar slurm status")
    try:
        none_left = next(drains_left.used_up(site), None)
    except NearfarError:  # a Slurm that does not answer: the walk goes over a pretended one
        none_left = None
    if none_left is not None:
        return replace(none_left, about=_ABOUT)
    if seen.decisions.stop is not None:
        return problem(
            _ABOUT,
            f"{made_up}: held, {seen.decisions.stop}",
            "see to the drained nodes, or raise `act: cap` in the system's file",
        )
    if decision.action == DRAIN:
        return ok(_ABOUT, f"{made_up}: act would drain it with '{decision.reason}'")
    return ok(_ABOUT, f"{made_up}: act would {decision.action if decision.reason else 'do nothing'}: {decision.why}")


def _nodes(site: InstalledSite) -> tuple[dict[str, NodeState], str]:
    """All nodes with one of them idle and unsuspected, and its name; a pretended one where Slurm does not answer."""
    try:
        nodes = dict(site.nodes)
    except NearfarError:
        return {"n1": NodeState("n1", "IDLE", partitions=(site.options.partition,))}, "n1"
    try:
        busy = {each.node for each in site.seen.decisions.nodes if each.evidence or each.waits or each.drained}
    except NearfarError:
        busy = set()
    free = [name for name in nodes if name not in busy] or list(nodes)
    node = next((name for name in free if nodes[name].idle), free[0])
    nodes[node] = replace(nodes[node], base="IDLE", flags=frozenset(), reason=None, comment=None)
    return nodes, node
