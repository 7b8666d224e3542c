"""What a run's verdict files hold is all that its page needs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nearfar import measurement, report
from tests.data.runs import golden, kernels_by_hand, many_gpus, small, synthetic
from tests.data.runs.synthetic import Run
from tests.support.verdicts import change_document

DATA = Path(__file__).parents[1] / "data"


def mpi(directory: Path) -> Path:
    """Real documents of MPI, of MPI beside copies, and of ranks that share the work."""
    run = Run(directory, "local", ["local"], hostname="vm")
    for check, name in (
        ("osu_check", "h200-x2/osu"), ("contention_check", "h200-x4/contention"), ("load_balance_check", "h200-x4/saxpy"),
    ):  # fmt: skip
        found = measurement.load(DATA / f"{name}.json")
        run.check("vm", kernels_by_hand.judged(check, found), found)  # type: ignore[arg-type]
    return run.finish()


RUNS: dict[str, Callable[[Path], Path]] = {
    "copies": golden.write, "kernels": kernels_by_hand.write, "many GPUs": many_gpus.virtual_machine, "modelled": synthetic.modelled,
    "MPI": mpi, "one of each": small.write, "sizes": many_gpus.small_and_large,
}  # fmt: skip


def shown(folder: Path) -> list[str]:
    """The page, both summaries for machines, and the terminal's."""
    report.build(folder)
    files = [(folder / name).read_text() for name in ("index.html", "report.json", "junit.xml")]
    return [*files, report.summary(folder, colour=False)]


@pytest.mark.parametrize("name", RUNS)
def test_a_page_needs_the_verdicts_alone(tmp_path: Path, name: str) -> None:
    folder = RUNS[name](tmp_path / "run")
    page = shown(folder)
    documents = list(folder.glob("*/*/document.json"))
    assert documents
    for path in documents:
        change_document(path.with_name("verdict.json"), **json.loads(path.read_text()))
        path.unlink()
    assert shown(folder) == page, "the samples that a verdict leaves out are on no page"
