"""What a row of the history says: one figure of one run of one node (docs/reference/history.md has the columns)."""

from __future__ import annotations

import functools

from nearfar.verdict import disturbances

from .lazy_polars import pl


@functools.lru_cache(maxsize=1)
def row_schema() -> dict[str, pl.DataType]:
    """Columns by name. Times are UTC; ``value``, the interval and the reference's bounds are in ``unit``."""
    time = pl.Datetime("us", "UTC")
    return {
        "source": pl.String(),  # the digest of its verdict.json: the same run twice counts once
        "sequence": pl.Int64(),  # counts the recordings of a node, so that a clock set back reorders nothing
        "recorded": time,
        "started": time,
        "run": pl.String(),
        "system": pl.String(),
        "partition": pl.String(),
        "environ": pl.String(),
        "node": pl.String(),
        "product": pl.String(),
        "gpus": pl.String(),  # the figure's GPUs by number, joined by '+', as their models, UUIDs and serial numbers are
        "gpu_model": pl.String(),
        "gpu_uuid": pl.String(),
        "gpu_serial": pl.String(),
        "driver": pl.String(),
        "cuda": pl.String(),
        "mps": pl.String(),
        "mpi": pl.String(),
        "kernel": pl.String(),
        "program": pl.String(),
        "version": pl.String(),
        "engine": pl.String(),
        "check": pl.String(),
        "metric": pl.String(),
        "rows": pl.List(pl.String()),  # of references that may speak of it, the most precise first
        "quantity": pl.String(),
        "cell": pl.String(),
        "flow": pl.String(),
        "class": pl.String(),
        "unit": pl.String(),
        "value": pl.Float64(),
        "low": pl.Float64(),
        "high": pl.Float64(),
        "n": pl.Int32(),
        "ceiling": pl.Float64(),  # what its link can carry of payload
        "reference": pl.Float64(),
        "lowest": pl.Float64(),
        "highest": pl.Float64(),
        "origin": pl.String(),
        "stale": pl.Boolean(),
        "verdict": pl.String(),
        "converged": pl.Boolean(),
        "verified": pl.Boolean(),
        "throttled": pl.Boolean(),
        "contended": pl.Boolean(),
        "disturbance": pl.String(),  # who else used what it was measured on: cpus, steal, gpu, host; memory_errors: it erred
        "looks": pl.Int32(),  # how often it was measured, where it was measured again because it lay beyond a bound
        "intermittent": pl.Boolean(),
        "quick": pl.Boolean(),
        "worse": pl.String(),  # how it was worse than the node's history: night, step, drift
    }


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
