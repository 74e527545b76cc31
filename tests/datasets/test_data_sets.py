"""The shipped sets are what they say: scikit-learn's labels, and probabilities from models that had not seen a row."""

import dataclasses

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn import datasets as sklearn_data
from sklearn.model_selection import StratifiedKFold

import bayescal
from bayescal import datasets

LOADERS = {
    "breast_cancer": (datasets.load_breast_cancer, sklearn_data.load_breast_cancer),
    "digits": (datasets.load_digits, sklearn_data.load_digits),
    "wine": (datasets.load_wine, sklearn_data.load_wine),
}


def test_names_and_paths():
    assert datasets.names() == tuple(LOADERS)
    for name in datasets.names():
        assert datasets.path(name).stat().st_size < 400_000
    with pytest.raises(ValueError, match=r"`name` must be one of.*Did you mean 'digits'\?"):
        datasets.path("digit")


@pytest.mark.parametrize("name", LOADERS)
def test_labels_are_those_of_scikit_learn_and_probabilities_are_probabilities(name):
    load, original = LOADERS[name]
    shipped = load()
    truth = original(return_X_y=True)[1]
    np.testing.assert_array_equal(shipped.y_true, truth)
    assert shipped.classes == tuple(range(truth.max() + 1))
    assert set(shipped.y_prob) == {"naive_bayes", "logistic_regression", "random_forest"}
    for prob in shipped.y_prob.values():
        assert prob.min() >= 0
        assert prob.max() <= 1
        if prob.ndim == 2:
            np.testing.assert_allclose(prob.sum(axis=1, dtype=float), 1, atol=1e-6)
        bayescal.evaluate(shipped.y_true, prob, classes=shipped.classes, rng=1)
    assert "CC BY" in shipped.licence
    assert "doi:" in shipped.source


@pytest.mark.parametrize("name", LOADERS)
def test_the_arrays_are_those_of_the_file_for_other_programs(name):
    """The loaders read arrays of numpy, which need no other package; `path` is that of a Parquet file."""
    table, shipped = pq.read_table(datasets.path(name)), LOADERS[name][0]()
    np.testing.assert_array_equal(shipped.y_true, table["label"])
    for model, prob in shipped.y_prob.items():
        columns = [of for of in table.column_names if of.startswith(model)]
        values = np.column_stack([table[of] for of in columns])
        assert values.dtype == prob.dtype
        np.testing.assert_array_equal(values, prob.reshape(len(prob), -1))


def naive_bayes_out_of_fold(x, y):
    """Gaussian naive Bayes by hand: a Normal for each class and feature, 1e-9 of the largest variance added."""
    prob = np.empty((len(y), y.max() + 1))
    for train, test in StratifiedKFold(n_splits=5, shuffle=True, random_state=1).split(x, y):
        log_joint = []
        for k in range(y.max() + 1):
            own = x[train][y[train] == k]
            var = own.var(axis=0) + 1e-9 * x[train].var(axis=0).max()
            log_density = -0.5 * (np.log(2 * np.pi * var) + (x[test] - own.mean(axis=0)) ** 2 / var).sum(axis=1)
            log_joint.append(np.log(len(own) / len(train)) + log_density)
        joint = np.exp(np.transpose(log_joint) - np.max(log_joint, axis=0)[:, None])
        prob[test] = joint / joint.sum(axis=1, keepdims=True)
    return prob


@pytest.mark.parametrize("name", LOADERS)
def test_naive_bayes_is_out_of_fold(name):
    load, original = LOADERS[name]
    x, y = original(return_X_y=True)
    by_hand = naive_bayes_out_of_fold(x, y)
    shipped = load().y_prob["naive_bayes"]
    np.testing.assert_allclose(shipped, by_hand if shipped.ndim == 2 else by_hand[:, 1], atol=1e-6)


@pytest.mark.parametrize("name", LOADERS)
def test_a_forest_of_a_hundred_grown_trees_gives_hundredths(name):
    prob = LOADERS[name][0]().y_prob["random_forest"].astype(float)
    np.testing.assert_allclose(100 * prob, np.round(100 * prob), atol=1e-4)


def test_a_set_is_frozen():
    wine = datasets.load_wine()
    with pytest.raises(dataclasses.FrozenInstanceError):
        wine.y_true = None
    with pytest.raises(TypeError):
        wine.y_prob["naive_bayes"] = None
    assert repr(wine).startswith("PredictionSet(wine: 178 rows, 3 classes")
