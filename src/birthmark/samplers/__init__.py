"""How words become values: uniform and normal draws, per platform and version."""
