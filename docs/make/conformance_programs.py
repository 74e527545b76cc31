"""How other programs are asked for the errors of a case: one line per call, as its table on the page shows it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
WIDTH, MASS, CUSTOM = "equal-width", "equal-mass", "custom"
DEBIASED = ("debiased-l2-squared", "debiased-l2-squared-single-kept")
ACE = ("mean-occupied", "mean-all")


class Rows:
    """The columns of a case as arrays: outcomes `y` and confidences `c`, or labels `y` and the matrix `P`."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.matrix = "probability" in case
        self.y = np.array(case["label" if self.matrix else "outcome"])
        stated = np.array(case["probability" if self.matrix else "confidence"], dtype=case["dtype"])
        self.c, self.P = (None, stated) if self.matrix else (stated, None)
        self.w = None if case["weight"] is None else np.array(case["weight"], dtype=float)
        self.M, self.edges = case["bins"], case["edges"]


@dataclass(frozen=True)
class Call:
    """One way to ask a program for an error of the bins.

    Parameters
    ----------
    program : str
        Name of its distribution.
    text : str
        The call as the page shows it.
    run : callable
        From `Rows` to a number.
    errors : tuple of str
        Names of the errors that it can be.
    binning : {"equal-width", "equal-mass", "custom"}
        The cases that it is given: those that ask for such bins.
    matrix : bool
        Whether it is given cases with a matrix of probabilities, or those with one confidence per row.
    weights : bool
        Whether it takes weights; otherwise cases with weights are left out.
    floored : bool
        Whether negative values become 0.
    """

    program: str
    text: str
    run: Callable[[Rows], Any]
    errors: tuple[str, ...] = ("l1",)
    binning: str = WIDTH
    matrix: bool = False
    weights: bool = False
    floored: bool = False

    def takes(self, case: dict[str, Any]) -> bool:
        """Whether the call is given this case."""
        return (
            case["binning"] == self.binning
            and ("probability" in case) == self.matrix
            and (self.weights or case["weight"] is None)
        )


def of_bayescal() -> Iterator[Call]:
    from bayescal import make_bins, plug_in_ece, plug_in_error

    def call(text: str, run: Callable[[Rows], Any], *errors: str, **kind: Any) -> Call:
        return Call("bayescal", text, run, errors or ("l1",), weights=True, **kind)

    def right(rows: Rows) -> Any:
        return make_bins(rows.M, closed="right")

    yield call("plug_in_ece(y, c, bins=M)", lambda r: plug_in_ece(r.y, r.c, bins=r.M, weights=r.w))
    yield call(
        'plug_in_ece(y, c, bins=make_bins(M, closed="right"))',
        lambda r: plug_in_ece(r.y, r.c, bins=right(r), weights=r.w),
    )
    yield call(
        "plug_in_error(y, c, order=2, debiased=True, bins=M)",
        lambda r: plug_in_error(r.y, r.c, order=2, debiased=True, bins=r.M, weights=r.w) ** 2,
        *DEBIASED,
        floored=True,
    )
    yield call(
        'plug_in_ece(y, c, bins=M, binning="equal-mass")',
        lambda r: plug_in_ece(r.y, r.c, bins=r.M, binning=MASS, weights=r.w),
        binning=MASS,
    )
    yield call(
        "plug_in_ece(y, c, bins=edges)", lambda r: plug_in_ece(r.y, r.c, bins=r.edges, weights=r.w), binning=CUSTOM
    )
    for target in ("top-label", "classwise"):

        def run(rows: Rows, target: str = target) -> float:
            classes = range(rows.P.shape[1])
            return plug_in_ece(rows.y, rows.P, target=target, bins=rows.M, weights=rows.w, classes=classes)

        yield call(f'plug_in_ece(y, P, target="{target}", bins=M)', run, matrix=True)


def of_scikit_learn() -> Iterator[Call]:
    from sklearn.calibration import calibration_curve

    for strategy, binning in (("uniform", WIDTH), ("quantile", MASS)):

        def run(rows: Rows, strategy: str = strategy) -> float:
            true, pred = calibration_curve(rows.y, rows.c, n_bins=rows.M, strategy=strategy, pos_label=1)
            return float(np.abs(true - pred).mean())

        yield Call(
            "scikit-learn", f'mean gap of calibration_curve(y, c, n_bins=M, strategy="{strategy}")', run, ACE, binning
        )


def of_torchmetrics() -> Iterator[Call]:
    from torch import tensor
    from torchmetrics.functional.classification import binary_calibration_error, multiclass_calibration_error

    for norm in ("l1", "l2", "max"):
        text = f'binary_calibration_error(c, y, n_bins=M, norm="{norm}")'

        def run(rows: Rows, norm: Any = norm) -> float:
            return float(binary_calibration_error(tensor(rows.c), tensor(rows.y), n_bins=rows.M, norm=norm))

        yield Call("torchmetrics", text, run, (norm,))

    def multiclass(rows: Rows) -> float:
        columns = tensor(rows.P), tensor(rows.y), rows.P.shape[1]
        return float(multiclass_calibration_error(*columns, n_bins=rows.M, norm="l1"))

    yield Call("torchmetrics", 'multiclass_calibration_error(P, y, K, n_bins=M, norm="l1")', multiclass, matrix=True)


def of_netcal() -> Iterator[Call]:
    from netcal import metrics

    for name, errors in (("ECE", ("l1",)), ("ACE", ACE), ("MCE", ("max",))):
        measure = getattr(metrics, name)
        yield Call("netcal", f"{name}(M).measure(c, y)", lambda r, m=measure: m(r.M).measure(r.c, r.y), errors)
    yield Call(
        "netcal",
        "ECE(M, equal_intervals=False).measure(c, y)",
        lambda r: metrics.ECE(r.M, equal_intervals=False).measure(r.c, r.y),
        binning=MASS,
    )
    yield Call("netcal", "ECE(M).measure(P, y)", lambda r: metrics.ECE(r.M).measure(r.P, r.y), matrix=True)


def of_mapie() -> Iterator[Call]:
    from mapie.metrics.calibration import expected_calibration_error, top_label_ece

    for split, binning in (("uniform", WIDTH), ("quantile", MASS), ("array split", MASS)):
        # with these strategies, num_bins is the number of edges
        more = int(split != "array split")

        def run(rows: Rows, split: str = split, more: int = more) -> float:
            return expected_calibration_error(rows.y, rows.c, num_bins=rows.M + more, split_strategy=split)

        asked = "M + 1" if more else "M"
        text = f'expected_calibration_error(y, c, num_bins={asked}, split_strategy="{split}")'
        yield Call("mapie", text, run, binning=binning)

    def top(rows: Rows) -> float:
        right = (rows.P.argmax(axis=1) == rows.y).astype(int)
        return expected_calibration_error(right, rows.P, num_bins=rows.M + 1)

    def classwise(rows: Rows) -> float:
        return expected_calibration_error(rows.y, rows.P, num_bins=rows.M + 1, classwise=True, class_labels=rows.y)

    yield Call("mapie", "expected_calibration_error(right, P, num_bins=M + 1)", top, matrix=True)
    yield Call("mapie", "expected_calibration_error(..., classwise=True, class_labels=y)", classwise, matrix=True)
    yield Call(
        "mapie", "top_label_ece(y, P, num_bins=M + 1)", lambda r: top_label_ece(r.y, r.P, num_bins=r.M + 1), matrix=True
    )


def of_uncertainty_calibration() -> Iterator[Call]:
    import calibration as uc

    name, scheme = "uncertainty-calibration", {"binning_scheme": uc.get_equal_prob_bins}
    error = uc.lower_bound_scaling_ce
    yield Call(name, "get_ece(c, y, num_bins=M)", lambda r: uc.get_ece(r.c, r.y, num_bins=r.M))
    yield Call(
        name,
        "lower_bound_scaling_ce(c, y, p=2, debias=False, num_bins=M, binning_scheme=get_equal_prob_bins)",
        lambda r: error(r.c, r.y, p=2, debias=False, num_bins=r.M, **scheme),
        ("l2",),
    )
    yield Call(
        name,
        "lower_bound_scaling_ce(c, y, p=2, debias=True, num_bins=M, binning_scheme=get_equal_prob_bins)",
        lambda r: error(r.c, r.y, p=2, debias=True, num_bins=r.M, **scheme) ** 2,
        DEBIASED,
        floored=True,
    )
    yield Call(name, "get_ece_em(c, y, num_bins=M)", lambda r: uc.get_ece_em(r.c, r.y, num_bins=r.M), binning=MASS)
    yield Call(
        name,
        "lower_bound_scaling_ce(c, y, p=1, debias=False, binning_scheme=edges)",
        lambda r: error(r.c, r.y, p=1, debias=False, binning_scheme=lambda probs, num_bins: r.edges[1:]),
        binning=CUSTOM,
    )
    for mode in ("top-label", "marginal"):
        text = f'get_ece(P, y, num_bins=M, mode="{mode}")'
        yield Call(name, text, lambda r, m=mode: uc.get_ece(r.P, r.y, num_bins=r.M, mode=m), matrix=True)


def of_relplot() -> Iterator[Call]:
    from relplot import metrics

    def top(rows: Rows) -> float:
        return metrics.binnedECE(*metrics.multiclass_logits_to_confidences(rows.P, rows.y, probs=True), nbins=rows.M)

    yield Call("relplot", "binnedECE(c, y, nbins=M)", lambda r: metrics.binnedECE(r.c, r.y, nbins=r.M))
    yield Call("relplot", "binnedECE(*multiclass_logits_to_confidences(P, y, probs=True), nbins=M)", top, matrix=True)


def of_model_diagnostics() -> Iterator[Call]:
    from model_diagnostics.calibration import compute_bias

    for method, binning in (("uniform", WIDTH), ("quantile", MASS)):

        def run(rows: Rows, method: str = method) -> float:
            asked = {"feature": rows.c, "weights": rows.w, "n_bins": rows.M, "bin_method": method}
            bins = compute_bias(y_obs=rows.y, y_pred=rows.c, **asked)
            return float((bins["bias_mean"].abs() * bins["bias_weights"]).sum() / bins["bias_weights"].sum())

        text = f'mean absolute bias of compute_bias(y, c, feature=c, n_bins=M, bin_method="{method}")'
        yield Call("model-diagnostics", text, run, binning=binning, weights=True)


def of_calzone() -> Iterator[Call]:
    from calzone.metrics import calculate_ece_mce
    from calzone.utils import reliability_diagram

    def binary(rows: Rows, part: int = 0, equal: bool = False) -> float:
        matrix = np.stack([1 - rows.c, rows.c], axis=1)
        found = reliability_diagram(rows.y, matrix, num_bins=rows.M, class_to_plot=1, is_equal_freq=equal)
        return float(calculate_ece_mce(found[0], found[1], found[3])[part])

    def top(rows: Rows) -> float:
        found = reliability_diagram(rows.y, rows.P, num_bins=rows.M)
        return float(calculate_ece_mce(found[0], found[1], found[3])[0])

    text = "calculate_ece_mce of reliability_diagram"
    yield Call("calzone-tool", f"{text}(y, C, M, class_to_plot=1): ECE", binary)
    yield Call("calzone-tool", f"{text}(y, C, M, class_to_plot=1): MCE", lambda r: binary(r, 1), ("max",))
    yield Call(
        "calzone-tool",
        f"{text}(y, C, M, class_to_plot=1, is_equal_freq=True): ECE",
        lambda r: binary(r, equal=True),
        binning=MASS,
    )
    yield Call("calzone-tool", f"{text}(y, P, M): ECE", top, matrix=True)


def of_pycalib() -> Iterator[Call]:
    from pycalib import metrics

    yield Call("pycalib", "binary_ECE(y, c, bins=M)", lambda r: metrics.binary_ECE(r.y, r.c, bins=r.M))
    yield Call("pycalib", "binary_MCE(y, c, bins=M)", lambda r: metrics.binary_MCE(r.y, r.c, bins=r.M), ("max",))
    yield Call("pycalib", "conf_ECE(y, P, bins=M)", lambda r: metrics.conf_ECE(r.y, r.P, bins=r.M), matrix=True)

    def classwise(rows: Rows) -> float:
        return metrics.classwise_ECE(np.eye(rows.P.shape[1])[rows.y], rows.P, bins=rows.M)

    yield Call("pycalib", "classwise_ECE(one_hot, P, bins=M)", classwise, matrix=True)


def of_calibstats() -> Iterator[Call]:
    import calibstats as cs

    yield Call("calibstats", "ece(c, y, n_bins=M)", lambda r: cs.ece(r.c, r.y, n_bins=r.M))
    yield Call("calibstats", "mce(c, y, n_bins=M)", lambda r: cs.mce(r.c, r.y, n_bins=r.M), ("max",))
    yield Call(
        "calibstats",
        "debiased_ece(c, y, n_bins=M)",
        lambda r: cs.debiased_ece(r.c, r.y, n_bins=r.M) ** 2,
        DEBIASED,
        floored=True,
    )
    yield Call("calibstats", "ace(c, y, n_bins=M)", lambda r: cs.ace(r.c, r.y, n_bins=r.M), binning=MASS)
    yield Call("calibstats", "ece(P, y, n_bins=M)", lambda r: cs.ece(r.P, r.y, n_bins=r.M), matrix=True)


def of_probcal() -> Iterator[Call]:
    from probcal.metrics import ece

    for norm in ("l1", "l2", "max"):

        def run(rows: Rows, norm: str = norm) -> float:
            return ece(rows.y, rows.c, n_bins=rows.M, strategy="width", norm=norm, sample_weight=rows.w)

        text = f'ece(y, c, n_bins=M, strategy="width", norm="{norm}")'
        yield Call("probcal", text, run, (norm,), weights=True)
    yield Call(
        "probcal",
        "ece(y, c, n_bins=M)",
        lambda r: ece(r.y, r.c, n_bins=r.M, sample_weight=r.w),
        binning=MASS,
        weights=True,
    )


def of_calikit() -> Iterator[Call]:
    from calikit.binning import bin_predictions, ece, mce

    def run(rows: Rows, scheme: str, error: Any) -> float:
        return error(bin_predictions(rows.c.tolist(), rows.y.tolist(), rows.M, scheme))

    text = "bin_predictions(c, y, M, scheme="
    yield Call("calikit", f'ece({text}"width"))', lambda r: run(r, "width", ece))
    yield Call("calikit", f'mce({text}"width"))', lambda r: run(r, "width", mce), ("max",))
    yield Call("calikit", f'ece({text}"mass"))', lambda r: run(r, "mass", ece), binning=MASS)


def of_classifier_calibration() -> Iterator[Call]:
    from classifier_calibration.calibration_error import classwise_ece

    def binary(rows: Rows) -> float:
        return classwise_ece(rows.c[:, None], 1 - rows.y, rows.M)  # a single column: class 0

    yield Call("classifier-calibration", "classwise_ece(C, 1 - y, M), C with one column", binary)
    yield Call("classifier-calibration", "classwise_ece(P, y, M)", lambda r: classwise_ece(r.P, r.y, r.M), matrix=True)


#: Distribution -> its calls, in the order of the tables.
PROGRAMS: dict[str, Callable[[], Iterator[Call]]] = {
    "bayescal": of_bayescal,
    "scikit-learn": of_scikit_learn,
    "torchmetrics": of_torchmetrics,
    "netcal": of_netcal,
    "mapie": of_mapie,
    "uncertainty-calibration": of_uncertainty_calibration,
    "relplot": of_relplot,
    "model-diagnostics": of_model_diagnostics,
    "calzone-tool": of_calzone,
    "pycalib": of_pycalib,
    "calibstats": of_calibstats,
    "probcal": of_probcal,
    "calikit": of_calikit,
    "classifier-calibration": of_classifier_calibration,
}


def all_calls() -> list[Call]:
    """Import all programs, and return their calls."""
    return [call for calls in PROGRAMS.values() for call in calls()]
