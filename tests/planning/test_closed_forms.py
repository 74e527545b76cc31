"""Plans for known numbers agree with pmvalsampsize 0.2.1, the program of the authors of the formulae."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit

import bayescal as bc

# Each line is one call, with numpy 2.4 and scipy 1.17:
#
#   pmvalsampsize(type="b", prevalence=.., cstatistic=.., oe=.., oeciwidth=.., csciwidth=.., cstatciwidth=..,
#                 threshold=.., nbciwidth=.., lpnormal=.. or lpbeta=.. or lpcstat=.., simobs=8000000,
#                 oeseincrement=1e-6, nbseincrement=1e-6, tolerance=0.002, noprint=True)
#
# It draws 8 million linear predictors with its default seed, and prints sensitivity and specificity with three digits,
# from which it takes the variance of the net benefit; its standard error of the net benefit has three digits, too, so
# that the widths here are those whose errors are 0.025, 0.050 and 0.051. `lpcstat` is the mean logit(phi) - v/2 of
# calibrated binormal risks, at which its search for a mean ends at once.
# prevalence, AUC, distribution of the linear predictor, O/E, widths of O/E, slope, AUC, threshold, width of the net
# benefit; rows for O/E, slope, AUC and standardised net benefit.
# fmt: off
SETTINGS = [
    (0.0108, 0.7585, "lpnormal", (-5.0, 1.0), 1, 0.2, 0.2, 0.1, 0.02, 0.2,
     (35303, 38365, 8247, 11075)),
    (0.0409, 0.8534, "lpnormal", (-4.2, 1.6), 0.8, 0.4, 0.3, 0.05, 0.03, 0.196,
     (1472, 2908, 5768, 1883)),
    (0.0612, 0.7102, "lpnormal", (-3.0, 0.8), 1, 0.3, 0.25, 0.08, 0.06, 0.098,
     (2639, 7693, 2754, 9659)),
    (0.1307, 0.8133, "lpnormal", (-2.5, 1.4), 0.9, 0.2, 0.4, 0.1, 0.1, 0.2,
     (2079, 835, 624, 733)),
    (0.1087, 0.6365, "lpnormal", (-2.2, 0.5), 1, 0.15, 0.2, 0.05, 0.12, 0.196,
     (5611, 17154, 4813, 1564)),
    (0.2215, 0.7438, "lpnormal", (-1.5, 1.0), 0.8, 0.2, 0.3, 0.08, 0.2, 0.098,
     (869, 1560, 838, 2809)),
    (0.3604, 0.8787, "lpnormal", (-1.0, 2.2), 1, 0.4, 0.25, 0.1, 0.3, 0.2,
     (173, 1045, 207, 274)),
    (0.3818, 0.6094, "lpnormal", (-0.5, 0.4), 0.9, 0.3, 0.4, 0.05, 0.4, 0.196,
     (226, 2832, 2046, 673)),
    (0.5, 0.8125, "lpnormal", (0.0, 1.5), 1, 0.2, 0.2, 0.08, 0.5, 0.098,
     (386, 1835, 445, 1703)),
    (0.5, 0.9479, "lpnormal", (0.0, 4.0), 0.8, 0.15, 0.3, 0.1, 0.5, 0.2,
     (439, 739, 84, 199)),
    (0.0244, 0.8222, "lpbeta", (0.5, 20.0), 1, 0.2, 0.25, 0.05, 0.03, 0.196,
     (15412, 11012, 11367, 4994)),
    (0.0476, 0.7174, "lpbeta", (1.5, 30.0), 0.9, 0.4, 0.4, 0.08, 0.06, 0.098,
     (1582, 4180, 3427, 13132)),
    (0.2, 0.8741, "lpbeta", (0.4, 1.6), 1, 0.3, 0.2, 0.1, 0.2, 0.2,
     (689, 2414, 308, 512)),
    (0.2, 0.709, "lpbeta", (2.0, 8.0), 0.8, 0.2, 0.3, 0.05, 0.2, 0.196,
     (989, 2293, 2539, 908)),
    (0.5, 0.8333, "lpbeta", (1.0, 1.0), 1, 0.15, 0.25, 0.08, 0.5, 0.098,
     (685, 1145, 400, 1600)),
    (0.3, 0.9172, "lpbeta", (0.3, 0.7), 0.9, 0.2, 0.4, 0.1, 0.3, 0.2,
     (730, 475, 156, 310)),
    (0.02, 0.75, "lpcstat", -4.3468, 1, 0.4, 0.2, 0.05, 0.03, 0.196,
     (4769, 22842, 18482, 6652)),
    (0.1, 0.85, "lpcstat", -3.2714, 0.8, 0.3, 0.3, 0.08, 0.1, 0.098,
     (995, 1481, 1005, 4125)),
    (0.3, 0.65, "lpcstat", -0.9958, 1, 0.2, 0.25, 0.1, 0.3, 0.2,
     (900, 4446, 545, 720)),
    (0.45, 0.95, "lpcstat", -2.9062, 0.9, 0.15, 0.4, 0.05, 0.45, 0.196,
     (678, 382, 318, 198)),
]
# fmt: on


class Binormal:
    """Risks whose log odds are Normal with equal variances with and without the event, and that are calibrated."""

    def __init__(self, prevalence, auc, low):
        self.share, self.sd = np.array([1 - prevalence, prevalence]), np.sqrt(2) * stats.norm.ppf(auc)
        self.means = np.array([low, low + self.sd**2])

    def inverse(self, function, u):
        """Risks at which the mixture of a function of the Normal distribution is u."""

        def gap(x, at):
            with np.errstate(divide="ignore"):  # far out, the probability is 0
                return np.log(self.share @ function((x - self.means) / self.sd) / at)

        return expit([brentq(gap, -60, 60, args=(at,)) for at in u])

    def ppf(self, u):
        return self.inverse(stats.norm.cdf, u)

    def isf(self, u):
        return self.inverse(stats.norm.sf, u)


def on_average(widths, **numbers):
    table = bc.planning.validation(**numbers, width=widths, simulations=50, rng=1).table()
    return [row["rows_on_average"] for row in table]


@pytest.mark.parametrize("setting", SETTINGS)
def test_rows_for_known_numbers_are_those_of_the_closed_forms(setting):
    prevalence, auc, kind, at, ratio, oe_width, slope_width, auc_width, threshold, nb_width, expected = setting
    known = {"prevalence": prevalence, "auc": auc}
    if kind == "lpbeta":
        population = {"risks": stats.beta(*at), "prevalence": prevalence}
    elif kind == "lpcstat":
        population = {"risks": Binormal(prevalence, auc, at), "prevalence": prevalence}
    else:  # the Normal distribution follows from prevalence and AUC
        population = known
    widths = {"slope": slope_width, "auc": auc_width, "standardised_net_benefit": nb_width}
    rows = on_average({"observed_expected": oe_width}, **known, observed_expected=ratio)
    rows += on_average(widths, **population, threshold=threshold)
    for mine, theirs in zip(rows, expected, strict=True):
        assert abs(mine - theirs) <= max(1, 0.01 * theirs), (rows, expected)
