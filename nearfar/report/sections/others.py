"""Who else used a node while it was measured, in a line."""

from __future__ import annotations

from collections.abc import Sequence

from nearfar.measurement import MachineUse, machine_uses
from nearfar.report.explanations import or_note
from nearfar.verdict import NodeRun

#: CPUs of others, and CPUs that a hypervisor kept, on the average of a run: what is less is on every machine.
_OTHERS = 1.0
_STEAL = 0.05


def line(node: NodeRun) -> str | None:
    """A sentence where others took more than one CPU on the average of a check's run, steal time was seen, or a process of
    others was on a GPU; None where nothing of it was seen, or nobody looked."""
    return or_note(lambda: _line(node), lambda why: why, "Reading who else used the machine")


def _line(node: NodeRun) -> str | None:
    uses = [use for check in node.checks for use in machine_uses(check.document)]
    said = [words for words in (_cpus(uses), _steal(uses), _gpus(uses)) if words]
    return f"While this node was measured, {'; '.join(said)}." if said else None


def _cpus(uses: Sequence[MachineUse]) -> str | None:
    busy = max(uses, key=lambda use: use.others or 0, default=None)
    if busy is None or busy.others is None or busy.others <= _OTHERS:
        return None
    named = ", ".join(f"{each.command} of {each.user} {each.cpus:.1f}" for each in busy.busiest)
    most = f", up to {busy.most_others:.1f}" if busy.most_others is not None else ""
    return f"other processes used {busy.others:.1f} CPUs{most}" + (f" ({named})" if named else "")


def _steal(uses: Sequence[MachineUse]) -> str | None:
    most = max((use.steal or 0 for use in uses), default=0)
    return f"its hypervisor withheld {most:.1f} CPUs (steal time)" if most > _STEAL else None


def _gpus(uses: Sequence[MachineUse]) -> str | None:
    found: dict[str, None] = {}
    for each in (process for use in uses for process in use.gpu_processes):
        who = f"{each.command or 'a process'}{f' of {each.user}' if each.user else ''}"
        found[f"{who} (pid {each.pid}) was on {each.pci if each.gpu is None else f'g{each.gpu}'}"] = None
    return ", ".join(found) or None
