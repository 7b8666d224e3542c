"""What is asked of the memory of the host and of the GPUs, alone: STREAM.

Needs: cells, question.
"""
