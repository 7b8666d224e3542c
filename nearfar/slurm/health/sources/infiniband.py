"""InfiniBand: ports that should be active, and what they count of errors, from ``/sys/class/infiniband``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearfar.base import Finding, plural

from . import messages
from .counters import Growth, growth
from .source import Now, Seen

#: Counters of errors of which any growth is told: NVIDIA's bring-up procedure traces each link that goes down
#: (https://docs.nvidia.com/networking/display/ibclusterbringupprocedure/ufm+telemetry).
_ANY = "link_downed"
#: Counters of errors that links correct, told where they are unusual for this node.
_UNUSUAL = (
    "link_error_recovery", "symbol_error", "local_link_integrity_errors", "excessive_buffer_overrun_errors", "port_rcv_errors",
)  # fmt: skip
#: Values at which a counter of 8, 16 or 32 bit stands still.
_FULL = (0xFF, 0xFFFF, 0xFFFFFFFF)


@dataclass(frozen=True)
class Port:
    """One port, as ``mlx5_0/1``: ``state`` (``ACTIVE``, ``DOWN`` …), ``physical`` (``LinkUp``, ``Disabled`` …), ``layer``
    (``InfiniBand`` or ``Ethernet``), rate in Gb/s as the kernel words it, and its counters of errors."""

    name: str
    state: str
    physical: str = ""
    layer: str = "InfiniBand"
    rate: str = ""
    counters: Mapping[str, int] = field(default_factory=dict)


def look(now: Now) -> Seen:
    """Read the ports, and say which should be active and are not."""
    return classify(now, _read(now.root / "sys/class/infiniband"))


def classify(now: Now, ports: Iterable[Port]) -> Seen:
    """A port that the site's file names and that is not active is FAIL (not hard: a switch may be at fault); one that was active
    at an earlier look of this boot, DEGRADED, unless somebody disabled it; others are down on purpose."""
    by_name = {port.name: port for port in ports}
    expected = tuple(name if "/" in name else f"{name}/1" for name in now.ports or ())
    kept = now.past.get("active") if now.same_boot else None
    active_before = kept if isinstance(kept, dict) else {}
    grown = growth(
        now, {f"{port.name} {kind}": count for port in by_name.values() for kind, count in port.counters.items()}
    )
    found, notes = [], []
    for name in expected:
        port = by_name.get(name)
        if port is None or port.state != "ACTIVE":
            found.append(messages.PORT_DOWN.finding(f"{_item(name)}.port", port=name, **_state(port)))
    for name, rate in active_before.items():
        port = by_name.get(name)
        if name in expected or (port is not None and port.physical == "Disabled"):
            continue
        if port is None or port.state != "ACTIVE":
            found.append(messages.PORT_LOST.finding(f"{_item(name)}.port", port=name, **_state(port)))
        elif rate and port.rate and rate != port.rate:
            found.append(messages.PORT_RATE.finding(f"{_item(name)}.rate", port=name, rate=port.rate, before=rate))
    for port in by_name.values():
        item = f"{_item(port.name)}.errors"
        found += _errors(item, port, grown)
        notes += [
            messages.COUNTER_FULL.finding(item, port=port.name, counter=kind)
            for kind, count in port.counters.items()
            if count in _FULL
        ]
        if grown.went_back(port.name):
            notes.append(messages.COUNTERS_RESET.finding(item, counters="InfiniBand", port=port.name))
    active = {port.name: port.rate for port in by_name.values() if port.state == "ACTIVE"}
    said = f"{len(active)} of {plural(len(by_name), 'port')} active" if by_name else ""
    return Seen(said, tuple(found), tuple(notes), past={**grown.past, "active": {**active, **active_before}})


def _errors(item: str, port: Port, grown: Growth) -> list[Finding]:
    found = []
    for kind in port.counters:
        key = f"{port.name} {kind}"
        count = grown.grown.get(key, 0)
        if kind == _ANY and count:
            found.append(messages.LINK_DOWNED.finding(item, port=port.name, times=count))
        elif key in grown.unusual:
            found.append(messages.PORT_ERRORS.finding(item, port=port.name, counter=kind, **grown.unusually(key)))
    return found


def _state(port: Port | None) -> dict[str, Any]:
    return {"state": "missing"} if port is None else {"state": port.state, "physical": port.physical}


def _item(name: str) -> str:
    return name.removesuffix("/1").replace("/", "p")


def _read(place: Path) -> list[Port]:
    """The InfiniBand ports; one that vanishes while it is read is not there. Ethernet ports are the network's to watch."""
    found = []
    for folder in sorted(place.glob("*/ports/*")):
        state = _word(folder / "state")
        layer = _word(folder / "link_layer") or "InfiniBand"
        if not state or layer != "InfiniBand":
            continue
        counters = {}
        for name in (_ANY, *_UNUSUAL):
            text = _text(folder / "counters" / name)
            if text.isdecimal():
                counters[name] = int(text)
        name = f"{folder.parent.parent.name}/{folder.name}"
        found.append(Port(name, state, _word(folder / "phys_state"), layer, _text(folder / "rate"), counters))
    return found


def _word(path: Path) -> str:
    """``4: ACTIVE`` as ``ACTIVE``."""
    return _text(path).rpartition(":")[2].strip()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
