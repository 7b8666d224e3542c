"""Runs of many hosts that were gathered in one directory, as one page: what a run over SSH without a scheduler leaves."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nearfar.base import NOT_JUDGED, ORDER, VERDICTS, NearfarError, folded, worst, write_atomically
from nearfar.report import lead
from nearfar.topology import written_settings
from nearfar.verdict import NodeRun, run_directory

from .distributions import Distributions
from .nodes import Batch, BatchNode
from .page import render

#: Read: the hosts that were asked for.
HOSTS = "hosts.json"
_HOSTS_SCHEMA = "nearfar-hosts/1"
#: Written beside the page.
REPORT = "hosts-report.json"
_REPORT_SCHEMA = "nearfar-hosts-report/1"
#: A host's name is a directory's too.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:%-]{0,254}")
#: Lines of a summary that speak of single hosts.
_SHOWN = 8


@dataclass(frozen=True)
class GatheredHosts:
    """A directory's hosts, worst first; the page and ``hosts-report.json`` are written."""

    batch: Batch
    page: Path

    def summary(self) -> str:
        """The hosts in a dozen lines."""
        batch = self.batch
        many = f"{len(batch.nodes)} host{'s' if len(batch.nodes) != 1 else ''}"
        words = ", ".join(f"{count} {word}" for word, count in batch.counts.items())
        bad = [node for node in batch.nodes if node.verdict != "PASS"]
        lines = [f"{batch.verdict}: {many}: {words}"]
        lines += [f"  {node.verdict:13} {node.name}: {node.reason}" for node in bad[:_SHOWN]]
        lines += [f"  and {len(bad) - _SHOWN} more"] if len(bad) > _SHOWN else []
        return "\n".join([*lines, str(self.page)])


def gather(folder: Path) -> GatheredHosts:
    """Read ``hosts.json`` and the runs of its hosts, write ``index.html`` and ``hosts-report.json`` beside it.

    ``hosts.json``: ``{"schema": "nearfar-hosts/1", "name": …, "started": …, "hosts": [{"host": …, "reason": …}]}``; a host's run
    directory is ``nodes/HOST``. One without a run is INDETERMINATE with its ``reason``. Nothing is judged again. Raises
    ``NearfarError`` for a ``hosts.json`` that is none.
    """
    raw = _read(folder / HOSTS)
    distributions, settings = Distributions(), dict[str, dict[str, str]]()
    found = [_host(folder, str(entry["host"]), entry.get("reason"), distributions, settings) for entry in raw["hosts"]]
    nodes = sorted(found, key=lambda node: ORDER.index(node.verdict))
    batch = Batch(
        title=f"Hosts {raw['name']}", where="over SSH", started=str(raw["started"]), nodes=nodes,
        distributions=distributions, links=[(REPORT, REPORT)], settings=settings,
    )  # fmt: skip
    page = folder / "index.html"
    write_atomically(page, render(batch, folded).encode("utf-8", "replace"), "name another directory")
    report = json.dumps(_document(raw, batch), indent=1, ensure_ascii=False)
    write_atomically(folder / REPORT, report + "\n", "name another directory")
    return GatheredHosts(batch, page)


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["schema"] != _HOSTS_SCHEMA:
            raise ValueError(f"expected schema {_HOSTS_SCHEMA}, found {raw['schema']}")
        names = [entry["host"] for entry in raw["hosts"]]
        bad = next((name for name in names if not (isinstance(name, str) and _NAME.fullmatch(name))), None)
        twice = next((name for name, count in Counter(names).items() if count > 1), None)
        if bad is not None or twice is not None or not all(isinstance(raw[key], str) for key in ("name", "started")):
            raise ValueError(f"{twice} is there twice" if bad is None and twice else f"not the name of a host: {bad!r}")
    except OSError as error:
        raise NearfarError(f"{path}: {error.strerror}; --together names a directory that has one") from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise NearfarError(f"{path}: not a list of hosts ({error})") from None
    return dict(raw)


def _host(
    folder: Path, name: str, reason: str | None, distributions: Distributions, settings: dict[str, dict[str, str]]
) -> BatchNode:
    """A host as the page has it; what its run says of its figures and settings goes into the last two."""
    place = folder / "nodes" / name
    if reason is not None or not place.is_dir():
        return BatchNode(name, "INDETERMINATE", reason or "it left no result")
    try:
        run = run_directory.read(place)
    except NearfarError as error:
        return BatchNode(name, "INDETERMINATE", str(error).replace(f"{place}/", ""))
    measured = [node for node in run.nodes if not node.modelled]
    checks = {check.name: check.word for node in measured for check in node.checks}
    verdict = worst([str(run.raw["verdict"])]) if measured else "INDETERMINATE"
    words = "nothing was measured on it" if not measured else None if verdict == "PASS" else lead(run)
    if verdict == NOT_JUDGED:
        verdict = "INDETERMINATE"
    for node in measured:
        distributions.add(name, [check.verdict for check in node.checks if check.verdict])
        if node.node is not None:
            settings[name] = written_settings(node.node)
    page = f"nodes/{name}/index.html"
    href = page if (folder / page).is_file() else None
    return BatchNode(name, verdict, words, href, checks, tuple(_findings(verdict, measured)))


def _findings(verdict: str, measured: list[NodeRun]) -> Iterable[tuple[str, str]]:
    for node in measured:
        for check in node.checks:
            if check.verdict is not None:
                yield from ((check.name, each.subject) for each in check.verdict.findings if each.verdict == verdict)
                yield from ((check.name, each.name) for each in check.verdict.metrics if each.verdict == verdict)


def _document(raw: dict[str, Any], batch: Batch) -> dict[str, Any]:
    return {
        "schema": _REPORT_SCHEMA, "name": raw["name"], "started": raw["started"], "verdict": batch.verdict,
        "counts": {word: batch.counts.get(word, 0) for word in VERDICTS},
        "hosts": [
            {"host": n.name, "verdict": n.verdict, "reason": n.reason, "page": n.href, "checks": n.checks} for n in batch.nodes
        ],
    }  # fmt: skip
