"""How fast is MPI between two nodes where there is no OSU: ping-pong and a stream of messages of the pack's own program?"""

from nearfar.mpi import contention

from .. import Question, synthetic_documents

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
    synthetic=lambda node, features: synthetic_documents.of_contention(
        contention.subjects(["mpi_only"], [1], "across"), node
    ),
)
