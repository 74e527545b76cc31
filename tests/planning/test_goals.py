"""Goals of a plan that are refused, and why."""

from dataclasses import replace

import pytest
from pilots import PAIR, curved_pilot, pair_of

import bayescal as bc
from bayescal.planning.analysis import labels_needed


@pytest.mark.parametrize(
    ("pilot", "given", "error", "said"),
    [
        (curved_pilot(), {}, ValueError, "exactly one of `width` .*, not none"),
        (curved_pilot(), {"width": 0.1, "difference": 0.1}, ValueError, "not `width`, `difference`"),
        (PAIR, {"width": 0.1}, TypeError, "must be BinnedCounts for `width`, not PairedCounts. .*`pilot_counts.first`"),
        (curved_pilot(), {"difference": 0.1}, TypeError, "must be PairedCounts for `difference`.*`width`"),
        ([1, 0], {"width": 0.1}, TypeError, "must be BinnedCounts for `width`, not list. Make them"),
        (bc.BinnedCounts.empty(5), {"width": 0.1}, ValueError, "`pilot_counts` must hold labelled rows"),
        (bc.PairedCounts.empty(5), {"difference": 0.1}, ValueError, "`pilot_counts` must hold labelled rows"),
        (curved_pilot(), {"width": 5}, ValueError, "`width` must lie strictly between 0 and 1, not 5. Percent"),
        (curved_pilot(), {"width": 0}, ValueError, "`width` must lie strictly between 0 and 1"),
        (PAIR, {"difference": -0.1}, ValueError, r"`difference` must lie in \[0, 1\).*-0.1. Its sign"),
        (PAIR, {"difference": 2}, ValueError, "Percent. Divide by 100"),
        (PAIR, {"difference": float("nan")}, ValueError, "`difference` must lie in"),
        (PAIR, {"difference": "0.1"}, TypeError, "`difference` must be a number"),
        (curved_pilot(), {"width": 0.1, "assurance": 80}, ValueError, "`assurance` .* Percent"),
        (curved_pilot(), {"width": 0.1, "prob": 1.0}, ValueError, "`prob` must lie strictly"),
        (curved_pilot(), {"width": 0.1, "simulations": 5}, ValueError, "`simulations` must be an integer >= 20"),
        (curved_pilot(), {"width": 0.1, "draws": 10}, ValueError, "`draws` must be an integer >= 100"),
        (curved_pilot(), {"width": 0.1, "largest": 0}, ValueError, "`largest` must be an integer >= 1"),
        (curved_pilot(), {"width": 0.1, "keep_pilot": "no"}, TypeError, "`keep_pilot` must be True or False"),
        (curved_pilot(), {"width": 0.1, "model": "shrink"}, ValueError, "`model` must be one of .*shrinkage"),
        (curved_pilot(), {"width": 0.1, "seed": 1}, TypeError, "takes no 'seed'. Here it is called 'rng'"),
        (curved_pilot(), {"width": 0.1, "rng": "x"}, TypeError, "`rng` must be"),
    ],
)
def test_nonsense_is_refused(pilot, given, error, said):
    with pytest.raises(error, match=said):
        labels_needed(pilot, **given)


def test_an_evaluation_is_told_where_its_counts_are():
    ev = bc.evaluate_counts(curved_pilot(), draws=10, rng=1)
    with pytest.raises(TypeError, match=r"not Evaluation. Its counts are `.counts`"):
        labels_needed(ev, width=0.1)


NEEDY = bc.Estimand("needy", lambda b, c, rng: b.accuracy[:, 0], "needy", needs=frozenset({"losses"}))


@pytest.mark.parametrize(
    ("pilot", "given", "error", "said"),
    [
        (curved_pilot(), {"below": 0.02, "width": 0.1}, ValueError, "not `width`, `below`"),
        (curved_pilot(), {"below": 0.02, "above": 0.1, "width": 0.1}, ValueError, "not `width`, `below`, `above`"),
        (PAIR, {"below": 0.02}, TypeError, "must be BinnedCounts for `below`, not PairedCounts"),
        (
            curved_pilot(),
            {"below": 2},
            ValueError,
            "`below` must lie strictly between 0 and 1 for 'ece', not 2. Percent",
        ),
        (curved_pilot(), {"below": 0}, ValueError, "`below` must lie strictly between 0 and 1"),
        (curved_pilot(), {"below": "2 %"}, TypeError, "`below` must be a finite number"),
        (curved_pilot(), {"above": 0.1}, ValueError, "`above` does not fit `estimand` 'ece'.*use `below`"),
        (curved_pilot(), {"width": 0.1, "estimand": "eec"}, ValueError, "`estimand` must be one of"),
        (curved_pilot(), {"width": 3, "estimand": "signed_error"}, ValueError, "strictly between 0 and 2"),
        (curved_pilot(), {"width": "4%"}, TypeError, "not '4%'. Write 0.04."),
        (curved_pilot(), {"below": "4 %"}, TypeError, "not '4 %'. Write 0.04."),
        (PAIR, {"difference": "0.5%"}, TypeError, "not '0.5%'. Write 0.005."),
        (
            curved_pilot(),
            {"width": 0.1, "estimand": "auc"},
            ValueError,
            r"must contain the order of the rows for `estimand` 'auc'; these counts contain bins only. Use `evaluate\(",
        ),
        (PAIR, {"difference": 0.1, "estimand": "auc"}, ValueError, r"the order of the rows .*`compare\(...\).pairs"),
        (
            replace(curved_pilot(), log_losses=None),
            {"width": 0.1, "estimand": "log_score"},
            ValueError,
            "must hold the sums of log losses for `estimand` 'log_score', and lacks them",
        ),
        (
            replace(PAIR, loss_difference=None),
            {"difference": 0.1, "estimand": "brier_score"},
            ValueError,
            "must hold the sums of squared errors for `estimand` 'brier_score'.*PairedCounts.from_arrays",
        ),
        (PAIR, {"difference": 0.1, "estimand": NEEDY}, ValueError, "'needy' cannot be planned .*Define `joint`"),
        (
            pair_of([1, 0, 0, 1]),
            {"difference": 0.1, "estimand": "brier_score"},
            ValueError,
            "at least 3 effective rows .*these are 2",
        ),
    ],
)
def test_goals_that_do_not_fit_are_refused(pilot, given, error, said):
    with pytest.raises(error, match=said):
        labels_needed(pilot, **given)


@pytest.mark.parametrize(("better", "said"), [("larger", "use `above`"), (None, "use `width`")])
def test_the_limit_has_the_side_of_better_values(better, said):
    record = bc.Estimand("one", lambda b: b.accuracy[:, 0], "one", better=better)
    with pytest.raises(ValueError, match=f"`below` does not fit `estimand` 'one'.*{said}"):
        labels_needed(curved_pilot(), below=0.1, estimand=record)
