"""What happened, as rows of the ledger's table of events, each once; the site's ``on_event`` program is called for each at least once.

It runs after ``act`` has let its lock go: administrators' commands do not wait for a mail server. An event is told when the program has
ended with exit code 0 and the ledger has that; killed between the two, it is told twice, with the same ``id``.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, utc_text
from nearfar.prometheus import catalogue
from nearfar.site import program_problem
from nearfar.slurm.act import ActOptions, ActResult, View, act
from nearfar.slurm.controller import Slurm
from nearfar.slurm.ledger import KEPT, RECENT_ACTION, WAITING_EVENT, Evidence, Ledger, actions

from . import fleet_metrics

#: Characters of a text that the program gets: what a check reports may be of any length.
_LONGEST = 2000


def note_events(ledger: Ledger, view: View) -> None:
    """Add what has happened since the last call. A slow figure that no longer stands is another event when it does again."""
    system = view.options.policy.system
    with ledger.transaction():
        for node, these in view.facts.open_evidence.items():
            for each in these:
                _add(ledger, system, f"finding-{each.id}", each.found_by.known, "finding", node, _finding(each))
        standing = dict(_slow(view))
        slow = "SELECT id FROM event WHERE id LIKE 'slow-%' AND NOT over AND system = ?"
        known = {row["id"] for row in ledger.rows(slow, system)}
        for name in known - standing.keys():
            ledger.write("UPDATE event SET id = id || '-' || seq, over = 1 WHERE id = ?", name)
        for name, (node, each) in standing.items():
            _add(ledger, system, name, each.found_by.known, "finding", node, _finding(each))
        kinds = (*actions.DRAINS, *actions.RETURNS)
        new = (
            f"SELECT * FROM action WHERE kind IN ({','.join('?' * len(kinds))}) AND outcome = ? AND node IS NOT NULL "
            f"AND coalesce(system, ?) = ? AND {RECENT_ACTION} AND 'action-' || seq NOT IN (SELECT id FROM event) ORDER BY seq"
        )
        for row in ledger.rows(new, *kinds, actions.DONE, system, system, view.now - KEPT):
            action = actions.action(row)
            more: dict[str, Any] = {
                "reason": action.reason, "why": action.why, "check": action.check, "run": action.run,
                "finding": action.finding and action.finding.to_raw(),
            }  # fmt: skip
            if action.kind in actions.RETURNS:
                more = {"by_act": action.kind != actions.RESUMED, "why": action.why}
            kind = "drain" if action.kind in actions.DRAINS else "release"
            _add(ledger, system, f"action-{action.seq}", action.at, kind, str(action.node), {"system": system, **more})


def _slow(view: View) -> Iterator[tuple[str, tuple[str, Evidence]]]:
    """The slow figures that stand, by the names of their events."""
    standing = ((node, each) for node, these in view.facts.slow.items() for each in these if each.stands)
    for node, each in standing:
        what = "\n".join((view.facts.policy.system, node, each.found_by.check, each.finding.subject))
        yield f"slow-{sha256(what.encode()).hexdigest()[:8]}", (node, each)


def _finding(one: Evidence) -> dict[str, Any]:
    found = one.found_by
    return {
        "check": found.check, "run": found.run, "finding": one.finding.to_raw(), "why": one.why or None, "source": found.source,
    }  # fmt: skip


def _add(ledger: Ledger, system: str, name: str, at: float, kind: str, node: str, more: Mapping[str, Any]) -> None:
    document = json.dumps(_cut({key: value for key, value in more.items() if value is not None}), ensure_ascii=False)
    statement = "INSERT OR IGNORE INTO event (id, at, kind, node, system, document) VALUES (?, ?, ?, ?, ?, ?)"
    ledger.write(statement, name, at, kind, node, system, document)


def _cut(value: Any) -> Any:
    """A value with its texts cut, those of its objects too."""
    if isinstance(value, Mapping):
        return {key: _cut(each) for key, each in value.items()}
    return value[:_LONGEST] if isinstance(value, str) else value


SCHEMA = "nearfar-hook/1"
#: Seconds of one call, and of all calls of one ``act`` together.
LIMIT, TOGETHER = 10.0, 60.0
#: After so many tries, and so many seconds, an event is given up.
TRIES, PATIENCE = 3, 86400.0
#: Bytes of output that are read, and characters of the line that is shown.
_READ, _LINE = 4096, 200


def act_and_tell(options: ActOptions, slurm: Slurm, metrics: Path | None) -> tuple[ActResult, list[str]]:
    """Run ``act``, then tell the site's program, then write what Prometheus reads (``metrics``: its directory; None: nothing); with what
    ``act`` did, a line for each thing that could not be told. Raises what ``act`` does, and only that."""
    began = time.monotonic()
    result = act(options, slurm)
    took = time.monotonic() - began
    problems = tell(options.state, result.view)
    if metrics is not None:
        try:
            with Ledger.open(options.state) as ledger:
                fleet_metrics.page(result, ledger, took).write(metrics, catalogue.FLEET)
        except NearfarError as error:
            problems.append(f"metrics: {error}")
    return result, problems


def tell(state: Path, view: View) -> list[str]:
    """Tell the program what it has not been told; a line for each thing that went wrong. Another ``act`` that does so now is left to it."""
    options, program = view.options, view.options.policy.on_event
    try:
        with Ledger.open(state) as ledger:
            note_events(ledger, view)
            if program is None:  # switched on later, it is told what happens from then on
                ledger.write(f"UPDATE event SET given_up = ? WHERE {WAITING_EVENT}", view.now, options.policy.system)
                return []
            with open(state / "on-event.lock", "w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return []
                return _tell(ledger, options, program)
    except (NearfarError, OSError) as error:
        return [f"on_event: {error}"]


def _tell(ledger: Ledger, options: ActOptions, program: str) -> list[str]:
    end = time.monotonic() + TOGETHER
    for row in ledger.rows(f"SELECT * FROM event WHERE {WAITING_EVENT} ORDER BY tries > 0, seq", options.policy.system):
        if time.monotonic() >= end:
            break
        document = {
            "schema": SCHEMA, "event": row["kind"], "id": row["id"], "attempt": row["tries"] + 1, "time": utc_text(row["at"]),
            "system": options.policy.system, "node": row["node"], "host": socket.gethostname(), **json.loads(row["document"]),
        }  # fmt: skip
        problem = _problem(program, document, min(LIMIT, end - time.monotonic()))
        now = time.time()
        if problem is None:
            ledger.write("UPDATE event SET told = ? WHERE seq = ?", now, row["seq"])
            continue
        over = row["tries"] + 1 >= TRIES and now - row["at"] >= PATIENCE
        failed = "UPDATE event SET tries = tries + 1, problem = ?, given_up = ? WHERE seq = ?"
        ledger.write(failed, problem, now if over else None, row["seq"])
        what_next = "given up" if over else "sent again by the next act"
        return [f"on_event: {row['kind']} of {row['node']}: {program}: {problem}; {what_next}"]
    return []


def _problem(program: str, document: Mapping[str, Any], limit: float) -> str | None:
    """Call the program; why it did not take the document, None where it did. Its whole process group is gone when this returns."""
    unsafe = program_problem(program, {0, os.geteuid()})
    if unsafe is not None:
        return unsafe
    text = (json.dumps(document, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as output:
        stdin.write(text)
        stdin.seek(0)
        try:
            child = subprocess.Popen(
                [program], stdin=stdin, stdout=output, stderr=subprocess.STDOUT, cwd="/", env=_environment(), start_new_session=True,
                umask=0o022,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            return f"cannot be started: {getattr(error, 'strerror', None) or error}"
        try:
            code = child.wait(limit)
        except subprocess.TimeoutExpired:
            return f"it did not end within {limit:.0f} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        if code == 0:
            return None
        output.seek(0)
        lines = map(str.strip, output.read(_READ).decode("utf-8", "replace").split("\n"))
    printed = "".join(letter if letter.isprintable() else "?" for letter in next(filter(None, lines), ""))[:_LINE]
    return f"exit code {code}{': ' + printed if printed else ''}"


def _environment() -> Mapping[str, str]:
    """All that the program finds: nothing of what act was started with."""
    found = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
    with suppress(KeyError):
        user = pwd.getpwuid(os.geteuid())
        found |= {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name}
    return found
