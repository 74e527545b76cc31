"""Cumulative."""
