"""The lines that slurm.conf needs for what is installed: they are said, and slurm.conf stays the site's."""

from __future__ import annotations

from collections.abc import Mapping

from .options import InstallOptions

#: Slurm's name for a setting that is not set.
_UNSET = ("", "(null)")
#: Settings whose value is a list, to which a word is added.
_LISTS = ("PrologFlags",)


def wanted(options: InstallOptions) -> dict[str, str]:
    """The settings by name."""
    found: dict[str, str] = {}
    if "health" in options.what:
        found["HealthCheckProgram"] = f"{options.folder}/health-check"
        found["HealthCheckInterval"] = "300"
        found["HealthCheckNodeState"] = "IDLE,CYCLE"
    if "prolog" in options.what:
        found["Prolog"] = f"{options.folder}/prolog"
        found["PrologFlags"] = "Alloc"
    if "epilog" in options.what:
        found["Epilog"] = f"{options.folder}/epilog"
    return found


def lines(options: InstallOptions) -> list[str]:
    """The lines of slurm.conf."""
    return [f"{name}={value}" for name, value in wanted(options).items()]


def changes(options: InstallOptions, present: Mapping[str, str]) -> list[str]:
    """The lines that slurm.conf lacks, each with the present value; ``present``: what ``scontrol show config`` says."""
    found = []
    for name, value in wanted(options).items():
        now = present.get(name, "").strip()
        if not same(name, value, now):
            more = now if name in _LISTS and now not in _UNSET else ""
            text = f"{name}={more + ',' if more else ''}{value}"
            taken = name in ("Prolog", "Epilog", "HealthCheckProgram") and now not in _UNSET
            other = f"; to keep both, call {value} from it and end with its exit code" if taken else ""
            found.append(f"{text}    # now: {'not set' if now in _UNSET else now}{other}")
    return found


def same(name: str, wanted: str, now: str) -> bool:
    """Whether a setting is as it should be; an interval of the site's own is."""
    if name == "HealthCheckInterval":
        return now.split(" ")[0].isdigit() and now.split(" ")[0] != "0"
    if name == "HealthCheckNodeState":
        return now.upper() in ("ANY", "START_ONLY") or {"IDLE"} <= set(now.upper().replace("|", ",").split(","))
    if name in _LISTS:
        return wanted.lower() in now.lower().split(",")
    return wanted in now.replace(",", " ").split()
