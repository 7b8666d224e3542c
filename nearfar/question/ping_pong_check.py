"""How fast is MPI between two nodes where there is no OSU: ping-pong and a stream of messages of the pack's own program?"""

from nearfar.mpi import contention

from . import contention_check
from .question import OWN, Question

QUESTION = Question(
    name="ping_pong_check",
    title="Ping pong",
    description="MPI between two nodes (ping-pong of the pack's own)",
    program="nearfar-contention",
    cells=lambda node: (contention.subjects(["mpi_only"], [1], "across"), []),
    systems=("+mpi +two_nodes -modelled",),
    quantities=contention.quantities,
    # Its figures never bear OSU's names.
    figures=lambda document, node: contention.figures(document),
    findings=contention.findings,
    synthetic=lambda node, features: contention_check.synthetic(contention.subjects(["mpi_only"], [1], "across"), node),
    between_nodes=OWN,
)
