"""Lineage: whether checkpoints share a birth, share training, were merged, or have nothing in common."""
