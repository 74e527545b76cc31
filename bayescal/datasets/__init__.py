"""Small sets of real predictions, shipped with the package, for data sets of scikit-learn and for census data.

Each row was predicted by a classifier trained without it.
``tests/make_datasets.py`` in the repository recreates the files.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from bayescal._arrays import Array, Ints
from bayescal._texts import text_of

__all__ = ["PredictionSet", "load_breast_cancer", "load_census", "load_digits", "load_wine", "names", "path"]

#: Licence of the labels of all sets, according to the UCI repository; the probabilities were computed here.
LICENCE = "CC BY 4.0"
METHOD = text_of("models of data sets")


@dataclass(frozen=True, eq=False, repr=False)
class PredictionSet:
    """Labels, and their probabilities according to several classifiers.

    Parameters
    ----------
    name : str
        Name of the set, as for `path`.
    y_true : ndarray of int, shape (n_rows,)
        Labels, from `classes`.
    y_prob : mapping of str to ndarray
        Probabilities by classifier: of class 1, shape (n_rows,), or of every class, shape (n_rows, n_classes).
    classes : tuple of int
        Labels in the order of the columns; for a single column, the labels of outcomes 0 and 1.
    description : str
        Task, features, and meaning of the labels.
    source : str
        Origin of the labels.
    licence : str
        Licence of the labels.
    columns : mapping of str to ndarray
        Weights and groups of the rows, shape (n_rows,); empty for most sets.
    """

    name: str
    y_true: Ints
    y_prob: Mapping[str, Array]
    classes: tuple[int, ...]
    description: str
    source: str
    licence: str
    columns: Mapping[str, Array] = MappingProxyType({})

    def __repr__(self) -> str:
        names = ", ".join(self.y_prob)
        return f"PredictionSet({self.name}: {len(self.y_true)} rows, {len(self.classes)} classes, classifiers {names})"


def names() -> tuple[str, ...]:
    """Return the names of the shipped sets.

    Returns
    -------
    tuple of str
        In alphabetical order.

    Examples
    --------
    >>> import bayescal as bc
    >>> bc.datasets.names()
    ('breast_cancer', 'census', 'digits', 'wine')
    """
    return tuple(sorted(file.stem for file in Path(__file__).parent.glob("*.parquet")))


def path(name: str) -> Path:
    """Return the path of the Parquet file of a set, for the command line and other programs.

    Parameters
    ----------
    name : {"breast_cancer", "census", "digits", "wine"}
        Name of the set.

    Returns
    -------
    Path
        A file with the column ``label`` and, for each classifier, one column (two classes) or one column per class,
        such as ``naive_bayes_0`` ... ``naive_bayes_9``; further columns are weights and groups, if the set has them.

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> import bayescal as bc
    >>> bc.datasets.path("digits").name
    'digits.parquet'
    """
    from bayescal import _checks

    _checks.one_of("name", name, names())
    return Path(__file__).parent / f"{name}.parquet"


def load_digits() -> PredictionSet:
    """Load predictions of handwritten digits: 1797 images of 8 by 8 pixels, 10 classes.

    Naive Bayes is over-confident on these data, and the random forest is under-confident.

    Returns
    -------
    PredictionSet
        Probabilities of shape (1797, 10), float32.

    Examples
    --------
    >>> import bayescal as bc
    >>> digits = bc.datasets.load_digits()
    >>> digits.y_true[:5], digits.y_prob["random_forest"].shape
    (array([0, 1, 2, 3, 4]), (1797, 10))
    """
    return _load(
        "digits",
        "Which digit is it? 1797 images of 8 by 8 pixels, labels 0 to 9.",
        "Alpaydin and Kaynak (1998), Optical Recognition of Handwritten Digits, UCI Machine Learning Repository, "
        "doi:10.24432/C50P49 (the test part, as in sklearn.datasets.load_digits)",
    )


def load_breast_cancer() -> PredictionSet:
    """Load predictions of breast cancer: 569 tumours, benign (1) or malignant (0).

    Returns
    -------
    PredictionSet
        Probabilities that the tumour is benign, shape (569,).

    Examples
    --------
    >>> import bayescal as bc
    >>> cancer = bc.datasets.load_breast_cancer()
    >>> int(cancer.y_true.sum()), cancer.y_prob["naive_bayes"].shape
    (357, (569,))
    """
    return _load(
        "breast_cancer",
        "Is a tumour benign? 569 of them, 30 measurements of cell nuclei; 1 is benign, 0 malignant.",
        "Wolberg, Mangasarian, Street and Street (1993), Breast Cancer Wisconsin (Diagnostic), UCI Machine Learning "
        "Repository, doi:10.24432/C5DW2B (sklearn.datasets.load_breast_cancer)",
    )


def load_wine() -> PredictionSet:
    """Load predictions of the growers of wines: 178 wines, 3 classes.

    With so few rows, all intervals are wide.

    Returns
    -------
    PredictionSet
        Probabilities of shape (178, 3), float32.

    Examples
    --------
    >>> import bayescal as bc
    >>> bc.datasets.load_wine().y_prob["naive_bayes"].shape
    (178, 3)
    """
    return _load(
        "wine",
        "Which of three growers made it? 178 wines, 13 chemical measurements, labels 0 to 2.",
        "Aeberhard and Forina (1992), Wine, UCI Machine Learning Repository, doi:10.24432/C5PC7J "
        "(sklearn.datasets.load_wine)",
    )


def load_census() -> PredictionSet:
    """Load predictions of census data: 14 000 adults, income above 50 000 dollars (1) or not (0).

    The logistic regression is nearly calibrated, naive Bayes is over-confident, and the scores of the boosted trees and
    the support vector machine are not probabilities. ``columns`` has the sampling weight, sex, race and age group.

    Returns
    -------
    PredictionSet
        Scores of an income above 50 000 dollars by five classifiers, shape (14000,), float32; two are no probabilities.

    Examples
    --------
    >>> import bayescal as bc
    >>> census = bc.datasets.load_census()
    >>> int(census.y_true.sum()), list(census.columns)
    (3451, ['weight', 'sex', 'race', 'age_group'])
    """
    return _load(
        "census",
        "Is the income of an adult above 50 000 dollars? 14 000 adults, 13 attributes in the United States census data "
        "of 1994; 1 is yes, 0 no.",
        "Becker and Kohavi (1996), Adult, UCI Machine Learning Repository, doi:10.24432/C5XW20 (complete rows)",
        "Models of 14 000 other rows by scikit-learn: GaussianNB, LogisticRegression, RandomForestClassifier (10 "
        "trees), AdaBoostClassifier (50 trees), and decision values of LinearSVC(C=0.1), scaled to [0, 1].",
    )


def _load(name: str, about: str, source: str, method: str = METHOD) -> PredictionSet:
    with np.load(path(name).with_suffix(".npz")) as arrays:  # the values of the Parquet file, which needs duckdb
        stored = dict(arrays)
    label = stored.pop("label").astype(np.int64)
    probs = {key: values for key, values in stored.items() if values.dtype.kind == "f"}
    columns = MappingProxyType({key: values for key, values in stored.items() if key not in probs})
    classes = tuple(range(label.max() + 1))
    return PredictionSet(name, label, MappingProxyType(probs), classes, f"{about} {method}", source, LICENCE, columns)
