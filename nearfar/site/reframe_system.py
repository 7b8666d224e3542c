"""A system as ReFrame describes it, with what the nearfar system file of the same name adds: the site's own configuration is enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from nearfar.base import SiteFile

from .environments import MODELLED, Environment
from .expectations import merge
from .systems import Partition, System


def described(own: Any, file: System | None) -> System:
    """The system that ReFrame's object ``own`` describes. Partitions, scheduler, launcher and environments are ReFrame's; ``file``, the
    nearfar system of the same name, adds features, what nodes should have, and references. Raises ``NearfarError`` for a partition of the
    file that ReFrame does not have: nothing would ever be held against it."""
    names = [partition.name for partition in own.partitions]
    for index, (name, added) in enumerate({} if file is None else file.partitions.items()):
        if name not in names and not added.modelled and file is not None and file.file is not None:
            problem = f"partition '{name}' is none of ReFrame's system '{own.name}' ({', '.join(names)})"
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
    features = [*own.features, *_gpu_feature(own), *(name for name in added.features if name != MODELLED)]
    return replace(
        added, description=own.descr, scheduler=own.scheduler.registered_name, launcher=own.launcher_type.registered_name,
        features=tuple(dict.fromkeys(features)), environs=tuple(environment.name for environment in own.environs),
        expect=merge(dict(_expected_gpus(own)), added.expect),
    )  # fmt: skip


def _environment(own: Any) -> Environment:
    """An environment that no nearfar file describes: its compilers build the programs."""
    reframe = {"modules": list(own.modules), "cxx": own.cxx, "nvcc": own.nvcc}
    return Environment(own.name, tuple(own.features), reframe=reframe)


def _nvidia_devices(own: Any) -> list[Any]:
    """The partition's devices of type ``gpu`` but for those that are said to be another vendor's."""
    if own.extras.get("gpu_vendor", "nvidia") != "nvidia":
        return []
    return [device for device in own.devices if device.type == "gpu" and not str(device.arch or "").startswith("gfx")]


def _gpu_feature(own: Any) -> list[str]:
    return ["gpu"] if _nvidia_devices(own) else []


def _expected_gpus(own: Any) -> Iterator[tuple[str, Any]]:
    counts = [device.info.get("num_devices") for device in _nvidia_devices(own)]
    if counts and None not in counts:
        yield "gpus", sum(counts)
