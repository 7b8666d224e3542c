"""The state of a node while it was measured, in one line: clocks, ECC, errors, and who else was there."""

from __future__ import annotations

from typing import Any

from nearfar.measurement import machine_uses
from nearfar.report.figures import numbers, plural
from nearfar.verdict import NodeRun

from . import others


def state_line(node: NodeRun) -> str:
    """What is known of it; empty where nothing is, and of a modelled node."""
    if node.modelled:
        return ""
    loads = [each for check in node.checks for each in check.document.get("gpus_under_load", [])]
    said = [words for words in (_clocks(loads), _ecc(node), _errors(loads)) if words]
    who = others.line(node)
    looked = not who and any(machine_uses(check.document) for check in node.checks)
    said += ["nobody else was seen on the machine"] if looked else []
    line = f"{'; '.join(said)}." if said else ""
    return " ".join(filter(None, [line[:1].upper() + line[1:], who]))


def _clocks(loads: list[dict[str, Any]]) -> str:
    if not loads:
        return ""
    held: dict[str, set[int]] = {}
    for each in loads:
        for reason in each.get("throttle") or ():
            held.setdefault(str(reason).replace("_", " "), set()).add(each["index"])
    words = ", ".join(f"{reason} on GPU {numbers(gpus)}" for reason, gpus in held.items())
    return f"clocks held down: {words}" if held else "no clock was held down under load"


def _ecc(node: NodeRun) -> str:
    known = [gpu for gpu in node.node.gpus if gpu.ecc is not None] if node.node else []
    if not known:
        return ""
    off = [gpu.index for gpu in known if not gpu.ecc]
    return f"ECC is off on GPU {numbers(off)}" if off else f"ECC is on ({plural(len(known), 'GPU')})"


def _errors(loads: list[dict[str, Any]]) -> str:
    words = []
    for key, what in (("uncorrected_errors", "uncorrected memory errors"), ("replays", "PCIe replays")):
        counts = {each["index"]: each[key] for each in loads if each.get(key)}
        words += (
            [f"{what}: {', '.join(f'{count} on GPU {gpu}' for gpu, count in sorted(counts.items()))}"] if counts else []
        )
    return "; ".join(words)
