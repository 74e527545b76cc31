"""Records of results: numbers and sentences."""
