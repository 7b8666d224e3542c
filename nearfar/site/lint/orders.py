"""Orders beside the systems that they are for, the GPU's model, and what links and memories carry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from nearfar.base import SiteFile, did_you_mean
from nearfar.measurement import software_names
from nearfar.model.prediction import lanes_fault, link_fault
from nearfar.site import Order, Partition, orders
from nearfar.topology import SETTINGS, Node
from nearfar.verdict import thresholds
from nearfar.verdict.references import ReferenceRow, model_ranges

from . import contradictions, line_rates, rows
from .complaints import ERROR, WARNING, Complaint, at, refused, stop_on_errors
from .known_metrics import misspelt
from .known_metrics import rows as known_rows
from .partitions import below_model
from .reading import ReadFile, SiteContents
from .reference_uses import expected
from .rows import ReferenceTable

#: What an order and a system's files both say.
_BOTH = ("gpus", "gpu_model", "packages", "memory", "link", "nvlinks", "nvlink_generation", "nics")
#: What nodes and programs report under ``software``, and the settings that cost.
_SOFTWARE = frozenset((*software_names(), *(setting.key for setting in SETTINGS))) - set(orders.NEVER_ORDERED)


def complaints(reading: SiteContents, read: ReadFile[Order]) -> Iterator[Complaint]:
    """What is wrong with one order."""
    order, file = read.value, read.file
    if order is None:
        return
    if error := orders.misnamed(file):
        yield refused(error, "names")
    system = reading.systems.get(order.system or "")
    partition = orders.partition_of(order, system.value if system is not None else None)
    if order.system is not None and partition is None:
        if system is None:
            hint = did_you_mean(order.system, list(reading.systems))
            yield at(file, ERROR, "names", f"system: no system is called '{order.system}'{hint}", "system")
        elif system.value is not None:
            hint = did_you_mean(str(order.partition), list(system.value.partitions))
            yield at(file, ERROR, "names", f"partition: {order.system} has no '{order.partition}'{hint}", "partition")
    link, lanes = order.expect.get("link", {}), (order.expect.get("nvlinks"), order.expect.get("nvlink_generation"))
    for key, fault in (("link", link_fault(link)), ("nvlinks", lanes_fault(*lanes))):
        if fault:
            yield at(file, ERROR, "impossible", f"expect: {key}: {fault}", "expect", key)
    for key, fault in below_model(order.expect, order.expect.get("gpu_model"), reading.gpu_models):
        yield at(file, WARNING, "expectation", fault, "expect", key)
    for key in order.software:
        if key not in _SOFTWARE:
            problem = f"software: no node reports '{key}'{did_you_mean(key, sorted(_SOFTWARE))}"
            yield at(file, ERROR, "names", problem, "software", key)
    node = None if partition is None else expected(reading, partition, reading.gpu_models)
    yield from _of_model(order, file, node, reading)
    if partition is not None:
        yield from _beside_system(order, file, partition, node)
    whole = orders.described(order, reading.gpu_models, node)
    features = frozenset(partition.features if partition is not None else ())
    ranges = reading.healthy
    for check in dict.fromkeys(promise.check for promise in order.promised):
        own = list(_of_check(order, file, check, whole, features, reading.gpu_memories))
        wrong = {complaint.line for complaint in own}
        healthy = _above_healthy(order, file, check, whole, ranges)
        yield from (*own, *(complaint for complaint in healthy if complaint.line not in wrong))


def _of_model(order: Order, file: SiteFile, node: Node | None, reading: SiteContents) -> Iterator[Complaint]:
    """A GPU model that neither a file of GPU models nor the system has."""
    model, known = order.expect.get("gpu_model"), list(reading.gpu_models)
    if model is None or model in known or (node is not None and any(gpu.name == model for gpu in node.gpus)):
        return
    alike = [name for name in known if model.lower() in name.lower()][:4]
    quoted = " or ".join(f"'{name}'" for name in alike)
    hint = f" (did you mean {quoted}?)" if alike else did_you_mean(model, known, else_all=False)
    problem = f"expect: gpu_model: no GPU model file has '{model}'{hint}: no figure is compared with known ones"
    yield at(file, WARNING, "names", problem, "expect", "gpu_model")


def _above_healthy(
    order: Order, file: SiteFile, check: str, node: Node, ranges: model_ranges.ModelRanges
) -> Iterator[Complaint]:
    """Promised rates that no healthy GPU of the model was seen to reach."""
    gpu = next(iter(node.gpus), None)
    for promise in (promise for promise in order.promised if gpu is not None and promise.check == check):
        assert gpu is not None
        known = model_ranges.find(ranges, gpu.name, [promise.row], gpu.link.nominal)
        if known is None:
            continue
        low, high = min(each.low for each in known[0]), max(each.high for each in known[0])
        # Ranges of the other kind, near or sole, are that much less certain.
        most = high * (1 + known[1] - thresholds.MODEL_MARGIN)
        if promise.value * (1 - thresholds.AS_GOOD) > most:
            reach = f"healthy {gpu.name} reach, {low:.4g} to {high:.4g} {promise.unit}"
            problem = f"{check}: {promise.row}: {promise.value:g} {promise.unit} is above what {reach}: every node would be refused"
            yield at(file, WARNING, "impossible", problem, "promised", check, promise.row)


def _beside_system(order: Order, file: SiteFile, partition: Partition, node: Node | None) -> Iterator[Complaint]:
    """Where the system's files expect another node than was ordered."""
    known = dict(partition.expect)
    if node is not None:
        model = next((gpu.name for gpu in node.gpus), None)
        known = {"gpus": len(node.gpus), "gpu_model": model, "packages": len(node.packages), **known}
    for key in _BOTH:
        if None not in (wanted := order.expect.get(key), has := known.get(key)) and wanted != has:
            message = f"expect: {key}: {wanted}, but system {order.system} has {has}"
            yield at(file, WARNING, "contradiction", message, "expect", key)


def _of_check(
    order: Order, file: SiteFile, check: str, node: Node, features: frozenset[str], memories: dict[str, float]
) -> Iterator[Complaint]:
    """The promised figures of a check: whether it gives them, and whether links and memories carry them."""
    own = {
        promise.row: ReferenceRow(check, None, promise.row, promise.value, None, None, promise.unit)
        for promise in order.promised if promise.check == check
    }  # fmt: skip
    figures = {
        row: [(metric, node) for metric in metrics]
        for row, metrics in (known_rows(check, node, features) or {}).items()
    }
    model = next((gpu.name for gpu in node.gpus), None)
    table = ReferenceTable(file, check, model, own, figures, (f"order {order.name}",), above=("promised",))
    for row in own.values():
        # A promise that no check gives cannot be accepted: dead, it is no mere oddity as a reference is.
        if rows.dead(table, row) and misspelt(check, row.name) is None:
            hint = did_you_mean(row.name, sorted(figures), else_all=False)
            yield table.complaint(ERROR, "unknown-row", f"no check gives this figure of the ordered nodes{hint}", row)
    faults = [c for c in rows.complaints(table, ()) if c.level == ERROR] + list(line_rates.complaints(table, memories))
    yield from faults
    yield from (c for c in contradictions.complaints(table) if c.line not in {fault.line for fault in faults})


def sound_order(name: str, directories: Sequence[Path]) -> Order:
    """The order of that name, of which lint has no error. Raises ``NearfarError`` with the line of each."""
    order = orders.load(name, directories)
    reading = SiteContents(directories).add("systems").add("nodes").add("gpus")
    assert order.file is not None
    stop_on_errors(complaints(reading, ReadFile(SiteFile(order.file), order)))
    return order
