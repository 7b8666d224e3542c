"""A system as ReFrame describes it, with what the nearfar system file of the same name adds: the site's own configuration is enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nearfar.base import SiteFile

from .environments import MODELLED, Environment
from .expectations import merge
from .systems import Partition, System


def described(own: Any, file: System | None, names: Sequence[str]) -> System:
    """The system that ReFrame's object ``own`` describes. Partitions, scheduler, launcher and environments are ReFrame's; ``file``, the
    nearfar system of the same name, adds features, what nodes should have, and references. Raises ``NearfarError`` for a partition of the
    file that is none of ``names``, all that ReFrame's configuration has: nothing would ever be held against it."""
    if file is not None and file.file is not None:
        for index, added in enumerate(file.partitions.values()):
            if added.name not in names and not added.modelled:
                problem = f"partition '{added.name}' is none of ReFrame's system '{own.name}' ({', '.join(names)})"
                raise SiteFile(file.file).error(problem, "partitions", index, "name")
    base = System(own.name, {}, own.descr) if file is None else file
    environments = dict(base.environments)
    for partition in own.partitions:
        for environment in partition.environs:
            environments.setdefault(environment.name, _environment(environment))
    partitions = {partition.name: _partition(partition, base) for partition in own.partitions}
    return replace(base, partitions=partitions, environments=environments)


def _partition(own: Any, system: System) -> Partition:
    added = system.partitions.get(own.name) or Partition(own.name, references=system.name)
    # What ReFrame has as real is measured, also where a shipped file has a model of the same name.
    features = [*_features(own), *(name for name in added.features if name != MODELLED)]
    return replace(
        added, description=own.descr, scheduler=own.scheduler.registered_name, launcher=own.launcher_type.registered_name,
        features=tuple(dict.fromkeys(features)), environs=tuple(environment.name for environment in own.environs),
        expect=merge(_expected_gpus(own), added.expect),
    )  # fmt: skip


def _environment(own: Any) -> Environment:
    """An environment that no nearfar file describes: its compilers build the programs."""
    reframe = {"modules": list(own.modules), "cxx": own.cxx, "nvcc": own.nvcc}
    return Environment(own.name, tuple(own.features), reframe=reframe)


def _features(own: Any) -> list[str]:
    """The partition's features; ``gpu`` is one where it has devices of NVIDIA's, and is none where it has another vendor's alone."""
    nvidia, others = _gpu_devices(own)
    foreign = not nvidia and (others or not _of_nvidia(own))
    return [*(["gpu"] if nvidia else []), *(name for name in own.features if name != "gpu" or not foreign)]


def _gpu_devices(own: Any) -> tuple[list[Any], list[Any]]:
    """The partition's devices of type ``gpu``: NVIDIA's, and those that are said to be another vendor's."""
    devices = [device for device in own.devices if device.type == "gpu"]
    nvidia = [device for device in devices if _of_nvidia(own) and not str(device.arch or "").startswith("gfx")]
    return nvidia, [device for device in devices if device not in nvidia]


def _of_nvidia(own: Any) -> bool:
    return bool(own.extras.get("gpu_vendor", "nvidia") == "nvidia")


def _expected_gpus(own: Any) -> dict[str, int]:
    """How many GPUs a node should have, where the devices say so."""
    counts = [device.info.get("num_devices") for device in _gpu_devices(own)[0]]
    return {"gpus": sum(counts)} if counts and None not in counts else {}
