"""ReFrame's configuration, made from a site's files: one ReFrame system for each system file."""

from __future__ import annotations

import argparse
import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, did_you_mean, places
from nearfar.question import LEVELS, QUICK

from .environments import Environment
from .systems import Partition, Site, System

#: Polls a second while a job of this machine runs: the end of a program is seen within 10 ms, for 2 % of a core.
_POLLS_LOCAL = 100
#: The formats of a perflog row: who, then one figure (perflog_multiline).
_PERFLOG = (
    "%(check_job_completion_time)s|%(check_system)s|%(check_partition)s|%(check_environ)s|%(check_job_nodelist)s|"
    "%(check_name)s|%(check_result)s|%(check_perfvalues)s"
)
_PERFLOG_FIGURE = (
    "%(check_perf_var)s|%(check_perf_value)s|%(check_perf_unit)s|%(check_perf_ref)s|%(check_perf_lower_thres)s|"
    "%(check_perf_upper_thres)s|"
)


def refuse_other_reframe(version: str) -> None:
    """Raise ``NearfarError`` for a ReFrame that the checks are not written for; pyproject.toml asks for the same versions."""
    if not (4, 10, 4) <= tuple(map(int, re.findall(r"\d+", version)[:3])) < (4, 11):
        raise NearfarError(
            f"this is ReFrame {version}; nearfar works with 4.10.4 and later of 4.10: pip install 'reframe-hpc>=4.10.4,<4.11'"
        )


def refuse_unknown_names(arguments: Sequence[str]) -> None:
    """Raise ``NearfarError`` where ReFrame is asked by ``-n`` for plain names of which no check has one: it would pass with no case.

    Only where it looks at nearfar's checks alone: patterns, other paths of checks and further configurations are ReFrame's.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-n", "--name", action="append", default=[])
    parser.add_argument("-c", "--checkpath", action="append")
    parser.add_argument("-C", "--config-file", action="append", default=[])
    given, _ = parser.parse_known_args(arguments)
    if given.checkpath or len(given.config_file) > 1 or {"RFM_CHECK_SEARCH_PATH", "RFM_CONFIG_FILES"} & set(os.environ):
        return
    known = {path.stem: path.parent for path in places.CHECKS.glob("**/*_check.py")}
    here = [name for name, folder in known.items() if folder == places.CHECKS]
    if not given.name or any(
        not re.fullmatch(r"\w+", name) or any(name in check for check in here) for name in given.name
    ):
        return
    folder = known.get(given.name[0])
    where = f"it is in {folder}: add -c {folder}" if folder else f"no such check{did_you_mean(given.name[0], here)}"
    raise NearfarError(f"-n {given.name[0]}: {where}")


def configuration(site: Site, run_directory: Path) -> dict[str, Any]:
    """ReFrame's ``site_configuration``. Nothing is written here, and nothing of a run outside ``run_directory`` but perflogs."""
    if any(letter.isspace() for letter in str(run_directory)):
        # ReFrame splits the path of a job's script at white space.
        raise NearfarError(
            f"{run_directory}: ReFrame cannot run in a folder with white space; set NEARFAR_STATE to another"
        )
    systems = [site.systems[site.here], *(s for name, s in site.systems.items() if name != site.here)]
    on_this_machine = [s.name for s in systems if all(p.scheduler == "local" for p in s.partitions.values())]
    return {
        "systems": [_system(system, system.name == site.here, run_directory) for system in systems],
        "environments": [
            _environment(environment, system) for system in systems for environment in system.environments.values()
        ],
        "general": [
            _general(run_directory),
            {**_general(run_directory), "target_systems": on_this_machine, "poll_rate_max": _POLLS_LOCAL,
             "poll_rate_min": _POLLS_LOCAL, "poll_rate_decay": 0.0},
        ],
        "logging": [_logging(run_directory)],
        "modes": [_mode(level) for level in LEVELS],
    }  # fmt: skip


def _general(run_directory: Path) -> dict[str, Any]:
    return {"report_file": str(run_directory / "reframe-report.json"), "check_search_path": ["checks/"]}


def _mode(level: str) -> dict[str, Any]:
    """``reframe --mode=LEVEL``: the checks of a level (``-r`` is said by hand)."""
    folder = places.CHECKS / (QUICK if level == QUICK else "")
    return {"name": level, "options": [f"--checkpath={folder}", f"--tag=^{level}$"]}


def _system(system: System, here: bool, run_directory: Path) -> dict[str, Any]:
    return {
        "name": system.name,
        "descr": system.description,
        # The host was matched already, by node list or product; ReFrame takes the first system that fits.
        "hostnames": [".*"] if here else ["(?!)"],
        "modules_system": system.modules_system if _uses_modules(system) else "nomod",
        "prefix": str(run_directory / "reframe"),
        "partitions": [_partition(partition) for partition in system.partitions.values()],
    }


def _uses_modules(system: System) -> bool:
    return any(p.reframe.get("modules") for p in system.partitions.values()) or any(
        e.reframe.get("modules") for e in system.environments.values()
    )


def _partition(partition: Partition) -> dict[str, Any]:
    settings = dict(partition.reframe)
    resources = settings.pop("resources", {})
    variables = settings.pop("env_vars", {})
    return {
        **settings,
        "name": partition.name,
        "descr": partition.description,
        "scheduler": partition.scheduler,
        "launcher": partition.launcher,
        "environs": list(partition.environs),
        "features": list(partition.features),
        "max_jobs": settings.get("max_jobs", 1),
        "env_vars": [[key, str(value)] for key, value in variables.items()],
        "resources": [{"name": name, "options": options} for name, options in resources.items()],
        # ReFrame would look at the host, keep what it saw in HOME, and take it for every node of the partition.
        "processor": {"arch": platform.machine()},
    }


def _environment(environment: Environment, system: System) -> dict[str, Any]:
    variables = environment.reframe.get("env_vars", {})
    return {
        **environment.reframe,
        "name": environment.name,
        "features": list(environment.features),
        "env_vars": [[key, str(value)] for key, value in variables.items()],
        "target_systems": [system.name],
    }


def _logging(run_directory: Path) -> dict[str, Any]:
    """Level ``verbose``: with the default, ReFrame spends 80 ms of a case on records that nobody sees."""
    in_a_run = run_directory.is_dir()
    file = {"type": "file", "name": str(run_directory / "reframe.log"), "level": "verbose", "append": False,
            "format": "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s"}  # fmt: skip
    return {
        "level": "verbose",
        "perflog_multiline": True,
        "handlers$": [{"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}],
        "handlers": [file] if in_a_run else [],
        "handlers_perflog": [
            {
                "type": "filelog", "basedir": str(places.reports_directory() / "perflogs"), "level": "info", "append": True,
                "prefix": "%(check_system)s/%(check_partition)s", "format": _PERFLOG, "format_perfvars": _PERFLOG_FIGURE,
            }
        ],
    }  # fmt: skip
