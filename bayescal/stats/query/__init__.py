"""Counting rows with a query of the engine that holds them."""
