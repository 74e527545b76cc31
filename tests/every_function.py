"""Every public function that computes: no warning of numpy for any valid input, and the same bits in other processes.

`test_every_function.py` generates the inputs. As a program, this file calls all functions in processes of joblib,
from functions of its own.
"""

import json
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import bayescal as bc

FAST = {"draws": 50, "rng": 1}


@dataclass(frozen=True)
class Rows:
    """A generated data set: outcomes, scores of two models, weights or None, groups, times and classes."""

    y: np.ndarray
    p: np.ndarray
    q: np.ndarray
    w: np.ndarray | None
    g: np.ndarray
    t: np.ndarray
    matrix: np.ndarray
    label: np.ndarray

    @property
    def weights(self):
        return {} if self.w is None else {"weights": self.w}

    def counts(self, **options):
        return bc.BinnedCounts.from_arrays(self.y, self.p, target="event", **self.weights, **options)


SCORES = {
    "uniform": lambda rng, n: rng.random(n),
    "certain": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "all 0": lambda rng, n: np.zeros(n),
    "all 1": lambda rng, n: np.ones(n),
    "ties": lambda rng, n: rng.choice([0, 0.1, 0.5, 1], n),
    "one value": lambda rng, n: np.full(n, rng.choice([0.5, 0.3, 1e-9, 1 - 1e-9])),
    "near the ends": lambda rng, n: rng.choice([0, 5e-324, 1e-300, 1e-17, 1e-9, 1 - 1e-9, 1 - 1e-16, 1], n),
    "floats of 32 bits": lambda rng, n: rng.random(n).astype(np.float32),
}
OUTCOMES = {
    "as stated": lambda rng, p: rng.random(len(p)) < p,
    "all 0": lambda rng, p: np.zeros(len(p)),
    "all 1": lambda rng, p: np.ones(len(p)),
    "contrary": lambda rng, p: p < 0.5,
    "even": lambda rng, p: rng.random(len(p)) < 0.5,
}
WEIGHTS = {
    "none": lambda rng, n: None,
    "equal": lambda rng, n: np.full(n, 10.0 ** rng.integers(-300, 301)),
    "wide": lambda rng, n: 10.0 ** rng.uniform(-300, 300, n),
    "gamma": lambda rng, n: rng.gamma(0.5, size=n) + 1e-3,
    "some 0": lambda rng, n: np.append(1.0, rng.integers(0, 3, n - 1)),
}


def generated(seed, n, scores, outcomes, weights):
    rng = np.random.default_rng(seed)
    p = SCORES[scores](rng, n)
    q = SCORES[rng.choice(list(SCORES))](rng, n)
    y = OUTCOMES[outcomes](rng, p).astype(int)
    matrix = np.eye(3)[rng.integers(0, 3, n)] if seed % 2 else rng.dirichlet(np.full(3, 0.5), n)
    t = np.ceil(5 * rng.random(n)) if seed % 3 else np.full(n, 2.0)
    g = np.arange(n) % rng.integers(1, 4)
    return Rows(y, p, q, WEIGHTS[weights](rng, n), g, t, matrix, rng.integers(0, 3, n))


def of_files(function):
    """Return a call that gets the path of a file with the rows."""

    def call(r):
        import pandas as pd

        columns = {"y": r.y, "j": graded(r), "p": r.p, "t": r.t, "w": np.ones(len(r.y)) if r.w is None else r.w}
        columns |= {f"m{k}": r.matrix[:, k] for k in range(3)} | {"label": r.label}
        with TemporaryDirectory() as folder:
            path = Path(folder, "rows.csv")
            pd.DataFrame(columns).to_csv(path, index=False)
            return function(path, r)

    return call


def survival(r):
    return bc.SurvivalCounts.from_arrays(r.t, r.y, r.p, times=[1, 2, 3, 4, 5], **r.weights)


def shift(r):
    cells = bc.ShiftCells.predicted_class(2)
    return bc.ShiftCounts.of_source(r.y, r.p, cells=cells, bins=5) + bc.ShiftCounts.of_target(r.q, cells=cells, bins=5)


def paired(r):
    return bc.PairedCounts.from_arrays(r.y, r.p, r.y, r.q, target="event", **r.weights)


def saved(r):
    with TemporaryDirectory() as folder:
        return bc.load_counts(bc.save_counts(r.counts(), Path(folder, "counts.json")))


def bins_of(r):
    return bc.shrinkage_posterior(r.counts()).sample(50, rng=1)


def monitored(r):
    monitor = bc.monitoring.CalibrationMonitor(window="1d", target="event")
    for day in range(3):
        monitor.add(r.y, r.p, time=f"2026-03-0{day + 1}")
    return monitor


def partly(r, times):
    """Return outcomes of which every second is missing, and scores, repeated."""
    return np.tile(np.where(np.arange(len(r.y)) % 2, r.y, np.nan), times), np.tile(r.p, times)


def graded(r):
    """Return the labels of a judge that is wrong in every seventh row."""
    return np.where(np.arange(len(r.y)) % 7 == 3, 1 - r.y, r.y)


def axes_closed(axes):
    import matplotlib.pyplot as plt

    plt.gcf().canvas.draw()
    plt.close("all")


CALLS = {
    "auc": lambda r: bc.auc(bins_of(r), bc.evaluate(r.y, r.p, **FAST).counts, rng=1),
    "auc_grid_error": lambda r: bc.auc_grid_error(bc.evaluate(r.y, r.p, **FAST).counts),
    "bin_sensitivity": lambda r: bc.bin_sensitivity(r.y, r.p, n_bins=(2, 5), **r.weights, **FAST),
    "brier_decomposition": lambda r: bc.brier_decomposition(r.y, r.p, **r.weights),
    # at least 100 rows are needed
    "calibration_curve": lambda r: bc.calibration_curve(np.repeat(r.y, 100), np.repeat(r.p, 100), **FAST),
    "calibration_curve, weights": lambda r: bc.calibration_curve(
        np.repeat(r.y, 100), np.repeat(r.p, 100), **{k: np.repeat(w, 100) for k, w in r.weights.items()}, **FAST
    ),
    "calibration_tests": lambda r: bc.calibration_tests(r.y, r.p, groups=min(3, len(r.y))),
    "class_priors": lambda r: bc.class_priors(r.label, r.matrix, r.matrix[::-1], **FAST),
    "class_priors_counts": lambda r: bc.class_priors_counts(shift(r), **FAST),
    "clinical_summary": lambda r: bc.clinical_summary(r.y, r.p, [0.1, 0.5], **r.weights, **FAST),
    "clinical.summary, groups": lambda r: bc.clinical.summary(r.y, r.p, [0.5], by=r.g, **FAST),
    "compare": lambda r: bc.compare(r.y, {"a": r.p, "b": r.q}, **r.weights, **FAST),
    "compare_counts": lambda r: bc.compare_counts({("a", "b"): paired(r)}, **FAST),
    "compare_independent": lambda r: bc.compare_independent(
        {k: bc.evaluate(r.y, p, **FAST) for k, p in {"a": r.p, "b": r.q}.items()}, rng=1
    ),
    "compare_over_datasets": lambda r: bc.compare_over_datasets(
        {str(k): (np.tile(r.y, k), {"a": np.tile(r.p, k), "b": np.tile(r.q, k)}) for k in (1, 2, 3)}, **FAST
    ),
    "compare_scores": lambda r: bc.compare_scores(r.label, {"a": r.matrix, "b": r.matrix[::-1]}, **r.weights, **FAST),
    "compare_survival": lambda r: bc.compare_survival(r.t, r.y, {"a": r.p, "b": r.q}, horizon=3, **r.weights, **FAST),
    "count_file": of_files(lambda path, r: bc.count_file(path, label="y", prob="p", weights="w")),
    "count_shift_files": of_files(lambda path, r: bc.count_shift_files(path, path, label="label", prob_prefix="m")),
    "count_survival_file": of_files(
        lambda path, r: bc.count_survival_file(path, time="t", event="y", risk="p", weights="w", times=[1, 2, 5])
    ),
    "cumulative_difference": lambda r: bc.cumulative_difference(r.y, r.p, **r.weights),
    "cumulative_difference, posterior": lambda r: bc.cumulative_difference(r.y, r.p).posterior(50, rng=1),
    "cumulative.subpopulation, posterior": lambda r: bc.cumulative.subpopulation(
        r.y, r.p, r.g == 0, **r.weights
    ).posterior(**FAST),
    "cumulative.compare_subpopulations": lambda r: bc.cumulative.compare_subpopulations(
        r.y, r.p, r.g == 0, r.g == 1, **r.weights
    ),
    "cumulative_difference_subpopulation": lambda r: bc.cumulative_difference_subpopulation(
        r.y, r.p, r.g == 0, **r.weights
    ),
    "debiased_squared_l2_error": lambda r: bc.debiased_squared_l2_error(r.counts()),
    "dirichlet_posterior": lambda r: bc.dirichlet_posterior(r.counts()).sample(50, rng=1),
    "equal_effective_mass_edges": lambda r: bc.equal_effective_mass_edges(r.p, r.w, 5),
    "equal_mass_edges": lambda r: bc.equal_mass_edges(r.p, 5),
    "evaluate": lambda r: bc.evaluate(r.y, r.p, **r.weights, **FAST),
    "evaluate, groups": lambda r: bc.evaluate(r.y, r.p, by=r.g, **FAST),
    "evaluate, pooled": lambda r: bc.evaluate(r.y, r.p, by=r.g, pooling="partial", **FAST),
    "evaluate, clusters": lambda r: bc.evaluate(r.y, r.p, cluster=np.arange(len(r.y)) // 2, **FAST),
    "evaluate, top label": lambda r: bc.evaluate(r.label, r.matrix, **r.weights, **FAST),
    "evaluate, classes": lambda r: bc.evaluate(r.label, r.matrix, target="classwise", **r.weights, **FAST),
    "evaluate, sensitivity": lambda r: bc.evaluate(r.y, r.p, bins=4, **FAST).sensitivity(priors={}),
    "evaluate_counts": lambda r: bc.evaluate_counts(r.counts(bins=7), **FAST),
    "evaluate_shifted": lambda r: bc.evaluate_shifted(r.y, r.p, r.q, shift="label", **FAST),
    "evaluate_shifted_counts": lambda r: bc.evaluate_shifted_counts(shift(r), shift="label", **FAST),
    "evaluate_survival": lambda r: bc.evaluate_survival(r.t, r.y, r.p, horizon=3, **r.weights, **FAST),
    "evaluate_survival, horizons": lambda r: bc.evaluate_survival(
        r.t, r.y, np.column_stack([r.p / 2, r.p]), horizon=[1, 4], **FAST
    ),
    "evaluate_survival_counts": lambda r: bc.evaluate_survival_counts(survival(r), horizon=3, **FAST),
    "ece": lambda r: bc.ece(bins_of(r)),
    "judged": lambda r: bc.labels.judged(*partly(r, 10), judge=np.tile(graded(r), 10), **FAST),
    "compare_judged": lambda r: bc.labels.compare_judged(
        partly(r, 1)[0], {"a": r.p, "b": r.q}, judge=graded(r), rates=(0.9, 0.8), **FAST
    ),
    "judged, known rates": lambda r: bc.labels.judged(*partly(r, 1), judge=graded(r), rates=(0.9, 0.8), **FAST),
    "checks_needed": lambda r: bc.planning.checks_needed(
        bc.labels.judged(*partly(r, 10), judge=np.tile(graded(r), 10), **FAST), rows=5
    ),
    "validation": lambda r: bc.planning.validation(
        prevalence=float(np.clip(r.y.mean(), 0.1, 0.9)), auc=0.7, width={"auc": 0.2}, simulations=50, rng=1
    ),
    "judged_counts": lambda r: bc.labels.judged_counts(
        bc.labels.JudgedCounts.from_arrays(*partly(r, 10), judge=np.tile(graded(r), 10)), **FAST
    ),
    "judged_file": of_files(lambda path, r: bc.labels.count_file(path, label="y", prob="p", judge="j")),
    "partly_observed": lambda r: bc.labels.partly_observed(*partly(r, 10), missing="score", **FAST),
    "partly_observed, weights": lambda r: bc.labels.partly_observed(
        *partly(r, 10), missing="covariates", weights=np.tile(1 + r.p, 10), **FAST
    ),
    "partly_observed, band": lambda r: bc.labels.partly_observed(
        *partly(r, 10), missing="not_at_random", odds_ratio=1.5, **FAST
    ),
    "l2_error": lambda r: bc.l2_error(bins_of(r)),
    "labels_needed": lambda r: bc.planning.labels_needed(
        r.counts(), width=0.3, simulations=20, largest=1000, draws=100, rng=1
    ),
    "logit_bins": lambda r: bc.logit_bins(0.5),
    "log_score_decomposition": lambda r: bc.log_score_decomposition(r.y, r.p, **r.weights),
    "loss_ratio": lambda r: bc.loss_ratio(r.y, r.p, r.y, r.q, [0.1, 0.5], **FAST),
    "lp_error": lambda r: bc.lp_error(bins_of(r), 3),
    "make_bins": lambda r: bc.make_bins(5, binning="equal-mass", confidence=r.p),
    "e90_bins": lambda r: bc.e90_bins(bins_of(r)),
    "largest_error": lambda r: bc.largest_error(bins_of(r)),
    "monitor": lambda r: monitored(r).change(**FAST),
    "multiclass_brier_score": lambda r: bc.multiclass_brier_score(r.label, r.matrix, **r.weights),
    "multiclass_log_score": lambda r: bc.multiclass_log_score(r.label, r.matrix, **r.weights),
    "murphy_decomposition": lambda r: bc.murphy_decomposition(r.counts()),
    "net_benefit": lambda r: bc.decisions.net_benefit(r.y, r.p, [0.1, 0.5], **r.weights, **FAST),
    "net_benefit_counts": lambda r: bc.net_benefit_counts(
        bc.BinnedCounts.from_arrays(r.y, r.p, target="event", bins=10), [0.1, 0.5], **FAST
    ),
    "overconfidence": lambda r: bc.overconfidence(bins_of(r)),
    "plug_in_ece": lambda r: bc.plug_in_ece(r.y, r.p, **r.weights),
    "plug_in_error": lambda r: bc.plug_in_error(r.y, r.p, order=2, debiased=True),
    "pymc_model": lambda r: [
        v.name for v in bc.pymc_model(bc.evaluate(r.y, r.p, model="dirichlet", **r.weights, **FAST)).free_RVs
    ],
    "recalibration": lambda r: bc.recalibration(r.y, r.p, floor=1e-6, **r.weights, **FAST),
    "recalibration_counts": lambda r: bc.recalibration_counts(
        bc.LogitCounts.from_arrays(r.y, np.clip(r.p, 1e-6, 1 - 1e-6)), **FAST
    ),
    "rows_for_c_emp": lambda r: bc.rows_for_c_emp(0.1),
    "save_counts, load_counts": saved,
    "screen_subpopulations": lambda r: bc.screen_subpopulations(r.y, r.p, r.g, **r.weights),
    "selective": lambda r: bc.decisions.selective(r.y, r.p, target="confidence", **r.weights, **FAST),
    "selective, several": lambda r: bc.decisions.selective(r.y, {"a": r.p, "b": r.q}, target="confidence", **FAST),
    "selective_counts": lambda r: bc.decisions.selective_counts(bc.BinnedCounts.from_arrays(r.y, r.p), **FAST),
    "selective, threshold": lambda r: bc.decisions.selective(
        r.y, r.p, target="confidence", **r.weights, **FAST
    ).threshold(0.2),
    "shift_evidence": lambda r: bc.shift_evidence(r.label, r.matrix, r.matrix[::-1], simulations=99, **FAST),
    "shrinkage_posterior": bins_of,
    "signed_error": lambda r: bc.signed_error(bins_of(r)),
    "squared_l2_error": lambda r: bc.squared_l2_error(bins_of(r)),
    "survival.calibration_tests": lambda r: bc.survival.calibration_tests(r.p, r.y),
    "survival.net_benefit": lambda r: bc.survival.net_benefit(
        r.t, r.y, {"a": r.p, "b": r.q}, [0.1, 0.5], horizon=3, **r.weights, **FAST
    ),
    "survival.recalibration": lambda r: bc.survival.recalibration(
        r.t, r.y, r.p, horizon=3, floor=1e-6, **r.weights, **FAST
    ),
    "top_k": lambda r: bc.decisions.top_k(r.label, r.matrix, **FAST),
    "worst_regret": lambda r: bc.evaluate(r.y, r.p, bins=5, **r.weights, **FAST).worst_regret(),
    "underconfidence": lambda r: bc.underconfidence(bins_of(r)),
    "weight_report": lambda r: bc.weight_report(np.ones(len(r.y)) if r.w is None else r.w),
}
PLOTS = {
    "plot": "evaluate, groups",
    "plot_bin_sensitivity": "bin_sensitivity",
    "plot_calibration_curve": "calibration_curve",
    "plot_comparison": "compare",
    "plot_cumulative": "cumulative_difference",
    "plot_decision_curve": "net_benefit",
    "plot_forest": "evaluate, classes",
    "plot_horizons": "evaluate_survival, horizons",
    "plot_loss_ratio": "loss_ratio",
    "plot_over_datasets": "compare_over_datasets",
    "plot_posterior": "evaluate",
    "plot_recalibration": "recalibration",
    "plot_reliability": "evaluate",
    "clinical.plot_risk_distributions": "evaluate",
    "cumulative.plot_subpopulation": "cumulative_difference_subpopulation",
    "decisions.plot_selective": "selective, several",
    "decisions.plot_top_k": "top_k",
}
#: Functions without rows, or that are given the results of a monitor, whose tests are elsewhere.
ELSEWHERE = {"register_estimand", "risk_at_horizon", "plot_confidence_sequence", "plot_evidence"}
DRAWN = {name: (lambda r, n=name, of=of: axes_closed(attrgetter(n)(bc)(CALLS[of](r)))) for name, of in PLOTS.items()}


def presented(result):
    """Use a result as a reader does: print it and its details, and write its document, which contains both."""
    if hasattr(result, "sheet"):
        text, details, document = str(result), result.details(), json.loads(result.to_json())
        assert details.spec == result.sheet().spec == str(details).splitlines()[-1]
        assert not [note for note in details.notes if note in " ".join(text.split())]
        assert all(" ".join(note.split()) in " ".join(str(details).split()) for note in details.notes)
        assert document.get("notes", []) == list(details.notes)
        assert "<table" not in details._repr_html_()
        assert "<table" in result._repr_html_() or not result.sheet().header
    return result


def unexpected(name, rows):
    """Call a function; return what went wrong: foreign warnings, or an error that the package does not raise itself."""
    package = str(Path(bc.__file__).parent)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            presented((CALLS | DRAWN)[name](rows))
        except (ValueError, TypeError, ZeroDivisionError) as problem:
            last = traceback.extract_tb(problem.__traceback__)[-1]
            if (
                isinstance(problem, ZeroDivisionError)
                or not last.filename.startswith(package)
                or "raise" not in (last.line or "")
            ):
                return [f"{type(problem).__name__}: {problem} in {last.filename}:{last.lineno}"]
    foreign = [each for each in caught if not each.category.__module__.startswith("bayescal")]
    return [f"{each.category.__name__}: {each.message} in {each.filename}:{each.lineno}" for each in foreign]


# --- the same in other processes


def bits(thing):
    """Return everything that an object holds, as nested tuples of text and bytes."""
    if isinstance(thing, np.ndarray):
        return (thing.dtype.str, thing.shape, bits(thing.tolist()) if thing.dtype.hasobject else thing.tobytes())
    if isinstance(thing, float | np.generic):
        return np.asarray(thing).tobytes()
    if isinstance(thing, Mapping):
        return tuple((bits(key), bits(value)) for key, value in thing.items())
    if isinstance(thing, list | tuple):
        return tuple(map(bits, thing))
    if thing is None or isinstance(thing, str | int | bytes):
        return repr(thing)
    if hasattr(thing, "__dict__") and not callable(thing):
        return (type(thing).__qualname__, bits(vars(thing)))
    return getattr(thing, "__qualname__", type(thing).__qualname__)


def called(name):
    """Return the result of a function for the same rows in every process; it refers to the package as `bc`."""
    rows = generated(2, 50, "uniform", "as stated", "gamma")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bc.__name__, CALLS[name](rows)


def in_processes():
    """Call all functions in two processes of joblib; return the names of those whose results have other bits here.

    Results that stay are pickled, too, since results do not pickle what they have cached.
    """
    import cloudpickle
    from joblib import Parallel, delayed

    there = Parallel(n_jobs=2, backend="loky")(delayed(called)(name) for name in CALLS)
    here = [cloudpickle.loads(cloudpickle.dumps(called(name))) for name in CALLS]
    return [name for name, one, other in zip(CALLS, there, here, strict=True) if bits(one) != bits(other)]


if __name__ == "__main__":
    print(json.dumps(in_processes()))
