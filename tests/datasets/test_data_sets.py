"""The shipped sets: labels of their sources, and probabilities from models that were not fitted to the row."""

import dataclasses

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn import datasets as sklearn_data
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

import bayescal
from bayescal import datasets

LOADERS = {
    "breast_cancer": (datasets.load_breast_cancer, sklearn_data.load_breast_cancer),
    "digits": (datasets.load_digits, sklearn_data.load_digits),
    "wine": (datasets.load_wine, sklearn_data.load_wine),
}


def test_names_and_paths():
    assert datasets.names() == tuple(sorted([*LOADERS, "census"]))
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


@pytest.mark.parametrize("name", [*LOADERS, "census"])
def test_the_arrays_are_those_of_the_file_for_other_programs(name):
    """The loaders read arrays of numpy, which need no other package; `path` is that of a Parquet file."""
    table, shipped = pq.read_table(datasets.path(name)), getattr(datasets, f"load_{name}")()
    np.testing.assert_array_equal(shipped.y_true, table["label"])
    for model, prob in shipped.y_prob.items():
        columns = [of for of in table.column_names if of.startswith(model)]
        values = np.column_stack([table[of] for of in columns])
        assert values.dtype == prob.dtype
        np.testing.assert_array_equal(values, prob.reshape(len(prob), -1))
    for column, values in shipped.columns.items():
        np.testing.assert_array_equal(table[column].to_numpy(), values)
    of_models = [of for of in table.column_names if of.startswith(tuple(shipped.y_prob))]
    assert table.column_names == ["label", *of_models, *shipped.columns]


#: Numbers among the 45 222 complete rows at the UCI repository: label 1, and groups. Our rows are a random part.
COMPLETE_ROWS, LARGE_INCOMES = 45_222, 11_208
GROUPS = {
    "sex": {"Female": 14_695, "Male": 30_527},
    "race": {"Amer-Indian-Eskimo": 435, "Asian-Pac-Islander": 1303, "Black": 4228, "Other": 353, "White": 38_903},
}


def is_a_random_part(number, n, of_all):
    """Whether a number of n rows is within four standard deviations of that of a hypergeometric distribution."""
    share = of_all / COMPLETE_ROWS
    sd = np.sqrt(n * share * (1 - share) * (COMPLETE_ROWS - n) / (COMPLETE_ROWS - 1))
    return abs(number - n * share) < 4 * sd


def test_the_census_data_have_the_labels_and_groups_of_the_source():
    """Seven numbers, each wrong with a probability of 6e-5 for another random part."""
    census = datasets.load_census()
    assert len(census.y_true) == 14_000
    assert is_a_random_part(census.y_true.sum(), 14_000, LARGE_INCOMES)
    for column, numbers in GROUPS.items():
        assert set(census.columns[column]) == set(numbers)
        for group, number in numbers.items():
            assert is_a_random_part(np.sum(census.columns[column] == group), 14_000, number)
    assert len(set(census.columns["age_group"])) == 6
    assert census.columns["weight"].min() > 10_000
    assert census.licence == "CC BY 4.0"
    assert "doi:10.24432/C5XW20" in census.source


def test_the_census_predictions_are_those_of_five_classifiers():
    census = datasets.load_census()
    assert list(census.y_prob) == ["naive_bayes", "logistic_regression", "random_forest", "boosted_trees", "svm"]
    aucs = {}
    for model, prob in census.y_prob.items():
        assert prob.dtype == np.float32
        assert prob.min() >= 0
        assert prob.max() <= 1
        aucs[model] = roc_auc_score(census.y_true, prob)
    # published areas on these data lie between 0.85 for trees and 0.93 for boosting
    assert 0.85 < min(aucs.values()) < max(aucs.values()) < 0.93
    # a logistic regression with an intercept has the prevalence as its mean; the penalty changes little
    assert abs(census.y_prob["logistic_regression"].mean(dtype=float) - census.y_true.mean()) < 4 * 0.31 / 14_000**0.5
    # most leaves of ten grown trees contain one class
    tenths = 10 * census.y_prob["random_forest"].astype(float)
    assert np.mean(np.abs(tenths - tenths.round()) < 1e-5) > 0.75
    assert np.sum((census.y_prob["svm"] == 0) | (census.y_prob["svm"] == 1)) < 10


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
    with pytest.raises(TypeError):
        datasets.load_census().columns["sex"] = None
    assert repr(wine).startswith("PredictionSet(wine: 178 rows, 3 classes")
