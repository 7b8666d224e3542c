"""A node drawn in text: what hangs where, the class of every path, and GPUs whose link is slower than that of others of their model."""

from __future__ import annotations

from collections.abc import Callable

from nearfar.base import columns

from .bitmaps import format_cpu_list
from .parts import LINK_KINDS, Gpu, Link, Node, NumaNode
from .path_classes import host_class, nic_class, peer_class, shared_uplinks

_GIB = 1 << 30
_LABELS = {"driver": "driver", "cuda": "CUDA", "kernel": "kernel", "os": "", "hwloc": "hwloc", "vbios": "GPU firmware"}
#: What tells two links apart, by what is known of both: lanes and generation that device and slot allow, the present lanes (an idle GPU
#: lowers its generation, not its lanes), and the rate that hwloc gives.
_MEASURES: tuple[tuple[str, Callable[[Link], float | None]], ...] = (
    ("x{:g}", lambda link: link.max_width),
    ("generation {:g}", lambda link: link.max_gen),
    ("x{:g} now", lambda link: link.width),
    ("{:.1f} GB/s", lambda link: link.speed),
)


def draw(node: Node) -> str:
    """The node as lines of text, without a line end at the end."""
    lines = [node.hostname + (f": {node.product}" if node.product else "")]
    stamp = [f"{_LABELS[key]} {node.software[key]}".strip() for key in _LABELS if key in node.software]
    if stamp:
        lines.append("  " + ", ".join(stamp))
    unlike = [words for gpu in node.gpus if (words := _unlike_link(gpu, node))]
    for title, block in (
        ("", _tree(node)),
        ("from host memory to the GPUs", _host_table(node)),
        ("from device to device", _device_table(node)),
        ("devices behind one uplink", [f"{bridge}  {' '.join(d)}" for bridge, d in shared_uplinks(node).items()]),
        ("distances between NUMA nodes", _distance_table(node)),
        ("notes", [*unlike, *([node.not_measured] if node.not_measured else []), *node.notes]),
    ):
        if block:
            lines += ["", *([title] if title else []), *("  " + line for line in block)]
    return "\n".join(line.rstrip() for line in lines)


def describe_link(link: Link) -> str:
    """A link in a few words: ``PCIe 5 x16 (now 1 x16)``, ``NVLink 2 x3``, ``C2C``."""
    name = LINK_KINDS[link.kind]
    most, now = _state(link.max_gen, link.max_width), _state(link.gen, link.width)
    if most:
        return f"{name} {most}" + (f" (now {now})" if now and now != most else "")
    if now:
        return f"{name} {now} now"
    if link.speed:
        return f"{name} {link.speed:.1f} GB/s"
    return name if link.kind != "pcie" else "PCIe, link not known"


def _state(gen: int | None, width: int | None) -> str:
    return " ".join(word for word in (str(gen) if gen else "", f"x{width}" if width else "") if word)


def _tree(node: Node) -> list[str]:
    lines = []
    for package in node.packages:
        lines.append(f"package {package.index}  CPUs {format_cpu_list(package.cpus)}")
        lines += ["  " + line for line in _place(node, package.index)]
    elsewhere = _place(node, None)
    if elsewhere:
        lines += ["of no one package", *("  " + line for line in elsewhere)]
    return lines


def _place(node: Node, package: int | None) -> list[str]:
    """What is attached to a package: its NUMA nodes with their devices, then devices of none of them."""
    lines = []
    inside = [n for n in node.numa_nodes if n.package == package]
    for numa in inside:
        # Superchips reserve nodes without CPUs and memory for MIG instances: nothing to see.
        if numa.cpus or numa.memory:
            lines.append(_numa_line(node, numa))
            lines += ["  " + line for line in _devices(node, numa.index, package)]
    return lines + _devices(node, None, package)


def _numa_line(node: Node, numa: NumaNode) -> str:
    memory = f"{numa.memory / _GIB:.0f} GiB" if numa.memory else "no memory"
    if numa.kind == "gpu":
        return f"n{numa.index}  {memory} of " + ("a GPU" if numa.gpu is None else f"g{numa.gpu}") + ", not host memory"
    allowed = node.allowed_numa_nodes is None or numa.index in node.allowed_numa_nodes
    cpus = f"CPUs {format_cpu_list(numa.cpus)}" if numa.cpus else "no CPUs"
    peak = f", at most {numa.peak:.1f} GB/s" if numa.peak is not None else ""
    return f"n{numa.index}  {cpus}  {memory}{peak}" + ("" if allowed else "  not allowed here")


def _devices(node: Node, numa: int | None, package: int | None) -> list[str]:
    rows = [_gpu_row(gpu, node) for gpu in node.gpus if (gpu.numa_node, gpu.package) == (numa, package)]
    nics = (nic for nic in node.nics if (nic.numa_node, nic.package) == (numa, package))
    rows += [[nic.name, nic.pci, "NIC", describe_link(nic.link), ""] for nic in nics]
    return columns(rows)


def _gpu_row(gpu: Gpu, node: Node) -> list[str]:
    siblings = [f"g{other.index}" for other in node.gpus if gpu.serial and other.serial == gpu.serial and other != gpu]
    lanes = f"NVLink {gpu.nvlink_generation or ''}".strip() + f" with {gpu.nvlinks} lanes" if gpu.nvlinks else ""
    remarks = [
        f"{gpu.memory / _GIB:.0f} GiB" if gpu.memory else "",
        lanes,
        "MIG" if gpu.mig else "",
        "ECC off" if gpu.ecc is False else "ECC" if gpu.ecc else "",
        "" if gpu.visible else "not visible here",
        f"FAULT: {gpu.fault}" if gpu.fault else "",
        gpu.uuid or "",
        f"one package with {' '.join(siblings)}" if siblings else "",
    ]
    shown = ", ".join(remark for remark in remarks if remark)
    return [f"g{gpu.index}", gpu.pci, gpu.name or "GPU", describe_link(gpu.link), shown]


def _host_table(node: Node) -> list[str]:
    if not node.gpus:
        return []
    rows = [["", *(f"g{gpu.index}" for gpu in node.gpus)]]
    for numa in node.host_numa_nodes:
        rows.append([f"n{numa.index}", *(host_class(node, numa.index, gpu.index) for gpu in node.gpus)])
    return columns(rows)


def _device_table(node: Node) -> list[str]:
    if not node.gpus or len(node.gpus) + len(node.nics) < 2:
        return []
    rows = [["", *(f"g{gpu.index}" for gpu in node.gpus), *(nic.name for nic in node.nics)]]
    for gpu in node.gpus:
        peers = ["-" if gpu == other else peer_class(node, gpu.index, other.index) for other in node.gpus]
        rows.append([f"g{gpu.index}", *peers, *(nic_class(node, gpu.index, nic.name) for nic in node.nics)])
    return columns(rows)


def _distance_table(node: Node) -> list[str]:
    host = [numa.index for numa in node.numa_nodes if numa.kind == "host"]
    known = [index for index in host if (index, index) in node.distances]
    if len(known) < 2:
        return []
    rows = [["", *(f"n{index}" for index in known)]]
    rows += [[f"n{a}", *(str(node.distances.get((a, b), "")) for b in known)] for a in known]
    return columns(rows)


def _unlike_link(gpu: Gpu, node: Node) -> str | None:
    """That a GPU has less than the most of its model in this node; None where nothing is known of a link."""
    like = [other for other in node.gpus if other.name == gpu.name and other.link.kind == gpu.link.kind]
    for template, measure in _MEASURES:
        own = measure(gpu.link)
        most = max((known for other in like if (known := measure(other.link)) is not None), default=None)
        if own is not None and most is not None and own < most:
            has, others = template.format(own), template.format(most)
            model = f" of model {gpu.name}" if gpu.name else ""
            return (
                f"g{gpu.index} ({gpu.pci}): its link to the host is {has}, of other GPUs{model} in this node {others}"
            )
    return None
