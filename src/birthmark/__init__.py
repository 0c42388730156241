"""birthmark reads where a neural network was born."""

__version__ = "0.1.0"
