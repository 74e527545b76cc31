"""Plots and documents of results."""
