"""Bits of float64 that number narrow cells of probabilities, see `stats._cells`, in numpy and in compiled loops."""

import numpy as np

PER_OCTAVE = 64  #: Cells between u and 2 u, a power of 2; their number is in the bits of the exponent and the next six.
FLOOR = 2.0**-16  #: Below it is one cell.
SHIFT = np.uint64(52 - 6)  #: Number of bits that do not number a cell.
MASK = ~((np.uint64(1) << SHIFT) - np.uint64(1))  #: Bits that number a cell.
EXPONENT = np.uint64(0x4330000000000000)  #: Bits of 2^52; with the fraction n, those of 2^52 + n.
FIRST = 2.0**52 + (1023 - 16) * PER_OCTAVE - 1  #: 2^52 plus the number of the cell below `FLOOR`.
