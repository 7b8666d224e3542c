"""The one host, and the one process on it, that changes the ledger and drains nodes.

The ledger belongs to the cluster and to the host that made it: another host is refused until ``act --take-over`` gives it away. Its
directory is on a local disk, where flock and SQLite hold.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nearfar.base import CouldNotJudge, NearfarError, files, user_name
from nearfar.slurm.controller import Slurm, node_names
from nearfar.slurm.drains import our_reason
from nearfar.slurm.findings import intake
from nearfar.slurm.ledger import FILE, Ledger, actions, note_action
from nearfar.slurm.trust import refuse_changeable, typed_as

#: Seconds to wait for another process.
_PATIENCE = 10.0
#: File systems on which several hosts can write one file.
_SHARED = (
    "nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "beegfs", "ceph", "afs", "fuse.glusterfs", "fuse.sshfs", "ocfs2", "gfs2", "9p",
)  # fmt: skip


def prepare(state: Path) -> Path:
    """The ledger's directory, made where it is missing; raises ``NearfarError`` unless it is this user's or root's alone, and local."""
    mask = os.umask(0o022)
    try:
        files.make_directory(state, "name another --state DIR")
    finally:
        os.umask(mask)
    place = state.resolve()
    owner = place.stat().st_uid
    if owner not in (0, os.geteuid()) or (owner != os.geteuid() and not os.access(place, os.W_OK)):
        words = f"belongs to user {user_name(owner)}, and the ledger decides over nodes: run it as that user ({typed_as(owner)})"
        raise NearfarError(f"{place}: {words}, or name another --state DIR")
    refuse_changeable([place], frozenset({0, os.geteuid()}), "the ledger's directory")
    if not os.access(place, os.W_OK):
        raise NearfarError(f"{place}: this user cannot write there, or nobody can; name another --state DIR")
    kind = _file_system(place)
    if kind in _SHARED:
        words = f"on {kind}, which several hosts can write; the ledger needs a local disk: name another --state DIR"
        raise NearfarError(f"{place}: {words}")
    _refuse_foreign_file(place / FILE)
    return place


def _file_system(place: Path) -> str:
    """The kind of file system that a directory is on; empty where it cannot be told."""
    lines = files.text_or_empty(Path("/proc/self/mounts")).splitlines()
    above = {str(path) for path in (place, *place.parents)}
    found = [(len(mount[1]), mount[2]) for mount in map(str.split, lines) if mount[1] in above]
    return max(found, default=(0, ""))[1]


def _refuse_foreign_file(path: Path) -> None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise NearfarError(f"{path}: not a file (links are not followed); name another --state DIR")
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
        whose = f"user {status.st_uid}'s, mode {stat.S_IMODE(status.st_mode):04o}"
        remedy = f"chown {os.geteuid()} {path} && chmod 640 {path}"
        raise NearfarError(f"{path}: {whose}: other users can write to it; if nobody has: {remedy}")


@contextmanager
def locked(state: Path, slurm: Slurm) -> Iterator[Ledger]:
    """The ledger for the only process that changes it, of this host and this cluster. Raises ``CouldNotJudge`` while another one holds
    it, for a ledger of another host or cluster, and for a new ledger where Slurm shows drains of nearfar: another host's."""
    with files.file_lock(state / "lock", _PATIENCE, mode=0o600), Ledger.open(state) as ledger:
        with ledger.transaction():  # checked and claimed at once, also where two hosts' locks do not see each other
            check_owner(ledger, slurm.cluster(), socket.gethostname())
            ahead = slurm.clock_ahead()
            if abs(ahead) > intake.CLOCKS:  # by which of the clocks a day has passed, and what came first, is not known
                how = f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'}"
                raise CouldNotJudge(f"this host's clock is {how} slurmctld's: set it; nothing is done until they agree")
            if ledger.meta("host") is None:
                _refuse_unknown_drains(ledger, slurm)
                _own(ledger, slurm.cluster())
            ledger.mend_clock(time.time())
        yield ledger


def check_owner(ledger: Ledger, cluster: str, host: str | None = None) -> None:
    """Raise ``CouldNotJudge`` for the ledger of another cluster, and of another ``host``."""
    owner, its = ledger.meta("host"), ledger.meta("cluster")
    if its not in (None, cluster):
        raise CouldNotJudge(
            f"{ledger.path}: of cluster {its}, and Slurm here is {cluster}: set SLURM_CONF to that cluster's, or name another --state DIR"
        )
    if host is not None and owner not in (None, host):
        raise CouldNotJudge(
            f"{ledger.path}: host {owner} owns cluster {its}, this is {host}: go on there; or stop it there for good, and move its ledger: "
            "nearfar slurm status --export FILE, then here: nearfar slurm act --take-over FILE"
        )


def _refuse_unknown_drains(ledger: Ledger, slurm: Slurm) -> None:
    drained = {name: our_reason(state) for name, state in slurm.nodes().items() if state.drain}
    others = sorted(name for name, reason in drained.items() if reason is not None and reason.check != "health")
    if others:
        raise CouldNotJudge(
            f"{ledger.path}: new, and {node_names.fold(others)} carry drains of nearfar: another host owns this cluster. Go on "
            "there; or move its ledger: nearfar slurm status --export FILE there, nearfar slurm act --take-over FILE here; or "
            "begin anew: --take-over none"
        )


def _own(ledger: Ledger, cluster: str) -> None:
    ledger.set_meta("host", socket.gethostname())
    ledger.set_meta("cluster", cluster)


def take_over(state: Path, slurm: Slurm, export: str) -> str:
    """Give the ledger to this host; ``export``: the file that ``status --export`` wrote on the host before, or ``none`` (begin anew). A
    ledger that is replaced is kept beside. Returns what was done, in words."""
    place = prepare(state)
    with files.file_lock(place / "lock", _PATIENCE, mode=0o600):
        _begin_anew(place, export, slurm.cluster())
        with Ledger.open(place) as ledger, ledger.transaction():
            _own(ledger, slurm.cluster())
            note_action(ledger, actions.TAKE_OVER, time.time(), why=export)
    return f"{place / FILE}: this host now owns cluster {slurm.cluster()}"


def _begin_anew(place: Path, export: str, cluster: str) -> None:
    """Put an export in the place of this ledger, which is kept beside; killed at any moment, one of the two is there."""
    try:
        new = Ledger.in_memory() if export == "none" else Ledger.read_only(Path(export).parent, Path(export).name)
        if new is None:
            raise CouldNotJudge("there is no ledger in it; write it with nearfar slurm status --export FILE")
        with new:
            if new.meta("cluster") not in (None, cluster):
                raise CouldNotJudge(f"of cluster {new.meta('cluster')}, and Slurm here is {cluster}")
            if [tuple(row) for row in new.rows("PRAGMA quick_check")] != [("ok",)]:
                raise CouldNotJudge("damaged")
            if (place / FILE).exists():
                kept = place / f"{FILE}.{time.strftime('%Y%m%dT%H%M%S')}"
                while kept.exists():
                    kept = kept.with_name(f"{kept.name}-again")
                try:
                    with Ledger.open(place) as old:
                        old.export(kept)
                except CouldNotJudge:  # damaged, or another version's
                    for end in ("-wal", "-journal", ""):  # what is in a log belongs to the file
                        with contextlib.suppress(FileNotFoundError):
                            (place / f"{FILE}{end}").rename(f"{kept}{end}")
                    (place / f"{FILE}-shm").unlink(missing_ok=True)
            with Ledger.open(place) as here:
                here.replace(new)
    except (CouldNotJudge, OSError) as error:
        raise NearfarError(f"{export}: not taken over, and the ledger that is here stays: {error}") from None
