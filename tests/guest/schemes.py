"""The schemes of ``nearfar cost`` as they are tried in guests of two and of four NUMA nodes: plans, Python, and a program that forks
the wrapper for every rank of every plan."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from nearfar import cost
from nearfar.base import places
from nearfar.binding import scheme_names
from nearfar.cost import running
from nearfar.topology import Gpu, Node, NumaNode, Package

NAMES = (*scheme_names.SCHEMES, "0-1", "1-1", "1-free")
#: What the guests are, with GPUs that are made up: the first hangs on the second NUMA node.
TWO = Node(
    "two",
    (Package(0, (0, 1)), Package(1, (2, 3))),
    (NumaNode(0, 0, (0, 1), 1 << 28), NumaNode(1, 1, (2, 3), 1 << 28)),
    (Gpu(0, "0000:01:00.0", numa_node=1, package=1), Gpu(1, "0000:02:00.0", numa_node=0, package=0)),
)
#: Node 2 has no memory, node 3 no CPUs.
FOUR = Node(
    "four",
    (Package(0, (0, 1)), Package(1, (2, 3))),
    (
        NumaNode(0, 0, (0,), 1 << 27), NumaNode(1, 0, (1,), 1 << 27), NumaNode(2, 1, (2, 3), 0), NumaNode(3, 1, (), 1 << 27),
    ),
)  # fmt: skip
#: In the guest: the wrapper in a child for every rank of every plan, and what hwloc says there.
TRY_ALL = """
import os, sys
sys.path.insert(0, "/cost")
import rank
for plan in sorted(os.listdir("/cost/plans")):
    scheme, ranks = plan.split(",")
    for number in range(int(ranks)):
        print("@", scheme, number, flush=True)
        child = os.fork()
        if child == 0:
            os.environ["PMI_RANK"] = str(number)
            code = rank.main(["/tmp/" + plan, "/bin/sh", "-c", "hwloc-bind --get --taskset; hwloc-bind --get --membind --nodeset"])
            os._exit(code)
        os.waitpid(child, 0)
        with open(f"/tmp/{plan}.{number}") as account:
            print("account", account.readline(), end="", flush=True)
"""
COMMAND = "cp -r /cost/plans/. /tmp/; python3 -I -S /cost/try_all.py"


def planned(node: Node) -> list[cost.Scheme]:
    """Every scheme for two ranks of one core."""
    return cost.schemes_on(node, NAMES, cost.Job(ranks=2, threads=1))


def files(node: Node, folder: Path) -> dict[str, Path]:
    """Python with what the wrapper imports, the wrapper, and a plan for every scheme that the node has."""
    wrapper = places.MPI_RANK
    (folder / "try_all.py").write_text(TRY_ALL)
    found = {"cost/rank.py": wrapper, "cost/try_all.py": folder / "try_all.py", **_python(wrapper)}
    for scheme in planned(node):
        if scheme.left_out:
            continue
        plan = folder / f"{scheme.name},{scheme.ranks}"
        running.write_plan(plan, scheme)
        found[f"cost/plans/{plan.name}"] = plan
    return found


def _python(wrapper: Path) -> dict[str, Path]:
    """The interpreter and every file that it has loaded once it has imported the wrapper, by their paths."""
    words = f"import sys; sys.path.insert(0, {str(wrapper.parent)!r}); import rank; import encodings.ascii, encodings.latin_1\n"
    words += "print('\\n'.join(str(getattr(m, '__file__', '')) for m in list(sys.modules.values())))"
    real = Path(sys.executable).resolve()
    said = subprocess.run([str(real), "-I", "-S", "-c", words], capture_output=True, text=True, check=True).stdout
    loaded = [Path(line) for line in said.splitlines() if line.startswith("/") and Path(line) != wrapper]
    return {"bin/python3": real, **{str(path).lstrip("/"): path for path in loaded}}
