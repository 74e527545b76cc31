"""What came in: predictions, data frames, files."""
