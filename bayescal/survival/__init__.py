"""Survival."""
