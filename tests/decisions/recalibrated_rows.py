"""Rows to recalibrate, rows to evaluate, and their loss ratio."""

import numpy as np

import bayescal as bc


def rows(n, seed, power=1.0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p).astype(int), p**power


Y, P = rows(600, 1, 2.0)
YV, PV = rows(400, 2, 2.0)
T = [0.1, 0.3, 0.5]
FOUND = bc.loss_ratio(Y, P, YV, PV, T, rng=1)
