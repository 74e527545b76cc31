"""What came out: records of results, their numbers and their words."""
