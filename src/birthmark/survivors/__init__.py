"""Which rows, columns and whole tensors still hold initial values, and what of them a search may see."""
