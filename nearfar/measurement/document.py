"""Reading, validating and writing measurement documents (``nearfar-measurement/2``)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

from nearfar.base import CouldNotJudge, NearfarError, conforms, schema, strict_json, validator
from nearfar.cells import Cell, CellError, Flow, parse
from nearfar.topology import Node, node_from_document

from .tail import Tail, tail_of

SCHEMA_NAME = "nearfar-measurement"
SCHEMA = f"{SCHEMA_NAME}/2"
_FILE = "measurement-2"


def software_names() -> list[str]:
    """The names under ``node.software`` of a document, as its schema has them."""
    return list(schema(_FILE)["properties"]["node"]["properties"]["software"]["properties"])


#: Quantities whose subject is a cell; other subjects are kept as text in ``Result.subject`` alone.
CELL_QUANTITIES = ("copy", "stream", "latency.copy", "latency.chase", "latency.launch", "tail")


@dataclass(frozen=True, kw_only=True)
class SampleStatistics:
    """What the samples of a figure say. A program's rate, a metric and a judged metric share these fields; values are in ``unit``."""

    unit: str
    #: How many samples there are; of a derived figure, those of the first figure that it is made of.
    n: int | None = None
    #: The least and the greatest sample.
    least: float | None = None
    most: float | None = None
    #: In the order they were taken; empty where only their number is known.
    samples: tuple[float, ...] = ()
    #: What the path can do; None where the figure has no plateau (one visit, tasks that share a flow).
    plateau: float | None = None
    median: float | None = None
    #: The median over the plateau (of times its inverse).
    steadiness: float | None = None


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """How a figure was measured. A result of a document, a metric and a judged metric share these fields."""

    #: The size of a transfer.
    bytes: int | None = None
    converged: bool = True
    #: Whether the data that arrived was compared, and right; None: nothing was compared.
    verified: bool | None = None
    #: The capacities that limit a modelled figure.
    limited_by: tuple[str, ...] = ()
    #: Flows of other cells that ran in the same windows.
    beside: tuple[Flow, ...] = ()
    #: Measured again, alone, because the first figure was doubted.
    remeasured: bool = False
    #: Of a modelled figure, how it is known (``nearfar.model.prediction.Prediction``); of another tool's ``OF_ANOTHER_TOOL``.
    basis: str | None = None


def shared(kind: type[Any], source: object) -> dict[str, Any]:
    """The fields of a common base (``SampleStatistics``, ``Conditions``, ``BaseMetric``) as ``source`` has them."""
    return {each.name: getattr(source, each.name) for each in fields(kind)}


@dataclass(frozen=True, kw_only=True)
class Rate(SampleStatistics):
    """A figure of one run."""

    n: int
    median: float
    #: At least 95 % for the median; None where there is none.
    ci: tuple[float, float] | None = None
    #: The same for the plateau.
    interval: tuple[float, float] | None = None

    @property
    def value(self) -> float:
        """The figure that is judged: the plateau where there is one, else the median."""
        return self.median if self.plateau is None else self.plateau

    @property
    def value_interval(self) -> tuple[float, float] | None:
        """The interval of ``value``."""
        return self.ci if self.plateau is None else self.interval


@dataclass(frozen=True)
class FlowResult:
    """One flow of a result: its rate, its rate alone where that was measured, and its physical ceiling in GB/s.

    ``tasks`` is over the K tasks of ``/xK``: n is K, and the extremes are the slowest and the fastest task.
    """

    flow: Flow
    rate: Rate
    solo: Rate | None
    ceiling: float | None
    tasks: Rate | None = None


@dataclass(frozen=True, kw_only=True)
class Result(Conditions):
    """One cell at one size, or what is no cell (``cell`` None): such a result has its first entry of ``flows`` as ``rate``."""

    quantity: str
    subject: str
    cell: Cell | None = None
    flows: tuple[FlowResult, ...] = ()
    #: None for a lone flow.
    total: Rate | None = None
    rate: Rate | None = None
    #: Why ``bytes`` is less than usual; empty: it is not.
    smaller: str = ""
    tail: Tail | None = None
    #: What of the cell was measured: ``latency``, ``tail``, ``sizes``; empty: its rate.
    aspect: str = ""


@dataclass(frozen=True)
class Unmeasured:
    """A cell that was skipped or failed. ``code`` is one of the schema's.

    ``unknown``: of a modelled cell, the capacities that nobody knows, each with why.
    """

    cell: str
    reason: str
    code: str
    unknown: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Document:
    """A valid document. ``raw`` is all of it as JSON objects; ``source`` names where it came from, for messages."""

    raw: dict[str, Any]
    source: str
    node: Node
    results: tuple[Result, ...]
    skipped: tuple[Unmeasured, ...]
    failed: tuple[Unmeasured, ...]

    @property
    def kind(self) -> str:
        """``measured``, ``modelled`` or ``foreign`` (of another tool)."""
        return str(self.raw["kind"])

    @property
    def aggressors(self) -> tuple[str, ...]:
        """Cells that were kept running beside everything measured: with any, no figure is the node's own."""
        return tuple(self.raw.get("aggressor", ()))


def load(source: Path | str) -> Document:
    """The document of a file, or of JSON text (anything that begins with ``{``).

    Raises ``NearfarError`` where there is no such file, or it may not be read, ``CouldNotJudge`` for what is no document.
    """
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return loads(source)
    try:
        text = Path(source).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError) as error:
        raise NearfarError(f"{source}: cannot be read: {error.strerror}") from error
    except OSError as error:
        raise CouldNotJudge(f"{source}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CouldNotJudge(f"{source}: not a measurement document: byte {error.start} is not UTF-8") from error
    return loads(text, str(source))


def loads(text: str, source: str = "<text>") -> Document:
    """The document in ``text`` (a program's standard output); ``source`` names it in errors.

    Anything wrong with it raises ``CouldNotJudge``: what a program printed cannot be fixed by its reader.
    """
    return from_raw(_parse_json(text, source), source)


def from_raw(raw: Any, source: str = "<document>") -> Document:
    """The document that JSON objects describe, checked as ``loads`` does."""
    _check_version(raw, source)
    problem = None if conforms(_FILE)(raw) else next(validator(_FILE).iter_errors(raw), None)
    if problem is not None:
        _refuse(source, problem.absolute_path, _shorten(problem.message))
    try:
        node = node_from_document(raw["node"])
    except NearfarError as error:
        _refuse(source, ["node"], str(error))
    raw = _with_lone_rates(raw)
    results = tuple(_result(entry, source, index) for index, entry in enumerate(raw["results"]))
    seen: dict[object, int] = {}
    for index, result in enumerate(results):
        first = seen.setdefault(result_key(result), index)
        if first != index:
            _refuse(source, ["results", index], f"the same quantity, cell and size as /results/{first}")
    skipped, failed = (
        tuple(Unmeasured(e["cell"], e["reason"], e.get("code", default), _unknown(e)) for e in raw[key])
        for key, default in (("skipped", "unknown"), ("failed", "error"))
    )
    return Document(raw, source, node, results, skipped, failed)


def dump(document: Document | dict[str, Any]) -> str:
    """The document as JSON text, ending in a newline; a figure that is not a finite number is refused."""
    raw = document.raw if isinstance(document, Document) else document
    try:
        return json.dumps(raw, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError as error:
        raise CouldNotJudge(f"not written: a figure of the document is not a finite number ({error})") from error


def without_samples(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON objects of a document without its samples and the times of its visits; medians and intervals stay."""
    return {**raw, "results": _without_samples(raw["results"])}


def result_key(result: Result) -> object:
    """What a result is told by: no two of a document share it."""
    return result.quantity, result.cell or result.subject, result.bytes, result.aspect


def _verified(result: Mapping[str, Any]) -> bool | None:
    """Whether a document's result was compared with what was sent, and right; None: nothing was compared."""
    told = result.get("verified")  # what was compared, or a boolean where no program says how much
    return True if isinstance(told, dict) else told


def subject_key(subject: str) -> object:
    """Cells compare as cells, never as strings; other subjects as they are."""
    try:
        return parse(subject)
    except CellError:
        return subject


def _without_samples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_samples(part) for key, part in value.items() if key not in ("samples", "visits")}
    return [_without_samples(part) for part in value] if isinstance(value, list) else value


def _parse_json(text: str, source: str) -> Any:
    if not text.strip():
        raise CouldNotJudge(f"{source}: empty: the program that should have written the document ended early")
    try:
        return strict_json(text)
    except json.JSONDecodeError as error:
        half = not text[error.pos :].strip() or error.msg.startswith("Unterminated")
        what = "the document ends too early: the program was interrupted" if half else f"not JSON: {error.msg}"
        raise CouldNotJudge(f"{source}:{error.lineno}:{error.colno}: {what}") from error
    except ValueError as error:
        raise CouldNotJudge(f"{source}: not a measurement document: {error}") from error


def _check_version(raw: Any, source: str) -> None:
    name = raw.get("schema") if isinstance(raw, dict) else None
    found = re.fullmatch(rf"{SCHEMA_NAME}/([0-9]{{1,9}})", name) if isinstance(name, str) else None
    if found is None:
        raise CouldNotJudge(f"{source}: not a measurement document: \"schema\" is not '{SCHEMA}'")
    if name != SCHEMA:
        raise CouldNotJudge(
            f"{source}: is of schema {name}, this nearfar reads {SCHEMA} alone: update the older of the two"
        )


def _with_lone_rates(raw: dict[str, Any]) -> dict[str, Any]:
    """The document where each copy in company has the rate of the same flow's own cell, if there is one, as ``solo``."""

    def is_copy(entry: Mapping[str, Any]) -> bool:
        return entry["quantity"] == "copy" and not entry.get("aspect")

    lone = {
        subject_key(entry["cell"]): entry["flows"][0]["rate"]
        for entry in raw["results"]
        if is_copy(entry) and len(entry["flows"]) == 1
    }

    def with_solo(flow: dict[str, Any], beside: object) -> dict[str, Any]:
        key = subject_key(flow["flow"])
        alone = key.with_one_task() if isinstance(key, Cell) else key
        return {"solo": lone[alone], **flow} if alone in lone and alone != beside else flow

    def with_solos(entry: dict[str, Any]) -> dict[str, Any]:
        own = subject_key(entry["cell"])
        return {**entry, "flows": [with_solo(flow, own) for flow in entry["flows"]]}

    return {**raw, "results": [with_solos(entry) if is_copy(entry) else entry for entry in raw["results"]]}


def _result(entry: dict[str, Any], source: str, index: int) -> Result:
    place = ["results", index]
    cell = None
    flows: tuple[FlowResult, ...] = ()
    if entry["quantity"] in CELL_QUANTITIES:
        cell = _cell(entry["cell"], source, [*place, "cell"])
        flows = tuple(_flow(flow, source, [*place, "flows", i]) for i, flow in enumerate(entry["flows"]))
        if len(flows) != len(cell.flows) or {f.flow for f in flows} != set(cell.flows):
            _refuse(source, [*place, "flows"], f"not the flows of cell '{cell}'")
        if not cell.lone and "total" not in entry:
            _refuse(source, place, "'total' is missing from a cell of several flows")
    return Result(
        quantity=entry["quantity"],
        subject=entry["cell"],
        cell=cell,
        bytes=entry.get("bytes"),
        converged=entry["converged"],
        verified=_verified(entry),
        limited_by=tuple(entry.get("limited_by", ())),
        flows=flows,
        total=None if cell is None or cell.lone else _rate(entry["total"]),
        rate=_rate(entry["flows"][0]["rate"]) if cell is None else None,
        beside=tuple(_lone(text, source, [*place, "beside", i]) for i, text in enumerate(entry.get("beside", ()))),
        remeasured=entry.get("remeasured", False),
        basis=entry.get("basis"),
        smaller=entry.get("smaller", ""),
        tail=tail_of(entry["tail"]) if "tail" in entry else None,
        aspect=entry.get("aspect", ""),
    )


def _cell(text: str, source: str, place: list[Any]) -> Cell:
    try:
        return parse(text)
    except CellError as error:
        _refuse(source, place, str(error))


def _flow(entry: dict[str, Any], source: str, place: list[Any]) -> FlowResult:
    solo, tasks = (_rate(entry[key]) if entry.get(key) else None for key in ("solo", "tasks"))
    return FlowResult(
        _lone(entry["flow"], source, [*place, "flow"]), _rate(entry["rate"]), solo, entry.get("ceiling"), tasks
    )


def _lone(text: str, source: str, place: list[Any]) -> Flow:
    cell = _cell(text, source, place)
    if not cell.lone:
        _refuse(source, place, f"'{cell}' is several flows")
    return cell.flows[0]


def _rate(entry: Mapping[str, Any]) -> Rate:
    return Rate(
        unit=entry["unit"], median=float(entry["median"]), ci=_pair(entry.get("ci")), n=entry.get("n", 1), least=entry.get("min"),
        most=entry.get("max"), samples=tuple(entry.get("samples") or ()), plateau=entry.get("plateau"),
        interval=_pair(entry.get("interval")), steadiness=entry.get("steadiness"),
    )  # fmt: skip


def figure_of(result: Mapping[str, Any], rate: Mapping[str, Any]) -> dict[str, Any]:
    """What a result of a document's JSON and one of its rates give a metric that is made of them: value, interval, samples, what it is of,
    and whether it converged and was verified."""
    found = _rate(rate)
    of = {"subject": str(result["cell"]), "converged": bool(result["converged"]), "verified": _verified(result)}
    return {**shared(SampleStatistics, found), "value": found.median, "interval": found.ci, **of}


def _pair(numbers: list[float] | None) -> tuple[float, float] | None:
    return (float(numbers[0]), float(numbers[1])) if numbers else None


def _unknown(entry: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((str(one.get("capacity")), str(one.get("why"))) for one in entry.get("unknown") or [])


def _refuse(source: str, place: Any, what: str) -> NoReturn:
    pointer = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in place)
    raise CouldNotJudge(f"{source}: {pointer or '/'}: {what[:300]}")


def _shorten(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= 200 else f"{line[:120]} ... {line[-70:]}"
