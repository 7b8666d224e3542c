"""What is asked of MPI: between ranks of a node and of two, beside transfers, and load balance.

Needs: topology, cells, measurement, mpi, mpi.osu, question, question.synthetic_documents.
"""
