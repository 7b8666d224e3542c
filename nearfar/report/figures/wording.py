"""Numbers, classes and verdicts in the words that pages and terminals share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nearfar.base import NOT_JUDGED
from nearfar.base import plural as plural
from nearfar.topology import LINK_KINDS, Link, format_cpu_list
from nearfar.verdict import JudgedReference

#: A sign beside every verdict, so that none is told by colour alone.
SIGNS = {"PASS": "✓", "DEGRADED": "▼", "FAIL": "✕", "INDETERMINATE": "?", "MODELLED": "◇", NOT_JUDGED: "–"}

_CLASSES = {"near": "near", "on_socket": "on socket", "off_socket": "off socket", "sole": "sole", "unknown": "place unknown",
            "local": "local", "device_local": "within the GPU", "mixed": "mixed", "same_numa_node": "same NUMA node",
            "same_package": "same package", "across_packages": "across packages"}  # fmt: skip


def class_words(path_class: str) -> str:
    """``off_socket`` → ``off socket``; the classes of peers stay as ``nvidia-smi`` has them."""
    return _CLASSES.get(path_class, path_class)


def numbers(found: Iterable[int]) -> str:
    """Numbers of devices: ``0–8, 10``."""
    return format_cpu_list(found).replace("-", "–").replace(",", ", ")


def number(value: float | None, unit: str = "GB/s") -> str:
    """A figure at the precision it deserves: three or four digits; a ratio with two decimals. ``–`` where there is none."""
    if value is None:
        return "–"
    magnitude = abs(value)
    if unit == "1" or magnitude < 10:
        return f"{value:.2f}"
    return f"{value:.1f}" if magnitude < 1000 else f"{value:.0f}"


def unit_words(unit: str) -> str:
    """The unit as it stands behind a number: nothing for a ratio."""
    return {"1": "", "us": "µs"}.get(unit, unit)


def span(values: Iterable[float], unit: str = "GB/s") -> str:
    """``55.5–55.6``, or one number where both ends read alike."""
    known = sorted(values)
    if not known:
        return "–"
    low, high = number(known[0], unit), number(known[-1], unit)
    return low if low == high else f"{low}–{high}"


def amount(value: float | None, unit: str) -> str:
    """A figure with its unit: ``55.3 GB/s``, ``1.20 TFLOP/s``, ``234.2 ms``; ``–`` where there is none."""
    larger = {"GFLOP/s": "TFLOP/s", "us": "ms"}
    if unit in larger and value is not None and value >= 1000:
        value, unit = value / 1000, larger[unit]
    return f"{number(value, unit)} {unit_words(unit) if value is not None else ''}".rstrip()


def percent(part: float | None, interval: Sequence[float] | None = None) -> str:
    """A difference as a part of 1, in percent with its sign; no sign at nothing: ``+2.4 %``, ``0.0 %``; ``–`` where there is none. With
    an interval ``+2.4 % (+2.1 % to +2.6 %)``."""
    if part is None:
        return "–"
    words = f"{part * 100:+.1f}"
    shown = f"{words[1:] if words[1:] == '0.0' else words} %".replace("-", "−")
    return f"{shown} ({' to '.join(map(percent, interval))})" if interval else shown


def percents(low: float, high: float) -> str:
    """``−4.6 to −3.6 %``."""
    return f"{percent(low).removesuffix(' %')} to {percent(high)}"


def expectation(reference: JudgedReference, at_least: float | None, at_most: float | None) -> str:
    """What is expected in a few words: ``55.2 (≥ 54.1), tuned``; of a time ``6.00 (≤ 6.60), tuned``."""
    unit = reference.unit
    low, high = number(at_least, unit), number(at_most, unit)
    sides = f" ({low} to {high})" if at_most is not None else f" (≥ {low})"
    if at_least is None:
        sides = "" if at_most is None else f" (≤ {high})"
    return f"{number(reference.value, unit)}{sides}, {reference.origin}{', stale' if reference.stale else ''}"


def seconds(value: Any) -> str:
    """A duration: ``4.8 s``, ``2 min 05 s``."""
    if not isinstance(value, (int, float)):
        return "–"
    return f"{value:.1f} s" if value < 100 else f"{int(value // 60)} min {int(value % 60):02d} s"


def size(count: float) -> str:
    """Bytes in the nearest binary unit: ``64 KiB``, ``1.5 MiB``."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << power:
            value = count / (1 << power)
            return f"{value:.0f} {unit}" if value >= 1000 else f"{value:.3g} {unit}"
    return f"{count:.0f} B"


def link_words(link: Link | None, most: bool = False) -> str:
    """A link to the host: ``PCIe 5 ×16``, ``NVLink 2 ×3``, ``C2C``; ``most``: what device and slot allow."""
    if link is None:
        return "link unknown"
    shown, kind = link.nominal if most else link, LINK_KINDS[link.kind]
    if link.kind == "c2c":
        return kind
    parts = [
        kind,
        *([] if shown.gen is None else [str(shown.gen)]),
        *([] if shown.width is None else [f"×{shown.width}"]),
    ]
    return " ".join(parts) if len(parts) > 1 else f"{kind}, unknown"
