"""Probes, plan, kernels, work units, ledger and engine: from a selection to seeds and layouts."""
