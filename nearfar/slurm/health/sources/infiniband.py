"""InfiniBand: ports that should be active, and what they count of errors, from ``/sys/class/infiniband``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nearfar.base import Finding, plural

from . import messages
from .counters import Growth, growth, went_back
from .source import Now, Seen

#: Counters of errors of which any growth is told: NVIDIA's bring-up procedure traces each link that goes down
#: (https://docs.nvidia.com/networking/display/ibclusterbringupprocedure/ufm+telemetry).
_ANY = {"link_downed": "time its link went down"}
#: Counters of errors that links correct, told where they are unusual for this node.
_UNUSUAL = {
    "link_error_recovery": ("recovery of its link", "recoveries of its link"),
    "symbol_error": ("symbol error", "symbol errors"),
    "local_link_integrity_errors": ("error of its link", "errors of its link"),
    "excessive_buffer_overrun_errors": ("buffer overrun", "buffer overruns"),
    "port_rcv_errors": ("packet with errors", "packets with errors"),
}
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
            state = "is not there" if port is None else f"is {_state(port)}"
            found.append(messages.PORT_DOWN.finding(f"{_item(name)}.port", port=name, state=state))
    for name, rate in active_before.items():
        port = by_name.get(name)
        if name in expected or (port is not None and port.physical == "Disabled"):
            continue
        if port is None or port.state != "ACTIVE":
            state = "is gone" if port is None else f"is {_state(port)}"
            found.append(messages.PORT_LOST.finding(f"{_item(name)}.port", port=name, state=state))
        elif rate and port.rate and rate != port.rate:
            found.append(messages.PORT_RATE.finding(f"{_item(name)}.rate", port=name, found=port.rate, before=rate))
    for port in by_name.values():
        found += _errors(port, grown)
        notes += [
            f"InfiniBand port {port.name}: {kind} stands at its greatest value and counts no more: reset it (perfquery -R)"
            for kind, count in port.counters.items()
            if count in _FULL
        ]
        if any(key.startswith(f"{port.name} ") for key in grown.back):
            notes.append(went_back(f"the counters of InfiniBand port {port.name}"))
    active = {port.name: port.rate for port in by_name.values() if port.state == "ACTIVE"}
    said = f"{len(active)} of {plural(len(by_name), 'port')} active" if by_name else ""
    return Seen(said, tuple(found), tuple(notes), past={**grown.past, "active": {**active, **active_before}})


def _errors(port: Port, grown: Growth) -> list[Finding]:
    found = []
    for kind in port.counters:
        key = f"{port.name} {kind}"
        count = grown.grown.get(key, 0)
        if kind in _ANY and count:
            times = plural(count, _ANY[kind], "times its link went down")
            found.append(messages.PORT_FLAPPED.finding(f"{_item(port.name)}.errors", port=port.name, counted=times))
        elif key in grown.unusual:
            rate = count / max(grown.seconds / 3600.0, 1e-9)
            counted, usual = plural(count, *_UNUSUAL[kind]), grown.unusual[key]
            found.append(messages.PORT_ERRORS.finding(
                f"{_item(port.name)}.errors", port=port.name, counted=counted, rate=rate, usual=usual
            ))  # fmt: skip
    return found


def _state(port: Port) -> str:
    return f"{port.state} ({port.physical})" if port.physical else port.state


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
        for name in (*_ANY, *_UNUSUAL):
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
