"""Programming environments: how a partition comes by the pack's programs, OSU and MPI.

Four ways, and a site file says which: CMake with what the system (or an environment's modules) offers, the pack's Spack
environment (``features: [spack]``), a folder of programs that somebody installed (``prefix``), or a container's image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

#: The programming environment that every partition has unless its file says otherwise: what the system offers.
SYSTEM = "system"
#: That of a modelled partition: nothing is run there, and ReFrame shows the word behind each case's name.
MODELLED = "modelled"
#: The feature of an environment whose programs Spack builds, and the name of the one that ``--with spack`` brings.
SPACK = "spack"
#: What ``--with`` takes.
WAYS = (SPACK, SYSTEM)

#: A program within an image: the runtime's words before the image, and between image and program. The stage directory
#: is bound, because the cells' file lies there and launched programs write their document there.
_RUNTIMES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "apptainer": (("apptainer", "exec", "--bind", "{stage}", "--pwd", "{stage}"), ()),
    "singularity": (("singularity", "exec", "--bind", "{stage}", "--pwd", "{stage}"), ()),
    "charliecloud": (("ch-run", "--bind", "{stage}", "--cd", "{stage}"), ("--",)),
}


@dataclass(frozen=True)
class Container:
    """An image that holds the programs in its folder ``programs``; ``options`` are the runtime's own (``--nv``)."""

    runtime: str
    image: str
    programs: str
    options: tuple[str, ...] = ()

    def words(self, stage: str) -> list[str]:
        """The command line before a program's own, run in the stage directory ``stage``."""
        before, after = _RUNTIMES[self.runtime]
        return [*(word.format(stage=stage) for word in before), *self.options, self.image, *after]

    @property
    def executable(self) -> str:
        """The program that must be on the node's PATH."""
        return _RUNTIMES[self.runtime][0][0]


@dataclass(frozen=True)
class Environment:
    """A programming environment. ``reframe`` holds the keys that pass unchanged to ReFrame's environment."""

    name: str
    features: tuple[str, ...] = ()
    prefix: Path | None = None
    container: Container | None = None
    #: Compute capabilities for Spack's ``cuda_arch``, such as ``90``; empty: the recipe's own.
    cuda_arch: tuple[str, ...] = ()
    reframe: Mapping[str, Any] = field(default_factory=dict)

    @property
    def spack(self) -> bool:
        """Whether Spack builds its programs."""
        return SPACK in self.features

    @property
    def built_here(self) -> bool:
        """Whether CMake builds its programs, with what the system and the environment's modules offer."""
        return not self.spack and self.prefix is None and self.container is None


def read(entry: Mapping[str, Any]) -> Environment:
    """An environment of a system file, whose schema has been checked."""
    own = {each.name for each in fields(Environment)} - {"reframe"}
    container = entry.get("container")
    return Environment(
        name=entry["name"], features=tuple(entry.get("features", ())), prefix=Path(entry["prefix"]) if "prefix" in entry else None,
        container=None if container is None else Container(
            container["runtime"], container["image"], container["programs"], tuple(container.get("options", ())),
        ),
        cuda_arch=tuple(str(capability) for capability in entry.get("cuda_arch", ())),
        reframe={key: value for key, value in entry.items() if key not in own},
    )  # fmt: skip


def contradiction(entry: Mapping[str, Any]) -> str | None:
    """Why an environment of a system file cannot be: it names two sources of one program."""
    named = [key for key in ("prefix", "container") if key in entry]
    named += ["features: [spack]"] if SPACK in entry.get("features", ()) else []
    if len(named) > 1:
        return f"{' and '.join(named)} are two sources of the programs; keep one, or make two environments"
    if "cuda_arch" in entry and SPACK not in entry.get("features", ()):
        return "cuda_arch is for the Spack environment; add features: [spack], or take it out"
    return None


def chosen(names: Sequence[str], known: Mapping[str, Environment], way: str) -> tuple[str, ...]:
    """Those of a partition's environments that get their programs in a way of ``WAYS``; where none does, the pack's own
    environment of that way."""
    fitting = tuple(name for name in names if known[name].spack == (way == SPACK))
    return fitting or (way,)


def shipped() -> dict[str, Environment]:
    """The environments that exist without a site's word: what the system offers, a modelled partition's, and the pack's Spack
    environment."""
    return {name: Environment(name) for name in (SYSTEM, MODELLED)} | {SPACK: Environment(SPACK, features=(SPACK,))}
