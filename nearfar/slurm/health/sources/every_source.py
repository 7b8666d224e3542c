"""All sources at once, each with its share of time: one that hangs costs that, and what the others say stands."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nearfar.base import Finding

from . import daemons, infiniband, jobs, kernel_log, memory_errors, messages, nvlink, pcie, recovery, throttle
from .source import Now, Seen

#: Seconds that a source may take. They look at the same time.
SHARE = 1.5
#: Every source by the name that its findings, its time and what it keeps go by.
SOURCES: Mapping[str, Callable[[Now], Seen]] = {
    "kernel_log": kernel_log.look,
    "recovery": recovery.look,
    "memory": memory_errors.look,
    "nvlink": nvlink.look,
    "pcie": pcie.look,
    "clocks": throttle.look,
    "infiniband": infiniband.look,
    "daemons": daemons.look,
}
#: Those that say something without what the last look kept: a quick look keeps nothing.
QUICK = ("recovery", "memory")


@dataclass(frozen=True)
class SourcesSeen:
    """What all sources say. ``sources``: of each its seconds and what it said, in a few words. ``past``: what each wants to find at
    its next look; of one that hung it is what it had."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    unread: tuple[str, ...]
    sources: Mapping[str, Mapping[str, Any]]
    past: Mapping[str, Any]


def look(
    now: Now, past: Mapping[str, Any], share: float = SHARE, sources: Mapping[str, Callable[[Now], Seen]] = SOURCES
) -> SourcesSeen:
    """Let every source look. ``past``: what they kept, by name. Jobs are asked about where the log had errors."""
    answers = _at_once({name: (source, _of(now, past, name)) for name, source in sources.items()}, share)
    log = answers.get("kernel_log")
    if (
        log is not None
        and isinstance(log.seen, Seen)
        and _of(now, past, "kernel_log").past
        and kernel_log.errors_before(log.seen.past)
    ):
        answers |= _at_once({"jobs": (jobs.look, _of(now, past, "jobs"))}, share)
    found: list[Finding] = []
    notes: list[str] = []
    unread: list[str] = []
    told, kept = {}, dict(past)
    for name, answer in answers.items():
        seen = answer.seen
        told[name] = {
            "seconds": round(answer.seconds, 3),
            "said": seen.said if isinstance(seen, Seen) else str(seen or "it hung"),
        }
        if seen is None:
            found.append(messages.SOURCE_TIMEOUT.finding(name, limit=share))
        elif isinstance(seen, Exception):
            found.append(messages.SOURCE_ERROR.finding(name, error=f"{type(seen).__name__}: {seen}"))
            kept.pop(name, None)  # what it kept may be what it failed on
        else:
            found += seen.findings
            notes += [note.reason for note in seen.notes]
            unread += seen.unread
            kept[name] = {**(seen.past or {}), "boot": now.boot, "at": now.at}
    return SourcesSeen(tuple(found), tuple(notes), tuple(unread), told, kept)


@dataclass
class _Answer:
    """A source's answer; None while there is none."""

    seen: Seen | Exception | None = None
    seconds: float = 0.0


def _of(now: Now, past: Mapping[str, Any], name: str) -> Now:
    own = past.get(name)
    return replace(now, past=own if isinstance(own, dict) else {})


def _at_once(asked: Mapping[str, tuple[Callable[[Now], Seen], Now]], share: float) -> dict[str, _Answer]:
    answers = {name: _Answer() for name in asked}
    began = time.monotonic()

    def ask(name: str) -> None:
        source, now = asked[name]
        answer = _Answer()
        try:
            answer.seen = source(now)
        except Exception as error:  # a fault of ours in one source must not hide what the others see
            answer.seen = error
        answer.seconds = time.monotonic() - began
        answers[name] = answer

    threads = [threading.Thread(target=ask, args=(name,), daemon=True) for name in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, began + share - time.monotonic()))
    # Whoever answers later is not heard.
    return {
        name: answer if answer.seen is not None else _Answer(seconds=share) for name, answer in answers.copy().items()
    }
