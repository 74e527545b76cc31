"""Counts: deterministic, no random numbers."""
