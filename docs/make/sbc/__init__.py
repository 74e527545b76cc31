"""Simulation-based calibration of all samplers, and samplers that are wrong on purpose."""
