#!/usr/bin/env python3
"""What the links of a modelled Keeneland alone take from kernels with their transfers, beside the paper's table 2.

    benchmarks/keeneland_kernels.py DOCUMENT

``DOCUMENT`` is one of ``nearfar-kernels``: bytes and operations of a call at the paper's sizes. The near time of a call is the paper's
own (work over its published rate), the time of its transfers the model's, and the loss 1 - 1 / S. Modelled: no Keeneland was measured.
"""

from __future__ import annotations

import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from nearfar import kernels, measurement  # noqa: E402
from nearfar.base import site_directories  # noqa: E402
from nearfar.cells import parse  # noqa: E402
from nearfar.kernels import KernelRun  # noqa: E402
from nearfar.model.prediction import NodeType, load_node_type, predict  # noqa: E402

#: Spafford, Meredith, Vetter 2011, table 2: the rate with the right binding, whether it counts operations (GFLOPS) or bytes of operands
#: (GB/s; of a sort the keys alone), and what the wrong one loses, percent.
PUBLISHED = {
    "sgemm": (535.640, "operations", 3), "dgemm": (239.962, "operations", 4), "sfft": (30.501, "operations", 12),
    "dfft": (15.181, "operations", 12), "reduction": (5.631, "operands", 12), "sort": (1.081, "keys", 9),
}  # fmt: skip


def rows(document: measurement.Document, node_type: NodeType) -> list[tuple[str, float, float, float | None, int]]:
    """Of each kernel: the paper's near time and the model's of its transfers, both ms, the loss by the links alone in percent (None: the
    transfers take longer than the whole published call, which then counts something else), and the published one."""
    found = []
    for kernel, (rate, counted, loss) in PUBLISHED.items():
        run = next(each for each in kernels.runs(document) if (each.kernel, each.size) == (kernel, "paper"))
        entry = next(
            raw
            for raw in document.raw["results"]
            if raw["quantity"] == f"kernel.{kernel}.total" and raw["size"] == "paper"
        )
        there, back = entry["in_bytes"], entry["out_bytes"]
        total = _work(run, counted, there) / rate / 1e6
        near, far = (
            (there / _rate(node_type, f"{numa}:g0") + back / _rate(node_type, f"g0:{numa}")) / 1e6
            for numa in ("n0", "n1")
        )
        slower = (total - near + far) / total
        found.append((kernel, total, near, None if near > total else (1 - 1 / slower) * 100, loss))
    return found


def _work(run: KernelRun, counted: str, there: int) -> float:
    return {"operations": run.operations, "operands": there, "keys": there / 2}[counted]


def _rate(node_type: NodeType, cell: str) -> float:
    total = predict(parse(cell), node_type).total
    assert total is not None, cell
    return total


def main(words: list[str]) -> int:
    """Print the table."""
    document = measurement.load(Path(words[0]))
    print("kernel     published call  its transfers   lost by the links, modelled   published")
    for kernel, total, near, loss, published in rows(document, load_node_type("keeneland", site_directories())):
        said = "the transfers alone take longer" if loss is None else f"{loss:.1f} %"
        print(f"{kernel:10} {total:11.1f} ms {near:11.1f} ms   {said:>27} {published:9} %")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
