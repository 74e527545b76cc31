"""Log odds of probabilities that may be 0 or 1."""

import numpy as np

from bayescal._arrays import Floats

VALUE_FLOOR = 1e-9  #: Default distance from 0 and 1 to which probabilities are clipped.


def logit(probability: Floats, floor: float = VALUE_FLOOR) -> Floats:
    """Return the log odds of probabilities, which are clipped to [floor, 1 - floor]."""
    inside = np.clip(probability, floor, 1 - floor)
    return np.log(inside) - np.log1p(-inside)
