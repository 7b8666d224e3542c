"""The site's hooks, called once what they are told of is done and in the log.

They run after ``act`` has let its lock go, under one of their own: people's commands do not wait for a mail server. An event counts as
told when its hook has ended with exit code 0, and that is in ``hooks.jsonl``; until then each later ``act`` tries again. Killed between
the two, it is told twice, with the same ``id``.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, cannot_write, utc_text
from nearfar.site import SiteHooks, hook_problem
from nearfar.slurm.act import ActOptions, state_directory, view
from nearfar.slurm.findings import ActLog

from .events import SCHEMA, HookEvent, drains_and_releases, findings
from .hook_memory import FILE, HookMemory
from .hook_process import HookCall, call

#: Seconds that all hooks of one ``act`` may take together.
TOGETHER = 60.0
_LOCK = "hooks.lock"
#: Characters of a text that a hook is told: what a check says may be of any length.
_LONGEST = 2000


class HookRun:
    """The hooks of one ``act``: ``switch_on`` before it begins, so that nothing it does is missed, ``tell`` when it is over.

    Neither raises: ``problems`` has a line for each thing that went wrong, and ``waiting`` how many events each hook has still to be
    told."""

    def __init__(self, options: ActOptions, together: float = TOGETHER) -> None:
        self._options, self._together = options, together
        self.problems: list[str] = []
        self.waiting: dict[str, int] = {}

    @property
    def _hooks(self) -> SiteHooks:
        return self._options.policy.hooks

    def switch_on(self) -> None:
        """Note which hooks there are from now on, where that is not known yet, under the lock of ``act``: two hosts would write over
        each other's line on a shared disk. Not under that of the hooks, as another ``act`` may be telling for a while."""
        state = self._options.state
        if not self._hooks.programs and not (state / FILE).exists():
            return
        try:
            place, system = state_directory.prepare(state), self._options.policy.system
            if not HookMemory.read(place, system).knows(self._hooks.programs, time.time()):
                with state_directory.locked(place):
                    HookMemory.read(place, system).switch(self._hooks.programs, time.time())
        except NearfarError as error:
            self.problems.append(f"hooks: {error}")

    def tell(self, seen: view.ActView) -> None:
        """Tell what has not been told. Another ``act`` that does so now is left to it."""
        if not self._hooks.programs:
            return
        try:
            with _lock(self._options.state) as free:
                if free:
                    self._tell(seen)
        except NearfarError as error:
            self.problems.append(f"hooks: {error}")

    def _tell(self, seen: view.ActView) -> None:
        memory = HookMemory.read(self._options.state, self._options.policy.system)
        entries = ActLog(self._options.state).entries()
        found = list(findings(seen, self._options, entries))
        memory.forget_ended(found)
        left = self._call_all(memory.untold([*found, *drains_and_releases(entries)]), memory)
        self.waiting = dict.fromkeys(self._hooks.programs, 0) | Counter(event.hook for event in left)

    def _call_all(self, events: Sequence[HookEvent], memory: HookMemory) -> list[HookEvent]:
        """Call the hooks; the events that are left for the next ``act``. One that failed is not called again in this one."""
        end = time.monotonic() + self._together
        failing: set[str] = set()
        left = []
        for event in events:
            limit = min(self._hooks.seconds, end - time.monotonic())
            if event.hook in failing or limit <= 0:
                left.append(event)
                continue
            done = self._call(event, memory.tries(event) + 1, limit)
            over = memory.note(event, done)
            if done.problem is not None:
                failing.add(event.hook)
                said = f": {done.said}" if done.said else ""
                then = "given up" if over else "told again by the next act"
                program = self._hooks.programs[event.hook]
                self.problems.append(f"{event.hook} of {event.node}: {program}: {done.problem}{said}; {then}")
            if not over:
                left += [event] if done.problem is not None else []
        return left

    def _call(self, event: HookEvent, attempt: int, limit: float) -> HookCall:
        program = self._hooks.programs[event.hook]
        problem = hook_problem(program, {0, os.geteuid()})
        if problem is not None:
            where = "" if problem.place == program else f"{problem.place}: "
            return HookCall(f"{where}{problem.flaw}; {problem.remedy}", "", 0.0)
        return call(program, event.hook, _document(event, self._options.policy.system, attempt), limit)


def _document(event: HookEvent, system: str, attempt: int) -> bytes:
    """``nearfar-hook/1`` (docs/reference/hooks.md)."""
    whole = {
        "schema": SCHEMA, "event": event.hook.removeprefix("on-"), "id": event.id, "attempt": attempt, "time": utc_text(event.at),
        "system": system, "node": event.node, "host": socket.gethostname(), **_cut(event.more),
    }  # fmt: skip
    return (json.dumps(whole, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def _cut(value: Any) -> Any:
    """A value with its texts cut, those of its objects too."""
    if isinstance(value, Mapping):
        return {key: _cut(each) for key, each in value.items()}
    return value[:_LONGEST] if isinstance(value, str) else value


@contextmanager
def _lock(state: Path) -> Iterator[bool]:
    """Whether nobody else is at the hooks of this log; held meanwhile."""
    path = state_directory.prepare(state) / _LOCK
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise cannot_write(path, error, "name another --state DIR") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(handle)
