"""A run of named checks on this machine, as far as it has what they ask for: those that it cannot answer are said, and left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nearfar.base import CouldNotJudge, plural, say
from nearfar.question import Question, named
from nearfar.site import System

from . import validation
from .earlier_seconds import earlier_seconds

#: What a partition lacks, by the feature that stands for it.
_LACKS = {
    "gpu": "this machine has no GPU",
    "ranks": "this machine has no MPI",
    "programs": "the system's file names no programs of the site (docs/use.md)",
    "mpi": "this machine has no OSU benchmarks with an MPI",
}


def run(
    checks: Sequence[str],
    system: str | None,
    report_directory: Path | None,
    wait: float | None,
    command: tuple[str, ...],
) -> tuple[int, Path]:
    """Run those of ``checks`` that this machine can answer; the exit code and the run directory. What is left out, and how long the
    rest took before, is said on standard error. Raises ``CouldNotJudge`` where it can answer none."""
    # What is set beside a paper's figures accepts no node: a host that is not of the system is measured, with a warning.
    request = validation.Request(
        system=system, report_directory=report_directory, wait=wait, command=command, force_system=True
    )
    chosen = validation.chosen_system(request)
    left_out = {name: why for name in checks if (why := cannot(named(name), chosen))}
    asked = tuple(name for name in checks if name not in left_out)
    for why in dict.fromkeys(left_out.values()):
        names = ", ".join(name for name, reason in left_out.items() if reason == why)
        say(f"not run: {names}: {why}")
    if not asked:
        raise CouldNotJudge(
            f"nothing of what is asked for can be measured here: {'; '.join(dict.fromkeys(left_out.values()))}"
        )
    say(f"{plural(len(asked), 'check')}: {', '.join(asked)}; {_time(asked, chosen)}")
    return validation.run(replace(request, checks=asked))


def cannot(question: Question, system: System) -> str:
    """Why no partition of a system answers a question by measuring; empty where one does."""
    real = [partition for partition in system.partitions.values() if not partition.modelled]
    if any(question.fits(system.name, p.name, p.features) for p in real):
        return ""
    have = {feature for partition in real for feature in partition.features}
    wanted = [word[1:] for spec in question.systems for word in spec.split() if word[0] == "+"]
    lacking = [_LACKS.get(word, f"no partition has the feature {word}") for word in wanted if word not in have]
    return lacking[0] if lacking else f"no partition of '{system.name}' has all that it asks for"


def _time(checks: Sequence[str], system: System) -> str:
    """How long the checks took when they last ran here, in words."""
    took = {check: seconds for (check, _, _), seconds in earlier_seconds(system.name).items()}
    known = [took[name] for name in checks if name in took]
    if not known:
        return "no earlier run here shows how long they take"
    rest = f"; of {plural(len(checks) - len(known), 'check')} it is not known" if len(known) < len(checks) else ""
    return f"about {max(1, round(sum(known)))} s, as when they last ran here{rest}"
