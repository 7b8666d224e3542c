"""Xids, SXids and adapters that did not start, in the kernel's log since the last look."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.base import Finding

from .log_lines import Event, events
from .log_reader import KernelLog, read
from .nvml_answers import each
from .source import Now, Seen, gpu_name, item
from .xids import ACTION, APPLICATION, HARD, LOOK, NVLINK5, RESET, XIDS, Xid

#: What the driver says a GPU wants (NVML's ``NVML_GPU_RECOVERY_ACTION_*`` and Xid 154): class and what to do. Others: ``LOOK``.
ACTIONS = {
    1: (HARD, "reset the GPU"),
    2: (HARD, "reboot the node"),
    3: (RESET, "let no job use copies between GPUs, and reset the GPU"),
    4: (HARD, "drain the node and reset the GPU"),
    5: (LOOK, "recover the IMEX domain"),
    6: (HARD, "reset the GPU's bus, or reboot"),
    7: (HARD, "reboot the node"),
}
_TO = re.compile(r"\bto 0x([0-9a-fA-F]+) \(([^)]*)\)")
_FATAL = re.compile(r"(?<![A-Za-z-])fatal\b", re.IGNORECASE)


def look(now: Now, journalctl: Sequence[str] | None = None) -> Seen:
    """Read the log and say what NVIDIA's driver told in it."""
    return classify(now, read(now, journalctl), _wants_nothing)


def classify(
    now: Now, log: KernelLog, wants_nothing: Callable[[Now], frozenset[str]] = lambda now: frozenset()
) -> Seen:
    """What the lines say. ``wants_nothing``: bus ids of the GPUs of which the driver says that they want no reset; asked only
    where one might.

    What stood in the log before the first look of all accuses nobody: it may have been fixed since.
    """
    first = not now.past
    found, notes = [], []
    told = events(log.lines)
    for said in _said(now, told):
        if said.kind == APPLICATION:
            notes.append(said.words)
        elif first:
            found.append(
                Finding(
                    said.item,
                    "DEGRADED",
                    f"{said.words}; it was logged before the first look: look whether it was fixed",
                )
            )
        else:
            hard = said.kind == HARD
            found.append(Finding(said.item, "FAIL" if hard else "DEGRADED", said.words, hard))
    waiting = dict(now.past.get("waiting") or {}) if now.same_boot else {}
    if not first:
        waiting |= {said.item: (said.pci, said.words) for said in _said(now, told) if said.kind == RESET}
    if waiting:
        fine = wants_nothing(now)
        new = {one.item for one in found}
        waiting = {what: (pci, words) for what, (pci, words) in waiting.items() if pci not in fine}
        found += [
            Finding(what, "DEGRADED", f"{words}; nobody has rebooted since")
            for what, (_, words) in waiting.items()
            if what not in new
        ]
    past = {"sequence": log.sequence, "log_at": log.at, "waiting": waiting, "errors": len(told)}
    return Seen(f"{log.read}: {len(told)} of the driver's errors", tuple(found), tuple(notes), log.unread, past)


@dataclass(frozen=True)
class _Said:
    """One number of one device, however often it came."""

    item: str
    kind: str
    pci: str
    words: str


def _said(now: Now, told: Iterable[Event]) -> list[_Said]:
    together: dict[tuple[str, str, int, str], list[Event]] = defaultdict(list)
    for one in told:
        kind = _kind(one)
        together[one.kind, one.pci, one.number, kind].append(one)
    return [_one(now, kind, these) for (_, _, _, kind), these in together.items()]


def _kind(one: Event) -> str:
    """The class of an event."""
    if one.kind == "init":
        return RESET
    if one.kind == "sxid":
        return HARD if _FATAL.search(one.text) else LOOK
    xid = XIDS.get(one.number)
    if xid is None:
        return LOOK
    if xid.kind == NVLINK5:
        return HARD if _FATAL.search(one.text) else LOOK
    if xid.kind == ACTION:
        code = _action(one.text)[0]
        return APPLICATION if code == 0 else ACTIONS.get(code, (LOOK, ""))[0]
    return xid.kind


def _one(now: Now, kind: str, these: Sequence[Event]) -> _Said:
    last = these[-1]
    times = f", {len(these)} times" if len(these) > 1 else ""
    quoted = f" ('{last.text}')" if last.text else ""
    whose = gpu_name(now, last.pci)
    if last.kind == "sxid":
        switch = last.switch.removeprefix("nvidia-")
        remedy = (
            "restart fabric manager and reset the GPUs, or reboot" if kind == HARD else "look at fabric manager's log"
        )
        words = f"NVSwitch {switch} at {last.pci}: SXid {last.number}{times}{quoted}: {remedy}"
        return _Said(f"{switch}.sxid{last.number}", kind, last.pci, words)
    if last.kind == "init":
        return _Said(item(now, last.pci, "init"), kind, last.pci,
                     f"{whose}: the driver could not initialise it{times}{quoted}: reload the driver, or reboot")  # fmt: skip
    return _Said(
        item(now, last.pci, f"xid{last.number}"),
        kind,
        last.pci,
        f"{whose}: {_xid_words(XIDS.get(last.number), kind, last)}".replace("{}", f"{times}{quoted}"),
    )


def _xid_words(xid: Xid | None, kind: str, last: Event) -> str:
    """Words of an Xid, with a place for how often and what the driver said."""
    if xid is None:
        return f"Xid {last.number}{{}}, which the table does not know: look it up in NVIDIA's Xid catalogue"
    if xid.kind == ACTION:
        code, words = _action(last.text)
        remedy = ACTIONS[code][1] if code in ACTIONS else f"the driver wants: {words or 'nothing'}"
        return f"Xid 154{{}}: {remedy}"
    if kind == APPLICATION:
        return f"Xid {xid.number}, {xid.words}{{}}: an application's"
    return f"Xid {xid.number}, {xid.words}{{}}: {xid.remedy}"


def _action(text: str) -> tuple[int, str]:
    match = _TO.search(text)
    return (int(match[1], 16), match[2]) if match else (-1, "")


def _wants_nothing(now: Now) -> frozenset[str]:
    """Bus ids of the GPUs of which the driver says that they want no reset."""
    key = ("GET_GPU_RECOVERY_ACTION", 0)
    return frozenset(gpu.pci for gpu in each(now) if gpu.fields([key]).get(key) == 0)


def errors_before(past: Mapping[str, Any] | None) -> int:
    """How many of the driver's errors a look found, from what it kept."""
    return int((past or {}).get("errors") or 0)
