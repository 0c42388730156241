"""Searches for the generators beside PyTorch's: what a scan asks when no PyTorch stream explains a tensor.

Each takes an `Observed` tensor and returns an `Outcome`, whose finding is None where nothing was found:

- `minstd.solve_minstd`: PaddlePaddle's engine for calls with their own seed; solved, not searched.
- `jax_keys.search_jax`: JAX keys that people and flax make.
- `numpy_seeds.search_numpy`: NumPy's generators under the seeds that people use.
"""
