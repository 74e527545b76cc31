"""Intercept and slope against R's glm (Wald and profile intervals) and calzone, on real data."""

import re

import numpy as np
import pytest

import bayescal as bc
from bayescal.posterior.recalibration import recalibration_posterior


def glm(records):
    return [r for r in records("clinical") if r["package"] == "stats" and "glm(y~lp" in r["call"]]


def columns(record, reference_data):
    data = reference_data(record["data"])
    score, outcome = (data[name] for name in re.split(r" vs ", record["view"].replace("EMOS", "EMOS")))
    return np.asarray(outcome, float), np.asarray(score, float)


def test_what_is_recorded(records):
    for record in glm(records):
        print(record["data"], record["view"], record["value"])
    assert len(glm(records)) >= 6
