"""This machine's speed, as ratios from one run: the search against C, and the draws against others'."""

from birthmark.bench.search import BenchResult, bench

__all__ = ["BenchResult", "bench"]
