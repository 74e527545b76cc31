"""Partial pooling: the accuracies of many groups, which borrow strength from each other."""
