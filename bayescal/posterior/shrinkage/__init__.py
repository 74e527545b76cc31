"""The shrinkage model."""
