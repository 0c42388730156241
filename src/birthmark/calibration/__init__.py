"""Calibration: how often a scan is wrong where the truth is known, and how little it needs to be right."""
