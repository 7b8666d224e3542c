"""Where a check's figures come from: commands, versions, bindings in effect, and the files that hold it all."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from nearfar import measurement
from nearfar.base import grouped
from nearfar.report.blocks import Block, Group, Labels, Text, table
from nearfar.report.figures import wording
from nearfar.verdict import CheckRecord, NodeRun, verdict_file


def runs(node: NodeRun, checks: Iterable[tuple[str, CheckRecord]]) -> list[Block]:
    """Each run of a program once, with the checks (title, record) that its figures are of."""
    found = grouped(((_facts(check), _stderr(check)), (title, check)) for title, check in checks)
    blocks: list[Block] = []
    for (facts, stderr), mine in found.items():
        rows = [(title, f"`{check.name}`", *_of_check(node, check)) for title, check in mine]
        columns = ("check", "name", ">took", "binding in effect", "method", "files")
        shown: list[Block] = [Labels(facts), table(columns, rows), *([Text((stderr,), "pre")] if stderr else [])]
        blocks.append(Group(", ".join(title for title, _ in mine), tuple(shown)))
    note = "commands, versions, bindings in effect, raw documents"
    return [Group("Provenance", tuple(blocks), note, folded=True)]


def _facts(check: CheckRecord) -> tuple[tuple[str, str], ...]:
    """Labels and words of the run of a program that a check's figures come from."""
    document, verdict = check.document, check.verdict
    program = document.get("program") or {}
    software = verdict.software if verdict else {}
    case = [(key, getattr(verdict, key)) for key in ("system", "partition", "environ")] if verdict else []
    ran = command(program.get("command"))
    known = [
        ("command", f"`{ran}`" if ran else ""),
        ("program", " ".join(str(program[k]) for k in ("name", "version") if program.get(k))),
        ("started", str(document.get("started") or "")),
        ("node type", str(document.get("node_type") or "")),
        ("ReFrame case", " ".join(f"{key} {name}" for key, name in case if name)),
        ("references", "; ".join(verdict.references) if verdict else ""),
        ("software", ", ".join(f"{name} {version}" for name, version in sorted(software.items()))),
    ]
    return tuple((label, words) for label, words in known if words)


def _of_check(node: NodeRun, check: CheckRecord) -> tuple[str, str, str, str]:
    """How long a check's cells took, bindings, methods, and links to its files."""
    took = wording.seconds(check.document["seconds"]).replace(" ", "\u00a0") if "seconds" in check.document else ""
    links = (Markup('<a href="{}">{}</a>').format(target, name) for name, target in _files(node, check))
    bindings, methods = "; ".join(_bindings(check.document)), "; ".join(_methods(check.document))
    return took, bindings, methods, Markup(" · ").join(links) or "none"


def programs(every: Iterable[Mapping[str, Any]]) -> list[Block]:
    """How the programs of each partition and environment were made."""
    found: list[Block] = []
    for made in every:
        packages = [
            (p["name"], p["version"], f"`{p['hash']}`", f"`{p['prefix']}`" * bool(p["prefix"]))
            for p in made["packages"]
        ]
        listed = table(("package", "version", "hash", "the site's own, at"), packages)
        known: Block = Group(wording.plural(len(packages), "package"), (listed,), folded=len(packages) > 8)
        known = known if packages else Text(("what they were made with is not known",), "muted")
        name = f"{made['partition']}, environment {made['environ']}"
        found.append(Group(name, (Text((made["words"],)), known)))
    return (
        [Group("How the programs were made", tuple(found), anchor="programs", kind="section programs")] if found else []
    )


def _bindings(document: Mapping[str, Any]) -> list[str]:
    """Who drove and where the pages lay, as the program found them in effect; each pair once, with how many flows had it."""
    seen: Counter[str] = Counter()
    for result in document.get("results", []):
        for flow in result.get("flows") or []:
            if flow.get("cpus"):
                nodes = ", ".join(map(str, flow.get("memory_nodes") or [])) or "not stated"
                seen[f"threads on CPUs {flow['cpus']}, pages on NUMA node {nodes}"] += 1
    return [f"{words} ({wording.plural(count, 'flow')})" for words, count in seen.items()]


def _methods(document: Mapping[str, Any]) -> list[str]:
    seen = Counter(str(result["method"]) for result in document.get("results", []) if result.get("method"))
    sizes = sorted({result["bytes"] for result in document.get("results", []) if isinstance(result.get("bytes"), int)})
    words = [f"{method} ({wording.plural(count, 'cell')})" for method, count in seen.items()]
    for key, what in (("beside", "beside other cells"), ("remeasured", "doubted and measured again alone")):
        count = sum(bool(result.get(key)) for result in document.get("results", []))
        words += [f"{what} ({wording.plural(count, 'cell')})"] if count else []
    ends = dict.fromkeys(map(wording.size, [*sizes[:1], *sizes[-1:]]))
    return [*words, *([" to ".join(ends) + (" a buffer" if len(sizes) == 1 else "")] if sizes else [])]


def command(words: Any) -> str:
    """A command line as a shell takes it."""
    return shlex.join(map(str, words)) if isinstance(words, list) else str(words or "")


def _files(node: NodeRun, check: CheckRecord) -> list[tuple[str, str]]:
    """Name and link, from the page, of each file of a check."""
    names = [verdict_file.NAME] if check.verdict else []
    names += [measurement.DOCUMENT] if check.document else []
    names += ["stderr.txt"] if (check.folder / "stderr.txt").exists() else []
    return [(name, quote(f"{node.folder.name}/{check.folder.name}/{name}")) for name in names]


def _stderr(check: CheckRecord) -> str:
    """The end of the program's standard error."""
    try:
        text = (check.folder / "stderr.txt").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.strip().splitlines()[-12:])
