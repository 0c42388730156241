"""Weak traces over all tensors of a model: where its initial values survive, and how much of them."""
