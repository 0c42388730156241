"""What rows stand for: tokens of a tokenizer, positions, classes, inputs."""
