"""Bit sources: words at any position of a random stream."""
