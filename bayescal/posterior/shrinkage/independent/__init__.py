"""The family of independent bins."""
