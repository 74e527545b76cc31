"""Simulated rows: confidences from a population, outcomes from a true calibration curve, and their true ECE."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv, expit, logit, roots_legendre

from bayescal import _checks
from bayescal._arrays import Floats, Ints
from bayescal.draws import BinDraws

LOGIT_MARGIN = 1e-9  #: For logits only, confidences are clipped to this distance from 0 and 1.
PANELS = 32  #: Panels of the quadrature between neighbouring edges or breaks.


@dataclass(frozen=True)
class BetaPopulation:
    r"""Population of confidences :math:`c = l + (1 - l) B` with :math:`B \sim \mathrm{Beta}(a, b)`.

    Parameters
    ----------
    a, b : float
        Shape parameters, > 0. With large `a` and small `b`, most confidences are near 1.
    low : float, default 0.0
        Lower bound l of the confidences, in [0, 1); the upper bound is 1.
    name : str, optional
        Name for tables.

    Examples
    --------
    >>> from bayescal.datasets.simulate import BetaPopulation
    >>> population = BetaPopulation(1, 1, low=0.5)
    >>> float(population.cdf(0.75)), float(population.quantile(0.5)), population.sample(3, rng=1).shape
    (0.5, 0.75, (3,))
    """

    a: float
    b: float
    low: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        _checks.positive("a", self.a)
        _checks.positive("b", self.b)
        if not 0 <= self.low < 1:
            raise ValueError(f"`low` must lie in [0, 1), not {self.low}.")

    def __str__(self) -> str:
        return self.name or f"{self.low:g} + {1 - self.low:g} Beta({self.a:g}, {self.b:g})"

    def sample(self, n_rows: int, *, rng: Any = None) -> Floats:
        """Draw the confidences of independent rows, shape (n_rows,).

        Parameters
        ----------
        n_rows : int
            Number of rows.
        rng : None, int, SeedSequence or Generator
            Seed or generator, as for `numpy.random.default_rng`.
        """
        return self.low + (1 - self.low) * _checks.generator(rng).beta(self.a, self.b, n_rows)

    def cdf(self, confidence: ArrayLike) -> Floats:
        """Return the share of the population at or below each confidence."""
        return betainc(self.a, self.b, np.clip((np.asarray(confidence) - self.low) / (1 - self.low), 0, 1))

    def quantile(self, share: ArrayLike) -> Floats:
        """Return the confidence below which each share of the population lies."""
        return self.low + (1 - self.low) * betaincinv(self.a, self.b, share)


@dataclass(frozen=True)
class Curve:
    """A true calibration curve: the probability of outcome 1 at each confidence.

    Make it with `true_curve`.

    Parameters
    ----------
    name : str
        Name of the family of curves.
    strength : float or None
        Parameter of the family, see `true_curve`; None if it has none.
    function : callable
        Takes an array of confidences and returns probabilities of the same shape.
    breaks : tuple of float, default ()
        Confidences at which the function is not smooth; quadrature panels end there.

    Examples
    --------
    >>> from bayescal.datasets.simulate import true_curve
    >>> curve = true_curve("shift", 0.3)
    >>> print(curve, curve([0.5, 0.9]))
    shift 0.3 [0.574 0.924]
    """

    name: str
    strength: float | None
    function: Callable[[Floats], ArrayLike]
    breaks: tuple[float, ...] = ()

    def __str__(self) -> str:
        return self.name if self.strength is None else f"{self.name} {self.strength:g}"

    def __call__(self, confidence: ArrayLike) -> Floats:
        """Return the probability of outcome 1 at each confidence."""
        confidence = np.asarray(confidence, dtype=np.float64)
        return _unit_interval("curve", self.function(confidence), confidence.shape)


def _temperature(strength: float) -> Curve:
    if strength <= 0:
        raise ValueError(f"`strength` of a temperature must be > 0, not {strength:g}; 1 is calibrated.")
    return Curve("temperature", strength, lambda p: expit(_logit(p) / strength))


def _wave(strength: float) -> Curve:
    return Curve("wave", strength, lambda p: np.clip(p + strength * np.sin(8 * np.pi * p), 0, 1))


def _one_bad_bin(strength: float) -> Curve:
    low, high = 0.8, 0.87
    return Curve(
        "one bad bin",
        strength,
        lambda p: np.clip(np.where((p > low) & (p < high), p - strength, p), 0, 1),
        breaks=(low, high),
    )


def _logit(p: Floats) -> Floats:
    return logit(np.clip(p, LOGIT_MARGIN, 1 - LOGIT_MARGIN))


#: Populations by name: top labels of an accurate network, uniform confidences, probabilities of a rare event.
POPULATIONS = {
    "top": BetaPopulation(2.0, 0.6, low=0.5, name="top"),
    "flat": BetaPopulation(1.0, 1.0, name="flat"),
    "rare": BetaPopulation(0.5, 4.0, name="rare"),
}
#: Families of curves by name, with the default of their strength.
CURVES: dict[str, tuple[Callable[..., Curve], float | None]] = {
    "calibrated": (lambda: Curve("calibrated", None, lambda p: p), None),
    "temperature": (_temperature, 1.5),
    "shift": (lambda strength: Curve("shift", strength, lambda p: expit(_logit(p) + strength)), 0.3),
    "wave": (_wave, 0.05),
    "one bad bin": (_one_bad_bin, 0.3),
}


@dataclass(frozen=True, eq=False)
class Simulated:
    """Simulated rows with a known calibration curve.

    Parameters
    ----------
    confidence : ndarray, shape (n_rows,)
        Stated probabilities of outcome 1, in [0, 1].
    outcome : ndarray of int64, shape (n_rows,)
        Outcomes, 0 or 1.
    population : BetaPopulation or callable
        The population of the confidences.
    curve : Curve
        The true probability of outcome 1 at each confidence.
    """

    confidence: Floats
    outcome: Ints
    population: Any
    curve: Curve

    def __len__(self) -> int:
        return len(self.outcome)

    def __repr__(self) -> str:
        return f"Simulated({len(self)} rows, population {_name(self.population)}, curve {self.curve})"

    def true_ece(self, bins: Any = 15, *, rows: int = 3_000_000, rng: Any = 0) -> float:
        """Return the binned ECE of the population, which intervals should contain; see `true_ece`."""
        return true_ece(self.population, self.curve, bins=bins, rows=rows, rng=rng)


def simulate(
    n_rows: int, *, population: Any = "top", curve: Any = "calibrated", strength: float | None = None, rng: Any = None
) -> Simulated:
    r"""Simulate confidences and outcomes with a known calibration curve.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    population : {"top", "flat", "rare"}, BetaPopulation or callable, default "top"
        Distribution of the confidences: ``top`` is 0.5 + 0.5 Beta(2, 0.6), like top labels of an accurate network;
        ``flat`` is uniform on [0, 1]; ``rare`` is Beta(0.5, 4), like probabilities of a rare event. A callable takes
        ``(rng, n_rows)`` and returns `n_rows` confidences.
    curve : {"calibrated", "temperature", "shift", "wave", "one bad bin"}, Curve or callable, default "calibrated"
        The true probability of outcome 1 at each confidence, see `true_curve`. A callable takes and returns an array.
    strength : float, optional
        Parameter of a curve given by name; see `true_curve` for the defaults.
    rng : None, int, SeedSequence or Generator
        Seed or generator, as for `numpy.random.default_rng`.

    Returns
    -------
    Simulated
        The rows as ``.confidence`` and ``.outcome``, and the true value as ``.true_ece(bins=15)``.

    Raises
    ------
    ValueError, TypeError
        For an unknown name, a strength without a named curve, or a callable that leaves [0, 1].

    See Also
    --------
    true_ece : The true ECE without rows.

    Notes
    -----
    Confidences :math:`c_i` are drawn first, then one uniform number :math:`u_i` per row; the outcome is 1 if
    :math:`u_i < \mathrm{curve}(c_i)`.

    Examples
    --------
    >>> from bayescal.datasets.simulate import simulate
    >>> rows = simulate(1000, population="flat", curve="shift", strength=0.3, rng=1)
    >>> rows
    Simulated(1000 rows, population flat, curve shift 0.3)
    >>> import bayescal as bc
    >>> rows.true_ece(), bc.evaluate(rows.outcome, rows.confidence, rng=1).ece.mean()
    (0.0498, 0.0...)
    """
    n_rows = _checks.whole_number("n_rows", n_rows)
    population, curve = _population(population), true_curve(curve, strength)
    rng = _checks.generator(rng)
    confidence = _sample(population, n_rows, rng)
    outcome = (rng.random(n_rows) < curve(confidence)).astype(np.int64)
    return Simulated(confidence, outcome, population, curve)


def true_curve(curve: Any = "calibrated", strength: float | None = None) -> Curve:
    r"""Make a true calibration curve from its name and strength.

    Parameters
    ----------
    curve : {"calibrated", "temperature", "shift", "wave", "one bad bin"}, Curve or callable, default "calibrated"
        The probability of outcome 1 at confidence c, with strength s:

        - ``calibrated``: c;
        - ``temperature``: expit(logit(c) / s), over-confident if s > 1 (default 1.5) [1]_;
        - ``shift``: expit(logit(c) + s), so that confidences are too low if s > 0 (default 0.3);
        - ``wave``: c + s sin(8 pi c), clipped to [0, 1] (default 0.05);
        - ``one bad bin``: c - s if 0.8 < c < 0.87, clipped to [0, 1], otherwise c (default 0.3).
    strength : float, optional
        The strength s of a curve given by name.

    Returns
    -------
    Curve
        The curve, a callable.

    Raises
    ------
    ValueError, TypeError
        If the name is unknown, or the strength is not finite or not a parameter of the curve.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger (2017), "On calibration of modern neural networks",
       Proceedings of the 34th International Conference on Machine Learning, PMLR 70 (temperature scaling).

    Examples
    --------
    >>> from bayescal.datasets.simulate import true_curve
    >>> print(true_curve("temperature", 2)(0.9))
    0.75
    """
    if isinstance(curve, str):
        _checks.one_of("curve", curve, CURVES)
        make, default = CURVES[curve]
        if default is not None:
            return make(_finite_number(default if strength is None else strength))
        _no_strength(strength, f"`curve={curve!r}`")
        return make()
    _no_strength(strength, "a curve that is not given by name")
    if isinstance(curve, Curve):
        return curve
    if not callable(curve):
        raise TypeError(f"`curve` must be a name, a Curve or a function of confidences, not {curve!r}.")
    return Curve(getattr(curve, "__name__", "custom"), None, curve)


def true_ece(
    population: Any, curve: Any, *, bins: Any = 15, strength: float | None = None, rows: int = 3_000_000, rng: Any = 0
) -> float:
    r"""Compute the binned ECE of a population, :math:`\sum_b |E[(\mathrm{curve}(c) - c)\,1\{c \in I_b\}]|`.

    Parameters
    ----------
    population, curve, strength
        As for `simulate`.
    bins : int, array-like or Bins, default 15
        Number of equal-width bins, edges that increase from 0 to 1, or the ``bins`` of counts.
    rows : int, default 3_000_000
        Sample size for a population given as a callable, which is replaced by a sample. The standard error is at most
        :math:`\mathrm{max\,gap} / \sqrt{\mathrm{rows}}`, below 0.0002 for gaps up to 0.3.
    rng : None, int, SeedSequence or Generator, default 0
        Seed or generator of that sample; fixed by default, so that repeated calls return the same number.

    Returns
    -------
    float
        In [0, 1]. It depends on the bins: gaps of opposite sign within a bin cancel, so that it is at most the error
        without bins [1]_.

    Raises
    ------
    ValueError, TypeError
        As for `simulate`; also if `bins` are neither a number nor edges from 0 to 1.

    Notes
    -----
    For a `BetaPopulation`, the integral over each bin is computed in quantiles of the population, where the density is
    1. Gauss-Legendre rules of order 16 on 32 panels between neighbouring edges or breaks give about eight digits for
    the named curves. If a callable curve jumps, the error is about the mass of a panel times the jump; to avoid it,
    pass ``Curve(name, None, function, breaks=...)`` with the positions of the jumps.

    References
    ----------
    .. [1] A. Kumar, P. Liang and T. Ma (2019), "Verified uncertainty calibration", Advances in Neural Information
       Processing Systems 32.

    Examples
    --------
    A shift of the uniform population:

    >>> from bayescal.datasets.simulate import true_ece
    >>> true_ece("flat", "shift", strength=0.3)
    0.0498
    >>> true_ece("flat", lambda p: p**2, bins=[0, 1])  # 1/2 - 1/3
    0.1667
    """
    true = true_bins(population, curve, bins=bins, strength=strength, rows=rows, rng=rng)
    return float(np.abs(true.mass * true.gap).sum())


def true_bins(
    population: Any, curve: Any, *, bins: Any = 15, strength: float | None = None, rows: int = 3_000_000, rng: Any = 0
) -> BinDraws:
    r"""Compute the bins of a population: masses, accuracies and mean confidences.

    Every function of the bins can be applied to them, which gives its true value.

    Parameters
    ----------
    population, curve, strength, bins, rows, rng
        As for `true_ece`.

    Returns
    -------
    BinDraws
        One draw. Bins without mass are not occupied; their accuracy and mean confidence are the middle of the bin.

    Examples
    --------
    Accuracies of the curve c^2 on a uniform population: the means of c^2 over both halves are 1/12 and 7/12.

    >>> import bayescal as bc
    >>> from bayescal.datasets.simulate import true_bins
    >>> true = true_bins("flat", lambda p: p**2, bins=2)
    >>> true.mass, true.accuracy, true.confidence
    (array([[0.5, 0.5]]), array([[0.0833, 0.5833]]), array([[0.25, 0.75]]))
    >>> bc.estimands.l2_error(true)  # ((1/6)^2 / 2 + (1/6)^2 / 2)^(1/2)
    Draws(l2_error: mean 0.1667, 95 % interval [0.1667, 0.1667], 1 draws)
    """
    population, curve = _population(population), true_curve(curve, strength)
    edges = _edges(bins)
    if isinstance(population, BetaPopulation):
        mass, outcome, confidence = _bins_by_quadrature(population, curve, edges)
    else:
        c = _sample(population, _checks.whole_number("rows", rows), _checks.generator(rng))
        last = len(edges) - 2
        index = np.minimum(np.searchsorted(edges, c, side="right") - 1, last)
        of_rows = np.ones(len(c)), curve(c), c
        mass, outcome, confidence = (np.bincount(index, values, last + 1) / len(c) for values in of_rows)
    occupied, middle = mass > 0, (edges[:-1] + edges[1:]) / 2
    accuracy, mean = (np.divide(sums, mass, middle.copy(), where=occupied)[None] for sums in (outcome, confidence))
    return BinDraws(mass[None], accuracy, mean, occupied, mass[None])


def _bins_by_quadrature(population: BetaPopulation, curve: Curve, edges: Floats) -> tuple[Floats, Floats, Floats]:
    """Integrate 1, the curve and the confidence over the population in each bin."""
    stops = np.unique(np.concatenate([edges, [b for b in curve.breaks if 0 < b < 1]]))
    share = population.cdf(stops)
    start = share[:-1, None] + np.diff(share)[:, None] * np.arange(PANELS) / PANELS
    width = np.diff(share) / PANELS
    x, w = roots_legendre(16)
    at = start[..., None] + width[:, None, None] * (x + 1) / 2
    c = population.quantile(at)
    of_bin = np.searchsorted(edges, stops[:-1], side="right") - 1
    of_curve, of_confidence = (np.bincount(of_bin, (y * w / 2).sum(axis=(1, 2)) * width) for y in (curve(c), c))
    return np.bincount(of_bin, np.diff(share)), of_curve, of_confidence


def _population(population: Any) -> Any:
    if isinstance(population, str):
        _checks.one_of("population", population, POPULATIONS)
        return POPULATIONS[population]
    if not isinstance(population, BetaPopulation) and not callable(population):
        raise TypeError(
            "`population` must be a name, a BetaPopulation or a function of (rng, n_rows), "
            f"not {type(population).__name__}."
        )
    return population


def _sample(population: Any, n_rows: int, rng: np.random.Generator) -> Floats:
    if isinstance(population, BetaPopulation):
        return population.sample(n_rows, rng=rng)
    return _unit_interval("population", population(rng, n_rows), (n_rows,))


def _unit_interval(name: str, values: Any, shape: tuple[int, ...]) -> Floats:
    """Check the values that a callable returned: the expected shape, in [0, 1]."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"`{name}` must return an array of shape {shape}, not {array.shape}.")
    return _checks.probabilities(name, array) if array.size else array


def _edges(bins: Any) -> Floats:
    """Return the edges of a number of equal-width bins, of `Bins`, or of an array."""
    edges = np.asarray(getattr(bins, "edges", bins))
    if edges.ndim == 0:
        n_bins = _checks.whole_number("bins", bins)
        return np.arange(n_bins + 1) / n_bins
    edges = edges.astype(np.float64)
    if edges.ndim != 1 or len(edges) < 2 or edges[0] != 0 or edges[-1] != 1 or not (np.diff(edges) > 0).all():
        raise ValueError("`bins` must be a number of bins, or edges that increase from 0 to 1.")
    return edges


def _finite_number(strength: Any) -> float:
    number = np.asarray(strength)
    if number.ndim or number.dtype.kind not in "iuf" or not np.isfinite(number):
        raise TypeError(f"`strength` must be a finite number, not {strength!r}.")
    return float(number)


def _no_strength(strength: Any, where: str) -> None:
    if strength is not None:
        raise ValueError(f"`strength` is a parameter of a named curve; {where} takes none, not {strength!r}.")


def _name(population: Any) -> str:
    return str(population) if isinstance(population, BetaPopulation) else getattr(population, "__name__", "custom")
