"""``nearfar slurm health``: one check of this node within a time limit, for Slurm's ``HealthCheckProgram``, epilog and prolog.

It looks, keeps on this node's local disk what the next check needs, drains the node on hard evidence where the site's policy and caps
allow it, and writes the finding. The output directory, which may be shared, comes last.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from nearfar.base import (
    EXIT_GOOD,
    CouldNotJudge,
    Finding,
    NearfarError,
    files,
    places,
    printable,
    short_host_name,
    site_directories,
    utc_text,
    worst,
)
from nearfar.site import HEALTH, Policy
from nearfar.slurm.controller import Refused, Slurm
from nearfar.slurm.drains import DrainCaps, objection_to_drain, reasons
from nearfar.slurm.trust import refuse_changeable, refuse_changeable_tree

from . import apart, finding_files
from .look import SHORT, HealthOptions, Look, boot

#: Root's directory for what the next check needs, one below it for each output directory.
STATE = Path("/var/lib/nearfar/health-state")
#: The exit code of a quick check that found hard evidence which may drain: no other end of it is mistaken for that.
FOUND = 9
#: Seconds after which a check ends itself, whatever hangs: Slurm would end it at 60.
_LONGEST = 55
#: Seconds in which a node drains itself.
_DRAIN = 20.0
#: Seconds in which a prolog's check asks for the caps; without an answer the prolog fails.
_CAPS = 6.0
#: Seconds over which the nodes of a cluster that find something at one moment ask for the caps: so many for each node, at most so many
#: in all (of a drain, of a prolog).
_APART, _SPREAD, _SPREAD_OF_PROLOG = 0.15, 8.0, 3.0
#: slurmd gives no PATH; root takes no other.
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_ELSEWHERE = "name another --output DIR"
_STATE_SCHEMA = "nearfar-health-state/1"


def program(options: HealthOptions, as_json: bool = False) -> int:
    """What a script of slurmd calls: check, say it in a line and further ones for notes, what could not be read and the drain (or the
    finding as JSON), and return the exit code. After a quick check that is ``FOUND`` where there is hard evidence that may drain."""
    try:
        with _own_surroundings():
            node, place = _node_name(), _state_directory(options)
            try:
                held = apart.lock(place / f".{node}.lock")
            except OSError as error:
                raise NearfarError(f"{place}: cannot be written: {error.strerror}; {_ELSEWHERE}") from None
            if held is None:
                words = "another check is under way; its finding will be there"
                print(words, file=sys.stderr if as_json else sys.stdout)
                return EXIT_GOOD
            try:
                return _checked(options, node, place, as_json)
            finally:
                os.close(held)
    except NearfarError as error:
        print(f"nearfar: {error}", file=sys.stderr)
        return error.exit_code


@contextmanager
def _own_surroundings() -> Iterator[None]:
    mask, path = os.umask(0o022), os.environ.get("PATH", "")
    os.environ["PATH"] = _PATH
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        os.environ["PATH"] = path
        os.umask(mask)


def _checked(options: HealthOptions, node: str, place: Path, as_json: bool) -> int:
    began = time.monotonic()
    state, locks = place / f".{node}.state.json", place / f".{node}"
    past = _read_state(state)
    seen = Look(options, past, locks)
    seen.take(node, partial(_refuse, options))
    finding: dict[str, Any] = {
        "schema": finding_files.SCHEMA, "run": secrets.token_hex(4), "node": node, "hostname": socket.gethostname(), "time": utc_text(),
        "boot": boot(), "seconds": round(time.monotonic() - began, 3), "system": seen.site.system, "partition": seen.site.partition,
        "verdict": worst(["PASS", *(each.verdict for each in seen.findings)]),
        "findings": [each.to_raw() for each in seen.findings], "notes": seen.notes, "unread": seen.unread,
        "sources": seen.sources,
    }  # fmt: skip
    print(json.dumps(finding, indent=1, ensure_ascii=False) if as_json else _text(finding), flush=True)
    hard = [each for each in seen.findings if each.hard and each.verdict == "FAIL"]
    evidence = sorted(hard, key=lambda each: each.subject)
    policy = seen.site.policy
    may_drain = policy is not None and policy.step(HEALTH, True) == "drain" and bool(evidence)
    # What cannot be written is found again; how often the driver hung counts all the same.
    kept, problem = {**past, "hung": seen.past["hung"]}, None
    if not options.quick or finding["verdict"] == "FAIL":
        problem = _written(options, finding, locks)
        kept = dict(seen.past) if problem is None else kept
    if kept != past:
        text = json.dumps({"schema": _STATE_SCHEMA, "sources": kept}, ensure_ascii=False) + "\n"
        files.write_atomically(state, text, "this has to be a local disk")
    if options.drain and policy is not None and may_drain:
        task = partial(_drain, node, evidence[0], finding["run"], policy, options.slurm_path)
        answer = apart.answers({"drain": task}, _DRAIN, locks)["drain"]
        words = answer.value or f"not drained: {answer.error or 'Slurm did not answer'}"
        print(f"  {words}", file=sys.stderr if as_json else sys.stdout)
    if problem is not None:
        raise problem
    if policy is None or not (may_drain and options.quick):
        return EXIT_GOOD
    if not options.drain:  # a prolog's: that it fails drains the node
        task = partial(_objection, node, policy, options.slurm_path, _SPREAD_OF_PROLOG)
        forbidden = apart.answers({"caps": task}, _CAPS, locks)["caps"].value
        if forbidden:
            print(f"  the job starts all the same: {forbidden}", file=sys.stderr if as_json else sys.stdout)
            return EXIT_GOOD
    return FOUND


def _written(options: HealthOptions, finding: Mapping[str, Any], locks: Path) -> NearfarError | None:
    answer = apart.answers({"output": partial(_write, options, finding)}, min(SHORT, options.limit), locks)["output"]
    if answer.value:
        print(f"nearfar: metrics: {answer.value}", file=sys.stderr)
    if isinstance(answer.error, NearfarError) or answer.value is not None:
        return answer.error if isinstance(answer.error, NearfarError) else None
    return CouldNotJudge(f"{options.output}: {answer.error or 'it does not answer'}; the finding is not written")


def _write(options: HealthOptions, finding: Mapping[str, Any]) -> str:
    """Write the finding and the metrics; why the latter could not be written."""
    files.make_directory(options.output, _ELSEWHERE)
    refuse_changeable([options.output], frozenset({0, os.geteuid()}), "the output directory")
    finding_files.store(options.output, finding, _ELSEWHERE)
    if options.metrics is not None:
        from nearfar.prometheus import health_metrics

        try:
            health_metrics.write(finding, options.metrics)
        except NearfarError as error:  # the finding is there all the same
            return str(error)
    return ""


def _text(finding: Mapping[str, Any]) -> str:
    reasons = "; ".join(each["reason"] for each in finding["findings"])
    lines = [f"{finding['node']}: {finding['verdict']}{': ' + reasons if reasons else ''}"]
    lines += [f"  note: {words}" for words in finding["notes"]]
    return "\n".join([*lines, *(f"  not read: {words}" for words in finding["unread"])])


def _node_name() -> str:
    from nearfar.slurm.controller import NAME

    name = os.environ.get("SLURMD_NODENAME") or short_host_name(socket.gethostname())
    if not NAME.fullmatch(name):
        raise NearfarError(f"SLURMD_NODENAME: '{printable(name[:60])}' is not the name of a node")
    return name


def _state_directory(options: HealthOptions) -> Path:
    place = options.state
    if place is None:
        root = os.geteuid() == 0
        place = STATE / str(options.output.absolute()).strip("/").replace("/", "-") if root else options.output
    files.make_directory(place, _ELSEWHERE)
    refuse_changeable([place], frozenset({0, os.geteuid()}), "the directory of its state")
    return place


def _refuse(options: HealthOptions) -> None:
    users = frozenset({0})
    if os.geteuid() != 0:
        return
    python = map(Path, (sys.executable, sys.prefix, *filter(None, sys.path)))
    refuse_changeable([path for path in python if path.exists()], users, "Python and its modules")
    refuse_changeable_tree(places.PACKAGE, users, "nearfar")
    for directory in site_directories():
        refuse_changeable_tree(directory, users, "the site's directory")
    of_slurm = [path for path in map(Path, filter(None, options.slurm_path.split(":"))) if path.is_dir()]
    refuse_changeable(of_slurm, users, "the directory of Slurm's commands")


def _read_state(path: Path) -> dict[str, Any]:
    """What the last check kept; empty where there was none, or it is torn: then everything begins anew."""
    found = files.json_or_none(path)
    sources = found.get("sources") if isinstance(found, dict) and found.get("schema") == _STATE_SCHEMA else None
    return sources if isinstance(sources, dict) else {}


#: Seconds that each of Slurm's commands may take.
_SLURM = 8.0


def _slurm(path: str) -> Slurm:
    return Slurm({**os.environ, "PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]}, _SLURM)


def _objection(node: str, policy: Policy, path: str, spread: float) -> str:
    """Why one node more must not be drained, also by a prolog that fails: a cap, a partition's floor; empty where it may be.
    ``path``: directories of Slurm's commands; ``spread``: seconds within which the nodes of a job ask, most after others' drains."""
    slurm = _slurm(path)
    time.sleep(random.uniform(0.0, min(spread, _APART * len(slurm.nodes()))))
    nodes = slurm.nodes()
    if node not in nodes:
        return f"Slurm has no node {node}"
    too_many = DrainCaps(nodes, policy, time.time()).objection(node)
    return "" if too_many is None else too_many.reason


def _drain(node: str, evidence: Finding, run: str, policy: Policy, path: str) -> str:
    """Drain this node, unless its state, a cap or a partition's floor forbids it; what was done, in words. Nodes that do this in the
    same second do not see each other's drains. Raises ``NearfarError``."""
    forbidden = _objection(node, policy, path, _SPREAD)
    if forbidden:
        return f"not drained: {forbidden}"
    reason = str(reasons.reason(HEALTH, evidence, run))
    try:
        _slurm(path).update(node, objection_to_drain, state="drain", reason=reason)
    except Refused as refused:
        return f"not drained: {refused.why}"
    return f"drained: {reason}"
