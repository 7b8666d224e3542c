"""A sweep: one exclusive job per node, few questions to slurmctld, one verdict per node and one page."""
