"""Which GPUs ``CUDA_VISIBLE_DEVICES`` leaves to CUDA programs. Hiding one renumbers nothing here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .nvml import DriverGpu


def visible_gpus(shown: Sequence[DriverGpu], environment: Mapping[str, str]) -> frozenset[str]:
    """The bus ids of the GPUs (``shown`` in PCI order) that CUDA programs see, by the rules of CUDA's programming guide.

    Entries are indices in CUDA's order, UUIDs or a unique beginning of one, or MIG instances; the first entry that
    names no GPU ends the list.
    """
    wanted = environment.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        return frozenset(gpu.pci for gpu in shown)
    order = list(shown)
    # CUDA's default order: the fastest first, equal ones in PCI order.
    unlike = len({gpu.name for gpu in shown}) > 1 and all(gpu.power for gpu in shown)
    if environment.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID" and unlike:
        order.sort(key=lambda gpu: -(gpu.power or 0))
    seen: set[str] = set()
    for entry in wanted.split(","):
        gpu = _named(entry.strip(), order)
        if gpu is None:
            break
        seen.add(gpu.pci)
    return frozenset(seen)


def _named(entry: str, order: Sequence[DriverGpu]) -> DriverGpu | None:
    if entry.isdecimal():
        number = int(entry) if len(entry) < 10 else len(order)
        return order[number] if number < len(order) else None
    if entry.startswith("MIG-"):
        # The older form is MIG-<the GPU's UUID>/<instance>/<instance>.
        of = (gpu for gpu in order if entry in gpu.mig_uuids or (gpu.uuid and entry.startswith(f"MIG-{gpu.uuid}/")))
        return next(of, None)
    matches = [gpu for gpu in order if entry.startswith("GPU-") and gpu.uuid and gpu.uuid.startswith(entry)]
    return matches[0] if len(matches) == 1 else None
