"""What is asked of the paths between host memory and GPUs, and between GPUs: bandwidth, latency, sharing, all at once.

Needs: base, topology, cells, measurement, question, question.synthetic_documents.
"""
