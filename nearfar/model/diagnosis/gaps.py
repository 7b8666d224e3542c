"""What a document says nothing good about: cells that failed, were prevented, arrived damaged, or are not there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nearfar.base import EXIT_COULD_NOT_JUDGE, EXIT_FAILED, EXIT_GOOD, grouped, listed, plural
from nearfar.cells import Cell
from nearfar.measurement import EXPECTED_SKIPS, SOFT_FAILURES, Document, Unmeasured, subject_key
from nearfar.model.calibration import MeasuredCell
from nearfar.topology import Node


@dataclass(frozen=True)
class Gaps:
    """``failed`` and ``prevented`` as the document has them, ``unverified`` the cells whose data did not arrive intact,
    ``missing`` the healthy run's cells of which the document says nothing at all."""

    node: Node
    failed: tuple[Unmeasured, ...]
    unverified: tuple[str, ...]
    prevented: tuple[Unmeasured, ...]
    missing: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """1 with hard evidence against the node, 3 where measuring failed or was prevented, else 0."""
        if self.unverified or any(cell.code not in SOFT_FAILURES for cell in self.failed):
            return EXIT_FAILED
        return EXIT_COULD_NOT_JUDGE if self.failed or self.prevented else EXIT_GOOD

    @property
    def lines(self) -> list[str]:
        """Each kind of gap in a line, the worst first."""
        lines = [f"{_counted(cells)} failed: {self._told(cells)}" for cells in _alike(self.failed)]
        if self.unverified:
            lines.append(
                f"{plural(len(self.unverified), 'cell')} with wrong data on arrival: {listed(self.unverified)}"
            )
        lines += [f"{_counted(cells)} not measured: {self._told(cells)}" for cells in _alike(self.prevented)]
        if self.missing:
            lines.append(f"{plural(len(self.missing), 'cell')} of the healthy run not measured: {listed(self.missing)}")
        return lines

    def as_json(self) -> dict[str, Any]:
        """The keys of ``nearfar-diagnosis/1`` that tell of gaps."""
        return {
            "failed": [vars(cell) for cell in self.failed],
            "unverified": list(self.unverified),
            "skipped": [vars(cell) for cell in self.prevented],
            "missing": list(self.missing),
        }

    def _told(self, alike: Sequence[Unmeasured]) -> str:
        """The GPU that all the cells share, the code, the cells and the first one's reason."""
        shared = [_gpus(cell.cell) for cell in alike]
        common = set.intersection(*shared)
        gpu = self.node.gpu(common.pop()) if len(common) == 1 else None
        where = "" if gpu is None else f"g{gpu.index} ({gpu.pci}) "
        cells = [cell.cell for cell in alike if cell.cell]
        return f"{where}{alike[0].code}: {f'{listed(cells)}: ' if cells else ''}{alike[0].reason}"


def gaps_of(document: Document, healthy_run: Iterable[MeasuredCell]) -> Gaps:
    """The gaps of a document beside the cells of healthy runs."""
    unmeasured = (cell.cell for cell in (*document.failed, *document.skipped))
    reported = {subject_key(text) for text in (*(r.subject for r in document.results), *unmeasured)}
    missing = dict.fromkeys(cell.cell for cell in healthy_run if cell.cell not in reported)
    return Gaps(
        document.node,
        document.failed,
        tuple(dict.fromkeys(result.subject for result in document.results if result.verified is False)),
        tuple(cell for cell in document.skipped if cell.code not in EXPECTED_SKIPS),
        tuple(map(str, missing)),
    )


def _alike(cells: Sequence[Unmeasured]) -> list[list[Unmeasured]]:
    """The cells of one code, and where one GPU alone is in them of one GPU, together."""
    by_gpus = ((cell, _gpus(cell.cell)) for cell in cells)
    return [*grouped(((c.code, min(g) if len(g) == 1 else None, not c.cell), c) for c, g in by_gpus).values()]


def _gpus(subject: str) -> set[int]:
    cell = subject_key(subject)
    return set(cell.gpus) if isinstance(cell, Cell) else set()


def _counted(alike: Sequence[Unmeasured]) -> str:
    return plural(len(alike), "cell") if alike[0].cell else "everything"
