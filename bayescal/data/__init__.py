"""Input: predictions, data frames, files."""
