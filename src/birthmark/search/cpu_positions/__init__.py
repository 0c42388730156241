"""Seeds of PyTorch's CPU generator at known stream positions, where values are too few to solve for them."""
