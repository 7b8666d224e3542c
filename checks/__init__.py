"""The questions asked of a node, one short file each."""
