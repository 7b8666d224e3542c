#!/usr/bin/env python3
"""Stands in for nearfar-copy in tests: prints a measured document that ``FAKE_CASE`` bends in one way."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from nearfar.base.places import IMPORT_PATH as CHECKOUT
from nearfar.cells import parse_lines
from nearfar.model.prediction import Capacity, load_node_type, modelled_document

Document = dict[str, Any]
#: Of the fake node: every flow at this part of what its PCIe 2 link carries.
GOOD, AGED, SLOWER, BROKEN = 0.85, 0.81, 0.70, 0.20
CEILING = 6.9
#: What healthy GPUs of its model have: a file of ``site/gpus/``.
HEALTHY = """\
gpu_models: [Tesla M2070]
source: invented
expect: {link: {kind: pcie, gen: 2, width: 16}}
healthy:
  - figures: {near.h2d: [5.7, 6.0], near.d2h: [5.7, 6.0]}
    n: 3
    machine: bare metal
    source: invented
    command: nothing
    date: "2026-11-22"
"""


def document(cells: list[Any]) -> Document:
    """A healthy measured document of the Keeneland node type."""
    published = load_node_type("keeneland", [CHECKOUT / "site"])
    pageable = {cell: Capacity(str(cell), value=5.7) for cell in cells if cell.lone and cell.flows[0].pageable}
    node_type = replace(published, caps={**published.caps, **pageable})
    made = modelled_document(node_type, [cell for cell in cells if cell.lone and cell.flows[0].kind == "host"])
    made.update(kind="measured", program={"name": "nearfar-copy"})
    made["node"].update(hostname=os.environ.get("FAKE_HOST", "fake"), software={"driver": "1.0"})
    for gpu in made["node"]["gpus"]:
        gpu["uuid"] = f"GPU-{gpu['index']}"
    for result in made["results"]:
        rescale(result, GOOD)
    made["results"] += [both_ways(cell) for cell in cells if not cell.lone]
    return made


def both_ways(cell: Any) -> Document:
    """A result of several flows, each with what both directions at once leave it."""
    flows = [{"flow": str(flow), "rate": rate_of(GOOD * CEILING * 0.95)} for flow in cell.flows]
    total = rate_of(GOOD * CEILING * 0.95 * len(flows))
    return {"quantity": "copy", "cell": str(cell), "converged": True, "verified": True, "flows": flows, "total": total}


def rate_of(value: float, spread: float = 0.0) -> Document:
    low, high = value * (1 - spread), value * (1 + spread)
    return {"unit": "GB/s", "median": value, "mad": 0, "ci": [low, high], "min": low, "max": high, "n": 9}


def rescale(result: Document, part: float, *, spread: float = 0.0) -> None:
    """Set a lone result's rate."""
    result["flows"][0]["rate"] = rate_of(part * CEILING, spread)


def unsettled(made: Document, part: float) -> None:
    """A path near its bound that did not converge."""
    rescale(find(made, "g2:n1"), part, spread=0.1)
    find(made, "g2:n1").update(converged=False)


def find(made: Document, cell: str) -> Document:
    return next(r for r in made["results"] if r["cell"] == cell)


def without(made: Document, *cells: str) -> None:
    made["results"] = [r for r in made["results"] if r["cell"] not in cells]


def fail(made: Document, cell: str, code: str) -> None:
    without(made, cell)
    made["failed"].append({"cell": cell, "reason": f"GPU 2: {code}", "code": code})


def skip(made: Document, cell: str, code: str) -> None:
    without(made, cell)
    made["skipped"].append({"cell": cell, "reason": f"GPU 2: {code}", "code": code})


def all_but_one(made: Document) -> None:
    for result in list(made["results"][1:]):
        skip(made, result["cell"], "unsupported")


def latencies_alone(made: Document) -> None:
    for result in made["results"]:
        result["quantity"] = "latency.copy"
        for each in [*result["flows"], *([{"rate": result["total"]}] if "total" in result else [])]:
            each["rate"].update(unit="us")


def nothing(made: Document) -> None:
    made.update(results=[], skipped=[], failed=[])


def busy(made: Document) -> None:
    """A slow path while others used the CPUs."""
    rescale(find(made, "g2:n1"), BROKEN)
    stream = {"pid": 7, "command": "stream", "user": "x", "cpus": 9.5}
    made["machine"] = {"mean": {"others": 9.5, "own": 0.5}, "busiest": [stream]}


def markup(made: Document) -> None:
    """A busy machine whose busiest process chose its name."""
    busy(made)
    made["machine"]["busiest"][0]["command"] = "\n<b>evil</b>\x1b[31m" + 500 * "x"


def counted(made: Document, before: int, after: int) -> None:
    counter = {
        "gpu": 2,
        "pci": made["node"]["gpus"][2]["pci"],
        "name": "pcie_replays",
        "before": before,
        "after": after,
    }
    made["machine"] = {"mean": {"others": 0.0, "own": 0.5}, "counters": [counter]}


def counter_went_back(made: Document) -> None:
    """Somebody reset a counter meanwhile."""
    counted(made, 5_000_000, 3)


def replays(made: Document) -> None:
    """A slow path whose link repeats packets."""
    rescale(find(made, "g2:n1"), BROKEN)
    counted(made, 0, 500)


BENDS: dict[str, Callable[[Document], Any]] = {
    "good": lambda made: None,
    "broken_path": lambda made: rescale(find(made, "g2:n1"), BROKEN),
    "aged_path": lambda made: rescale(find(made, "g2:n1"), AGED),
    "busy": busy,
    "slower_path": lambda made: rescale(find(made, "g2:n1"), SLOWER),
    "far_slow": lambda made: rescale(find(made, "n0:g2"), 0.35),
    "unsettled": lambda made: unsettled(made, 0.50),
    "unsettled_low": lambda made: unsettled(made, 0.46),
    "unsettled_high": lambda made: unsettled(made, 0.54),
    "unsettled_and_good": lambda made: find(made, "g2:n1").update(converged=False),
    "unverified": lambda made: find(made, "g2:n1").update(verified=False),
    "missing_cell": lambda made: without(made, "g2:n1"),
    "wrong_data": lambda made: fail(made, "g2:n1", "wrong_data"),
    "absent": lambda made: fail(made, "g2:n1", "absent"),
    "placement": lambda made: fail(made, "g2:n1", "placement"),
    "denied": lambda made: skip(made, "g2:n1", "denied"),
    "representative": lambda made: skip(made, "g2:n1", "representative"),
    "all_but_one_unsupported": all_but_one,
    "latencies_alone": latencies_alone,
    "of_1970": lambda made: made.update(started="1970-01-01T00:00:00Z"),
    "inverted": lambda made: find(made, "g2:n1")["flows"][0]["rate"].update(ci=[6.0, 5.5]),
    "thousandfold": lambda made: (rescale(find(made, "g2:n1"), 1000 * GOOD), find(made, "g2:n1")["flows"][0].pop("ceiling", None)),
    "empty": nothing,
    "markup": markup,
    "counter_went_back": counter_went_back,
    "replays_in_look": replays,
    "modelled_in_look": lambda made: made.update(kind="modelled"),
    "aggressor_in_look": lambda made: made.update(aggressor=["n0:g0"]),
    "newer_schema": lambda made: made.update(schema="nearfar-measurement/9"),
}  # fmt: skip


def in_look(case: str, run: int) -> str:
    """What the program does in its first, second … run in a folder, where a case is about looking again; ends what it ends."""
    if case == "slow_first":
        return "broken_path" if run == 1 else "good"
    if case == "unsettled_first":
        return "unsettled" if run == 1 else "good"
    if case == "unsettled":
        return ("unsettled", "unsettled_low", "unsettled_high")[min(run, 3) - 1]
    if case == "slow_until_retried":
        case = "broken_path_until_retried"
    if case == "slow_repeat":
        first = Path("../first")
        if not first.exists():
            first.write_text(Path.cwd().name)
        return "good" if first.read_text() == Path.cwd().name else "broken_path"
    if case == "wrong_data_in_look":
        return "broken_path" if run == 1 else "wrong_data"
    if case in ("replays_in_look", "modelled_in_look", "aggressor_in_look"):
        return "broken_path" if run == 1 else case
    if case.endswith("_until_retried"):
        return case.removesuffix("_until_retried") if "_retry" not in Path.cwd().name else "good"
    if case == "slow_then_crash":
        return "crash" if "_retry" in Path.cwd().name else "broken_path"
    if case == "other_node_in_look" and run > 1:
        os.environ["FAKE_HOST"] = "elsewhere"
    if case == "plan_gone":
        Path("look-plan.json").unlink(missing_ok=True)
        return "broken_path"
    if case == "plan_cut":
        Path("look-plan.json").write_text('{"check": "host_device_check", "node"')
        return "broken_path"
    if case == "supervisor_killed_in_look" and run > 1:
        os.kill(os.getppid(), signal.SIGKILL)
    if case == "hang_in_look" and run == 2:
        time.sleep(60)
    if case == "killed_in_look" and run > 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if case == "interrupted_in_look" and run > 1:
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(60)
    if case == "cut_in_look":
        return "broken_path"
    if case.endswith("_in_look"):
        return "good" if run == 3 else "broken_path"
    return case


def main() -> int:
    """Print what the case asks for."""
    runs = len(list(Path().glob("ran-*"))) + 1
    Path(f"ran-{runs}").touch()
    case = in_look(os.environ.get("FAKE_CASE", "good"), runs)
    if case == "endless":
        Path("hung").touch()
        time.sleep(60)
    if case == "own_watchdog":
        made = document([])
        made["failed"].append({"cell": "n0:g2", "reason": "GPU 2: no progress within 5 s", "code": "hang"})
        print(json.dumps(made))
        print("hang: n0:g2", file=sys.stderr, flush=True)
        return 1
    if case == "crash":
        print("nearfar-copy: CUDA error 999", file=sys.stderr, flush=True)
        os.abort()
    if case == "garbage":
        print("Hello")
        return 0
    cut = case == "broken_path" and runs > 1 and os.environ.get("FAKE_CASE") == "cut_in_look"
    made = document(parse_lines(sys.argv[sys.argv.index("--cells") + 1]))
    BENDS.get(case, BENDS["good"])(made)
    if case == "hang_once":
        made["notes"] = [
            {"cell": "n0:g2", "code": "hung_once", "reason": "n0:g2 did not end within 30 s; it is tried once more"}
        ]
    text = json.dumps(made)
    print(text[: len(text) // 2] if cut else text, flush=True)
    if case == "crash_late":
        os.abort()
    return 3 if made["skipped"] else 1 if made["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
