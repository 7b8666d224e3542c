"""The files of an installation, from the templates of ``site/templates/slurm/``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from nearfar.slurm.controller import templates
from nearfar.slurm.health import FOUND, LIMIT, QUICK_LIMIT

from .next_steps import slurm_conf
from .options import InstallOptions

#: The file beside the scripts that holds the options and the list of files.
LIST = "installed.json"
SCHEMA = "nearfar-install/2"
_UNITS = "/etc/systemd/system"
#: StateDirectory= is relative to this.
_STATE = "/var/lib/"
#: Runs nearfar with no module from the caller's directories: ``-I`` ignores PYTHONPATH, the user's own modules and the working directory.
_MAIN = "import sys; sys.path.insert(0, {!r}); from nearfar.cli import main; sys.exit(main())"


@dataclass(frozen=True)
class InstalledFile:
    """A file as it should be."""

    #: Absolute, on the machine that it is for.
    path: str
    text: str
    mode: int


def rendered(options: InstallOptions) -> list[InstalledFile]:
    """The files of an installation; the last one lists the others. Raises ``NearfarError`` for options or a template that are wrong."""
    options.check()
    files = list(_files(options))
    paths = sorted(file.path for file in files)
    text = json.dumps({"schema": SCHEMA, "options": asdict(options), "files": paths}, indent=1) + "\n"
    return [*files, InstalledFile(f"{options.folder}/{LIST}", text, 0o644)]


def _files(options: InstallOptions) -> Iterator[InstalledFile]:
    values = _values(options)
    # A Python that has not installed nearfar finds it through this; health and act name the directory themselves.
    nightly = {**options.environment, "PYTHONPATH": options.checkout}
    site = {name: value for name, value in options.environment.items() if name in ("NEARFAR_SITE", "SLURM_CONF")}
    own: dict[str, dict[str, Any]] = {"nightly": {"environment": nightly}, "health": {"environment": site}}
    for part in options.what:
        path = f"{options.folder}/{'health-check' if part == 'health' else part}"
        yield InstalledFile(path, templates.render(part, {**values, **own.get(part, {})}), 0o755)
        if part in ("nightly", "act") and options.timer == "cron":
            yield InstalledFile(f"/etc/cron.d/nearfar-{part}", templates.render(f"nearfar-{part}.cron", values), 0o644)
        elif part in ("nightly", "act"):
            for unit in (f"nearfar-{part}.service", f"nearfar-{part}.timer"):
                yield InstalledFile(f"{_UNITS}/{unit}", templates.render(unit, values), 0o644)
        elif part == "health":
            text = templates.render("slurm.conf.example", values)
            yield InstalledFile(f"{options.folder}/slurm.conf.example", text, 0o644)


def _values(options: InstallOptions) -> dict[str, Any]:
    sweep = [f"--partition={options.partition}", f"--results={options.results}", f"--deadline={options.deadline:g}"]
    act = [f"--results={options.results}", f"--health={options.health_output}", f"--state={options.state}"]
    health = {"output": options.health_output, "results": options.results, "metrics": options.metrics}
    kept = [options.environment.get(name) for name in ("NEARFAR_STATE", "NEARFAR_HISTORY", "NEARFAR_METRICS")]
    state = options.state.removeprefix(_STATE) if options.state.startswith(_STATE) else None
    return {
        **asdict(options), "path": options.path, "words": [*sweep, *options.nightly], "act_words": [*act, *options.act],
        "main": _MAIN.format(options.checkout), "options": {name: value for name, value in health.items() if value is not None},
        "nightly_writes": _unit_paths(options.results, options.checkout, *kept), "state_directory": state,
        "act_writes": _unit_paths(None if state else options.state, options.metrics),
        "limit": int(LIMIT), "quick_limit": int(QUICK_LIMIT), "found": FOUND, "slurm_conf": slurm_conf(options),
    }  # fmt: skip


def _unit_paths(*paths: str | None) -> str:
    """Paths as ReadWritePaths= takes them; one that is missing at the start is passed over."""
    words = [path.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%") for path in paths if path]
    return " ".join(f'"-{word}"' for word in dict.fromkeys(words))
