"""The figures of a document of ``nearfar-kernels``: a GPU's compute, and what each path costs a kernel with its transfers."""

from __future__ import annotations

from nearfar.cells import join_class
from nearfar.measurement import RATIO, RATIO_UNIT, Conditions, Document, SampleStatistics, SubjectMetric, shared
from nearfar.topology import LOCAL_CLASS, Node

from . import penalties
from .measured import KernelRun, runs
from .names import GEMM, RATE, quantity
from .penalties import KernelPenalty

#: What is another figure than that of the usual size.
_SMALLER = "smaller_size"
_WORDS = {"total": "in, kernel and out in turn", "overlapped": "transfers beside the kernel"}


def of_compute(document: Document) -> list[SubjectMetric]:
    """The rate of each matrix product on each GPU: ``device_local.g0.sgemm_today_rate``, wherever the operands came from."""
    metrics: dict[str, SubjectMetric] = {}
    for run in runs(document):
        if run.kernel in GEMM and not run.on_host:
            metric = _figure(run, RATE, LOCAL_CLASS, f"g{run.about.gpu}", "the kernel alone")
            if metric is not None:
                metrics.setdefault(metric.name, metric)
    return list(metrics.values())


def of_penalties(document: Document, node: Node) -> list[SubjectMetric]:
    """The times of one call, in turn and overlapped, of every path; then the penalties of each class over the near one. ``node``: the
    expected one."""
    times = [
        metric
        for run in runs(document)
        for what, description in _WORDS.items()
        if (metric := _figure(run, what, run.about.path_class(node), run.about.word, description)) is not None
    ]
    return [*times, *(_penalty(penalty) for penalty in penalties.of_document(document, node))]


def _figure(run: KernelRun, what: str, path_class: str, place: str, description: str) -> SubjectMetric | None:
    rate = run.rate(what)
    if rate is None:
        return None
    derived, result = _SMALLER if run.smaller else "", run.results[what]
    named, asked = join_class(path_class, derived), _asked(run, what)
    return SubjectMetric(
        name=f"{named}.{place}.{asked}", subject=str(run.about), words=f"{run.words}: {description}", path_class=path_class,
        **{**shared(SampleStatistics, rate), **shared(Conditions, result), "bytes": run.bytes}, value=rate.value,
        interval=rate.value_interval,
        quantity=quantity(run.kernel, what), rows=(f"{named}.{place}.{asked}", f"{named}.{asked}"), question=asked, derived=derived,
        gpus=_gpus(run), state=run.state,
    )  # fmt: skip


def _penalty(penalty: KernelPenalty) -> SubjectMetric:
    run = penalty.other
    named, asked = join_class(penalty.path_class, "penalty"), _asked(run, penalty.what)
    own = f"{named}.{run.about.word}.{asked}"
    return SubjectMetric(
        name=own, subject=str(run.about), words=f"{run.words}: {_WORDS[penalty.what]}, longer than from the near memory",
        path_class=penalty.path_class, value=penalty.value, unit=RATIO_UNIT, quantity=RATIO, interval=penalty.interval,
        converged=run.results[penalty.what].converged and penalty.near.results[penalty.what].converged,
        rows=(own, f"{named}.{asked}"), bytes=run.bytes, question=asked, derived="penalty", gpus=_gpus(run), state=run.state,
    )  # fmt: skip


def _asked(run: KernelRun, what: str) -> str:
    return f"{'host_' if run.on_host else ''}{run.kernel}_{run.size}_{what}"


def _gpus(run: KernelRun) -> tuple[int, ...]:
    return () if run.about.gpu is None else (run.about.gpu,)
