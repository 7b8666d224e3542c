"""The systems of a site: which hosts belong to them, their partitions, and what their nodes should be.

A system file claims hosts by name (``hosts``, bracket patterns) or by DMI product (``product``), never by the GPUs
that happen to be alive. ``local`` exists only where no file claims the host; its node is observed when it is selected.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from nearfar.base import (
    NearfarError,
    NodeListError,
    SiteFile,
    did_you_mean,
    node_set,
    refuse_too_many,
    short_host_name,
    site_directories,
    site_files,
    text_or_empty,
)
from nearfar.model.prediction import NodeType, load_node_type
from nearfar.topology import Node

from . import applications, environments
from .environments import MODELLED, SPACK, SYSTEM, WAYS, Environment
from .expectations import filled, merge, overlaid

DMI_PRODUCT = Path("/sys/class/dmi/id/product_name")
#: The published system that stands in for the GPUs of a machine that has none.
STAND_IN = "keeneland"
#: Set where a process runs within a job on one node: the site's partition that the node is of.
JOB_PARTITION = "NEARFAR_JOB_PARTITION"
#: Slurm's partitions in a partition's ``access``.
_ACCESS = re.compile(r"^(?:-p\s*|--partition[=\s]\s*)(\S+)$")


@dataclass(frozen=True)
class Partition:
    """Nodes of one kind. ``node_type`` is a file of ``site/nodes/``; None: observed (``local``), or not described.

    ``expect`` holds the site's own words about the nodes, system and partition merged (the partition's count).
    """

    name: str
    description: str = ""
    scheduler: str = "local"
    launcher: str = "local"
    node_type: str | None = None
    features: tuple[str, ...] = ()
    environs: tuple[str, ...] = (SYSTEM,)
    expect: Mapping[str, Any] = field(default_factory=dict)
    references: str | None = None
    #: The site's own programs, which ``binding_check`` runs under binding schemes.
    programs: tuple[Mapping[str, Any], ...] = ()
    #: ``own`` or ``shared``; None: as the node shows itself.
    host: str | None = None
    #: Keys that pass unchanged to ReFrame's partition: access, modules, prepare_cmds, max_jobs, time_limit, …
    reframe: Mapping[str, Any] = field(default_factory=dict)

    @property
    def modelled(self) -> bool:
        """Whether there is no such machine here, so that the prediction answers."""
        return "modelled" in self.features

    def host_of(self, observed: Node | None) -> str:
        """``own`` or ``shared``: the site's word, else ``shared`` of a node that was seen to run under a hypervisor."""
        return self.host or ("shared" if observed is not None and observed.virtual_machine else "own")

    def load_node_type(self, directories: list[Path]) -> NodeType | None:
        """The node type with capacities and nominal links, or None where none is named."""
        return None if self.node_type is None else load_node_type(self.node_type, directories)

    def expected_node(
        self, node_type: NodeType | None, observed: Node | None, models: Mapping[str, Mapping[str, Any]]
    ) -> Node:
        """The node as it should be: its type's, or (``local``) the one observed, under what the site's files say.

        From the most general word to the most precise: GPU model, node type, system, partition.
        """
        if node_type is not None:
            return overlaid(filled(node_type.node, models), self.expectation(node_type))
        if observed is None:
            raise NearfarError(
                f"partition '{self.name}' is not local and names no node_type; write one: nearfar detect --site NAME"
            )
        return overlaid(observed, self.expect)

    def expectation(self, node_type: NodeType | None) -> dict[str, Any]:
        """All that the site's files say of this partition's nodes: the partition's words over the node type's."""
        return merge({} if node_type is None else node_type.expect, self.expect)


@dataclass(frozen=True)
class System:
    """A system file. ``file`` is None for ``local``."""

    name: str
    partitions: Mapping[str, Partition]
    description: str = ""
    hosts: tuple[str, ...] = ()
    product: str | None = None
    unreviewed: bool = False
    file: Path | None = None
    #: All that its partitions may name, those that exist without the file's word among them.
    environments: Mapping[str, Environment] = field(default_factory=environments.shipped)
    #: The program of environment modules: ReFrame's ``modules_system``.
    modules_system: str = "lmod"
    #: Of a machine that no file describes: the features that a program would bring, each with why it lacks it.
    lacks: Mapping[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """What says how its nodes should be."""
        return "ReFrame's configuration" if self.file is None else str(self.file)

    def partition_of(self, slurm: str | None) -> str:
        """The partition for nodes of Slurm's partition ``slurm``: whose ``access`` names it, whose name it is, or the only one. Modelled
        ones are never it. Raises ``NearfarError`` where that leaves none, or several."""
        real = {name: partition for name, partition in self.partitions.items() if not partition.modelled}
        by_access = []
        for name, partition in real.items():
            options = (_ACCESS.match(str(option).strip()) for option in partition.reframe.get("access", []))
            if slurm and any(slurm in match[1].split(",") for match in options if match):
                by_access.append(name)
        for found in (by_access, [name for name in real if name == slurm], [*real]):
            if len(found) == 1:
                return found[0]
        if not real:
            raise NearfarError(f"system '{self.name}' has modelled partitions alone: there is no node of it to measure")
        none = "none of them names Slurm's" + (f" '{slurm}'" if slurm else "")
        raise NearfarError(
            f"system '{self.name}' has the partitions {', '.join(real)}, and {none} in its access: add access: [-p PARTITION]"
        )


def load_all(directories: list[Path] | None = None, environ: Mapping[str, str] | None = None) -> dict[str, System]:
    """All systems of a site by name. Raises ``NearfarError`` with file and line for the first fault found."""
    directories = site_directories(environ) if directories is None else directories
    files = site_files("systems", directories)
    return {name: from_file(SiteFile(path, environ), directories) for name, path in files.items()}


def from_file(file: SiteFile, directories: Sequence[Path]) -> System:
    """The system that a file describes, checked against its schema and the names that exist in the site's ``directories``."""
    node_types, runnable = (site_files(kind, list(directories)) for kind in ("nodes", "applications"))
    path = file.path
    file.check("system-1")
    data = file.data
    if data["system"] != path.stem:
        raise file.error(f"system: '{data['system']}' in a file called {path.name}; use one name for both", "system")
    if data["system"] == "local":
        raise file.error("system: 'local' is the machine that no file describes; choose another name", "system")
    known = _environments(file)
    partitions: dict[str, Partition] = {}
    for index, entry in enumerate(data["partitions"]):
        steps = ("partitions", index)
        if entry["name"] in partitions:
            raise file.error(f"two partitions called '{entry['name']}'", *steps, "name")
        node_type = entry.get("node_type")
        if node_type is not None and node_type not in node_types:
            hint = did_you_mean(node_type, list(node_types))
            raise file.error(
                f"unknown node type '{node_type}'{hint}; node types are files of site/nodes/", *steps, "node_type"
            )
        if "modelled" in entry.get("features", []) and node_type is None:
            raise file.error("a modelled partition needs a node_type", *steps)
        for position, environment in enumerate(entry.get("environs", [])):
            if environment not in known:
                hint = did_you_mean(environment, sorted(known))
                raise file.error(f"unknown environment '{environment}'{hint}", *steps, "environs", position)
        programs = applications.programs(file, entry.get("programs", ()), runnable, *steps, "programs")
        partitions[entry["name"]] = _partition(data, {**entry, "programs": programs})
    if "hosts" in data:
        _check_host_patterns(file, data["hosts"])
    return System(
        name=data["system"], partitions=partitions, description=data.get("description", ""), hosts=tuple(data.get("hosts", ())),
        product=data.get("product"), unreviewed=data.get("unreviewed", False), file=path,
        environments=known, modules_system=data.get("modules_system", "lmod"),
    )  # fmt: skip


def _environments(file: SiteFile) -> dict[str, Environment]:
    known = environments.shipped()
    entries = file.data.get("environments", [])
    for index, entry in enumerate(entries):
        if entry["name"] in [other["name"] for other in entries[:index]]:
            raise file.error(f"two environments called '{entry['name']}'", "environments", index, "name")
        wrong = environments.contradiction(entry)
        if wrong is not None:
            raise file.error(f"environment '{entry['name']}': {wrong}", "environments", index)
        known[entry["name"]] = environments.read(entry)
    return known


def _partition(system: Mapping[str, Any], entry: Mapping[str, Any]) -> Partition:
    own = {each.name for each in fields(Partition)} - {"reframe"}
    features = tuple(entry.get("features", ()))
    return Partition(
        name=entry["name"], description=entry.get("description", system.get("description", "")),
        scheduler=entry.get("scheduler", "local"), launcher=entry.get("launcher", "local"), node_type=entry.get("node_type"),
        features=features, environs=tuple(entry.get("environs", (MODELLED if "modelled" in features else SYSTEM,))),
        expect=merge(system.get("expect", {}), entry.get("expect", {})), references=entry.get("references", system["system"]),
        host=entry.get("host", system.get("host")),
        programs=entry["programs"],
        reframe={key: value for key, value in entry.items() if key not in own},
    )  # fmt: skip


def expand(patterns: str, option: str) -> tuple[str, ...]:
    """The hosts of a list such as ``gpu001,gpu[004-032]``. Raises ``NearfarError`` that names the ``option``."""
    try:
        return tuple(map(str, node_set(patterns)))
    except NodeListError as error:
        raise NearfarError(f"{option} {patterns}: {error}") from None


def _check_host_patterns(file: SiteFile, patterns: list[str]) -> None:
    names = 0
    for index, pattern in enumerate(patterns):
        try:
            names += len(node_set(pattern))
            refuse_too_many(names)
        except NodeListError as error:
            raise file.error(f"hosts: '{pattern}': {error}", "hosts", index) from None


def claims(hostname: str, product: str | None, systems: Mapping[str, System]) -> System | None:
    """The system that claims a host: by name (full or short), else by product; None where no file does.

    Raises ``NearfarError`` when two files claim it in the same way.
    """
    short = short_host_name(hostname)
    by_name = [s for s in systems.values() if any(h in node_set(p) for p in s.hosts for h in (hostname, short))]
    by_product = [s for s in systems.values() if product and s.product == product]
    for claiming, subject in ((by_name, f"host {hostname}"), (by_product, f"product '{product}'")):
        if len(claiming) > 1:
            files = " and ".join(str(s.file) for s in claiming)
            raise NearfarError(f"{subject} is claimed by {files}; take it out of one, or set NEARFAR_SYSTEM")
        if claiming:
            return claiming[0]
    return None


def shared_hosts(system: System, other: System) -> str:
    """The hosts that both name, in bracket form; empty where there are none."""
    if not system.hosts or not other.hosts:
        return ""
    return str(node_set(",".join(system.hosts)) & node_set(",".join(other.hosts)))


def dmi_product() -> str | None:
    """The machine's product name as its firmware gives it."""
    return text_or_empty(DMI_PRODUCT) or None


def local_system(gpus: bool, systems: Mapping[str, System], lacks: Mapping[str, str] | None = None) -> System:
    """The machine that no file claims; without GPUs the published stand-in joins it as a modelled partition.

    ``lacks``: which of ``mpi`` (OSU and an MPI), ``ranks`` (an MPI that the pack's own programs can be built with) and ``nccl``
    (nccl-tests) it has not, and why (None: of none is anything known).
    """
    programs = ("mpi", "ranks", "nccl")
    missing = dict.fromkeys(programs, "") if lacks is None else lacks
    features = (*(("gpu",) if gpus else ()), *(name for name in programs if name not in missing))
    partitions = {"default": Partition("default", "this machine", features=features, references="local")}
    stand_in = systems.get(STAND_IN)
    if not gpus and stand_in is not None:
        model = next((p for p in stand_in.partitions.values() if p.modelled), None)
        if model is not None:
            partitions[STAND_IN] = Partition(
                name=STAND_IN, description=f"{stand_in.description} (modelled)", node_type=model.node_type,
                features=model.features, environs=model.environs, expect=model.expect, references=model.references,
            )  # fmt: skip
    description = "this machine, which no system file claims"
    return System(name="local", partitions=partitions, description=description, lacks=lacks or {})


@dataclass(frozen=True)
class Site:
    """Everything a run needs to know about the site: its systems, and which of them this host is."""

    directories: tuple[Path, ...]
    systems: Mapping[str, System]
    here: str


@lru_cache(maxsize=1)
def site() -> Site:
    """This host's view of the site, read once in a process.

    ``NEARFAR_SYSTEM`` names the system instead of the host's name or product, ``NEARFAR_JOB_PARTITION`` the partition
    whose node a job runs on, ``NEARFAR_WITH`` (``spack`` or ``system``) the way its programs come.
    """
    directories = site_directories()
    systems = load_all(directories)
    wanted = os.environ.get("NEARFAR_SYSTEM") or None
    if wanted is None:
        claimed = claims(socket.gethostname(), dmi_product(), systems)
        wanted = "local" if claimed is None else claimed.name
    elif wanted != "local" and wanted not in systems:
        raise NearfarError(
            f"no system file called '{wanted}'{did_you_mean(wanted, ['local', *systems])}; --system or NEARFAR_SYSTEM names it"
        )
    if wanted == "local":
        from nearfar import nccl
        from nearfar.mpi.osu import installed
        from nearfar.topology.inventory import gpu_pci_devices, gpus_not_measured

        # Spack's environment brings OSU and an MPI, wherever the PATH leads.
        brought = os.environ.get("NEARFAR_WITH") == SPACK
        gpus = 0 if gpus_not_measured() else len(gpu_pci_devices())
        # A node with one GPU has no collective, whatever is installed.
        lacks = {**({} if brought else installed.lacking()), **(nccl.installed.lacking() if gpus > 1 else {})}
        systems["local"] = local_system(gpus > 0, systems, lacks)
    inside = os.environ.get(JOB_PARTITION)
    if inside:
        systems[wanted] = within_job(systems[wanted], inside)
    systems[wanted] = in_one_way(systems[wanted], os.environ.get("NEARFAR_WITH") or None)
    return Site(tuple(directories), systems, wanted)


def within_job(system: System, partition: str) -> System:
    """A system as seen from a job on a node of one partition: it alone, run here. Raises ``NearfarError`` for a name
    that the system lacks."""
    if partition not in system.partitions:
        names = list(system.partitions)
        raise NearfarError(
            f"{JOB_PARTITION}: system '{system.name}' has no partition '{partition}'{did_you_mean(partition, names)}"
        )
    whole = system.partitions[partition]
    # What takes two nodes is asked in a job that has them.
    alone = os.environ.get("SLURM_JOB_NUM_NODES", "1") == "1"
    features = tuple(name for name in whole.features if not (alone and name == "two_nodes"))
    here = replace(whole, scheduler="local", launcher="local", features=features)
    return replace(system, partitions={partition: here})


def in_one_way(system: System, way: str | None) -> System:
    """The system with those environments alone that get their programs in one way (``spack`` or ``system``); as it is
    where ``way`` is None. A modelled partition runs no program and stays as it is."""
    if way is None:
        return system
    if way not in WAYS:
        raise NearfarError(f"NEARFAR_WITH: '{way}' is not one of {', '.join(WAYS)}")
    partitions = {
        name: p if p.modelled else replace(p, environs=environments.chosen(p.environs, system.environments, way))
        for name, p in system.partitions.items()
    }
    return replace(system, partitions=partitions)
