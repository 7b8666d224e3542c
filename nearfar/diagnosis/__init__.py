"""Which degraded parts explain a node's slow figures (docs/diagnosis.md)."""
