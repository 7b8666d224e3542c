"""What a run of this site has beside a row of a paper's figure: bandwidth over the size of a transfer, and the parts of an iteration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nearfar.mpi import load_balance
from nearfar.report.blocks import Chart, Table
from nearfar.report.figures import figures
from nearfar.report.sections import curves_over_size, subject_tables

from .rows_beside import RowBeside
from .this_site import ThisSite


def curves(beside: RowBeside, site: ThisSite | None) -> Iterator[Chart | Table]:
    """The curves and tables of a row; none without such a run."""
    if site is None:
        return
    for record in site.records(beside.row):
        found = figures(record, "")
        if load_balance.results(record.document):
            tables = (each for each in subject_tables(found, record.document) if isinstance(each, Table))
            yield from (replace(each, caption=site.name) for each in tables)
        for titled in curves_over_size(found, record.document):
            if "GPU" not in titled.title:  # the papers' curves are of host memory and a GPU
                yield Chart(titled.drawing, caption=f"{site.name}, over the size of a transfer: {titled.title}")
