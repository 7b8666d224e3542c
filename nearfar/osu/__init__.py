"""OSU Micro-Benchmarks: what they print, where the ranks sit, and the measurement document that comes of it.

See docs/mpi.md. Nothing is imported here, so that asking whether OSU is there costs nothing.
"""
