"""MultiClassScore: the mean loss of rows, with a posterior given the sums of losses and of their squares."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, gammaincinv

from bayescal import _checks, _presented, _render
from bayescal._meant import public
from bayescal.draws import Draws


@public
@dataclass(frozen=True, repr=False)
class MultiClassScore(_presented.Presented):
    r"""A mean loss over rows and its posterior; smaller is better.

    Returned by `bayescal.scores.multiclass_brier` and `bayescal.scores.multiclass_log`.

    Parameters
    ----------
    name : str
        Name of the score.
    convention : str
        The convention in words, such as "sum over 3 classes".
    n_rows : int
        Number of rows.
    effective_rows : float
        Effective number of rows (Kish), which is `n_rows` without weights.
    observed : float
        Mean loss of the rows.
    mean_square : float
        Mean squared loss of the rows.
    prior_loss : float
        Loss of the second half row of the prior, see below.
    largest : float
        Largest possible loss; infinite for the log score.
    remarks : tuple of str
        How the probabilities were read, if not as they are.

    Notes
    -----
    The losses of rows are independent and have one distribution, which is not assumed to have any form. To the n rows,
    two half rows are added: one with loss 0, and one with `prior_loss`. Let m and s be the mean and the standard
    deviation of the losses of these n + 1 rows. The mean loss of the population has mean m and variance
    :math:`s^2 / (n + 2)`, as in a Bayesian bootstrap [1]_. Its distribution is Beta between 0 and `largest`, or Gamma
    if there is no largest loss. If all losses are 0 or the largest, this is the posterior of a proportion with
    Jeffreys' prior. With many rows it is nearly Normal.

    The half row with `prior_loss` represents rare rows with a large loss, of which a test set may contain none. In
    simulations without it, 95 % intervals contained the true score of an accurate classifier in less than half of the
    test sets.

    References
    ----------
    .. [1] D. B. Rubin (1981), "The Bayesian bootstrap", Annals of Statistics 9, 130-134.

    Examples
    --------
    >>> import bayescal as bc
    >>> wine = bc.datasets.load_wine()
    >>> print(bc.scores.multiclass_brier(wine.y_true, wine.y_prob["naive_bayes"]).sentence())
    The observed multi-class Brier score (sum over 3 classes) is 0.0351 (95 % credible interval 0.0127 to 0.0837).
    """

    name: str
    convention: str
    n_rows: int
    effective_rows: float
    observed: float
    mean_square: float
    prior_loss: float
    largest: float
    remarks: tuple[str, ...] = ()

    _columns = ("mean", "sd", "low", "high", "plug_in")

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return (self.effective_rows * self.observed + self.prior_loss / 2) / (self.effective_rows + 1)

    @property
    def sd(self) -> float:
        """Posterior standard deviation."""
        n = self.effective_rows
        square = (n * self.mean_square + self.prior_loss**2 / 2) / (n + 1)
        return float(np.sqrt((square - self.mean**2) / (n + 2)))

    def interval(self, prob: float = 0.95) -> tuple[float, float]:
        """Credible interval, equal-tailed.

        Parameters
        ----------
        prob : float, default 0.95
            Posterior probability of the interval, in (0, 1).

        Returns
        -------
        (low, high) : tuple of float
            The bounds, from the quantiles of the Beta or Gamma distribution; they do not depend on random numbers.

        Raises
        ------
        ValueError
            If `prob` is not strictly between 0 and 1.
        """
        tail = (1 - _checks.fraction("prob", prob)) / 2
        low, high = self.quantile(np.array([tail, 1 - tail]))
        return float(low), float(high)

    def quantile(self, p: ArrayLike) -> NDArray[np.float64]:
        """Quantiles of the posterior.

        Parameters
        ----------
        p : array-like
            Probabilities in [0, 1].

        Returns
        -------
        ndarray
            Values of the score, of the same shape.
        """
        shape, other = self._shapes
        if np.isfinite(self.largest):
            return np.asarray(self.largest * betaincinv(shape, other, p))
        return np.asarray(other * gammaincinv(shape, p))

    def sample(self, n_draws: int = 4000, *, rng: Any = None) -> Draws:
        """Draw the mean loss of the population from its posterior.

        Parameters
        ----------
        n_draws : int, default 4000
            Number of draws.
        rng : None, int, SeedSequence or Generator
            Seed or generator, as for `numpy.random.default_rng`.

        Returns
        -------
        Draws
            Shape (n_draws,), independent.
        """
        n_draws = _checks.whole_number("n_draws", n_draws)
        generator, (shape, other) = _checks.generator(rng), self._shapes
        if np.isfinite(self.largest):
            return Draws(self.largest * generator.beta(shape, other, n_draws), self.name)
        return Draws(generator.gamma(shape, other, n_draws), self.name)

    @property
    def _shapes(self) -> tuple[float, float]:
        """Parameters of the Beta distribution of score / largest; shape and scale of the Gamma distribution."""
        if not np.isfinite(self.largest):
            return self.mean**2 / self.sd**2, self.sd**2 / self.mean
        mean, sd = self.mean / self.largest, self.sd / self.largest
        total = mean * (1 - mean) / sd**2 - 1
        return mean * total, (1 - mean) * total

    @property
    def question(self) -> str:
        """Score, convention and rows, in words."""
        weighted = f" (weighted, effective N = {self.effective_rows:.0f})" if self.effective_rows != self.n_rows else ""
        return f"{self.name}, {self.convention}, N = {self.n_rows}{weighted}"

    @property
    def spec(self) -> str:
        """Score, convention, rows, observed value and interval, on one line."""
        low, high = map(self._number, self.interval())
        return f"{self.question}: {self._number(self.observed)}, 95 % interval [{low}, {high}]"

    def sentence(self, prob: float = 0.95) -> str:
        """The result in words.

        Parameters
        ----------
        prob : float, default 0.95
            Probability of the interval.

        Returns
        -------
        str
            The observed score with its convention, and the interval.
        """
        low, high = map(self._number, self.interval(prob))
        return (
            f"The observed {self.name} ({self.convention}) is {self._number(self.observed)} ({100 * prob:g} % credible "
            f"interval {low} to {high})."
        )

    def _number(self, value: float) -> str:
        low, high = self.interval()
        return _render.number(value, max(_render.decimals(high - low) + 1, _render.places(low, high)))

    def _records(self, prob: float, **options: Any) -> list[dict[str, Any]]:
        low, high = self.interval(prob)
        numbers = {"mean": self.mean, "sd": self.sd, "low": low, "high": high, "plug_in": self.observed}
        return [{"quantity": self.name, **numbers}]

    def sheet(self, *, whole: bool = False) -> _render.Sheet:
        """Return the sentence, table and remarks that printing shows, as data; it always has all rows."""
        header = ("", "mean", "sd", "2.5 %", "97.5 %", "observed")
        rows = [[row["quantity"], *map(self._number, list(row.values())[1:])] for row in self._records(0.95)]
        return _render.Sheet(self.sentence(), self.spec, header, rows, self.remarks)
