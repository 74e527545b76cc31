"""Calibration intercept and slope."""
