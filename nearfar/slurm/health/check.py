"""``nearfar slurm health``: a look at this node within a hard limit of its own, for Slurm's ``HealthCheckProgram``.

It finds, and does nothing about it: it never calls slurmctld and drains nothing. The look runs in a child; this process
does nothing that can hang, so that a finding is written whatever becomes of the look. The child holds the lock as well: one that
not even SIGKILL ends (a GPU that is gone while its driver waits) keeps further looks from piling up.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from nearfar.base import EXIT_GOOD, Finding, NearfarError, printable, short_host_name, utc_text, worst
from nearfar.slurm.trust import root_safe

from . import messages

#: Where findings go, unless the caller names a directory.
OUTPUT = Path("/var/lib/nearfar/health")
#: Seconds that a look may take; Slurm ends a health check at 60.
LIMIT = 8.0
#: Seconds that a quick look may take, for which a job waits.
QUICK_LIMIT = 3.0
#: The exit code of a quick look that found hard evidence: no other end of it is mistaken for that.
FOUND = 9
#: slurmd gives no PATH; root takes no other.
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_ELSEWHERE = "name another --output DIR"
_SCHEMA = "nearfar-health/1"


@dataclass(frozen=True)
class HealthOptions:
    """What is looked at and where the finding goes. ``system`` and ``partition`` None: those that the site's files claim the
    node for. ``results``: where sweeps leave results, for the last one of this node. ``tools``: directories of hwloc's programs,
    before the system's own. ``quick``: the look before or after a job, at the node's parts, links and memory alone; only a FAIL
    is written, so that the newest whole look stays. ``metrics``: the directory of Prometheus' text files, None: none is written."""

    output: Path = OUTPUT
    system: str | None = None
    partition: str | None = None
    results: Path | None = None
    limit: float = LIMIT
    tools: str = ""
    quick: bool = False
    metrics: Path | None = None

    def __post_init__(self) -> None:
        """Paths may be given as text."""
        object.__setattr__(self, "metrics", None if self.metrics is None else Path(self.metrics))
        object.__setattr__(self, "output", Path(self.output))
        object.__setattr__(self, "results", None if self.results is None else Path(self.results))


def run(options: HealthOptions) -> dict[str, Any] | None:
    """Look at this node and write what was seen to ``<output>/<node>.json``, and a FAIL where it is kept; the finding, or None
    where another look was under way. Raises ``NearfarError`` where root would rely on what others can change, or where it
    cannot write."""
    with _own_surroundings(options):
        node = _node_name()
        _refuse(options)
        held = _lock(options.output / f".{node}.lock")
        if held is None:
            return None
        try:
            return _written(options, node)
        finally:
            os.close(held)


@contextmanager
def _own_surroundings(options: HealthOptions) -> Iterator[None]:
    """A PATH, which slurmd does not give, files that others read, and an end: a file system that does not answer would hold
    this process too."""
    mask, path = os.umask(0o022), os.environ.get("PATH", "")
    os.environ["PATH"] = f"{options.tools}:{_PATH}" if options.tools else _PATH
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(options.limit) + 4)
    try:
        yield
    finally:
        signal.alarm(0)
        os.environ["PATH"] = path
        os.umask(mask)


def _written(options: HealthOptions, node: str) -> dict[str, Any]:
    from . import kept_looks

    began = time.monotonic()
    if options.quick:
        options = replace(
            options, results=None, partition=options.partition or kept_looks.partition(options.output, node)
        )
    seen = _within(options, node)
    past = seen.pop("past", None)
    finding = {
        "schema": _SCHEMA, "run": secrets.token_hex(4), "node": node, "hostname": socket.gethostname(),
        "time": utc_text(), "boot": _boot(),
        "seconds": round(time.monotonic() - began, 3),
        "verdict": worst(["PASS", *(finding["verdict"] for finding in seen["findings"])]), **seen,
    }  # fmt: skip
    if options.quick and finding["verdict"] != "FAIL":
        return finding
    try:
        kept_looks.store(options.output, finding, _ELSEWHERE)
    except NearfarError:
        print(_headline(finding))  # for slurmd's log: it is nowhere else
        raise
    if options.metrics is not None:
        _tell(finding, options.metrics)
    if past is not None and not options.quick:  # after the findings: what is found twice is better than lost
        kept_looks.store_past(options.output, node, past, _ELSEWHERE)
    return finding


def _tell(finding: dict[str, Any], metrics: Path) -> None:
    """Write what Prometheus reads. Where that cannot be, the finding is there all the same."""
    from nearfar.prometheus import health_metrics

    try:
        health_metrics.write(finding, metrics)
    except NearfarError as error:
        print(f"nearfar: metrics: {error}", file=sys.stderr)


def program(options: HealthOptions, as_json: bool = False) -> int:
    """What a script for ``HealthCheckProgram`` calls: run, say it in a line and further ones for notes and what could not be read (or
    all of it as JSON), and return the exit code. After a quick look that is ``FOUND`` where there is hard evidence."""
    try:
        finding = run(options)
    except NearfarError as error:
        print(f"nearfar: {error}", file=sys.stderr)
        return error.exit_code
    if finding is None:
        print("another look is under way; its finding will be there", file=sys.stderr if as_json else sys.stdout)
    elif as_json:
        print(json.dumps(finding, indent=1, ensure_ascii=False))
    else:
        print(_headline(finding))
        for words in finding.get("notes", ()):
            print(f"  note: {words}")
        for words in finding.get("unread", ()):
            print(f"  not read: {words}")
    hard = finding is not None and any(f["hard"] and f["verdict"] == "FAIL" for f in finding["findings"])
    return FOUND if hard and options.quick else EXIT_GOOD


def _headline(finding: dict[str, Any]) -> str:
    text = "; ".join(f["reason"] for f in finding["findings"])
    return f"{finding['node']}: {finding['verdict']}{': ' + text if text else ''}"


def _node_name() -> str:
    from nearfar.slurm.controller import NAME

    name = os.environ.get("SLURMD_NODENAME") or short_host_name(socket.gethostname())
    if not NAME.fullmatch(name):
        raise NearfarError(f"SLURMD_NODENAME: '{printable(name[:60])}' is not the name of a node")
    return name


def _refuse(options: HealthOptions) -> None:
    """As root: nothing that others can change. As another user: an output directory of this user's own."""
    users = frozenset({0, os.geteuid()})
    if os.geteuid() == 0:
        _make(options.output)
        root_safe.interpreter(users)
        root_safe.package(users)
        from nearfar.base import site_directories

        for directory in site_directories():
            root_safe.refuse_tree(directory, users, "the site's directory")
        root_safe.refuse([Path(p) for p in options.tools.split(":") if p], users, "the directory of hwloc's programs")
    root_safe.refuse([options.output], users, "the output directory")


def _make(output: Path) -> None:
    try:
        output.mkdir(mode=0o755, parents=True, exist_ok=True)
    except FileExistsError:
        raise NearfarError(f"{output}: not a directory; {_ELSEWHERE}") from None
    except OSError as error:
        raise NearfarError(f"{output}: cannot be made: {error.strerror}; {_ELSEWHERE}") from None


def _lock(path: Path) -> int | None:
    """A lock that ends with its holders; None where there is one. Nobody else can open the file, and so hold it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise NearfarError(f"{path}: cannot be written: {error.strerror}; {_ELSEWHERE}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle


def _within(options: HealthOptions, node: str) -> dict[str, Any]:
    """What a child sees until the limit; afterwards only that it did not end, and what it was doing."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(options, node, writing)
    os.close(writing)
    lines = _lines(reading, time.monotonic() + options.limit)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    _reap(child)
    if lines and lines[-1].startswith("{"):
        seen: dict[str, Any] = json.loads(lines[-1])
        return seen
    step = lines[-1] if lines else "starting"
    return _seen_nothing(options, messages.TIMEOUT.finding("look", limit=options.limit, step=step))


def _seen_nothing(options: HealthOptions, why: Finding) -> dict[str, Any]:
    return {"system": options.system, "partition": options.partition, "findings": [why.to_raw()], "last": None}


def _child(options: HealthOptions, node: str, writing: int) -> NoReturn:
    """The look itself: a step a line, then what was seen as JSON. Ends the process whatever happens."""
    try:
        os.setsid()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(options.limit) + 2)  # should the parent be gone
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        tell = os.fdopen(writing, "w", encoding="utf-8")

        def say(words: str) -> None:
            tell.write(words + "\n")
            tell.flush()

        from . import kept_looks
        from .look import look
        from .sources import QUICK, SHARE

        try:
            past = {} if options.quick else kept_looks.read_past(options.output, node)
            share = min(SHARE, options.limit / 4)
            asked = QUICK if options.quick else None
            seen = look(node, options.system, options.partition, options.results, say, past, share, asked)
            answer = {**asdict(seen), "findings": [one.to_raw() for one in seen.findings]}
        except Exception as error:  # a fault of ours must not leave an older finding in place
            answer = _seen_nothing(options, messages.ERROR.finding("look", error=f"{type(error).__name__}: {error}"))
        say(json.dumps(answer, ensure_ascii=False))
    finally:
        os._exit(0)


def _lines(reading: int, end: float) -> list[str]:
    """The whole lines that come before the end of the child or of time."""
    text = b""
    while (left := end - time.monotonic()) > 0 and select.select([reading], [], [], left)[0]:
        part = os.read(reading, 65536)
        if not part:
            break
        text += part
    os.close(reading)
    return text.decode("utf-8", "replace").split("\n")[:-1]


def _reap(child: int) -> None:
    """Wait a moment for a child that was killed; one that cannot die is left."""
    for _ in range(20):
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.025)


def _boot() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
