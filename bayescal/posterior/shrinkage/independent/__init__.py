"""The family of sub-models with independent bins."""
