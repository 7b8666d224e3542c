"""Documents that were never measured: what each program prints when everything that it is asked can be answered.

Gives one for each kind of subject; they serve to know which figures there can be.

Needs: topology, cells, measurement, kernels, model, model.prediction, mpi, mpi.osu.
"""

from __future__ import annotations

from .programs import flow_line_rate, of_cells, of_contention, of_kernels, of_mpi, of_pairs, of_saxpy

__all__ = ["flow_line_rate", "of_cells", "of_contention", "of_kernels", "of_mpi", "of_pairs", "of_saxpy"]
