"""From surviving values of a CPU draw to its seed and stream position, by linear algebra."""
