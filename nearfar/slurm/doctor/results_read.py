"""What ``act`` makes of the results and findings now: those that it does not believe, clocks, versions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nearfar import __version__
from nearfar.base import NearfarError, node_lists
from nearfar.verdict import verdict_file

from .answer import DoctorAnswer, not_looked, ok, problem
from .installed_site import InstalledSite, first_line

#: Of so many nodes the version is read; so many files are named.
_MOST, _NAMED = 300, 5


def ask(site: InstalledSite) -> Iterator[DoctorAnswer]:
    """Files that are not believed, nodes whose clock is off, and other versions."""
    if "act" not in site.parts:
        return
    try:
        seen = site.seen
    except NearfarError as error:
        yield problem("results", first_line(error), "fix that; until then act does nothing")
        return
    future = [line for line in seen.refused if line in seen.future]
    others = [line for line in seen.refused if line not in future]
    if others:
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        yield problem("results", f"not believed: {'; '.join(others[:_NAMED])}{more}", "fix or remove these files")
    elif not seen.runs:
        yield not_looked("results", f"none in {site.options.results} that are young enough to be read")
    else:
        yield ok(
            "results", f"{len(seen.runs)} check runs of {len({run.node for run in seen.runs})} nodes, all believed"
        )
    if future or seen.clocks:
        yield problem(
            "clocks",
            "; ".join([*future, *seen.clocks][:_NAMED]),
            "set the clocks of those nodes, or this host's (chronyc tracking)",
        )
    else:
        yield ok("clocks", "no node's result is from the future, or long before it came")
    yield _versions(site)


def _versions(site: InstalledSite) -> DoctorAnswer:
    newest = {}
    for run in sorted(site.seen.runs, key=lambda run: run.known):
        if run.source and run.check.endswith("_check"):
            newest[run.node] = run
    found: dict[str, list[str]] = {}
    for name, run in sorted(newest.items())[:_MOST]:
        try:
            verdict = verdict_file.read(Path(run.source))
        except NearfarError:
            continue
        version = None if verdict is None or verdict.measurement is None else verdict.measurement.version
        found.setdefault(version or "", []).append(name)
    other = {version: nodes for version, nodes in found.items() if version not in ("", __version__)}
    if other:
        words = ", ".join(
            f"{node_lists.node_set(','.join(nodes))} with {version}" for version, nodes in sorted(other.items())
        )
        return problem(
            "versions",
            f"this is nearfar {__version__}; the newest results: {words}",
            "one checkout for all nodes; ./validate --setup-only there",
        )
    if not found.get(__version__):
        return not_looked("versions", "no result names the version of the program that measured")
    return ok(
        "versions", f"the newest results of {len(found[__version__])} nodes are of nearfar {__version__}, as this is"
    )
