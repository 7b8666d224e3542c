"""``verdict.json``: written, read and checked: the one reader.

Raises ``NearfarError`` with the file for what cannot be read, is cut short, or is of a newer version.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from nearfar.base import Finding, NearfarError, conforms, validator
from nearfar.cells import Flow
from nearfar.measurement import Unmeasured

from .verdict_types import (
    FigureLook,
    JudgedMetric,
    JudgedReference,
    MeasuredGpu,
    MeasurementInfo,
    PastRuns,
    Verdict,
    cell_of,
)

NAME = "verdict.json"
VERSION = 2
SCHEMA = f"nearfar-verdict/{VERSION}"
_FILE = f"verdict-{VERSION}"
#: Keys that stand in a file only where they say something.
_OPTIONAL = ("plateau", "median", "steadiness", "looks", "degraded_above", "disturbance", "code")

_T = TypeVar("_T")


def read(folder: Path) -> Verdict | None:
    """The verdict in a check's folder; None where there is none."""
    raw = load_object(folder / NAME)
    if raw is None:
        return None
    return from_raw(raw, folder / NAME)


def load_object(path: Path) -> dict[str, Any] | None:
    """The JSON object in a file; None where there is no such file."""
    try:
        if path.exists() and not path.is_file():  # reading a FIFO would wait for ever
            raise NearfarError(f"{path}: not a regular file")
        data = json.loads(path.read_bytes(), parse_constant=lambda _: None, parse_float=_figure, parse_int=_whole)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NearfarError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        where = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise NearfarError(f"{path}{where}: not a whole JSON document; was the run interrupted? Run it again") from None
    if not isinstance(data, dict):
        raise NearfarError(f"{path}: expected a JSON object; this file is not nearfar's")
    return data


def _figure(word: str) -> float | None:
    """The number, None for ``1e999``, which is no more a figure than NaN."""
    figure = float(word)
    return figure if math.isfinite(figure) else None


def _whole(word: str) -> int | None:
    """The whole number, None where no float holds it."""
    return None if _figure(word) is None else int(word)


def check_schema(path: Path, wanted: str, found: Any) -> None:
    """Raise ``NearfarError`` where a file calls itself otherwise than ``wanted`` (``nearfar-run/1``)."""
    if found == wanted:
        return
    name, _, version = wanted.partition("/")
    other, _, newer = str(found).partition("/")
    if other == name and newer.isdigit() and int(newer) > int(version):
        raise NearfarError(f"{path}: written as {found} by a newer nearfar; this one reads up to {wanted}: update it")
    raise NearfarError(f"{path}: expected schema {wanted}, found {found}")


def from_raw(raw: Mapping[str, Any], path: Path) -> Verdict:
    """The verdict that JSON objects describe; ``path`` names them in errors.

    The objects of figures become part of the verdict, without a copy: the caller has no more use for them.
    """
    check_schema(path, SCHEMA, raw.get("schema"))
    # The schema itself says what the quick check did not take.
    problem = None if conforms(_FILE)(raw) else next(validator(_FILE).iter_errors(raw), None)
    if problem is not None:
        where = ".".join(map(str, problem.absolute_path))
        words = f"{where + ': ' if where else ''}{problem.message[:120]}"
        raise NearfarError(f"{path}: {words}; the file was changed or cut short")
    info = raw["measurement"]
    return Verdict(
        **{key: raw[key] for key in ("check", "system", "partition", "environ", "node", "kind", "time", "verdict")},
        reasons=tuple(raw["reasons"]), metrics=tuple(map(_metric, raw["metrics"])),
        findings=tuple(map(Finding.from_raw, raw["findings"])), missing=tuple(raw["missing"]),
        failed=_unmeasured(raw["failed"]), skipped=_unmeasured(raw["skipped"]), left_out=_unmeasured(raw["left_out"]),
        measurement=None if info is None else _made(MeasurementInfo, info, gpus=tuple(_made(MeasuredGpu, gpu) for gpu in info["gpus"])),
        references=tuple(raw["provenance"]["references"]), software=raw["provenance"]["software"], by_itself=raw.get("by_itself"),
        document=raw.get("document", {}),
    )  # fmt: skip


def to_raw(verdict: Verdict) -> dict[str, Any]:
    """The verdict as JSON objects."""
    info = verdict.measurement
    return {
        "schema": SCHEMA,
        **{key: getattr(verdict, key) for key in ("check", "system", "partition", "environ", "node", "kind", "time", "verdict")},
        **({} if verdict.by_itself is None else {"by_itself": verdict.by_itself}),
        "reasons": list(verdict.reasons),
        "metrics": [_raw_metric(metric) for metric in verdict.metrics],
        "findings": [finding.to_raw() for finding in verdict.findings],
        "missing": list(verdict.missing),
        **{key: [_raw_unmeasured(each) for each in getattr(verdict, key)] for key in ("failed", "skipped", "left_out")},
        "measurement": None if info is None else {**vars(info), "gpus": [dict(vars(gpu)) for gpu in info.gpus]},
        "provenance": {"references": list(verdict.references), "software": dict(verdict.software)},
        **({"document": dict(verdict.document)} if verdict.document else {}),
    }  # fmt: skip


def dump(verdict: Verdict) -> str:
    """The verdict as JSON text, ending in a newline; the measurement document is a line of it."""
    raw = to_raw(verdict)
    document = raw.pop("document", None)
    text = json.dumps(raw, indent=1, ensure_ascii=False, allow_nan=False)
    if document is None:
        return f"{text}\n"
    return f'{text[:-2]},\n "document": {json.dumps(document, ensure_ascii=False, allow_nan=False)}\n}}\n'


def _metric(raw: dict[str, Any]) -> JudgedMetric:
    interval, reference, baseline = raw["interval"], raw["reference"], raw["baseline"]
    for key in ("gpus", "samples", "limited_by", "rows"):
        raw[key] = tuple(raw[key])
    raw["derived"] = raw["derived"] or ""
    raw["flow"] = _flow(raw["flow"])
    raw["beside"] = tuple(flow for text in raw["beside"] if (flow := _flow(text)) is not None) if raw["beside"] else ()
    if interval is not None:
        raw["interval"] = tuple(interval)
    if reference is not None:
        raw["reference"] = _taken(JudgedReference, reference)
    if baseline is not None:
        raw["baseline"] = _taken(PastRuns, baseline)
    if "looks" in raw:
        raw["looks"] = tuple(_made(FigureLook, look) for look in raw["looks"])
    return _taken(JudgedMetric, raw)


def _made(kind: type[_T], raw: Mapping[str, Any], **parts: Any) -> _T:
    """An object of its keys; those that this version does not know are left out."""
    return _taken(kind, {**raw, **parts})


def _taken(kind: type[_T], raw: dict[str, Any]) -> _T:
    """As ``_made``, of a mapping that becomes the object's own.

    Not by ``__init__``, which sets the fields of a frozen class one by one, at ten times the cost: a sweep has a million of them.
    """
    known = _names(kind)  # type: ignore[arg-type]
    made = object.__new__(kind)
    object.__setattr__(made, "__dict__", raw if raw.keys() <= known else {key: raw[key] for key in raw if key in known})
    return made


@cache
def _names(kind: Any) -> frozenset[str]:
    return frozenset(each.name for each in fields(kind))


def _flow(text: str | None) -> Flow | None:
    cell = None if text is None else cell_of(text)
    return None if cell is None else cell.flows[0]


def _unmeasured(entries: list[Mapping[str, Any]]) -> tuple[Unmeasured, ...]:
    return tuple(
        _made(Unmeasured, entry, unknown=tuple((one["capacity"], one["why"]) for one in entry.get("unknown", ())))
        for entry in entries
    )


def _raw_unmeasured(entry: Unmeasured) -> dict[str, Any]:
    unknown = [{"capacity": capacity, "why": why} for capacity, why in entry.unknown]
    found = {"cell": entry.cell, "reason": entry.reason, "code": entry.code}
    return {**found, "unknown": unknown} if unknown else found


def _raw_metric(metric: JudgedMetric) -> dict[str, Any]:
    reference = metric.reference
    found = {
        **vars(metric),
        "flow": None if metric.flow is None else str(metric.flow),
        "derived": metric.derived or None,
        "beside": list(map(str, metric.beside)),
        "reference": reference
        and {key: value for key, value in vars(reference).items() if value or key != "stale_bounds"},
        "baseline": None if metric.baseline is None else metric.baseline.to_raw(),
        "looks": [
            {key: value for key, value in vars(look).items() if key != "why" or value is not None}
            for look in metric.looks
        ],
    }
    return {
        key: _plain(value) for key, value in found.items() if not (key in _OPTIONAL and value in (None, (), [], ""))
    }


def _plain(value: Any) -> Any:
    """As JSON has it: a list, and null for what is no number."""
    if isinstance(value, tuple):
        return list(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
