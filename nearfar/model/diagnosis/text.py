"""A diagnosis in words and as JSON objects."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from nearfar.base import plural
from nearfar.topology import Node

from .node_diagnosis import Diagnosis
from .parts import DegradedPart

#: Where healthy figures are from, in words.
ORIGINS = {
    "run": "the healthy run of this machine",
    "machines": "healthy runs of other machines (one is trusted within 2.5 %, five within 1 %, or as they vary)",
    "tuned": "the site's tuned references",
    "siblings": "siblings in the same run (what slows all of them alike is not seen)",
    "prediction": "the node type's prediction, taken as right within 3 %",
}
#: How a factor is said in words, within 4 %.
_SHARES = ((1 / 2, "half"), (1 / 4, "a quarter of its"))
#: What to inspect, and then to repair, by the GPUs' vendor, the kind of their link to the host, and the name of the part.
_REPAIRS = (
    (r"\w+ pcie g\d+\.(link|h2d|d2h)",
     "check the link's width and speed under load (`grep . /sys/bus/pci/devices/{pci}/current_link_*`), then reseat or replace {gpu0}"),
    (r"nvidia \w+ g\d+\.(link|h2d|d2h|nvlink|out|in)",
     "check the lanes of {gpu0} and their errors (`nvidia-smi nvlink -s -i {pci}`, then `-e`), then reseat or replace it"),
    (r"nvidia \w+ g\d+-g\d+\.link", "compare `nvidia-smi nvlink -s` and `nvidia-smi topo -m` of {gpu0} and {gpu1} with a healthy node's"),
    (r"nvidia \w+ g\d+\.memory", "check `nvidia-smi -q -i {pci} -d ECC,ROW_REMAPPER`, then reset or replace {gpu0}"),
    (r".* switch:[0-9a-f:]+\.\d(\.up|\.down)?",
     "check the uplink's width and speed under load (`grep . /sys/bus/pci/devices/{pci}/current_link_*`), then its riser, cable and slot"),
    (r".* n\d+\.memory",
     "check the DIMMs of NUMA node {0}: slots, sizes, speeds (`sudo dmidecode -t memory`), and memory errors (`ras-mc-ctl --errors`)"),
    (r".* p\d+-p\d+(\.link)?",
     "compare the firmware settings of the link between packages {0} and {1} with a healthy node's, and look for errors in the "
     "system event log (`ipmitool sel list`), before you reseat a processor"),
)  # fmt: skip
#: What is said where no figure has a healthy one to compare it with.
NOTHING_COMPARED = "nothing was compared: no figure has a healthy one to compare it with"


def sentence(diagnosis: Diagnosis) -> str:
    """What explains the slow cells, in one line: what is common to a direction, parts with their speed."""
    return "; ".join([*(finding.reason for finding in diagnosis.common), _parts(diagnosis)])


def _parts(diagnosis: Diagnosis) -> str:
    slow = len(diagnosis.bad)
    if not diagnosis.compared:
        return NOTHING_COMPARED
    if not diagnosis.degraded:
        return nothing_slow(diagnosis)
    if diagnosis.undetermined:
        return undetermined(diagnosis)
    if not diagnosis.sets:
        return f"no single part explains this, nor two: {plural(slow, 'cell')} slow"
    rivals = either(" and ".join(map(_slowed, blames)) for blames in diagnosis.sets)
    odd = len(diagnosis.unexplained)
    return rivals + (f"; this does not explain {odd} of {plural(slow, 'slow cell')}" if odd else "")


def either(found: Iterable[str]) -> str:
    """``either a or b`` of several; one as it is."""
    several = list(dict.fromkeys(found))
    return several[0] if len(several) == 1 else f"either {', '.join(several[:-1])} or {several[-1]}"


def _slowed(blame: DegradedPart) -> str:
    """``GPU 0's PCIe link runs at half speed (27.6 of 55.3 GB/s)``."""
    share = next((words for part, words in _SHARES if abs(blame.factor - part) <= part / 25), "")
    name, now = next(iter(blame.now.items()))
    most = f"{'at least ' if name in blame.unknown else ''}{blame.healthy[name]:.1f}"
    return f"{blame.part.description} runs at {share or f'{100 * blame.factor:.0f} % of its'} speed ({now:.1f} of {most} GB/s)"


def nothing_slow(diagnosis: Diagnosis) -> str:
    """That no cell is slow beside its healthy figures, with the lowest where it may yet be."""
    low = diagnosis.lowest
    nothing = "nothing else" if diagnosis.common else "nothing"
    if low is None:
        return f"{nothing} is slow"
    below = f"{low.cell} has {low.ratio:.0%} of healthy, and differs from a healthy one only below {low.bad_below:.0%}"
    return f"{nothing} is clearly slow; the lowest, {below}"


def undetermined(diagnosis: Diagnosis) -> str:
    """That what is slow cannot be laid to one part, with those that would explain it."""
    parts = [" and ".join(blame.part.description for blame in blames) for blames in diagnosis.undetermined]
    slow = f"{plural(len(diagnosis.bad), 'cell')} slow"
    if len(parts) == 1:
        return f"{parts[0]} may be slow, but these cells do not show by how much: {slow}"
    return f"{either(parts)} is slow; these cells cannot tell them apart: {slow}"


def repair(part: str, node: Node) -> str:
    """What to inspect where a part is degraded, with its addresses, and what to do then; empty where the part is not known."""
    indices = re.findall(r"\bg(\d+)", part)
    gpus = [gpu for index in indices if (gpu := node.gpu(int(index))) is not None]
    if len(gpus) < len(indices):
        return ""
    vendor, host_link = (gpus[0].vendor or "nvidia", gpus[0].link.kind) if gpus else ("", "")
    words = next((each for pattern, each in _REPAIRS if re.fullmatch(pattern, f"{vendor} {host_link} {part}")), "")
    addresses = [f"{gpu.pci}, slot {gpu.slot}" if gpu.slot else gpu.pci for gpu in gpus]
    named = {f"gpu{at}": f"GPU {gpu.index} ({address})" for at, (gpu, address) in enumerate(zip(gpus, addresses))}
    pci = gpus[0].pci if gpus else part.removeprefix("switch:").removesuffix(".up").removesuffix(".down")
    return words.format(*re.findall(r"\d+", part), pci=pci, **named)


def as_json(diagnosis: Diagnosis, kind: str, node_type: str, source: str) -> dict[str, Any]:
    """``nearfar-diagnosis/1``. ``kind`` and ``source`` are those of the document that the cells are from."""
    return {
        "schema": "nearfar-diagnosis/1",
        "kind": kind,
        "node_type": node_type,
        "source": source,
        "sentence": sentence(diagnosis),
        "findings": [finding.to_raw() for finding in diagnosis.common],
        "compared": diagnosis.compared,
        "healthy_from": dict(diagnosis.origins),
        "left_out": [str(cell) for cell in diagnosis.left_out],
        "sets": [
            [
                {
                    "part": blame.part.name,
                    "words": blame.part.description,
                    "factor": blame.factor,
                    "interval": [blame.low, blame.high],
                    "capacities": dict(blame.now),
                    "healthy": dict(blame.healthy),
                    "healthy_unknown": list(blame.unknown),
                }
                for blame in blames
            ]
            for blames in diagnosis.sets
        ],
        "undetermined": [[blame.part.name for blame in blames] for blames in diagnosis.undetermined],
        "lowest": None
        if diagnosis.lowest is None
        else {
            "cell": str(diagnosis.lowest.cell),
            "ratio": diagnosis.lowest.ratio,
            "slow_below": diagnosis.lowest.bad_below,
        },
        "slow": [{"cell": str(slow.cell), "ratio": slow.ratio, "explained": slow.explained} for slow in diagnosis.bad],
    }
