"""Applications that are run under binding schemes: the files of ``site/applications/``, and the programs that partitions name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.base import NearfarError, SiteFile, Step, compiled, did_you_mean, named_site_file
from nearfar.binding import scheme_names

#: Options that are regular expressions.
_EXPRESSIONS = ("fom", "same", "expect")


@dataclass(frozen=True)
class Application:
    """A file of ``site/applications/``. ``options`` are those of ``nearfar cost`` by their names, with the ``command``; ``inputs`` is the
    folder beside the file that has its name, of which every run has a copy (None: there is none)."""

    name: str
    description: str
    get: str
    options: Mapping[str, Any]
    prepare: tuple[str, ...]
    inputs: Path | None
    file: Path

    @property
    def program(self) -> dict[str, Any]:
        """All that ``nearfar cost`` has to know of it, by the names of its options."""
        more: dict[str, Any] = {"get": self.get, "prepare": list(self.prepare)}
        if self.inputs is not None:
            more["inputs"] = str(self.inputs)
        return {**self.options, **more}


def load(name: str, directories: Sequence[Path]) -> Application:
    """The application of that name. Raises ``NearfarError``, with file and line for what is wrong in its file."""
    return from_file(named_site_file("applications", name, list(directories)))


def from_file(file: SiteFile) -> Application:
    """The application that a file describes."""
    file.check("application-1")
    data, path = file.data, file.path
    if data["application"] != path.stem:
        raise file.error(
            f"application: '{data['application']}' in a file called {path.name}; use one name for both", "application"
        )
    for key in ("name", "application"):
        if key in data["run"]:
            raise file.error(f"run: '{key}' belongs to a partition's programs; take it out", "run", key)
    if "command" not in data["run"]:
        raise file.error("run: the key 'command' is missing", "run")
    _check(file, data["run"], "run")
    inputs = path.with_suffix("")
    if "prepare" in data and not inputs.is_dir():
        raise file.error(f"prepare: it works in a copy of {inputs}, and there is no such folder", "prepare")
    return Application(
        data["application"], data["description"], data["get"], data["run"], tuple(data.get("prepare", ())),
        inputs if inputs.is_dir() else None, path,
    )  # fmt: skip


def programs(
    file: SiteFile, entries: Sequence[Mapping[str, Any]], applications: Mapping[str, Path], *steps: Step
) -> tuple[dict[str, Any], ...]:
    """The ``programs`` of a partition, at ``steps`` of its system's file: those that name an application with all that its file says
    and they do not. Each has its ``name`` and its ``command``."""
    listed: list[dict[str, Any]] = []
    for index, entry in enumerate(entries):
        place = (*steps, index)
        _check(file, entry, *place)
        whole = (
            {"name": entry["application"], **_of(file, entry, applications, *place)} if "application" in entry else {}
        )
        whole |= {key: value for key, value in entry.items() if key != "application"}
        for key in ("name", "command"):
            if key not in whole:
                raise file.error(f"the key '{key}' is missing, or application: that names a file", *place)
        if whole["name"] in [program["name"] for program in listed]:
            raise file.error(f"two programs called '{whole['name']}'; give one a name of its own", *place)
        listed.append(whole)
    return tuple(listed)


def _of(file: SiteFile, entry: Mapping[str, Any], applications: Mapping[str, Path], *steps: Step) -> dict[str, Any]:
    name = entry["application"]
    if name not in applications:
        hint = did_you_mean(name, list(applications))
        message = f"unknown application '{name}'{hint}; applications are files of site/applications/"
        raise file.error(message, *steps, "application")
    return from_file(SiteFile(applications[name])).program


def _check(file: SiteFile, options: Mapping[str, Any], *steps: Step) -> None:
    """Refuse expressions and schemes that ``nearfar cost`` would refuse."""
    try:
        for key in _EXPRESSIONS:
            if key in options:
                at: tuple[Step, ...] = (key,)
                compiled(options[key], key)
        if "schemes" in options:
            at = ("schemes",)
            scheme_names.named(",".join(options["schemes"]))
    except NearfarError as error:
        raise file.error(str(error), *steps, *at) from None
