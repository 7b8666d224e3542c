"""The first site files of a system, drafted from a node at hand for a person to review.

They say what the machine *is*; only a person knows what it *should be*. Hence ``unreviewed: true`` at their top.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, SiteFile, day_text, site_directories, site_files, write_atomically
from nearfar.topology import Gpu, Link, Node, parse_hwloc_xml

#: As the schema of system files has it.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

_UNREVIEWED = """\
# Written by `nearfar detect --site {name}` from one machine, {host}, on {date}: what that machine was then.
# While the file has the line "unreviewed: true", nobody has compared it with what was ordered and installed: the topology is
# shown as "not compared", and acceptance is INDETERMINATE. Compare it, fix what differs, then remove that line.
unreviewed: true
"""


def write_first_site_files(name: str, node: Node, xml: str, directory: Path) -> list[Path]:
    """Write ``systems/NAME.yaml``, ``nodes/NAME.yaml`` and ``nodes/NAME.xml`` below ``directory``; returns their paths.

    ``xml`` is the hwloc XML that ``node`` came from. Existing files are never overwritten: ``NearfarError``.
    """
    if not _NAME.fullmatch(name):
        raise NearfarError(
            f"--site {name}: a name has letters, digits, '_' and '-' and does not begin with a digit or '-'; choose another"
        )
    listed = {gpu.pci for gpu in parse_hwloc_xml(xml).gpus}
    unlisted = [gpu.pci for gpu in node.gpus if gpu.pci not in listed]
    if unlisted:
        raise NearfarError(
            f"lstopo does not list the GPUs at {', '.join(unlisted)}, so its XML cannot describe this node; run it where "
            f"all of /sys/bus/pci is visible"
        )
    # The system file comes last: it is the one that makes the others count.
    contents = {
        directory / "nodes" / f"{name}.xml": _without_cpuset(xml),
        directory / "nodes" / f"{name}.yaml": _node_type(name, node),
        directory / "systems" / f"{name}.yaml": _system(name, node),
    }
    for path in contents:
        if path.exists():
            raise NearfarError(f"{path} is there already and is not overwritten; choose another name, or move it away")
    for path, text in contents.items():
        write_atomically(path, text, elsewhere="name with --site-dir or NEARFAR_SITE a directory")
    return list(contents)


def _without_cpuset(xml: str) -> str:
    """The XML without what happened to be allowed to the process that looked: a node type is the whole node."""
    machine = re.search(r'<object type="Machine"[^>]*>', xml)
    if machine is None:
        return xml
    whole = machine[0]
    for what in ("cpuset", "nodeset"):
        value = re.search(f' {what}="([^"]*)"', whole)
        if value:
            whole = re.sub(f' allowed_{what}="[^"]*"', f' allowed_{what}="{value[1]}"', whole)
    return xml.replace(machine[0], whole, 1)


def _system(name: str, node: Node) -> str:
    product, host = node.product, node.hostname
    claim = (
        f"product: {_text(product)}\n# hosts: [{_text(host)}]" if product else f"hosts: [{_text(host)}]\n# product: …"
    )
    expect = _expect(node)
    features = "[gpu]" if node.gpus else "[]"
    return f"""{_unreviewed(name, node)}
system: {name}
description: {_text(f"{product or host}, {len(node.gpus)} GPUs")}
source: {_text(f"observed on {host}, {day_text()}")}

# Which hosts are this system's: all that have the firmware's product name, or by name (hosts: ["node[001-120]"]), which
# comes first. A virtual machine's product name is shared by many other machines: name the hosts.
{claim}

# Whether its nodes have their hosts alone (own), or other users share them (shared; the default under a hypervisor).
# host: {"shared" if node.virtual_machine else "own"}

# What each node should be. Every difference from it is a finding with its own sentence.
expect:
{expect}
partitions:
  - name: default
    description: {_text("the nodes, reached from themselves")}
    scheduler: local          # slurm, pbs … as ReFrame names them, then with access: ["-p gpu"]
    launcher: local           # srun, mpirun …
    node_type: {name}
    features: {features}    # and ranks, where the nodes have an MPI (mpi_check): docs/describe.md
    environs: [system]
"""


def _expect(node: Node) -> str:
    numa = ", ".join(str(n.index) for n in node.host_numa_nodes)
    lines = [
        f"gpus: {len(node.gpus)}",
        f"packages: {len(node.packages)}" if node.packages else "",
        f"numa_nodes: [{numa}]",
    ]
    link = _same(node, lambda gpu: _nominal(gpu.link))
    if link is not None and link.gen and link.width:
        lines.append(f"link: {_flow(link)}    # at most, by device and slot: see the data sheet")
    elif node.gpus:
        lines.append(
            "# link: {kind: pcie, gen: 5, width: 16}    # not the same, or not known, for all GPUs: see the node type"
        )
    choices: tuple[tuple[str, Callable[[Gpu], Any], str], ...] = (
        ("gpu_model", lambda gpu: gpu.name, ""),
        ("nvlinks", lambda gpu: gpu.nvlinks, "    # active lanes of each GPU"),
        ("nvlink_generation", lambda gpu: gpu.nvlink_generation, ""),
        ("mig", lambda gpu: gpu.mig, ""),
        ("ecc", lambda gpu: gpu.ecc, ""),
    )
    for key, value_of, comment in choices:
        value = _same(node, value_of)
        if value is not None:
            lines.append(f"{key}: {json.dumps(value, ensure_ascii=False)}{comment}")
    memory = sum(n.memory for n in node.host_numa_nodes)
    lines.append(f"# memory: {memory}    # bytes of host memory that this machine shows")
    return "".join(f"  {line}\n" for line in lines if line)


def _node_type(name: str, node: Node) -> str:
    model = _same(node, lambda gpu: gpu.name)
    links = "".join(
        f"  g{gpu.index}: {_flow(_nominal(gpu.link))}    # {gpu.pci}\n"
        for gpu in node.gpus
        if _nominal(gpu.link) != Link(gpu.link.kind)
    )
    elsewhere, file = _of_the_model(model)
    sections = []
    if model:
        sections.append(f"gpu_model: {_text(model)}\n")
    nvlinks, generation = _same(node, lambda gpu: gpu.nvlinks), _same(node, lambda gpu: gpu.nvlink_generation)
    if nvlinks:
        sections.append(f"nvlinks: {nvlinks}\n")
    if generation:
        sections.append(f"nvlink_generation: {generation}\n")
    elif nvlinks and "nvlink_generation" in elsewhere:
        sections.append(
            f"nvlink_generation: {elsewhere['nvlink_generation']}    # not in the XML: of the GPU's model, {file}\n"
        )
    if not links and "link" in elsewhere:
        links = "".join(f"  g{gpu.index}: {_flow(Link(**elsewhere['link']))}    # {gpu.pci}\n" for gpu in node.gpus)
        sections.append(
            f"# Each GPU's link to the host. What device and slot allow is not in the XML: GPUs of the model have this ({file}).\n"
            f"# Is each slot as wide and as new?\nlinks:\n{links}"
        )
    elif links:
        sections.append(
            "# Each GPU's link to the host as it should be (generation, lanes): what device and slot allow at most.\n"
            f"links:\n{links}"
        )
    return f"""{_unreviewed(name, node)}
node_type: {name}
description: {_text(node.product or node.hostname)}
source: {_text(f"observed on {node.hostname}, {day_text()}")}
xml: {name}.xml
{"".join(sections)}
# What flows share, where it is known, as in the published node types: g0.h2d, n0.memory, p0-p1 …
{_capacities(node)}"""


def _of_the_model(model: str | None) -> tuple[Mapping[str, Any], str]:
    """What GPUs of a model have, by its file of ``gpus/`` (``expect``), and that file's name; nothing where there is none."""
    for path in site_files("gpus", site_directories()).values() if model else ():
        file = SiteFile(path)
        if model in file.data.get("gpu_models", ()):
            return file.data.get("expect", {}), f"gpus/{path.name}"
    return {}, ""


def _capacities(node: Node) -> str:
    """The peaks of host memory where the machine knows them; else how to declare them."""
    lines = "".join(
        f"  n{numa.index}.memory: {{value: null, peak: {numa.peak:g}, reason: nobody measured it}}\n"
        for numa in node.host_numa_nodes
        if numa.peak is not None
    )
    if lines:
        return f"# peak: GB/s that the DIMMs carry; STREAM is shown as a part of it.\ncapacities:\n{lines}"
    example = "{value: null, peak: 307.2, reason: nobody measured it}"
    return f"#   n0.memory: {example}    # peak: GB/s, transfers a second of its DIMMs × 8 bytes × channels\ncapacities: {{}}\n"


def _unreviewed(name: str, node: Node) -> str:
    return _UNREVIEWED.format(name=name, host=node.hostname, date=day_text())


def _nominal(link: Link) -> Link:
    return Link(link.kind, link.max_gen, link.max_width)


def _flow(link: Link) -> str:
    gen, width = ("null" if value is None else value for value in (link.gen, link.width))
    speed = f", speed: {link.speed:g}" if link.kind == "c2c" and link.speed else ""
    return f"{{kind: {link.kind}, gen: {gen}, width: {width}{speed}}}"


def _same(node: Node, value_of: Callable[[Gpu], Any]) -> Any:
    """What all GPUs have in common, or ``None``."""
    values = [value_of(gpu) for gpu in node.gpus]
    return values[0] if values and all(value == values[0] for value in values) else None


def _text(text: str) -> str:
    """A YAML string; braces of Jinja2 in a machine's own words must stay words."""
    return json.dumps(text.replace("{", "(").replace("}", ")"), ensure_ascii=False)
