"""The files of an installation, from the templates of ``site/templates/slurm/``; what is installed, how that differs from what would be
rendered now, and copying the files into place."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nearfar.base import CouldNotJudge, NearfarError, cannot_write, site_templates, write_atomically
from nearfar.slurm.health import FOUND, LIMIT, QUICK_LIMIT
from nearfar.slurm.results import make_for_all

from .options import FOLDER, InstallOptions, from_entry

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
