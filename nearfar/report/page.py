"""The page: what its templates see, and rendering them. A site's ``templates/`` may override any template of the same name."""

from __future__ import annotations

import shlex
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2

import nearfar
from nearfar.errors import NearfarError
from nearfar.sitefile import site_directories

from . import strips, wording
from .drawing import Findings, Lane, draw
from .figures import Figure, figures, parsed, worst_first
from .headline import Reason, anchor_prefix, check_line, finding_anchor, lead, modelled_notice, reasons, title
from .matrices import Evidence, Matrix, evidence, host_device_matrices, load_of, ratio_matrices, stream_matrices
from .rundir import VERDICTS, Check, NodeRun, Run

_TEMPLATES = Path(__file__).with_name("templates")


@dataclass(frozen=True)
class CheckView:
    """One check of a section."""

    name: str
    title: str
    shown: str
    line: str
    anchor: str
    figures: list[Figure]
    rows: list[Figure]
    matrices: list[Matrix]
    ratios: list[Matrix]
    findings: list[dict[str, Any]]
    gaps: list[tuple[str, str, str]]
    problem: str | None
    provenance: list[tuple[str, Any]]
    files: list[tuple[str, str]]
    stderr: str


@dataclass(frozen=True)
class Section:
    """One node."""

    id: str
    run: NodeRun
    shown: str
    summary: str
    drawing: Any
    devices: list[dict[str, Any]]
    checks: list[CheckView]


def render(run: Run) -> str:
    """The page of a run, one self-contained HTML document."""
    found = reasons(run)
    sections = [_section(number, node) for number, node in enumerate(run.nodes)]
    placed = {f.anchor for s in sections for c in s.checks for m in [*c.matrices, *c.ratios] for f in _shown_in(m)}
    rows = {f.anchor for s in sections for c in s.checks for f in c.figures}

    def href(reason: Reason) -> str | None:
        anchor = reason.anchor
        return None if anchor is None else f"#{anchor}" if anchor in placed or anchor not in rows else f"#row.{anchor}"

    values = {
        "run": run, "raw": run.raw, "sections": sections, "reasons": found, "href": href, "lead": lead(run, found), "notice": modelled_notice(run),
        "counts": Counter(f.shown for s in sections if not s.run.modelled for c in s.checks for f in c.figures),
        "signs": wording.SIGNS, "words": wording, "title": title, "bullet": strips.bullet, "scatter": strips.scatter, "version": nearfar.__version__,
        "verdict": run.raw["verdict"] if run.raw["verdict"] in VERDICTS else "INDETERMINATE", "command": _command(run.raw.get("command")),
    }  # fmt: skip
    return _rendered("page.html", values)


def _rendered(name: str, values: dict[str, Any]) -> str:
    own = [str(directory / "templates") for directory in site_directories()]
    # A site's page.html may extend the pack's: {% extends "nearfar/page.html" %}.
    shipped = jinja2.FileSystemLoader(str(_TEMPLATES))
    loader = jinja2.ChoiceLoader([jinja2.FileSystemLoader(own), shipped, jinja2.PrefixLoader({"nearfar": shipped})])
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    try:
        return environment.get_template(name).render(values)
    except jinja2.TemplateSyntaxError as error:
        raise NearfarError(f"{error.filename or error.name}:{error.lineno}: template: {error.message}") from None
    except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        # Jinja2 rewrites its frames so that they carry the template's own lines.
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith((".html", ".css"))]
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else name
        raise NearfarError(f"{place}: template: {error}") from None


def _shown_in(matrix: Matrix) -> list[Figure]:
    places = [p for row in matrix.places for p in row] + ([matrix.all_at_once] if matrix.all_at_once else [])
    return [f for p in places for f in (p.figure, *(part for _, part in p.parts)) if f is not None]


def _section(number: int, node: NodeRun) -> Section:
    machine = node.node
    hosts = [n.index for n in machine.host_numa_nodes] if machine else []
    gpus = [g.index for g in machine.gpus] if machine else []
    checks = [_check(number, node, check, hosts, gpus) for check in node.checks]
    everything = [f for c in checks for f in c.figures]
    drawing = None
    if machine is not None:
        drawing = draw(machine, _findings(node, everything), f"node-{number}")
    return Section(
        id=f"s{number}", run=node, shown=wording.shown_verdict(node.word, node.modelled), summary=_summary(node), drawing=drawing,
        devices=_devices(node), checks=checks,
    )  # fmt: skip


def _summary(node: NodeRun) -> str:
    machine = node.node
    if machine is None:
        return "what this node is was not recorded"
    names = Counter(gpu.name or "GPU" for gpu in machine.gpus)
    parts = [machine.product] if machine.product else []
    parts.append(" + ".join(f"{count} × {name}" for name, count in names.items()) or "no GPU")
    parts.append(wording.plural(len(machine.packages), "package"))
    parts.append(wording.plural(len([n for n in machine.numa_nodes if n.kind == "host"]), "NUMA node"))
    if machine.nics:
        parts.append(wording.plural(len(machine.nics), "NIC"))
    return " · ".join(parts)


def _check(number: int, node: NodeRun, check: Check, hosts: list[int], gpus: list[int]) -> CheckView:
    prefix = anchor_prefix(number, check)
    found = figures(check, prefix)
    why = evidence(check.document, check.verdict)
    verdict = check.verdict or {}
    return CheckView(
        name=check.name, title=title(check.name), shown=wording.shown_verdict(check.word, node.modelled), line=check_line(check, node),
        anchor=prefix, figures=found, rows=worst_first(found),
        matrices=host_device_matrices(found, why, hosts, gpus) + stream_matrices(found, why, hosts),
        ratios=ratio_matrices(found, hosts, gpus),
        findings=[{**f, "anchor": finding_anchor(prefix, i)} for i, f in enumerate(verdict.get("findings") or [])],
        gaps=_gaps(check, why), problem=check.problem, provenance=_provenance(check), files=_files(node, check), stderr=_stderr(check),
    )  # fmt: skip


def _gaps(check: Check, why: Evidence) -> list[tuple[str, str, str]]:
    """What has no figure: (``failed``, ``skipped`` or ``missing``; what; why)."""
    document, verdict = check.document or {}, check.verdict or {}
    found = [("failed", str(e.get("cell")), str(e.get("reason") or e.get("code"))) for e in document.get("failed") or []]
    skipped = document.get("skipped") or verdict.get("skipped") or []
    found += [("skipped", str(e.get("cell")), str(e.get("reason") or e.get("code"))) for e in skipped]
    return found + [("missing", str(name), "the program did not report it") for name in verdict.get("missing") or []]


def _findings(node: NodeRun, everything: list[Figure]) -> Findings:
    """What the drawing says beside the node itself."""
    lanes: dict[int, dict[str, Lane]] = {}
    limits: Counter[str] = Counter()
    for figure in everything:
        place = load_of(figure.cell)
        if not figure.is_ratio and figure.flow is None:
            limits.update(figure.limited_by)
        if place is None or place[0] == "both" or figure.is_ratio or figure.path_class not in ("near", "sole", "unknown"):
            continue
        ends = lanes.setdefault(place[1], {})
        if place[0] not in ends or _worse(figure, ends[place[0]].figure):
            ends[place[0]] = Lane(figure)
    links: dict[int, str] = {}
    absent: dict[int, str] = {}
    faults: dict[int, tuple[str, str]] = {}
    for check in node.checks:
        document = check.document or {}
        for entry in document.get("failed") or []:
            cell = parsed(entry.get("cell"))
            for gpu in {g for flow in cell.flows for g in flow.gpus} if cell else ():
                if entry.get("code") == "absent":
                    absent.setdefault(gpu, str(entry.get("reason")))
                else:
                    faults.setdefault(gpu, ("FAIL", str(entry.get("reason"))))
        for state in document.get("gpus_under_load") or []:
            link = state.get("link") or {}
            if link.get("gen") and link.get("width") and not _is_nvlink(node, state.get("index")):
                links[state["index"]] = f"PCIe {link['gen']} ×{link['width']}"
        for finding in (check.verdict or {}).get("findings") or []:
            words, word = str(finding.get("item")), finding.get("verdict")
            number = words[1:].partition(".")[0]
            if words.startswith("g") and number.isdigit() and word in ("FAIL", "DEGRADED", "INDETERMINATE"):
                faults.setdefault(int(number), (word, str(finding.get("reason"))))
    return Findings(lanes, links, absent, faults, limits)


def _is_nvlink(node: NodeRun, index: Any) -> bool:
    return node.node is not None and any(g.index == index and g.link.kind != "pcie" for g in node.node.gpus)


def _worse(figure: Figure, other: Figure | None) -> bool:
    if other is None:
        return True
    ranks = VERDICTS.index(figure.verdict), VERDICTS.index(other.verdict)
    return ranks[0] < ranks[1] or (ranks[0] == ranks[1] and (figure.value or 0) > (other.value or 0))


def _devices(node: NodeRun) -> list[dict[str, Any]]:
    if node.node is None:
        return []
    loads = {s.get("index"): s for check in node.checks for s in (check.document or {}).get("gpus_under_load") or []}
    rows = []
    for gpu in node.node.gpus:
        load = loads.get(gpu.index) or {}
        link = load.get("link") or {}
        rows.append({
            "gpu": gpu, "most": wording.link_words(gpu.link, most=True),
            "load": f"PCIe {link.get('gen')} ×{link.get('width')}" if link.get("gen") and gpu.link.kind == "pcie" else None,
            "throttle": [str(reason) for reason in load.get("throttle") or []], "replays": load.get("replays"), "seen": bool(load),
            "nvlinks": f"{gpu.nvlinks} lanes" + (f", generation {gpu.nvlink_generation}" if gpu.nvlink_generation else "") if gpu.nvlinks else None,
        })  # fmt: skip
    return rows


def _provenance(check: Check) -> list[tuple[str, Any]]:
    """Label and value (a text or a list of texts) of where a check's figures come from."""
    document, verdict = check.document or {}, check.verdict or {}
    program = document.get("program") or {}
    source = verdict.get("provenance") or {}
    software = {**(source.get("software") or {}), **((document.get("node") or {}).get("software") or {})}
    facts: list[tuple[str, Any]] = [
        ("command", _command(program.get("command"))),
        ("program", " ".join(str(program[k]) for k in ("name", "version") if program.get(k))),
        ("started", str(document.get("started") or "")),
        ("took", wording.seconds(document["seconds"]) if "seconds" in document else ""),
        ("node type", str(document.get("node_type") or "")),
        ("ReFrame case", " ".join(f"{k} {verdict[k]}" for k in ("system", "partition", "environ") if verdict.get(k))),
        ("references", [str(name) for name in source.get("references") or []]),
        ("software", [f"{name} {version}" for name, version in sorted(software.items())]),
        ("binding in effect", _bindings(document)),
        ("method", _methods(document)),
    ]
    return [(label, value) for label, value in facts if value]


def _bindings(document: dict[str, Any]) -> list[str]:
    """Who drove and where the pages lay, as the program found them in effect; each pair once, with how many flows had it."""
    seen: Counter[str] = Counter()
    for result in document.get("results") or []:
        for flow in result.get("flows") or []:
            if flow.get("cpus"):
                nodes = ", ".join(map(str, flow.get("memory_nodes") or [])) or "not stated"
                seen[f"threads on CPUs {flow['cpus']}, pages on NUMA node {nodes}"] += 1
    return [f"{words} ({wording.plural(count, 'flow')})" for words, count in seen.items()]


def _methods(document: dict[str, Any]) -> list[str]:
    seen = Counter(str(result["method"]) for result in document.get("results") or [] if result.get("method"))
    sizes = sorted({result["bytes"] for result in document.get("results") or [] if isinstance(result.get("bytes"), int)})
    words = [f"{method} ({wording.plural(count, 'cell')})" for method, count in seen.items()]
    return words + ([f"{wording.gib(sizes[0])} a buffer" if len(sizes) == 1 else f"{wording.gib(sizes[0])} to {wording.gib(sizes[-1])}"] if sizes else [])


def _command(words: Any) -> str:
    return shlex.join(map(str, words)) if isinstance(words, list) else str(words or "")


def _files(node: NodeRun, check: Check) -> list[tuple[str, str]]:
    names = [n for n in ("verdict.json", "document.json", "stderr.txt") if (check.folder / n).exists()]
    return [(name, quote(f"{node.folder.name}/{check.folder.name}/{name}")) for name in names]


def _stderr(check: Check) -> str:
    """The end of the program's standard error."""
    try:
        text = (check.folder / "stderr.txt").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.strip().splitlines()[-12:])


