"""Counting in the engine that holds the rows."""
