"""Who else used a machine while it was measured: the document's ``machine``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Longer names of processes are cut.
_LONGEST_NAME = 64


@dataclass(frozen=True)
class BusyProcess:
    """A process of others, and the CPUs it used on the average of the run."""

    command: str
    user: str
    cpus: float


@dataclass(frozen=True)
class GpuProcess:
    """A process of others with a context on a GPU.

    ``gpu`` is the GPU's number, None for one that the run does not name. ``name`` is the program as the driver has it, often
    with its path; ``user`` is empty where the machine does not say.
    """

    gpu: int | None
    pci: str
    pid: int
    name: str
    user: str = ""

    @property
    def command(self) -> str:
        """The program without its path; empty where it is not named."""
        return self.name.rstrip("/").rpartition("/")[2]


@dataclass(frozen=True)
class LinkCounter:
    """What a counter of a GPU's links (``pcie_replays``) grew by while a run measured for ``seconds`` (None: it does not say).

    ``went_back``: it ended below where it began (``grown`` 0), since somebody reset it or the GPU.
    """

    pci: str
    name: str
    grown: int
    seconds: float | None
    went_back: bool = False


@dataclass(frozen=True)
class MachineUse:
    """What a run of one program saw, in CPUs (CPU seconds per second): on the average of the run, and the most of a look.

    ``steal`` and ``others`` are None where the machine does not say. ``own`` is what the run itself used on the average.
    """

    own: float
    others: float | None
    most_others: float | None
    steal: float | None
    busiest: tuple[BusyProcess, ...]
    gpu_processes: tuple[GpuProcess, ...]
    counters: tuple[LinkCounter, ...] = ()


def machine_uses(raw: Mapping[str, Any]) -> list[MachineUse]:
    """Of a valid document, as JSON objects: one entry for each run that it holds and that looked."""
    return [_use(each) for each in machines(raw)]


def machines(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The ``machines`` of a merged document, or the one ``machine`` of a run with its program and when it was started."""
    if "machine" not in raw:
        return list(raw.get("machines") or ())
    return [{"program": raw["program"]["name"], "started": raw.get("started"), **raw["machine"]}]


def _use(entry: Mapping[str, Any]) -> MachineUse:
    mean = entry.get("mean") or {}
    seconds = max((look["at"] for look in entry.get("looks") or () if "at" in look), default=None)
    others = [look["others"] for look in entry.get("looks") or ()]
    return MachineUse(
        own=mean.get("own", 0.0),
        others=mean.get("others"),
        most_others=max(others, default=None),
        steal=mean.get("steal"),
        busiest=tuple(
            BusyProcess(_shown(each["command"]), _shown(each.get("user", "")), each["cpus"])
            for each in entry.get("busiest") or ()
        ),
        gpu_processes=tuple(
            GpuProcess(
                each.get("gpu"),
                each["pci"],
                each["pid"],
                _shown(each.get("name", "")),
                _shown(each.get("user", "")),
            )
            for each in entry.get("gpu_processes") or ()
        ),
        counters=tuple(
            LinkCounter(
                each["pci"], each["name"], max(0, each["after"] - each["before"]), seconds,
                each["after"] < each["before"],
            )
            for each in entry.get("counters") or ()
        ),
    )  # fmt: skip


def _shown(name: str) -> str:
    """A process's or a user's name as a sentence can hold it: whoever runs it chose it, control characters and length included."""
    plain = "".join(each if each.isprintable() else "?" for each in name)
    return plain if len(plain) <= _LONGEST_NAME else f"{plain[: _LONGEST_NAME - 1]}…"
