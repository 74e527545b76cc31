"""Studies that measure intervals and models."""
