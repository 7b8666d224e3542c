"""The ``act`` of system files: what ``nearfar slurm act`` would refuse, and steps of the ladder that can never apply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nearfar.base import SiteFile
from nearfar.question import Question
from nearfar.site import Partition, System, drain_policy

from .complaints import WARNING, Complaint, at, refused
from .reading import ReadFile


def complaints(read: ReadFile[System], checks: Mapping[str, Question]) -> Iterator[Complaint]:
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
