"""Can ``act`` drain one node more? If not, what is used up, and by whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from nearfar.slurm.act import drain_caps
from nearfar.slurm.controller import NodeState, node_names
from nearfar.slurm.findings import drained_by_us

from .answer import DoctorAnswer, ok, problem
from .installed_site import InstalledSite

_ABOUT = "drains"


def ask(site: InstalledSite) -> Iterator[DoctorAnswer]:
    """An answer for a stop of drains, and for each cap and floor that is used up."""
    if "act" not in site.parts:
        return
    yield from [*used_up(site)] or [ok(_ABOUT, "one node more can be drained")]


def used_up(site: InstalledSite) -> Iterator[DoctorAnswer]:
    """What keeps ``act`` from draining one node more."""
    past = site.seen.past
    if past.stopped is not None:
        ours = {name for name, state in site.seen.nodes.items() if drained_by_us(state)}
        by = _by_whom(site, past.drained_today(site.now) | ours)
        yield problem(_ABOUT, f"drains are stopped: {past.stopped}{by}",
                      "nearfar slurm status; they are really broken: nearfar slurm allow-drains --because WORDS")  # fmt: skip
    for each in drain_caps.used_up(site.seen.nodes, site.policy, past, site.now):
        yield problem(_ABOUT, f"no node more can be drained: {each.why}{_by_whom(site, each.by)}",
                      "nearfar slurm status says what each of them waits for; or raise `act: cap` in the system's file")  # fmt: skip


def _by_whom(site: InstalledSite, names: frozenset[str] | set[str]) -> str:
    """`` (act: n[1-2]; alice: n4)``."""
    who: dict[str, list[str]] = defaultdict(list)
    today = site.seen.past.drained_today(site.now)
    for name in sorted(names):
        who[_taken_out_by(name, site.seen.nodes.get(name), today)].append(name)
    folded = "; ".join(f"{each}: {node_names.fold(nodes)}" for each, nodes in sorted(who.items()))
    return f" ({folded})" if folded else ""


def _taken_out_by(name: str, state: NodeState | None, today: set[str]) -> str:
    if drained_by_us(state):
        return "act"
    if state is None or state.usable:
        return "act, in use again" if name in today else "act"
    return state.reason_by if state.why_out and state.reason_by else state.words
