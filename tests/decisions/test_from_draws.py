"""Functions of draws: net benefits and decisions by hand."""

import numpy as np

from bayescal.decisions.thresholds import decide, gain_of_treating, net_benefit_of, odds, share_treated


def test_decisions_by_hand():
    """Two draws, one threshold: treating all and model a tie in the first, model b is the best in the second."""
    models = np.array([[[0.2], [0.1]], [[0.0], [0.4]]])
    found = decide(models, np.array([[0.2], [-0.3]]))
    np.testing.assert_array_equal(found.p_useful, [[0.0], [0.5]])  # a ties with treating all, then with none
    np.testing.assert_array_equal(found.p_best, [[0.0], [0.25], [0.25], [0.5]])
    # E max = (0.2 + 0.4) / 2; max E = that of b, (0.1 + 0.4) / 2
    np.testing.assert_allclose(found.evpi, [0.3 - 0.25])


def test_net_benefit_by_hand():
    """At 1/5 a false positive costs 1/4 of a true positive: 0.3 - 0.2 / 4; at a prevalence of 0.1, 0.03 - 0.045."""
    t = np.array([0.2])
    np.testing.assert_allclose(odds(t), [0.25])
    treated = share_treated(np.array([[0.4, 0.2], [0.1, 0.3]]))
    np.testing.assert_allclose(treated, [[0.2], [0.3]])
    np.testing.assert_allclose(net_benefit_of(treated, gain_of_treating(t)), [0.25])
    np.testing.assert_allclose(net_benefit_of(treated, gain_of_treating(t, 0.1)), [0.1 * 0.3 - 0.9 * 0.2 / 4])


def test_example_of_gain_of_treating():
    assert gain_of_treating(np.array([0.2, 0.5])).tolist() == [[-0.25, -1.0], [1.0, 1.0]]
