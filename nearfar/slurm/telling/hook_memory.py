"""What the hooks were told: ``hooks.jsonl`` beside the log of ``act``, JSON lines that are only ever added to."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from nearfar.slurm.findings import ActLog

from .events import HookEvent
from .hook_process import HookCall

FILE = "hooks.jsonl"
_WITHOUT = "all findings that stand are then told again"
#: An event that failed so often, for so many seconds, is given up.
TRIES, PATIENCE = 3, 86400.0


@dataclass
class HookMemory:
    """Of one system (several may share a log) the hooks that are switched on, since when; the events that were told or given up; and of
    others the failures so far, with when the first was. Made from the file's lines."""

    log: ActLog
    system: str
    since: dict[str, float] = field(default_factory=dict)
    over: set[str] = field(default_factory=set)
    failed: dict[str, tuple[int, float]] = field(default_factory=dict)

    @classmethod
    def read(cls, state: Path, system: str) -> HookMemory:
        """Raises ``CouldNotJudge`` for a damaged file."""
        found = cls(ActLog(state, FILE, _WITHOUT), system)
        for entry in found.log.entries():
            if entry.more.get("system") != system:
                continue
            hook, event = str(entry.more.get("hook")), str(entry.more.get("event"))
            if entry.action == "hook_on":
                found.since[hook] = min(entry.at, found.since.get(hook, inf))
            elif entry.action == "hook_off":
                found.since.pop(hook, None)
            elif entry.action in ("told", "given_up"):
                found.over.add(event)
                found.failed.pop(event, None)
            elif entry.action == "ended":
                found.over.discard(event)
            elif entry.action == "failed":
                count, first = found.failed.get(event, (0, entry.at))
                found.failed[event] = count + 1, first
        return found

    def knows(self, hooks: Iterable[str], now: float) -> bool:
        """Whether these hooks, and no others, are on by now."""
        return {hook for hook, since in self.since.items() if since <= now} == set(hooks) == set(self.since)

    def switch(self, hooks: Iterable[str], now: float) -> None:
        """Write down which hooks are on from now, and which no longer are. One that is on from later was noted while the clock was
        ahead: it is on from now."""
        wanted = set(hooks)
        for hook in sorted(hook for hook in wanted if self.since.get(hook, inf) > now):
            self.since[hook] = now
            self.log.note("hook_on", now, system=self.system, hook=hook)
        for hook in sorted(self.since.keys() - wanted):
            del self.since[hook]
            self.log.note("hook_off", now, system=self.system, hook=hook)

    def untold(self, events: Iterable[HookEvent]) -> list[HookEvent]:
        """Those that are still to be told, the ones that never failed first, else the oldest first."""
        found = [
            each
            for each in events
            if each.hook in self.since and each.id not in self.over and (each.open or each.at >= self.since[each.hook])
        ]
        return sorted(found, key=lambda each: (self.tries(each), each.at, each.id))

    def tries(self, event: HookEvent) -> int:
        """How often telling it failed."""
        return self.failed.get(event.id, (0, 0.0))[0]

    def note(self, event: HookEvent, call: HookCall) -> bool:
        """Write down how a call ended; whether the event is done with."""
        now = time.time()
        more = {
            "system": self.system, "hook": event.hook, "event": event.id, "seconds": round(call.seconds, 3), "said": call.said,
        }  # fmt: skip
        if call.problem is None:
            self.log.note("told", now, event.node, **more)
            self.over.add(event.id)
            return True
        count, first = self.failed.get(event.id, (0, now))
        self.failed[event.id] = count + 1, first
        given_up = count + 1 >= TRIES and now - first >= PATIENCE
        self.log.note("given_up" if given_up else "failed", now, event.node, problem=call.problem, **more)
        if given_up:
            self.over.add(event.id)
        return given_up

    def forget_ended(self, slow: Iterable[HookEvent]) -> None:
        """Write down which slow figures no longer stand: should they again, that is another event."""
        standing = {each.id for each in slow}
        for name in sorted(each for each in self.over if each.startswith("slow-") and each not in standing):
            self.over.discard(name)
            self.log.note("ended", time.time(), system=self.system, hook="on-finding", event=name)
