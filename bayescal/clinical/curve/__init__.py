"""Calibration curve."""
