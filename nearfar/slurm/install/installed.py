"""The files of an installation, from ``site/templates/slurm/`` and the options that an administrator names; how what is installed differs
from them, and copying them into place."""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, NearfarError, cannot_write, places, site_templates, write_atomically
from nearfar.slurm.controller import NAME
from nearfar.slurm.health import FOUND, LIMIT, QUICK_LIMIT
from nearfar.slurm.results import make_for_all

#: The parts of an installation; the prolog and the epilog call the script of ``health``.
PARTS = ("nightly", "act", "health", "prolog", "epilog")
#: Those that run on the compute nodes.
ON_NODES = ("health", "prolog", "epilog")
#: The directory of the scripts, unless the caller names another.
FOLDER = "/etc/nearfar"
#: Where commands are found, after Slurm's own directory.
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
_USER = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
_AT = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
#: A path that systemd and slurm.conf take as it is.
_PLAIN = re.compile(r"/[A-Za-z0-9._/+-]+")


@dataclass(frozen=True, kw_only=True)
class InstallOptions:
    """The options of ``nearfar slurm install``. Paths are absolute."""

    partition: str
    #: The shared directory that nightly sweeps write their results to.
    results: str
    #: The shared directory that the nodes' health checks write their findings to.
    health_output: str
    #: Who measures: runs nightly sweeps and owns the results.
    user: str = "nearfar"
    #: Who drains: runs ``act`` and owns its state.
    act_user: str = "root"
    what: tuple[str, ...] = PARTS
    at: str = "02:30"
    #: Hours that a night lasts.
    deadline: float = 5.0
    #: Minutes between two calls of ``act``.
    every: int = 5
    folder: str = FOLDER
    state: str = "/var/lib/nearfar/act"
    #: Further arguments of the nightly sweep and of ``act``.
    nightly: tuple[str, ...] = ()
    act: tuple[str, ...] = ()
    #: The directory of Slurm's commands; empty: one of the usual ones.
    slurm_bin: str = ""
    #: The variables that the scripts set.
    environment: Mapping[str, str] = field(default_factory=dict)
    #: What runs nearfar, and the directory that holds its package.
    python: str = sys.executable
    checkout: str = str(places.IMPORT_PATH)

    @property
    def path(self) -> str:
        """The scripts' PATH."""
        return _PATH if self.slurm_bin in ("", *_PATH.split(":")) else f"{self.slurm_bin}:{_PATH}"

    @property
    def metrics(self) -> str | None:
        """The directory of Prometheus' text files on every machine; None: none are written."""
        return self.environment.get("NEARFAR_METRICS")

    @property
    def system(self) -> str | None:
        """The system that ``act`` is told to follow; None: the only one whose file has an ``act``."""
        return next((word.partition("=")[2] for word in self.act if word.startswith("--system=")), None)

    @property
    def surroundings(self) -> dict[str, str]:
        """The environment in which the scripts call Slurm."""
        return {**os.environ, **self.environment, "PATH": self.path}

    @property
    def slurm_conf(self) -> dict[str, str]:
        """The settings that slurm.conf needs, by name: for the parts of the nodes that are installed here, else for all of them."""
        parts = {*self.what} & {*ON_NODES} or {*ON_NODES}
        settings: dict[str, str] = {}
        if "health" in parts:
            settings["HealthCheckProgram"] = f"{self.folder}/health-check"
            settings |= {"HealthCheckInterval": "300", "HealthCheckNodeState": "IDLE,CYCLE"}
        if "prolog" in parts:
            settings |= {"Prolog": f"{self.folder}/prolog", "PrologFlags": "Alloc"}
        if "epilog" in parts:
            settings["Epilog"] = f"{self.folder}/epilog"
        return settings

    def check(self) -> None:
        """Raise ``NearfarError`` for values that systemd, Slurm or a shell would read differently."""
        if not NAME.fullmatch(self.partition):
            raise NearfarError(f"--partition {self.partition}: not the name of a partition")
        for option, user in (("--user", self.user), ("--act-user", self.act_user)):
            if not _USER.fullmatch(user):
                raise NearfarError(f"{option} {user}: not the name of a user")
        if self.user == "root" and "nightly" in self.what:
            raise NearfarError("--user root: nightly sweeps submit jobs, which need no root; name a user of their own")
        if not _AT.fullmatch(self.at):
            raise NearfarError(f"--at {self.at}: expected HH:MM, as 02:30")
        for option, path in {"--folder": self.folder, "this Python": self.python}.items():
            if not _PLAIN.fullmatch(path):
                alone = "an absolute path of letters, digits and ._/+- alone, for systemd"
                raise NearfarError(f"{option}: {path}: {alone}")
        places = {"--results": self.results, "--health-output": self.health_output, "--state": self.state}
        words = [*(("--nightly", word) for word in self.nightly), *(("--act", word) for word in self.act)]
        for option, text in (*places.items(), *self.environment.items(), *words, ("--slurm-bin", self.slurm_bin)):
            if any(ord(letter) < 32 for letter in text):
                raise NearfarError(f"{option}: {text!r}: a line break or control character, which no script can hold")


def from_entry(entry: dict[str, Any]) -> InstallOptions:
    """The options that ``installed.json`` holds. Raises ``TypeError``, ``ValueError`` or ``NearfarError`` for what are none."""
    lists = {name: tuple(entry[name]) for name in ("what", "nightly", "act")}
    options = InstallOptions(**{**entry, **lists})
    options.check()
    numbers = isinstance(options.every, int) and isinstance(options.deadline, (int, float))
    if not (numbers and {*options.what} <= {*PARTS}):
        raise ValueError("an option has a value that it cannot have")
    return options


#: The file beside the scripts that holds the options and the list of files.
LIST = "installed.json"
SCHEMA = "nearfar-install/3"
_UNITS = "/etc/systemd/system"
#: StateDirectory= is relative to this.
_STATE = "/var/lib/"
#: Runs nearfar with no module from the caller's directories: ``-I`` ignores PYTHONPATH, the user's own modules and the working directory.
_MAIN = "import sys; sys.path.insert(0, {!r}); from nearfar.cli import main; sys.exit(main())"


#: A file as it should be: its text and mode, by its absolute path on the machine that it is for.
Files = Mapping[str, tuple[str, int]]


def rendered(options: InstallOptions) -> Files:
    """The files of an installation; the last one lists the others. Raises ``NearfarError`` for options or a template that are wrong."""
    options.check()
    files: dict[str, tuple[str, int]] = {}
    values = _values(options)
    # A Python that has not installed nearfar finds it through this; health and act name the directory themselves.
    nightly = {**options.environment, "PYTHONPATH": options.checkout}
    site = {name: value for name, value in options.environment.items() if name in ("NEARFAR_SITE", "SLURM_CONF")}
    own: dict[str, dict[str, Any]] = {"nightly": {"environment": nightly}, "health": {"environment": site}}
    for part in options.what:
        path = f"{options.folder}/{'health-check' if part == 'health' else part}"
        files[path] = _render(part, {**values, **own.get(part, {})}), 0o755
        if part in ("nightly", "act"):
            for unit in (f"nearfar-{part}.service", f"nearfar-{part}.timer"):
                files[f"{_UNITS}/{unit}"] = _render(unit, values), 0o644
        elif part == "health":
            files[f"{options.folder}/slurm.conf.example"] = _render("slurm.conf.example", values), 0o644
    entry = {"schema": SCHEMA, "options": asdict(options), "files": sorted(files)}
    return {**files, f"{options.folder}/{LIST}": (json.dumps(entry, indent=1) + "\n", 0o644)}


def _render(name: str, values: Mapping[str, Any]) -> str:
    return site_templates.render(f"slurm/{name}.j2", values)


def _values(options: InstallOptions) -> dict[str, Any]:
    sweep = [f"--partition={options.partition}", f"--results={options.results}", f"--deadline={options.deadline:g}"]
    act = [f"--results={options.results}", f"--health={options.health_output}", f"--state={options.state}"]
    health = {"output": options.health_output, "partition": options.partition, "metrics": options.metrics}
    kept = [options.environment.get(name) for name in ("NEARFAR_STATE", "NEARFAR_HISTORY", "NEARFAR_METRICS")]
    state = options.state.removeprefix(_STATE) if options.state.startswith(_STATE) else None
    return {
        **asdict(options), "path": options.path, "words": [*sweep, *options.nightly], "act_words": [*act, *options.act],
        "main": _MAIN.format(options.checkout), "options": {name: value for name, value in health.items() if value is not None},
        "nightly_writes": _unit_paths(options.results, options.checkout, *kept), "state_directory": state,
        "act_writes": _unit_paths(None if state else options.state, options.metrics),
        "limit": int(LIMIT), "quick_limit": int(QUICK_LIMIT), "found": FOUND,
        "slurm_conf": [f"{name}={value}" for name, value in options.slurm_conf.items()],
    }  # fmt: skip


def _unit_paths(*paths: str | None) -> str:
    """Paths as ReadWritePaths= takes them; one that is missing at the start is passed over."""
    words = [path.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") for path in paths if path]
    return " ".join(f'"-{word}"' for word in dict.fromkeys(words))


#: What one does about a place that cannot be written.
_ELSEWHERE = "run this as root, or render the files elsewhere: --root DIR"
_ROOT = Path("/")


@dataclass(frozen=True)
class Installed:
    """An installation: its options, and the paths of its files."""

    options: InstallOptions
    files: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """A file that is not as it should be."""

    place: Path
    #: None: it is not there.
    before: str | None
    #: None: it is removed.
    after: str | None
    mode: int

    def diff(self) -> list[str]:
        """The lines of a unified diff."""
        old, new = ("/dev/null" if text is None else str(self.place) for text in (self.before, self.after))
        before, after = ((text or "").splitlines() for text in (self.before, self.after))
        diff = difflib.unified_diff(before, after, old, new, lineterm="")
        lines = [line.encode("utf-8", "replace").decode() for line in diff]
        return lines or [f"{self.place}: mode {self.mode:04o}"]

    def entry(self) -> dict[str, Any]:
        """For JSON."""
        action = "remove" if self.after is None else "write"
        return {"path": str(self.place), "action": action, "mode": f"{self.mode:04o}", "diff": self.diff()}


def read(folder: str = FOLDER, root: Path = _ROOT) -> Installed | None:
    """What is installed; None where nothing is. Raises ``CouldNotJudge`` for a list that cannot be read."""
    path = _place(root, f"{folder}/{LIST}")
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["schema"] != SCHEMA:
            raise ValueError(f"expected schema {SCHEMA}, found {raw['schema']}")
        return Installed(from_entry(raw["options"]), tuple(map(str, raw["files"])))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CouldNotJudge(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError, NearfarError) as error:
        words = f"not what nearfar slurm install wrote ({error}); remove it, and install again with all options"
        raise CouldNotJudge(f"{path}: {words}") from None


def changes(files: Files, installed: Installed | None, root: Path = _ROOT) -> list[Change]:
    """What to write, and which installed files to remove because they are no longer among ``files``."""
    found = []
    for path in () if installed is None else installed.files:
        before = _text(_place(root, path))
        if path not in files and before is not None:
            found.append(Change(_place(root, path), before, None, 0))
    for path, (text, mode) in files.items():
        place = _place(root, path)
        before = _text(place)
        if before != text or place.stat().st_mode & 0o7777 != mode:
            found.append(Change(place, before, text, mode))
    return found


def apply(wanted: Sequence[Change]) -> None:
    """Make the changes in their order; the list of files comes last. Raises ``CouldNotJudge`` with the remedy."""
    for change in wanted:
        try:
            if change.after is None:
                change.place.unlink(missing_ok=True)
            else:
                make_for_all(change.place.parent)
                write_atomically(change.place, change.after, _ELSEWHERE, mode=change.mode)
        except OSError as error:
            raise cannot_write(change.place, error, _ELSEWHERE) from None


def _place(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def _text(place: Path) -> str | None:
    try:
        return place.read_bytes().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise CouldNotJudge(f"{place}: cannot be read: {error.strerror}") from None
