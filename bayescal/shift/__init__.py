"""Shift."""
