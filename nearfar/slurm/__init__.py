"""The pack within Slurm: sweeps over nodes, the health check, and the one process that acts on what they found.

Needs: nothing of the package.
"""
