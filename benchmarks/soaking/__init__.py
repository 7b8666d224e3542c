"""What benchmarks/soak.py is made of: a private Slurm with a site (world), what happens to it (events), what must hold (invariants).

Needs: tests/support, the package.
"""
