"""Options that are not named stay as they were installed; one that is named replaces itself alone, one that is dropped is as by default."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nearfar.base import NearfarError
from nearfar.slurm.health import OUTPUT

from .manifest import InstallManifest
from .options import COLLECTED, PARTS, InstallOptions

#: The options of ``nearfar slurm install`` that are kept, each with the field that holds it.
_FIELDS = {
    "partition": "partition", "results": "results", "user": "user", "act-user": "act_user", "timer": "timer", "at": "at",
    "deadline": "hours", "every": "every", "prolog": "prolog", "nightly": "words", "act": "act_words", "state": "state",
    "health-output": "health_output", "collect": "collect", "slurm-bin": "path",
}  # fmt: skip
#: And those that are a variable of the scripts' environment; other variables have no option.
_VARIABLES = {"metrics": "NEARFAR_METRICS", "slurm-conf": "SLURM_CONF"}
_NEEDED = ("partition", "results", "user")
_OTHERS = ("NEARFAR_SITE", "NEARFAR_STATE", "NEARFAR_PROGRAMS", "NEARFAR_HISTORY")
#: What can be dropped.
DROPPABLE = tuple(name for name in (*_FIELDS, *_VARIABLES, *_OTHERS) if name not in _NEEDED)


def parts(named: Sequence[str] | None, known: InstallManifest) -> tuple[str, ...]:
    """The parts that are to be installed: those that are named, else those that are installed, else all."""
    wanted = set(named or known.parts or PARTS)
    if {"prolog", "epilog"} & wanted:
        wanted.add("health")  # which they call
    return tuple(part for part in PARTS if part in wanted)


def before(known: InstallManifest, part: str) -> InstallOptions | None:
    """What a part was installed with; one that was not, what the others were; None where nothing was."""
    name = next((name for name in (part, "act", "nightly", *known.parts) if name in known.parts), None)
    return None if name is None else known.parts[name].options


def merged(
    installed: InstallOptions | None, plain: InstallOptions, named: Mapping[str, Any], dropped: Collection[str]
) -> InstallOptions:  # fmt: skip
    """What is to be installed: ``installed`` (None: nothing is) with what was ``named``, by option, in its place; what was dropped, and
    what is of this machine and this shell, as ``plain`` has it.

    Raises ``NearfarError`` for an option that is both named and dropped."""
    both = sorted(set(named) & set(dropped))
    if both:
        raise NearfarError(f"--drop {both[0]}: it is named as well: choose one")
    kept = plain if installed is None else installed
    values = {field: getattr(plain if option in dropped else kept, field) for option, field in _FIELDS.items()}
    values |= {_FIELDS[option]: value for option, value in named.items() if option in _FIELDS}
    if "act-user" not in named and (installed is None or "act-user" in dropped):
        values["act_user"] = values["user"]
    changed = installed is None or {"collect", "health-output"} & {*named, *dropped}
    if changed and "collect" not in named and ("collect" in dropped or kept.collect in (None, COLLECTED)):
        # A directory that all nodes share needs no other.
        values["collect"] = COLLECTED if values["health_output"] == str(OUTPUT) else None
    here = {_VARIABLES[option]: value for option, value in named.items() if option in _VARIABLES}
    gone = {_VARIABLES.get(name, name) for name in dropped}
    environment = {**kept.environment, **plain.environment, **here}
    values["environment"] = {name: value for name, value in environment.items() if name not in gone}
    return replace(plain, **values)


def taken_over(options: InstallOptions, plain: InstallOptions, named: Collection[str]) -> str:
    """The options that stay as they were installed and are not as by default, as one types them; empty where there are none."""
    return shlex.join(_words(options, plain, named))


def _words(options: InstallOptions, plain: InstallOptions, named: Collection[str]) -> Iterator[str]:
    for option, field in _FIELDS.items():
        value = getattr(options, field)
        default = options.user if option == "act-user" else None if option in _NEEDED else getattr(plain, field)
        if option in named or value in (None, default):
            continue
        if option == "slurm-bin":
            yield f"--slurm-bin={options.slurm_bin}"
        elif isinstance(value, tuple):
            yield from (f"--{option}={word}" for word in value)
        else:
            yield f"--{option}={value:g}" if isinstance(value, float) else f"--{option}={value}"
    for option, variable in (*_VARIABLES.items(), *((name, name) for name in _OTHERS)):
        if option not in named and variable in options.environment and variable not in plain.environment:
            yield f"{'' if option == variable else '--'}{option}={options.environment[variable]}"
