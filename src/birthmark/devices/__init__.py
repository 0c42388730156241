"""The table of GPUs, and how a launch spreads the elements of a tensor over their threads."""
