"""Emulated GPUs for the programs that are built against ``src/tests/emulated_cuda``: hwloc's view of them, and what EMULATED_CUDA says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.launchers import environment as as_root
from tests.support.launchers import launcher

#: As in the emulation: the first GPU's PCI bus.
FIRST_BUS = 0x10
#: PCI class and ids of an H100, as hwloc writes them.
H100 = "0302 [10de:2330] [10de:16c1] a1"


def write_topology(path: Path, gpus: int, pci_type: str = H100) -> Path:
    """This machine's topology with so many GPUs on its PCI bus, spread over its packages."""
    seen = subprocess.run(["lstopo-no-graphics", "--of", "xml"], capture_output=True, text=True, check=True)
    machine = ET.fromstring(seen.stdout).find("object")
    assert machine is not None
    for above in list(machine.iter("object")):  # real devices are no part of it
        for bridge in above.findall("object[@type='Bridge']"):
            above.remove(bridge)
    packages = machine.findall(".//object[@type='Package']") or [machine]
    number = max(int(each.get("gp_index", "0")) for each in machine.iter("object"))
    for gpu in range(gpus):
        bus = f"{FIRST_BUS + gpu:02x}"
        number += 2
        bridge = ET.SubElement(
            packages[gpu * len(packages) // gpus],
            "object",
            {
                "type": "Bridge",
                "gp_index": f"{number}",
                "bridge_type": "0-1",
                "depth": "0",
                "bridge_pci": f"0000:[{bus}-{bus}]",
            },
        )
        kind = {
            "pci_busid": f"0000:{bus}:00.0",
            "pci_type": pci_type,
            "pci_link_speed": "63.015385",
        }
        ET.SubElement(bridge, "object", {"type": "PCIDev", "gp_index": f"{number + 1}", **kind})
    document = ET.tostring(machine, encoding="unicode")
    path.write_text(
        f'<?xml version="1.0"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">{document}</topology>\n'
    )
    return path


@dataclass
class Ended:
    """How an emulated program ended."""

    code: int
    output: str
    errors: str

    def document(self) -> dict[str, Any]:
        """The measurement document that it printed; fails with its words where that is none."""
        try:
            return dict(json.loads(self.output))
        except ValueError as error:
            raise AssertionError(f"exit {self.code}, no document: {error}\n{self.output}\n{self.errors}") from error


@dataclass
class Emulated:
    """Runs the emulated programs of a build; ``folder`` keeps their topologies."""

    programs: Path
    folder: Path

    def environment(self, gpus: int, settings: str = "") -> dict[str, str]:
        """The environment of a program that is to see so many GPUs, with more pairs of EMULATED_CUDA."""
        topology = self.folder / f"gpus-{gpus}.xml"
        if not topology.exists():
            write_topology(topology, gpus)
        libraries = str(self.programs.parent / "emulated")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA_", "HWLOC_"))}
        return kept | {
            "HWLOC_XMLFILE": str(topology),
            "HWLOC_THISSYSTEM": "1",
            "EMULATED_CUDA": f"gpus={gpus}" + (f",{settings}" if settings else ""),
            "LD_LIBRARY_PATH": ":".join(filter(None, [libraries, kept.get("LD_LIBRARY_PATH")])),
        }

    def run(self, *words: str, gpus: int = 1, settings: str = "", timeout: float = 60) -> Ended:
        """Run emulated-copy."""
        return self.start([str(self.programs / "emulated-copy"), *words], gpus, settings, timeout)

    def run_ranks(self, program: str, ranks: int, *words: str, gpus: int = 1, settings: str = "") -> Ended:
        """Run a program with ranks; skips the test where there is no MPI."""
        path = self.programs / program
        return self.start([*launcher(path, ranks), str(path), *words], gpus, settings)

    def start(self, command: list[str], gpus: int, settings: str, timeout: float = 90) -> Ended:
        """Run a whole command."""
        environment = as_root() | self.environment(gpus, settings)
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)


def emulated_programs(build: Path, folder: Path) -> Emulated:
    """The emulated programs of a build; skips the test where there are none, or no lstopo to read this machine."""
    if not (build / "bin" / "emulated-copy").exists():
        pytest.skip("no headers of CUDA: the emulated programs are not built")
    if shutil.which("lstopo-no-graphics") is None:
        pytest.skip("no lstopo")
    return Emulated(build / "bin", folder)
