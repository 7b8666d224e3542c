"""Which healthy documents are of the machine that is diagnosed, and which of others of its type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nearfar.measurement import Document
from nearfar.model.calibration import MeasuredCell, measured_cells


@dataclass(frozen=True)
class HealthyRuns:
    """The cells of healthy runs: of the ``own`` machine, and of each of the ``others``."""

    own: tuple[MeasuredCell, ...] = ()
    others: tuple[tuple[MeasuredCell, ...], ...] = ()

    @property
    def cells(self) -> list[MeasuredCell]:
        """All of them."""
        return [*self.own, *(cell for machine in self.others for cell in machine)]


def healthy_runs(document: Document, healthy: Sequence[Document]) -> HealthyRuns:
    """The cells of ``healthy`` by machine. The own one has the document's host name and its GPUs' UUIDs; a document that says no
    UUID (STREAM needs none) is of the machine that alone among them has its host name. What is not known is another's."""
    machines: list[list[Document]] = []
    for run in sorted(healthy, key=lambda run: not _boards(run)):
        alike = [machine for machine in machines if _same(machine[0], run)]
        if len(alike) == 1:
            alike[0].append(run)
        else:
            machines.append([run])
    own = [machine for machine in machines if _is(document, machine[0])]
    others = [machine for machine in machines if machine not in own]
    return HealthyRuns(
        tuple(cell for machine in own for run in machine for cell in measured_cells(run)),
        tuple(tuple(cell for run in machine for cell in measured_cells(run)) for machine in others),
    )


def _is(document: Document, other: Document) -> bool:
    """Whether another document is surely of the same machine."""
    known = bool(_boards(document) and _boards(other)) or not document.node.gpus or document.kind == "modelled"
    return known and _same(document, other)


def _same(document: Document, other: Document) -> bool:
    """Whether nothing says that two documents are of two machines: host name, the boards that both know."""
    boards, other_boards = _boards(document), _boards(other)
    shared = boards.keys() & other_boards.keys()
    return (
        document.node.hostname == other.node.hostname
        and all(boards[index] == other_boards[index] for index in shared)
        and bool(shared or not boards or not other_boards)
    )


def _boards(document: Document) -> dict[int, str]:
    """The UUIDs that are known, by GPU."""
    return {gpu.index: gpu.uuid for gpu in document.node.gpus if gpu.uuid}
