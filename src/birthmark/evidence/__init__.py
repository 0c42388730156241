"""Scores, hold-out, decoys, trials, vendor test, mixtures and the verdict: what a candidate is worth."""
