"""The logarithm of probabilities, by the same arithmetic in numpy and in compiled loops: their bits are equal.

With p = 2^k m and m between the roots of 1/2 and 2, it is k log 2 + log m, and log m = 2 atanh(s) with
s = (m - 1) / (m + 1). The polynomial in s^2 has the coefficients of fdlibm's log, whose error is below 2^-58.
The result is within a few units in the last place.
"""

import numpy as np

from bayescal._arrays import Bools, Floats

ROOT_HALF = np.uint64(0x3FE6A09E667F3BCD)  #: Bits of the root of 1/2.
TO_ROOT_HALF = np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)  #: Bits of 1 minus those of the root of 1/2.
FRACTION = np.uint64(0x000FFFFFFFFFFFFF)  #: Bits of the fraction of a float.
#: Bits of 2^52, whose fraction takes an exponent: the float is 2^52 plus the exponent, and needs no conversion. BIAS is
#: 2^52 plus the bias of exponents.
SHIFTED, BIAS = np.uint64(0x4330000000000000), 2.0**52 + 1023.0
SMALLEST, SHIFT = 2.0**-1022, 2.0**54  #: The smallest normal number; smaller ones are multiplied by 2^54.
LN2 = 0.6931471805599453
#: Coefficients of the polynomial.
L1, L2, L3, L4 = 0.6666666666666735, 0.3999999999940942, 0.28571428743662391, 0.22222198432149784
L5, L6, L7 = 0.18183572161618050, 0.15313837699209373, 0.14798198605116586
PIECE = 4096  #: Rows at a time, whose temporary arrays stay in the first cache.


def log_in_place(probability: Floats) -> Bools | None:
    """Replace probabilities by their logarithms, and 0 by 0; return which were 0, or None if none was."""
    smallest, zero, small = probability.min(initial=1.0), None, None
    if not smallest >= SMALLEST:
        zero = probability == 0
        probability[zero] = 1.0
        small = probability < SMALLEST
        probability[small] *= SHIFT
    for start in range(0, len(probability), PIECE):
        _log(probability[start : start + PIECE])
    if small is not None:
        probability[small] -= 54.0 * LN2
    return zero


def _log(values: Floats) -> None:
    """Replace normal numbers by their logarithms."""
    bits = values.view(np.uint64)
    bits += TO_ROOT_HALF
    power = ((bits >> np.uint64(52)) | SHIFTED).view(np.float64)
    power -= BIAS
    power *= LN2
    bits &= FRACTION
    bits += ROOT_HALF
    above = values + 1.0
    values -= 1.0
    values /= above
    square = values * values
    series = L7 * square
    for coefficient in (L6, L5, L4, L3, L2, L1):
        series += coefficient
        series *= square
    series += 2.0
    values *= series
    values += power
