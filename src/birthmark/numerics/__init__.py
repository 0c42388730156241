"""Floating point as the hardware does it: dtypes, logarithm, and the GPU's sine and cosine unit."""
