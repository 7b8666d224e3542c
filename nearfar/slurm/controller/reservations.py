"""Reservations as ``scontrol show reservation`` shows them: making one for a retest, checking it, taking it away."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.base import CouldNotJudge, NearfarError

from . import node_names
from .scontrol import Slurm

#: Seconds until jobs that were cancelled have left a reservation.
_PATIENCE = 60.0


@dataclass(frozen=True)
class Reservation:
    """One reservation. ``users`` are those that may use it; ``others``: accounts, groups or flags by which others may too."""

    name: str
    nodes: frozenset[str]
    users: tuple[str, ...]
    state: str
    others: str


def parse_reservations(text: str) -> list[Reservation]:
    """All reservations of an answer. Raises ``CouldNotJudge`` for one without nodes, users or state."""
    found = []
    for record in re.split(r"^(?=ReservationName=)", text, flags=re.MULTILINE):
        fields = dict(re.findall(r"(?:^|\s)(\w+)=(\S*)", record))
        if not fields:
            continue
        if not {"ReservationName", "Nodes", "Users", "State"} <= fields.keys():
            raise CouldNotJudge(f"scontrol shows half a reservation: '{record.strip()[:80]}'")
        others = [f"{key}={fields[key]}" for key in ("Accounts", "Groups") if fields.get(key, "(null)") != "(null)"]
        others += [flag for flag in fields.get("Flags", "").split(",") if flag in ("MAGNETIC", "FLEX", "ANY_NODES")]
        nodes = [] if fields["Nodes"] == "(null)" else node_names.expand(fields["Nodes"])
        users = tuple(user for user in fields["Users"].split(",") if user != "(null)")
        found.append(Reservation(fields["ReservationName"], frozenset(nodes), users, fields["State"], " ".join(others)))
    return found


def show(slurm: Slurm) -> list[Reservation]:
    """All reservations there are."""
    text = slurm.call("scontrol", "--all", "show", "reservations")
    return [] if text.startswith("No reservations") else parse_reservations(text)


def make(slurm: Slurm, name: str, nodes: Sequence[str], user: str) -> None:
    """Reserve nodes for one user, without an end: should this program die, they stay reserved. Raises what ``call`` does."""
    slurm.call(
        "scontrol", "create", "reservation", f"reservationname={name}", f"nodes={node_names.fold(nodes)}", f"users={user}", "starttime=now",
        "duration=infinite", "flags=ignore_jobs",
    )  # fmt: skip


def verify(slurm: Slurm, name: str, nodes: Sequence[str], user: str) -> None:
    """Raise ``CouldNotJudge`` unless the reservation is active, of exactly these nodes, for this user alone, and the only
    one that they are in."""
    found = show(slurm)
    ours = next((r for r in found if r.name == name), None)
    if ours is None or ours.state != "ACTIVE":
        raise CouldNotJudge(f"reservation {name} is {'not there' if ours is None else ours.state}; no node was resumed")
    if ours.nodes != set(nodes) or ours.users != (user,) or ours.others:
        is_ = f"of {node_names.fold(ours.nodes)} for {','.join(ours.users)} {ours.others}"
        wanted = f"not of {node_names.fold(nodes)} for {user} alone"
        raise CouldNotJudge(f"reservation {name} is {is_}, {wanted}; no node was resumed")
    for other in found:
        shared = other.nodes & set(nodes)
        if other.name != name and shared:
            words = f"also in reservation {other.name}, whose users could run there; not resumed"
            raise CouldNotJudge(f"{node_names.fold(shared)}: {words}")


def remove(slurm: Slurm, name: str) -> None:
    """Cancel this user's jobs in a reservation (root: those of the one whom it is for) and delete it; one that is not there is no error."""
    if not any(r.name == name for r in show(slurm)):
        return
    slurm.call("scancel", "--quiet", f"--reservation={name}", *(["--me"] if os.geteuid() else []))
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            slurm.call("scontrol", "delete", f"reservationname={name}")
            return
        except CouldNotJudge as error:
            if not any(r.name == name for r in show(slurm)):
                return
            if time.monotonic() > end:
                raise NearfarError(f"{error}; end its jobs, then: scontrol delete reservationname={name}") from None
        time.sleep(0.5)
