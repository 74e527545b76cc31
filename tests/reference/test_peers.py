"""Plug-in values of other programs on real data, each in its own convention.

Their bins become ours: left-closed (a, b] bins are [a', b') with every inner edge moved up by one float, and a score
that has a bin of its own gets one by an edge beside it.
"""

import dataclasses
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

import bayescal as bc
from bayescal.estimands.plug_in import observed_bins

FAMILIES = ("ece_peers", "kumar", "kumar_multiclass", "multiclass_peers")
REPRODUCED = {"ece_peers": 178, "kumar": 153, "kumar_multiclass": 44, "multiclass_peers": 48}
#: Records that are not offered: part of the call -> why, and how many.
NOT_OFFERED = {
    r"^np\.random\.seed.*uncertainties": ("a bootstrap interval", 1),
    r"^mean over np\.random\.seed.*debias=True": ("a debiased l_1 error, from 20 Monte Carlo runs", 18),
}


# --- bins of the other programs, as edges of [a, b) bins


def left_open(edges):
    """(a, b] bins."""
    edges = np.nextafter(np.asarray(edges, dtype=np.float64), np.inf)
    edges[0], edges[-1] = 0.0, 1.0
    return edges


def zero_apart(edges):
    """(a, b] bins, where a score of exactly 0 has a bin of its own."""
    return np.concatenate([[0.0, np.nextafter(0.0, 1.0)], left_open(edges)[1:]])


def one_apart(edges):
    """[a, b) bins, where a score of exactly 1 has a bin of its own."""
    return np.concatenate([edges[:-1], [np.nextafter(1.0, 0.0), 1.0]])


def stretched(n_bins):
    edges = np.linspace(0, 1 + 1e-8, n_bins + 1)
    edges[-1] = 1.0
    return edges


def split_edges(score, n_bins):
    """Equal mass after Kumar, Liang and Ma: array_split of the sorted scores, midpoints, duplicates merged, (a, b]."""
    parts = np.array_split(np.sort(score), n_bins)
    between = np.unique([(a[-1] + b[0]) / 2 for a, b in pairwise(parts)])
    return left_open(np.concatenate([[0.0], between[(between > 0) & (between < 1)], [1.0]]))


def quantile_edges(score, n_bins):
    edges = np.quantile(score, np.linspace(0, 1, n_bins + 1))
    edges[0], edges[-1] = 0.0, 1.0
    return np.unique(edges)


def peer_edges(record, score):
    call, package, n = record["call"], record["package"], number_of_bins(record["call"])
    even = np.linspace(0, 1, n + 1)
    if package == "mapie":
        return zero_apart(np.linspace(0, 1, n))  # K edges asked for, K - 1 bins made
    if package == "relplot":
        return one_apart(even)
    if package == "torchmetrics":
        return one_apart(even.astype(np.float32) if "float32" in call else even)
    if package == "netcal":
        return quantile_edges(score, n) if "equal_intervals=False" in call else even
    if package == "pycalib":
        return (
            left_open(np.concatenate([[0], np.arange(1 / n, 1 + 1 / n, 1 / n)[:n]])) if "conf" in call else stretched(n)
        )
    assert package == "uncertainty-calibration"
    values = np.unique(score)
    if "get_calibration_error(" in call and len(values) < len(score) / 4:  # one bin per distinct score
        return left_open(np.concatenate([[0.0], (values[1:] + values[:-1]) / 2, [1.0]]))
    equal_width = "get_ece(" in call or "get_equal_prob_bins" in call
    return left_open(np.arange(n + 1) / n) if equal_width else split_edges(score, n)


def number_of_bins(call):
    said = re.search(r"(?:num_bins=|n_bins=|bins=|[AEM]CE\()(\d+)", call)
    return int(said[1]) if said else 15


# --- what they ask of the bins


def maximum(bins):
    """The maximum calibration error of the literature: the largest error of any bin with rows."""
    return bc.largest_error(bins, share=0)


def peer_estimand(call):
    """Function of observed bins, and the power in which an average over classes is taken."""
    if "norm" in call:
        norm = re.search(r'norm="(\w+)"', call)[1]
        return {"l1": bc.ece, "l2": bc.l2_error, "max": maximum}[norm], 1
    if "MCE(" in call:
        return maximum, 1
    if "ACE(" in call:  # unweighted mean over occupied bins
        return lambda bins: bc.ece(dataclasses.replace(bins, weight=np.full_like(bins.weight, 1 / bins.mass.size))), 1
    if "power=2" in call:
        return lambda bins: bc.Draws(bc.l2_error(bins).values ** 2), 1
    order = order_of(call)
    return (lambda bins: bc.lp_error(bins, order)), order


def order_of(call):
    said = re.search(r"[,(]p=(\d)", call)
    return int(said[1]) if said else 2 if "get_calibration_error(" in call else 1


def debiased(call):
    return "debias=True" in call or "get_calibration_error(" in call


def problems(record, data):
    """Binary problems (score, outcome) whose errors are averaged."""
    if " vs " in record["view"]:
        score, outcome = record["view"].split(" vs ")
        return [(data[score], data[outcome])]
    call, label = record["call"], data["labels"]
    matrix = data["probs"].astype(np.float32 if "float32" in call else np.float64).astype(np.float64)
    if "onehot" in call or "classwise=True" in call or "marginal" in call or "get_calibration_error(" in call:
        return [(matrix[:, k], label == k) for k in range(matrix.shape[1])]
    top, score = matrix.argmax(axis=1), matrix.max(axis=1)
    if "top_label_ece" in call:  # within each predicted label
        return [(score[top == k], label[top == k] == k) for k in np.unique(top)]
    return [(score, top == label)]


def plug_in(record, data):
    estimand, power = peer_estimand(record["call"])
    errors = []
    for score, outcome in problems(record, data):
        counts = bc.BinnedCounts.from_arrays(outcome, score, bins=peer_edges(record, score))
        if debiased(record["call"]):
            errors.append(max(bc.debiased_squared_l2_error(counts), 0.0) ** 0.5)
        else:
            errors.append(estimand(observed_bins(counts)).values[0])
    return np.mean(np.power(errors, power)) ** (1 / power)


def tolerance(record):
    kind, size = record["tolerance"].split()[:2]
    assert kind in ("rtol", "atol")
    return {"rel": float(size)} if kind == "rtol" else {"abs": float(size)}


def why_not(record):
    return next((pattern for pattern in NOT_OFFERED if re.search(pattern, record["call"])), None)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_record_that_is_offered_is_reproduced(family, records, reference_data):
    reproduced = 0
    for record in records(family):
        if why_not(record) is None:
            value = plug_in(record, reference_data(record["data"]))
            assert value == pytest.approx(record["value"], **tolerance(record)), f"{record['data']}: {record['call']}"
            reproduced += 1
    assert reproduced == REPRODUCED[family]


def test_the_records_left_out_are_those_listed(records):
    left_out = Counter(why_not(r) for family in FAMILIES for r in records(family))
    del left_out[None]
    assert left_out == {pattern: count for pattern, (_, count) in NOT_OFFERED.items()}
    total = sum(len(records(family)) for family in FAMILIES)
    assert sum(REPRODUCED.values()) + sum(left_out.values()) == total == 442
    assert sum(left_out.values()) < 0.1 * total


# --- the public function itself, where its own convention is the peer's


@pytest.mark.parametrize("n_bins", [10, 15])
def test_event_values(n_bins, records, reference_data):
    """netcal has left-closed bins with a closed last one, as here (its linspace edges meet no score of these data)."""
    data = reference_data("fte_nfl")
    call = f"netcal.metrics.ECE({n_bins}).measure(p,y)"
    (record,) = [r for r in records("ece_peers") if r["data"] == "fte_nfl" and r["call"] == call]
    assert bc.plug_in_ece(data["labels"], data["probs"], bins=n_bins) == pytest.approx(record["value"], rel=1e-9)


@pytest.mark.parametrize("n_bins", [10, 15])
@pytest.mark.parametrize("name", ["cifar10_vgg16", "sk_wine_nb"])
def test_top_label_and_classwise_values(name, n_bins, records, reference_data):
    data = reference_data(name)
    calls = {
        "top-label": f"netcal.metrics.ECE({n_bins}).measure(P.astype(float),y)",
        "classwise": f"pycalib.metrics.classwise_ECE(onehot,P,bins={n_bins})",
    }
    for target, call in calls.items():
        (record,) = [r for r in records("multiclass_peers") if r["data"] == name and r["call"] == call]
        value = bc.plug_in_ece(data["labels"], data["probs"].astype(float), target=target, bins=n_bins)
        assert value == pytest.approx(record["value"], rel=1e-9)


@pytest.mark.parametrize("n_bins", [10, 15])
@pytest.mark.parametrize("name", ["fte_nfl", "dcurves_df_binary", "adult_sklearn", "cumdiff/cal_1000_1_2"])
def test_equal_mass_values(name, n_bins, records, reference_data):
    """Where no scores are tied at a cut, our equal-mass bins are those of uncertainty-calibration."""
    call = f"calibration.get_ece_em(p,y,num_bins={n_bins})"
    (record,) = [r for r in records("kumar") if r["data"] == name and r["call"] == call]
    ((score, outcome),) = problems(record, reference_data(name))
    value = bc.plug_in_ece(outcome, score, bins=n_bins, binning="equal-mass")
    assert value == pytest.approx(record["value"], rel=1e-9)


def test_reliability_tables_of_scikit_learn(records, reference_data):
    checked = 0
    for record in records("reliability_table"):
        if " vs " not in record["view"] or "calibration_curve" not in record["call"]:
            continue
        ((score, outcome),) = problems(record, reference_data(record["data"]))
        n = number_of_bins(record["call"])
        edges = (
            np.linspace(0, 1, n + 1) if "uniform" in record["call"] else np.quantile(score, np.linspace(0, 1, n + 1))
        )
        edges[0], edges[-1] = 0.0, 1.0
        counts = bc.BinnedCounts.from_arrays(outcome, score, bins=left_open(np.unique(edges)))
        seen = counts.occupied
        np.testing.assert_allclose([counts.accuracy[seen], counts.mean_confidence[seen]], record["value"], rtol=1e-9)
        checked += 1
    assert checked == 18


# --- some of the same numbers on data made here, so that something remains without the folder


@pytest.fixture(scope="module")
def naive_bayes():
    """Out-of-fold probabilities of naive Bayes: the data sets sk_breast_cancer_nb and sk_wine_nb, made anew."""
    from sklearn.datasets import load_breast_cancer, load_wine
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.naive_bayes import GaussianNB

    def predict(load):
        features, label = load(return_X_y=True)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        return label, cross_val_predict(GaussianNB(), features, label, cv=folds, method="predict_proba")

    return {"breast cancer": predict(load_breast_cancer), "wine": predict(load_wine)}


@pytest.mark.parametrize(
    ("n_bins", "ece", "mce"),
    [(10, 0.05873968860728629, 0.8004602429549122), (15, 0.06027321934920389, 0.8004602429549122)],
)
def test_breast_cancer(naive_bayes, n_bins, ece, mce):
    """netcal 1.4.0: ECE(n_bins).measure(p, y) and MCE(n_bins).measure(p, y)."""
    label, matrix = naive_bayes["breast cancer"]
    assert bc.plug_in_ece(label, matrix[:, 1], bins=n_bins) == pytest.approx(ece, rel=1e-9)
    counts = bc.BinnedCounts.from_arrays(label, matrix[:, 1], bins=n_bins)
    assert maximum(observed_bins(counts)).values[0] == pytest.approx(mce, rel=1e-9)


@pytest.mark.parametrize(("power", "value"), [(1, 0.058739688607286566), (2, 0.0077193991762894735)])
def test_breast_cancer_by_pycalib(naive_bayes, power, value):
    """pycalib: binary_ECE(y, p, power=power, bins=10), whose power 2 is the squared l_2 error."""
    label, matrix = naive_bayes["breast cancer"]
    counts = bc.BinnedCounts.from_arrays(label, matrix[:, 1], bins=stretched(10))
    assert bc.lp_error(observed_bins(counts), power).values[0] ** power == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    ("n_bins", "target", "value"),
    [
        (10, "top-label", 0.01724290910477736),
        (15, "top-label", 0.020664186902887825),
        (10, "classwise", 0.014279685671870337),
        (15, "classwise", 0.014279685671870337),
    ],
)
def test_wine(naive_bayes, n_bins, target, value):
    """netcal 1.4.0: ECE(n_bins).measure(P, y); pycalib: classwise_ECE(onehot, P, bins=n_bins)."""
    label, matrix = naive_bayes["wine"]
    assert bc.plug_in_ece(label, matrix, target=target, bins=n_bins) == pytest.approx(value, rel=1e-9)
