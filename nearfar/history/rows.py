"""The rows of one check of one node: its verdict joined with what its document knows of each figure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, short_host_name, utc_time
from nearfar.cells import CellError, parse
from nearfar.mpi.osu import disturbances

#: Reasons for held-down clocks that are a setting, not heat or power.
_SETTINGS = ("applications_clocks", "sync_boost")
_STAMP = ("driver", "cuda", "mps", "kernel")
_VERDICT, _DOCUMENT = "nearfar-verdict/1", "nearfar-measurement/1"


def of_check(folder: Path, observed: Mapping[str, Any], run: str) -> list[dict[str, Any]]:
    """The figures of the check in ``folder``, as rows without ``sequence`` and ``recorded``.

    ``observed`` is the node as ``node.json`` has it, for what programs do not say of it (serial numbers). Empty for
    what is modelled. Raises ``CouldNotJudge`` with the file for what cannot be read, or is of another node.
    """
    verdict, judged = _read(folder / "verdict.json", _VERDICT, ("check", "system", "node", "kind", "metrics"))
    if verdict["kind"] != "measured" or not verdict["metrics"]:
        return []
    document, measured = _read(folder / "document.json", _DOCUMENT, ("kind", "node", "results"))
    if document["kind"] != "measured":
        raise CouldNotJudge(f"{folder / 'document.json'}: is {document['kind']}, its verdict says measured")
    _refuse_another_node(folder, verdict, document)
    found = of_document(verdict, document, observed)
    started = time_of(document.get("started") or verdict.get("time"), folder / "document.json")
    source = sha256(judged + measured).hexdigest()[:16]
    return [{**row, "source": source, "started": started, "run": run} for row in found]


def of_document(
    verdict: Mapping[str, Any], document: Mapping[str, Any], observed: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The figures of a verdict and its document, as rows that do not say when, and from which files."""
    common = _common(verdict, document, observed)
    results = _by_cell(document["results"])
    held = {entry["index"] for entry in document.get("gpus_under_load") or [] if _throttled(entry)}
    devices = _Devices(document["node"].get("gpus") or [], observed.get("gpus") or [])
    loaded, busy = bool(document.get("aggressor")), disturbances.busy(document)
    rows = [_row(m, results, devices, held, loaded or m["cell"] in busy) for m in verdict["metrics"]]
    return [{**common, **row} for row in rows if row is not None]


def _read(path: Path, schema: str, needed: tuple[str, ...]) -> tuple[dict[str, Any], bytes]:
    try:
        content = path.read_bytes()
        data = json.loads(content, parse_constant=lambda _: None)  # NaN is no figure
    except OSError as error:
        raise CouldNotJudge(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise CouldNotJudge(f"{path}: not a whole JSON document; was the run interrupted?") from None
    if not isinstance(data, dict) or data.get("schema") != schema:
        found = data.get("schema") if isinstance(data, dict) else None
        raise CouldNotJudge(f"{path}: expected schema {schema}, found {found}")
    missing = next((key for key in needed if key not in data), None)
    if missing is not None:
        raise CouldNotJudge(f"{path}: '{missing}' is missing; the file was changed or cut short")
    return data, content


def _refuse_another_node(folder: Path, verdict: Mapping[str, Any], document: Mapping[str, Any]) -> None:
    """A document belongs to the node whose folder it lies in; domains are left out of the comparison."""
    own = short_name(folder.parent.name)
    for path, name in (
        (folder / "verdict.json", verdict["node"]),
        (folder / "document.json", document["node"].get("hostname")),
    ):
        if name and short_name(str(name)) != own:
            raise CouldNotJudge(f"{path}: is of node {name}, and lies in the folder of {folder.parent.name}")


def short_name(hostname: str) -> str:
    """A node as the history calls it: without its domain."""
    return short_host_name(hostname).lower()


def _common(verdict: Mapping[str, Any], document: Mapping[str, Any], observed: Mapping[str, Any]) -> dict[str, Any]:
    software = {**(observed.get("software") or {}), **(document["node"].get("software") or {})}
    program = document.get("program") or {}
    return {
        "system": verdict["system"],
        "partition": verdict.get("partition"),
        "environ": verdict.get("environ"),
        "node": short_name(str(verdict["node"])),
        "product": observed.get("product") or document["node"].get("product"),
        **{key: _text(software.get(key)) for key in _STAMP},
        "mpi": _text(_mpi(document, software)),
        "program": program.get("name"),
        "version": _text(program.get("version")),
        "check": verdict["check"],
        "quick": bool(program.get("quick")),
    }


def _mpi(document: Mapping[str, Any], software: Mapping[str, Any]) -> Any:
    """The MPI of figures that are MPI's, with its version; a library's own name where that is all there is."""
    said = document.get("mpi") or {}
    return (software.get("mpi") or said.get("library")) if said else None


def time_of(text: Any, path: Path) -> datetime:
    """A document's UTC time. Raises ``CouldNotJudge`` with its ``path`` for anything else."""
    try:
        return utc_time(str(text))
    except ValueError:
        raise CouldNotJudge(f"{path}: '{text}' is no time; expected one such as 2026-11-20T09:00:00Z") from None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _throttled(entry: Mapping[str, Any]) -> bool:
    return any(reason not in _SETTINGS for reason in entry.get("throttle") or [])


_Results = Mapping[object, list[Mapping[str, Any]]]


def _by_cell(results: list[Mapping[str, Any]]) -> _Results:
    """A document's results by cell, the largest transfer first."""
    found: dict[object, list[Mapping[str, Any]]] = {}
    for result in sorted(results, key=lambda each: -(each.get("bytes") or 0)):
        found.setdefault(_cell_key(result["cell"]), []).append(result)
    return found


@lru_cache(maxsize=10_000)
def _cell_key(text: str) -> object:
    """Cells compare as cells: programs may write the flows in another order."""
    try:
        return parse(text)
    except CellError:
        return text


def _row(
    metric: Mapping[str, Any], results: _Results, devices: _Devices, held: set[int], contended: bool
) -> dict[str, Any] | None:
    """A figure's own columns; None where it is not a number."""
    value = metric.get("value")
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    measured = results.get(_cell_key(metric["cell"])) or [{}]
    result = next((each for each in measured if each.get("quantity") == metric["quantity"]), measured[0])
    subject = metric.get("flow") or metric["cell"]
    gpus = _gpus(subject)
    reference = metric.get("reference") or {}
    ci = metric.get("ci") or [None, None]
    return {
        **devices.columns(gpus),
        "engine": _engine(metric["quantity"], subject),
        "metric": metric["name"],
        "rows": metric.get("rows") or [metric["name"]],
        "quantity": metric["quantity"],
        "cell": metric["cell"],
        "flow": metric.get("flow"),
        "class": metric["class"],
        "unit": metric["unit"],
        "value": float(value),
        "low": ci[0],
        "high": ci[1],
        "n": _count(result, metric.get("flow")),
        "ceiling": metric.get("ceiling"),
        "reference": reference.get("value"),
        "lower": reference.get("lower"),
        "upper": reference.get("upper"),
        "origin": reference.get("origin"),
        "stale": reference.get("stale"),
        "verdict": metric["verdict"],
        "converged": result.get("converged"),
        "verified": result.get("verified"),
        "throttled": not held.isdisjoint(gpus) if gpus else bool(held),
        "contended": contended or bool(metric.get("beside")),
    }


@lru_cache(maxsize=10_000)
def _gpus(subject: str) -> tuple[int, ...]:
    """The GPUs that a cell or flow names, in its order."""
    return tuple(dict.fromkeys(int(number) for number in re.findall(r"\bg(\d+)\b", subject)))


class _Devices:
    """What the document, and beside it ``node.json``, know of a node's GPUs."""

    def __init__(self, measured: list[Mapping[str, Any]], observed: list[Mapping[str, Any]]) -> None:
        seen = {gpu.get("pci"): gpu for gpu in observed}
        self._by_index = {
            gpu.get("index"): {**seen.get(gpu.get("pci"), {}), **{k: v for k, v in gpu.items() if v is not None}}
            for gpu in measured
        }
        # Figures without GPUs are judged by the rows of the node's first GPU.
        self._first = next((gpu.get("name") for gpu in (*measured, *observed)), None)
        self._columns: dict[tuple[int, ...], dict[str, str | None]] = {}

    def columns(self, indices: tuple[int, ...]) -> Mapping[str, str | None]:
        if indices not in self._columns:
            gpus = [self._by_index.get(index, {}) for index in indices]
            models = dict.fromkeys(str(gpu["name"]) for gpu in gpus if gpu.get("name"))
            self._columns[indices] = {
                "gpus": "+".join(map(str, indices)) or None,
                "gpu_model": ("+".join(models) or None) if indices else self._first,
                "gpu_uuid": _joined(gpus, "uuid"),
                "gpu_serial": _joined(gpus, "serial"),
            }
        return self._columns[indices]


def _joined(gpus: list[dict[str, Any]], key: str) -> str | None:
    return "+".join(str(gpu.get(key) or "?") for gpu in gpus) if any(gpu.get(key) for gpu in gpus) else None


def _engine(quantity: str, subject: str) -> str:
    """What moved the bytes: copy engines (``ce``), a kernel (``sm``), the cores, or an MPI library."""
    if quantity.partition(".")[0] in ("mpi", "contention", "saxpy"):
        return "mpi"
    if quantity == "stream" or not _gpus(subject):
        return "cpu"
    return "sm" if "/sm" in subject or quantity.startswith(("latency.chase", "latency.launch")) else "ce"


def _count(result: Mapping[str, Any], flow: str | None) -> int | None:
    flows = result.get("flows") or []
    rate = next((each.get("rate") for each in flows if each.get("flow") == flow), None)
    rate = rate or result.get("total") or (flows[0].get("rate") if flows else None) or {}
    return rate.get("n")
