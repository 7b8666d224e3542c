"""What a row of the history says: one figure of one run of one node (docs/reference/history.md is made from this table)."""

from __future__ import annotations

import functools

from nearfar.verdict import disturbances

from .lazy_polars import pl

#: Every column: its type in polars, and what it holds.
COLUMNS = {
    "source": ("String", "digest of the verdict file: the same run twice counts once"),
    "sequence": ("Int64", "counts the recordings of a node"),
    "recorded": ("Datetime", "when it was recorded, UTC"),
    "started": ("Datetime", "when its measurement began, UTC"),
    "run": ("String", "name of the run directory"),
    "system": ("String", "ReFrame's system, a file of site/systems/"),
    "partition": ("String", "ReFrame's partition"),
    "environ": ("String", "ReFrame's environment"),
    "node": ("String", "host name without its domain"),
    "product": ("String", "the node's product by DMI"),
    "gpus": ("String", "numbers of the figure's GPUs, joined by `+`, as the next three columns are"),
    "gpu_model": ("String", "their models; without GPUs that of the node's first"),
    "gpu_uuid": ("String", "their UUIDs"),
    "gpu_serial": ("String", "serial numbers of their boards"),
    "driver": ("String", "version of the GPU driver"),
    "cuda": ("String", "version of CUDA"),
    "mps": ("String", "whether the Multi-Process Service ran"),
    "mpi": ("String", "version of the MPI library, if the figure is MPI's"),
    "kernel": ("String", "version of Linux"),
    "program": ("String", "what measured"),
    "version": ("String", "its version"),
    "engine": ("String", "what moved the bytes: `ce` (copy engine), `sm` (kernel), `cpu` or `mpi`"),
    "check": ("String", "name of the check"),
    "metric": ("String", "name of the figure"),
    "rows": ("List", "reference entries that may apply, the most precise first"),
    "quantity": ("String", "what was measured, such as `copy`"),
    "cell": ("String", "the cell, or another subject"),
    "flow": ("String", "the flow of a cell of several"),
    "class": ("String", "path class, with the kind of a derived figure"),
    "unit": ("String", "of value, interval, reference and bounds"),
    "value": ("Float64", "the figure: the plateau, else the median"),
    "low": ("Float64", "lower end of its interval in this run"),
    "high": ("Float64", "upper end of its interval in this run"),
    "n": ("Int32", "number of samples"),
    "ceiling": ("Float64", "what its link can carry of payload"),
    "reference": ("Float64", "the expected value"),
    "lowest": ("Float64", "lower bound"),
    "highest": ("Float64", "upper bound"),
    "origin": ("String", "origin of the reference, such as `tuned`"),
    "stale": ("Boolean", "whether the reference was tuned with other software"),
    "verdict": ("String", "of this figure"),
    "converged": ("Boolean", "whether repeated measurements agreed"),
    "verified": ("Boolean", "whether the data was right; null: nothing to compare"),
    "throttled": ("Boolean", "whether heat or power held down the clocks of its GPUs"),
    "contended": ("Boolean", "whether other traffic used its path or cores"),
    "disturbance": ("String", "other load that was found, as in verdict.json"),
    "looks": ("Int32", "how often it was measured, if out of bounds at first"),
    "intermittent": ("Boolean", "whether it was out of bounds once and within them otherwise"),
    "quick": ("Boolean", "whether it was measured with `--quick`"),
    "worse": ("String", "how it is worse than the node's history: `night`, `step` or `drift`"),
}


@functools.lru_cache(maxsize=1)
def row_schema() -> dict[str, pl.DataType]:
    """Types by column."""
    types = {"Datetime": pl.Datetime("us", "UTC"), "List": pl.List(pl.String())}
    return {name: types.get(kind) or getattr(pl, kind)() for name, (kind, _) in COLUMNS.items()}


def unsound() -> pl.Expr:
    """Why a figure was not measured as it should be, however it was judged; null where it was. Paths of an own host that fell together
    were: nobody disturbed them."""
    return (
        pl.when(pl.col("throttled")).then(pl.lit("with clocks held down"))
        .when(pl.col("disturbance") == disturbances.MEMORY_ERRORS).then(pl.lit("while memory erred"))
        .when(pl.col("disturbance") != disturbances.OWN_HOST).then(pl.lit("disturbed by other load"))
        .when(pl.col("verified").eq(False)).then(pl.lit("not verified"))
        .when(~pl.col("value").is_finite() | (pl.col("value") <= 0)).then(pl.lit("no figure"))
    )  # fmt: skip
