"""What is asked of kernels with their transfers: a GPU's compute, and what a path costs.

Needs: base, topology, cells, measurement, kernels, question, question.synthetic_documents.
"""
