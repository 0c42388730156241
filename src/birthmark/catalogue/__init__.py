"""The catalogue: what was published about the births of models, and what birthmark reads in them."""
