"""What a document of ``nearfar-kernels`` says beside its figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nearfar.base import NOT_JUDGED, Finding, plural
from nearfar.measurement import Document
from nearfar.topology import Node

from . import link_rates, penalties
from .measured import KernelRun, runs
from .penalties import KernelPenalty
from .subjects import NEAR

#: Kernels that a sentence names.
_NAMED = 4


def of_run(document: Document | None, kernels: Sequence[str]) -> list[Finding]:
    """Kernels that are missing without a reason, GPUs that were held down or whose memory erred meanwhile, sizes that memory made
    smaller, and switches of the tensor cores."""
    if document is None:
        return []
    found = runs(document)
    return [*_missing(document, found, kernels), *_states(found), *_smaller(found), *_modes(document)]


def of_penalties(document: Document | None, node: Node | None = None) -> list[Finding]:
    """Whether the links' rates explain each GPU's penalties, or why there is nothing to compare."""
    found = [] if document is None else runs(document)
    if document is None or not found:
        return []
    node = node or document.node
    classes = {run.about.path_class(node) for run in found}
    if len(node.host_numa_nodes) == 1:
        words = "the node has one NUMA node: there is no second path class, and no penalty"
        return [Finding("penalty", NOT_JUDGED, words)]
    if not classes & set(NEAR):
        words = "no GPU's near memory is known or was measured: there is nothing to compare another path with"
        return [Finding("penalty", NOT_JUDGED, words)]
    compared = [each for each in penalties.of_document(document, node) if each.what == "total"]
    if not compared:
        return [Finding("penalty", NOT_JUDGED, "only near paths were measured: there is no second path class")]
    if not link_rates.of_document(document):
        words = "no host-device matrix was measured with it: what the links alone would cost is not known"
        return [Finding("penalty", NOT_JUDGED, words)]
    return [_explained(path, group) for path, group in _by_path(compared).items()]


def _by_path(compared: Iterable[KernelPenalty]) -> dict[str, list[KernelPenalty]]:
    groups: dict[str, list[KernelPenalty]] = {}
    for each in compared:
        groups.setdefault(str(each.other.about), []).append(each)
    return groups


def _explained(path: str, group: Sequence[KernelPenalty]) -> Finding:
    words = group[0].other.about.words
    known = [each for each in group if each.only_the_link is not None]
    if not known:
        return Finding(path, NOT_JUDGED, f"{words}: its links' rates were not measured")
    beyond = [each for each in known if not each.only_the_link]
    if not beyond:
        return Finding(
            path, "PASS", f"{words}: the links' rates explain the penalties of {plural(len(known), 'kernel')}"
        )
    beyond.sort(key=lambda each: -abs(each.value - (each.link or 0.0)))
    told = ", ".join(
        f"{each.other.kernel} ({each.other.size}) {each.value * 100:.1f} % where the link costs {(each.link or 0.0) * 100:.1f} %"
        for each in beyond[:_NAMED]
    )
    more = f" and {len(beyond) - _NAMED} more" if len(beyond) > _NAMED else ""
    return Finding(path, NOT_JUDGED, f"{words}: not only the link: {told}{more}")


def _missing(document: Document, found: Sequence[KernelRun], kernels: Sequence[str]) -> list[Finding]:
    """Of the subjects that were measured, kernels of which the document says nothing."""
    # g0.n1/sgemm/today: of one kernel at one size.
    told = {"/".join(entry.cell.split("/")[:2]) for entry in (*document.skipped, *document.failed)}
    subjects = dict.fromkeys(str(run.about) for run in found)
    lacking = [
        f"{about}/{kernel}"
        for about in subjects
        for kernel in kernels
        if not any(run.kernel == kernel and str(run.about) == about for run in found)
        and not {about, f"{about}/{kernel}", ""} & told
    ]
    if not lacking:
        return []
    more = f" and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
    return [Finding("missing", "INDETERMINATE", f"requested but not measured: {', '.join(lacking[:_NAMED])}{more}")]


def _states(found: Sequence[KernelRun]) -> list[Finding]:
    gpus: dict[int, list[KernelRun]] = {}
    for run in found:
        if run.about.gpu is not None:
            gpus.setdefault(run.about.gpu, []).append(run)
    said = []
    for gpu, group in gpus.items():
        name = f"GPU {gpu}"
        held = [run for run in group if run.state.held_down]
        if held:
            reasons = dict.fromkeys(reason for run in held for reason in run.state.held_down)
            words = f"its hardware held the clocks down ({', '.join(reasons)}) while {_kernels(held)} ran: no reference is made from it"
            said.append(Finding(f"g{gpu}.clocks", "DEGRADED", f"{name}: {words}"))
        uncorrected, corrected = (
            max(count) for count in zip(*((r.state.uncorrected, r.state.corrected) for r in group))
        )
        erred = _kernels([run for run in group if run.state.memory_errors])
        if uncorrected:
            words = f"{name}: {plural(uncorrected, 'uncorrected memory error')} while {erred} ran"
            said.append(Finding(f"g{gpu}.memory", "FAIL", words, hard=True))
        elif corrected:
            words = f"{plural(corrected, 'corrected memory error')} while {erred} ran: no reference is made from it"
            said.append(Finding(f"g{gpu}.memory", "DEGRADED", f"{name}: {words}"))
    return said


def _kernels(group: Iterable[KernelRun]) -> str:
    names = list(dict.fromkeys(run.kernel for run in group))
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _smaller(found: Sequence[KernelRun]) -> list[Finding]:
    """One note for each subject and reason."""
    reasons: dict[tuple[str, str], list[KernelRun]] = {}
    for run in found:
        if run.smaller:
            reasons.setdefault((str(run.about), run.smaller), []).append(run)
    words = "other figures than those of the usual size, and not compared with them"
    return [
        Finding(about, NOT_JUDGED, f"{about}, {_kernels(group)}: {reason}: {words}")
        for (about, reason), group in reasons.items()
    ]


def _modes(document: Document) -> list[Finding]:
    modes = (document.raw["node"].get("software") or {}).get("tensor_modes")
    if not modes:
        return []
    return [Finding("tensor_modes", NOT_JUDGED, f"the environment switches what matrix products compute with: {modes}")]
