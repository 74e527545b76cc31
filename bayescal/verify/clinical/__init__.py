"""Verification of clinical measures: one file per posterior, with its PyMC twin and its simulator."""
