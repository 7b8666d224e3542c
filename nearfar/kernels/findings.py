"""What a document of ``nearfar-kernels`` says beside its figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nearfar.base import Finding
from nearfar.measurement import Document

from . import link_rates, messages, penalties
from .measured import KernelRun, runs
from .penalties import KernelPenalty
from .subjects import NEAR


def of_run(document: Document | None, kernels: Sequence[str]) -> list[Finding]:
    """Kernels that are missing without a reason, GPUs that were held down or whose memory erred meanwhile, sizes that memory made
    smaller, and switches of the tensor cores."""
    if document is None:
        return []
    kernel_runs = runs(document)
    return [*_missing(document, kernel_runs, kernels), *_states(kernel_runs), *_smaller(kernel_runs), *_modes(document)]


def of_penalties(document: Document | None) -> list[Finding]:
    """Whether the links' rates explain each GPU's penalties, or why there is nothing to compare."""
    kernel_runs = [] if document is None else runs(document)
    if document is None or not kernel_runs:
        return []
    node = document.node
    classes = {run.about.path_class(node) for run in kernel_runs}
    if len(node.host_numa_nodes) == 1:
        return [messages.ONE_NUMA_NODE.finding("penalty")]
    if not classes & set(NEAR):
        return [messages.NO_NEAR_PATH.finding("penalty")]
    compared = [penalty for penalty in penalties.of_document(document, node) if penalty.what == "total"]
    if not compared:
        return [messages.ONLY_NEAR.finding("penalty")]
    if not link_rates.of_document(document):
        return [messages.NO_MATRIX.finding("penalty")]
    return [_explained(path, group) for path, group in _by_path(compared).items()]


def _by_path(compared: Iterable[KernelPenalty]) -> dict[str, list[KernelPenalty]]:
    groups: dict[str, list[KernelPenalty]] = {}
    for penalty in compared:
        groups.setdefault(str(penalty.other.about), []).append(penalty)
    return groups


def _explained(path: str, group: Sequence[KernelPenalty]) -> Finding:
    path_words = group[0].other.about.words
    known = [penalty for penalty in group if penalty.only_the_link is not None]
    if not known:
        return messages.LINK_UNKNOWN.finding(path, path=path_words)
    beyond = [penalty for penalty in known if not penalty.only_the_link]
    if not beyond:
        return messages.EXPLAINED.finding(path, path=path_words, kernels=len(known))
    beyond.sort(key=lambda penalty: -abs(penalty.value - (penalty.link or 0.0)))
    listed = [
        f"{penalty.other.kernel} ({penalty.other.size}) {penalty.value:.1%} (the link costs {penalty.link or 0.0:.1%})"
        for penalty in beyond
    ]
    return messages.BEYOND_LINK.finding(path, path=path_words, penalties=listed)


def _missing(document: Document, kernel_runs: Sequence[KernelRun], kernels: Sequence[str]) -> list[Finding]:
    """Of the subjects that were measured, kernels of which the document says nothing."""
    # g0.n1/sgemm/today: of one kernel at one size.
    reported = {"/".join(entry.cell.split("/")[:2]) for entry in (*document.skipped, *document.failed)}
    subjects = dict.fromkeys(str(run.about) for run in kernel_runs)
    lacking = [
        f"{about}/{kernel}"
        for about in subjects
        for kernel in kernels
        if not any(run.kernel == kernel and str(run.about) == about for run in kernel_runs)
        and not {about, f"{about}/{kernel}", ""} & reported
    ]
    return [messages.MISSING.finding("missing", kernels=lacking)] if lacking else []


def _states(kernel_runs: Sequence[KernelRun]) -> list[Finding]:
    gpus: dict[int, list[KernelRun]] = {}
    for run in kernel_runs:
        if run.about.gpu is not None:
            gpus.setdefault(run.about.gpu, []).append(run)
    findings = []
    for gpu, group in gpus.items():
        held = [run for run in group if run.state.held_down]
        if held:
            causes = dict.fromkeys(reason for run in held for reason in run.state.held_down)
            findings.append(
                messages.THROTTLED.finding(f"g{gpu}.clocks", gpu=gpu, kernels=_kernels(held), causes=list(causes))
            )
        uncorrected, corrected = (
            max(count) for count in zip(*((r.state.uncorrected, r.state.corrected) for r in group))
        )
        if uncorrected or corrected:
            message = messages.UNCORRECTED if uncorrected else messages.CORRECTED
            erred = _kernels(run for run in group if run.state.memory_errors)
            findings.append(message.finding(f"g{gpu}.memory", gpu=gpu, errors=uncorrected or corrected, kernels=erred))
    return findings


def _kernels(group: Iterable[KernelRun]) -> list[str]:
    return list(dict.fromkeys(run.kernel for run in group))


def _smaller(kernel_runs: Sequence[KernelRun]) -> list[Finding]:
    """One note for each subject and reason."""
    reasons: dict[tuple[str, str], list[KernelRun]] = {}
    for run in kernel_runs:
        if run.smaller:
            reasons.setdefault((str(run.about), run.smaller), []).append(run)
    return [
        messages.SMALLER_SIZE.finding(about, kernels=_kernels(group), line=line)
        for (about, line), group in reasons.items()
    ]


def _modes(document: Document) -> list[Finding]:
    modes = (document.raw["node"].get("software") or {}).get("tensor_modes")
    return [messages.TENSOR_MODES.finding("tensor_modes", modes=modes)] if modes else []
