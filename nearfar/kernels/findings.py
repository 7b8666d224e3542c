"""What a document of ``nearfar-kernels`` says beside its figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nearfar.base import Finding
from nearfar.measurement import Document
from nearfar.topology import Node

from . import link_rates, messages, penalties
from .measured import KernelRun, runs
from .penalties import KernelPenalty
from .subjects import NEAR


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
        return [messages.ONE_NUMA_NODE.finding("penalty")]
    if not classes & set(NEAR):
        return [messages.NO_NEAR_PATH.finding("penalty")]
    compared = [each for each in penalties.of_document(document, node) if each.what == "total"]
    if not compared:
        return [messages.ONLY_NEAR.finding("penalty")]
    if not link_rates.of_document(document):
        return [messages.NO_MATRIX.finding("penalty")]
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
        return messages.LINK_UNKNOWN.finding(path, path=words)
    beyond = [each for each in known if not each.only_the_link]
    if not beyond:
        return messages.EXPLAINED.finding(path, path=words, kernels=len(known))
    beyond.sort(key=lambda each: -abs(each.value - (each.link or 0.0)))
    listed = [
        f"{each.other.kernel} ({each.other.size}) {each.value:.1%} (the link costs {each.link or 0.0:.1%})"
        for each in beyond
    ]
    return messages.BEYOND_LINK.finding(path, path=words, penalties=listed)


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
    return [messages.MISSING.finding("missing", kernels=lacking)] if lacking else []


def _states(found: Sequence[KernelRun]) -> list[Finding]:
    gpus: dict[int, list[KernelRun]] = {}
    for run in found:
        if run.about.gpu is not None:
            gpus.setdefault(run.about.gpu, []).append(run)
    said = []
    for gpu, group in gpus.items():
        held = [run for run in group if run.state.held_down]
        if held:
            causes = dict.fromkeys(reason for run in held for reason in run.state.held_down)
            said.append(
                messages.THROTTLED.finding(f"g{gpu}.clocks", gpu=gpu, kernels=_kernels(held), causes=list(causes))
            )
        uncorrected, corrected = (
            max(count) for count in zip(*((r.state.uncorrected, r.state.corrected) for r in group))
        )
        if uncorrected or corrected:
            message = messages.UNCORRECTED if uncorrected else messages.CORRECTED
            erred = _kernels(run for run in group if run.state.memory_errors)
            said.append(message.finding(f"g{gpu}.memory", gpu=gpu, errors=uncorrected or corrected, kernels=erred))
    return said


def _kernels(group: Iterable[KernelRun]) -> list[str]:
    return list(dict.fromkeys(run.kernel for run in group))


def _smaller(found: Sequence[KernelRun]) -> list[Finding]:
    """One note for each subject and reason."""
    reasons: dict[tuple[str, str], list[KernelRun]] = {}
    for run in found:
        if run.smaller:
            reasons.setdefault((str(run.about), run.smaller), []).append(run)
    return [
        messages.SMALLER_SIZE.finding(about, kernels=_kernels(group), line=line)
        for (about, line), group in reasons.items()
    ]


def _modes(document: Document) -> list[Finding]:
    modes = (document.raw["node"].get("software") or {}).get("tensor_modes")
    return [messages.TENSOR_MODES.finding("tensor_modes", modes=modes)] if modes else []
