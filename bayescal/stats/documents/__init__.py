"""Counts as plain data for JSON, validated when they are read."""
