"""Analyses: from rows or counts to results, one file per verb."""
