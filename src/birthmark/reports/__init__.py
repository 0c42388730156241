"""The reading as a typed document, and its renderers."""
