"""Which GPUs ``CUDA_VISIBLE_DEVICES`` leaves to CUDA programs. Hiding one renumbers nothing here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class VisibleGpu:
    """A GPU that CUDA could use.

    ``index`` is in PCI order, ``mig_uuids`` are its MIG instances', ``power`` is cores × clock where known.
    """

    index: int
    uuid: str | None = None
    mig_uuids: tuple[str, ...] = ()
    name: str | None = None
    power: int | None = None


def visible_gpus(candidates: Sequence[VisibleGpu], environment: Mapping[str, str]) -> frozenset[int]:
    """The indices (PCI order) of the GPUs that CUDA programs see, by the rules of CUDA's programming guide.

    Entries are indices in CUDA's order, UUIDs or a unique beginning of one, or MIG instances; the first entry that
    names no GPU ends the list.
    """
    wanted = environment.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return frozenset(c.index for c in candidates)
    order = cuda_order(candidates, environment.get("CUDA_DEVICE_ORDER", ""))
    seen: set[int] = set()
    for entry in wanted.split(","):
        index = _named(entry.strip(), order)
        if index is None:
            break
        seen.add(index)
    return frozenset(seen)


def cuda_order(candidates: Sequence[VisibleGpu], order: str) -> list[VisibleGpu]:
    """The candidates as CUDA counts them: in PCI order, or (its default) the fastest first, equal ones in PCI order."""
    by_bus = sorted(candidates, key=lambda c: c.index)
    if order == "PCI_BUS_ID" or len({c.name for c in candidates}) < 2 or not all(c.power for c in candidates):
        return by_bus
    return sorted(by_bus, key=lambda c: -(c.power or 0))


def _named(entry: str, order: Sequence[VisibleGpu]) -> int | None:
    if entry.isdecimal():
        number = int(entry) if len(entry) < 10 else len(order)
        return order[number].index if number < len(order) else None
    if entry.startswith("MIG-"):
        for candidate in order:
            # The older form is MIG-<the GPU's UUID>/<instance>/<instance>.
            if entry in candidate.mig_uuids or (candidate.uuid and entry.startswith(f"MIG-{candidate.uuid}/")):
                return candidate.index
        return None
    if entry.startswith("GPU-"):
        matches = [c.index for c in order if c.uuid and c.uuid.startswith(entry)]
        return matches[0] if len(matches) == 1 else None
    return None
