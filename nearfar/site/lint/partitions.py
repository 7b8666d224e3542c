"""System files beside the checks, the node types, the GPU models and each other; and what ``nearfar slurm act`` would refuse of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from nearfar.base import SiteFile, did_you_mean, site_files
from nearfar.model.prediction import link_fault
from nearfar.question import Question
from nearfar.site import Partition, System, drain_policy, shared_hosts
from nearfar.topology import Node

from .complaints import ERROR, INFO, WARNING, Complaint, at, refused
from .reading import ReadFile, SiteContents
from .reference_uses import expected


def features_of(checks: Iterable[Question]) -> set[str]:
    """Every feature that a check asks for; ``modelled`` is asked for of all."""
    known = {"modelled"}
    for check in checks:
        known |= {word[1:] for spec in check.systems for word in spec.split() if word[0] in "+-"} | set(check.features)
    return known


def complaints(reading: SiteContents, read: ReadFile[System], features: set[str]) -> Iterator[Complaint]:
    """What is wrong with one system's partitions and environments."""
    system, file = read.value, read.file
    if system is None:
        return
    if system.unreviewed:
        message = "unreviewed: nothing is compared with it; compare it with the order sheet, then remove the line"
        yield at(file, INFO, "unreviewed", message, "unreviewed")
    for index, entry in enumerate(file.data["partitions"]):
        partition = system.partitions[entry["name"]]
        place = ("partitions", index)
        yield from _of_features(reading, file, partition, features, place)
        yield from _of_references(reading, file, partition, entry, place)
        yield from _of_expectation(reading, file, partition, entry, place)
    used = {environment for partition in system.partitions.values() for environment in partition.environs}
    for index, entry in enumerate(file.data.get("environments", ())):
        if entry["name"] not in used:
            message = f"environment '{entry['name']}': unused: no partition names it under environs"
            yield at(file, WARNING, "dead", message, "environments", index)


def _of_features(
    reading: SiteContents, file: SiteFile, partition: Partition, features: set[str], place: tuple[str, int]
) -> Iterator[Complaint]:
    for position, feature in enumerate(partition.features):
        if feature not in features:
            message = f"feature '{feature}': unused: no check requires it{did_you_mean(feature, sorted(features))}"
            yield at(file, WARNING, "feature", message, *place, "features", position)
    read = reading.node_types.get(partition.node_type or "")
    node = read.value.node if read is not None and read.value is not None else None
    if node is None:
        return
    if node.gpus and "gpu" not in partition.features:
        message = f"{partition.name}: no feature 'gpu', but {partition.node_type} has {len(node.gpus)} GPUs: no check measures them"
        yield at(file, WARNING, "feature", message, *place, "features")
    if not node.gpus and "gpu" in partition.features:
        message = f"{partition.name}: feature 'gpu', but {partition.node_type} has no GPU"
        yield at(file, WARNING, "feature", message, *place, "features")


def _of_references(
    reading: SiteContents, file: SiteFile, partition: Partition, entry: Mapping[str, Any], place: tuple[str, int]
) -> Iterator[Complaint]:
    known = site_files("references", list(reading.directories))
    wanted = entry.get("references")
    if wanted is not None and wanted not in known:
        hint = did_you_mean(wanted, list(known), else_all=False) or ": predictions judge"
        message = f"references: no file site/references/{wanted}.yaml{hint}"
        yield at(file, WARNING, "names", message, *place, "references")


def _of_expectation(
    reading: SiteContents, file: SiteFile, partition: Partition, entry: Mapping[str, Any], place: tuple[str, int]
) -> Iterator[Complaint]:
    read = reading.node_types.get(partition.node_type or "")
    bare = read.value.node if read is not None and read.value is not None else None
    model = partition.expect.get("gpu_model")
    node = expected(reading, partition, reading.gpu_models)

    def steps(key: str) -> tuple[str | int, ...]:
        return (*place, "expect", key) if key in entry.get("expect", {}) else ("expect", key)

    for key, fault in below_model(partition.expect, model or _model(node), reading.gpu_models):
        yield at(file, WARNING, "expectation", fault, *steps(key))
    kinds = {gpu.link.kind for gpu in node.gpus} if node is not None else set()
    nominal = {"kind": kinds.pop() if len(kinds) == 1 else "pcie"}
    if fault := link_fault({**nominal, **partition.expect.get("link", {})}):
        yield at(file, ERROR, "impossible", f"expect: link: {fault}", *steps("link"))
    gpus = partition.expect.get("gpus")
    if bare is not None and gpus is not None and gpus != len(bare.gpus):
        fault = f"expect: gpus: {gpus}, but {partition.node_type} has {len(bare.gpus)}"
        yield at(file, WARNING, "expectation", fault, *steps("gpus"))


def _model(node: Node | None) -> str | None:
    return next((gpu.name for gpu in node.gpus), None) if node is not None and node.gpus else None


def below_model(
    expect: Mapping[str, Any], model: str | None, models: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """The keys under which less is expected than the GPU's model has, and why that is a hole."""
    known, link = models.get(model or "", {}), expect.get("link", {})
    its = known.get("link", {})
    if link.get("kind", its.get("kind")) == its.get("kind"):
        for key in ("gen", "width"):
            if key in link and key in its and link[key] < its[key]:
                message = f"expect: link: {key}: {link[key]}, but {model} has {its[key]}"
                yield "link", f"{message}: a link that trained at a lower rate would pass"
    lanes = expect.get("nvlinks")
    if lanes is not None and lanes < known.get("nvlinks", 0):
        yield "nvlinks", f"expect: nvlinks: {lanes}, but {model} has {known['nvlinks']}: lanes that are down would pass"


def overlaps(systems: Mapping[str, ReadFile[System]]) -> Iterator[Complaint]:
    """Hosts and products that two systems claim."""
    known = [(read.value, read.file) for read in systems.values() if read.value is not None]
    for (first, _), (other, file) in combinations(known, 2):
        shared = shared_hosts(first, other)
        if shared:
            message = f"hosts: {shared} belong to {first.name} too ({first.file}); take them out of one"
            yield at(file, ERROR, "overlap", message, "hosts")
        if first.product is not None and first.product == other.product:
            message = f"product: '{first.product}' is {first.name}'s too ({first.file})"
            yield at(file, ERROR, "overlap", message, "product")


def shadows(directories: Iterable[Path], kinds: Iterable[str]) -> Iterator[Complaint]:
    """Files that stand before others of the same name."""
    for folder in kinds:
        first: dict[str, Path] = {}
        for directory in directories:
            for path in sorted((directory / folder).glob("*.yaml")):
                before = first.setdefault(path.name, path)
                if before != path:
                    yield Complaint(before, 1, INFO, "shadow", f"takes precedence over {path}, which is not read")


def act_complaints(read: ReadFile[System], checks: Mapping[str, Question]) -> Iterator[Complaint]:
    """What is wrong with one system's ``act``, by the same reading as ``act``'s own."""
    system, file = read.value, read.file
    data = file.data.get("act") if isinstance(file.data, dict) else None
    if system is None or not isinstance(data, dict):
        return
    unknown = list(drain_policy.problems(file, list(checks)))
    yield from (refused(problem, "act") for problem in unknown)
    of_caps_and_program = (*drain_policy.unreached(file), *drain_policy.unusable_program(file))
    for problem in (*drain_policy.strangers(file), *of_caps_and_program):
        yield Complaint(file.path, problem.line or 1, WARNING, "act", problem.words, problem.where)
    real = [partition for partition in system.partitions.values() if not partition.modelled]
    if not real:
        message = "act: never applies: all partitions are modelled, and modelled results are never acted on"
        yield at(file, WARNING, "act", message, "act")
        return
    slips = {problem.steps for problem in unknown}
    for name in data.get("checks", {}):
        if ("act", "checks", name) not in slips:
            yield from _of_check(file, system, real, name, checks)


def _of_check(
    file: SiteFile, system: System, real: Sequence[Partition], name: str, checks: Mapping[str, Question]
) -> Iterator[Complaint]:
    step, steps = file.data["act"]["checks"][name], ("act", "checks", name)
    figures = name in checks and checks[name].has_figures
    if isinstance(step, dict) and not figures and step.get("speed", "observe") != "observe":
        message = f"act: {name}: speed: never applies: it judges no figure, only evidence"
        yield at(file, WARNING, "act", message, *steps, "speed")
    if drain_policy.step_of(step) == drain_policy.DrainSteps():
        return  # it is only observed
    why = _never(system, real, name, checks)
    if why:
        yield at(file, WARNING, "act", f"act: {name}: never applies: {why}", *steps)


def _never(system: System, real: Sequence[Partition], name: str, checks: Mapping[str, Question]) -> str | None:
    """Why no result of a check ever comes to ``act``; None where one may."""
    if name == drain_policy.HEALTH:
        return None
    check = checks[name]
    if not check.levels:
        return "no sweep runs it"
    if not any(check.fits(system.name, partition.name, partition.features) for partition in real):
        wants = " or ".join(f"'{spec}'" for spec in check.systems)
        return f"no partition of '{system.name}' has what it requires ({wants})"
    return None
