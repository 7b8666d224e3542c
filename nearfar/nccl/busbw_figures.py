"""The figures of a document of nccl-tests: the bus bandwidth of each collective at some sizes."""

from __future__ import annotations

from collections.abc import Iterator

from nearfar.base import NearfarError
from nearfar.collective import size_in_words
from nearfar.measurement import Conditions, Document, Result, SampleStatistics, SubjectMetric, shared

from .subjects import BUSBW, NcclCase, parse_case

#: Sizes in bytes that figures are taken at, and the largest of a table that has none of the large ones.
SIZES = (1 << 20, 256 << 20, 1 << 30)


def curves(document: Document) -> dict[NcclCase, dict[int, Result]]:
    """The results of each case by size in bytes."""
    found: dict[NcclCase, dict[int, Result]] = {}
    for result in document.results:
        if result.quantity == BUSBW and result.rate is not None and result.bytes:
            try:
                found.setdefault(parse_case(result.subject), {})[result.bytes] = result
            except NearfarError:
                continue  # another program's subject
    return found


def figures(document: Document) -> list[SubjectMetric]:
    """The bus bandwidth of each case, small sizes first."""
    return [_figure(case, size, result) for case, curve in curves(document).items() for size, result in _chosen(curve)]


def size_of(label: str) -> int:
    """The bytes of a size as ``size_label`` writes it."""
    return int(label.rstrip("KMGiB")) << {"KiB": 10, "MiB": 20, "GiB": 30}.get(label.lstrip("0123456789"), 0)


def size_label(size: int) -> str:
    """``256MiB``; as words with a blank between."""
    shift, unit = next(
        (pair for pair in ((30, "GiB"), (20, "MiB"), (10, "KiB")) if size and not size % (1 << pair[0])), (0, "B")
    )
    return f"{size >> shift}{unit}"


def _chosen(curve: dict[int, Result]) -> Iterator[tuple[int, Result]]:
    """Results by the size that stands for theirs: nccl-tests round sizes down to what their ranks share evenly."""
    rounded = {size: next((each for each in sorted(curve) if 0 <= size - each <= size / 1000), None) for size in SIZES}
    yield from ((size, curve[own]) for size, own in rounded.items() if own is not None)
    if rounded[SIZES[1]] is None and rounded[SIZES[2]] is None and max(curve) != rounded[SIZES[0]]:
        yield max(curve), curve[max(curve)]


def _figure(case: NcclCase, size: int, result: Result) -> SubjectMetric:
    rate = result.rate
    assert rate is not None
    path_class = "one_node" if case.nodes == 1 else "two_nodes" if case.nodes == 2 else "many_nodes"
    nvls = ["nvls"] if case.nvls else ["nvls_unsaid"] if case.nvls is None else []
    parts = [case.collective, f"x{case.ranks}", *nvls, size_label(size)]
    return SubjectMetric(
        **shared(SampleStatistics, rate), **shared(Conditions, result), name=".".join([path_class, *parts]), subject=str(case),
        words=f"bus bandwidth of {case.words}, {size_in_words(size)}", path_class=path_class, value=rate.median, interval=rate.ci,
        quantity=BUSBW, question=".".join(parts),
    )  # fmt: skip
