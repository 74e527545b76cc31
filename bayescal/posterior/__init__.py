"""Posteriors of the bins given counts; all draws are independent."""
