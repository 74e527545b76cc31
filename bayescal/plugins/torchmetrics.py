"""Adapter for torchmetrics: the posterior of the calibration error as a metric of a training or validation loop."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from bayescal import _checks, _rules
from bayescal._arrays import Axes, Figure
from bayescal._invalid import Finding, InvalidRows
from bayescal._meant import attributes, public
from bayescal._packages import require
from bayescal._texts import text_of
from bayescal.analyses.one import DEFAULT_MODEL, MODELS
from bayescal.data.columns import EVENT
from bayescal.data.predictions import TopLabels, read_rows
from bayescal.data.reading import Reading
from bayescal.evaluate import evaluate_counts
from bayescal.report.plot import plot
from bayescal.results.evaluation import Evaluation
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import Bins, make_bins
from bayescal.stats.losses import LossSums, total_loss
from bayescal.stats.sums import unit_weights

try:
    import torch
    from torch import Tensor
    from torchmetrics import Metric
except ModuleNotFoundError:
    require("torchmetrics")
    raise


__all__ = ["CalibrationPosterior"]
__getattr__ = attributes(__name__, __all__)

TASKS = {"binary": "event", "multiclass": "top-label"}  #: The target of `evaluate` for each task.
#: Keys of the result of `compute`; `p_calibrated` exists for the shrinkage model only.
NAMES = ("ece", "ece_low", "ece_high", "ece_if_calibrated", "p_calibrated")
#: Types of floats with edges of their own; others are converted to float32, which holds their values exactly.
DTYPES = {torch.float16: np.float16, torch.float32: np.float32, torch.float64: np.float64}
#: Types of devices that do not have float64: their columns are counted on the CPU, where the sums stay.
NO_FLOAT64 = {"mps"}


@public
class CalibrationPosterior(Metric):
    r"""Posterior of the Expected Calibration Error (ECE) as a torchmetrics metric, with a state of constant size.

    The state holds the sums of `BinnedCounts`: 1488 bytes for 15 bins, for any number of rows.

    Parameters
    ----------
    task : {"binary", "multiclass"}
        ``binary``: is class 1 as frequent as stated (`target="event"` of `evaluate`)? ``multiclass``: is the most
        probable class right as often as its probability states (`target="top-label"`)?
    n_bins : int, array-like or Bins, default 15
        As `bins` of `evaluate`. Edges cannot be chosen from the rows, which are not kept.
    num_classes : int, optional
        Number of columns that every `preds` of the task ``multiclass`` must have. By default any number.
    logits : bool, default False
        Whether `preds` holds logits. Unlike the metrics of torchmetrics, this one does not guess it from the values.
    ignore_index : int, optional
        Rows with this `target` are left out; their `preds` are not checked.
    validate_args : bool, default True
        Whether `update` checks values and names the first that is invalid, for which the device is synchronised once
        per update. If False, invalid rows are counted on the device, and `compute`, `counts` and `evaluation` raise if
        there is one.
    model : {"shrinkage", "dirichlet"}, default "shrinkage"
        As for `evaluate`.
    draws : int, default 4000
        Number of posterior draws, at least 2.
    rng : int, default 0
        Seed of the draws. It is a number, so that equal counts give equal results in every process and epoch.
    **kwargs
        Arguments of ``torchmetrics.Metric``, such as ``dist_sync_on_step`` and ``sync_on_compute``.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.

    Notes
    -----
    A bin contains its lower edge, as for `evaluate`. Probabilities of types float16, float32 and float64 are compared
    with edges in their own type. Those of type bfloat16 are converted to float32, which is exact, as `evaluate`
    requires: bfloat16 rounds 0.7 to 0.6992, which is below an edge at 0.7. Logits of all types are converted to float64
    before softmax or sigmoid, as by `evaluate`. Only float64 logits whose probability equals an edge but for rounding,
    such as logarithms of k / 15, may be put into the neighbouring bin, about 1 % of them in a test with 15 bins: the
    last digit of a softmax differs between programs. Probabilities outside [0, 1] by at most 1e-6 are clipped. Rows of
    a matrix must sum to 1 within 1e-3, with two bytes within 0.02, and are never divided by their sum.

    Columns are counted on their device, and sums are float64 and int64, also after ``metric.to(torch.bfloat16)``.
    States are summed over processes: numbers of rows are exact, and other sums differ in the last digits from those of
    one pass. Call `compute`, `counts` and `evaluation` in every process, because each of them gathers the states.

    The area under the ROC curve needs finer bins: use ``n_bins=1000`` (a state of 96 kB), and merge them with
    `BinnedCounts.coarsen`. `forward` evaluates each batch, which takes much longer than `update`.

    ``BinaryCalibrationError`` and ``MulticlassCalibrationError`` of torchmetrics keep all rows, and their edges are
    those of ``torch.linspace``, some of which are rounded otherwise than k / M.

    Examples
    --------
    >>> import torch
    >>> from bayescal.plugins.torchmetrics import CalibrationPosterior
    >>> metric = CalibrationPosterior("binary")
    >>> p = torch.linspace(0, 1, 1000, dtype=torch.float64)
    >>> for batch in p.split(100):
    ...     metric.update(batch, batch > 0.6)
    >>> values = metric.compute()
    >>> {name: round(float(value), 2) for name, value in values.items()}
    {'ece': 0.26, 'ece_low': 0.25, 'ece_high': 0.27, 'ece_if_calibrated': 0.04, 'p_calibrated': 0.0}
    >>> metric.counts().n_rows
    1000
    """

    is_differentiable = False
    higher_is_better = False
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    cells: Tensor
    sums: Tensor
    marks: Tensor
    settings: Tensor

    def __init__(
        self,
        task: str,
        *,
        n_bins: Any = 15,
        num_classes: int | None = None,
        logits: bool = False,
        ignore_index: int | None = None,
        validate_args: bool = True,
        model: str = DEFAULT_MODEL,
        draws: int = 4000,
        rng: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if task == "multilabel":
            raise ValueError("`task` must be 'binary' or 'multiclass'; use one binary metric per label.")
        _checks.one_of("task", task, TASKS)
        _checks.one_of("model", model, MODELS)
        if num_classes is not None and task == "binary":
            raise ValueError("`num_classes` belongs to the task 'multiclass'; 'binary' has one probability per row.")
        self.task, self.logits, self.validate_args = task, bool(logits), bool(validate_args)
        self._logits_of_classes = self.logits and task == "multiclass"  # an error if all look like probabilities
        self.num_classes = None if num_classes is None else _checks.whole_number("num_classes", num_classes, 2)
        self.ignore_index = ignore_index
        self.model, self.draws = model, _checks.whole_number("draws", draws, 2)
        self.rng = _checks.whole_number("rng", rng, 0)
        if np.ndim(n_bins) == 0 and not isinstance(n_bins, Bins):
            n_bins = _checks.whole_number("n_bins", n_bins)
        self.bins = make_bins(n_bins)
        size = len(self.bins)
        # rows by outcome and bin
        self.add_state("cells", torch.zeros(2, size, dtype=torch.int64), dist_reduce_fx="sum")
        # sums of d, d^2, l^2, g, g^2: distance from the middle of the bin, squared error, log loss
        self.add_state("sums", torch.zeros(5, 2, size, dtype=torch.float64), dist_reduce_fx="sum")
        # rows with infinite log loss and outcome 0, outcome 1; invalid; logits <= 0; like probabilities
        self.add_state("marks", torch.zeros(5, dtype=torch.int64), dist_reduce_fx="sum")
        # the rule by which rows are counted: `MetricCollection` shares the states of metrics whose states are equal
        counted = (
            self.task, self.logits, self.ignore_index, self.num_classes, self.bins.closed, *self.bins.edges.tolist(),
        )  # fmt: skip
        number = int.from_bytes(sha256(repr(counted).encode()).digest()[:7])
        self.add_state("settings", torch.tensor(number), dist_reduce_fx=_equal)
        self._edges: dict[Any, tuple[Tensor, Tensor]] = {}

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Add the rows of a batch.

        Parameters
        ----------
        preds : Tensor of float, shape (n_rows,) or (n_rows, n_classes)
            Probabilities of class 1, or of all classes; logits with ``logits=True``.
        target : Tensor, shape (n_rows,)
            Labels 0 and 1, or class numbers 0..K-1.

        Raises
        ------
        ValueError, TypeError
            If shapes do not match; with ``validate_args=True`` also if values are missing or invalid, with the first
            index and value. The rows of this batch are then not counted.
        """
        preds, target = self._shaped(preds, target)
        kept = torch.ones_like(target, dtype=torch.bool) if self.ignore_index is None else target != self.ignore_index
        two_bytes = preds.element_size() <= 2
        if self.logits or not preds.is_floating_point():
            preds = preds.double()
        elif preds.dtype not in DTYPES:
            preds = preds.float()
        read = self._binary if self.task == "binary" else self._top_label
        confidence, outcome, valid, like = read(preds, target, _rules.ROW_SUM_TOLERANCE[2 if two_bytes else 8])
        invalid, like = kept & ~valid, kept & like
        if self.validate_args and bool(invalid.any() | (self._logits_of_classes & (like == kept).all() & kept.any())):
            self._refuse(preds, target, kept, two_bytes)
        below = kept & (preds <= 0) if self.logits and self.task == "binary" else torch.zeros_like(kept)
        cells, sums, infinite = self._counted(confidence, outcome, kept, preds.dtype)
        marks = torch.stack([*infinite, invalid.sum(), below.sum(), like.sum()])
        # not in place: states may have been made in inference mode, which forbids it elsewhere
        for name, values in (("cells", cells), ("sums", sums), ("marks", marks)):
            state = getattr(self, name)
            setattr(self, name, state + values.to(state.device))

    def compute(self) -> dict[str, Tensor]:
        """Return the posterior of the ECE in a few numbers, of the rows of all processes.

        Keys are ``ece``, the posterior mean; ``ece_low`` and ``ece_high``, the 95 % interval; ``ece_if_calibrated``,
        the mean of the plug-in ECE of a calibrated classifier with these confidences; and ``p_calibrated``, the
        posterior probability of exact calibration, for the shrinkage model. Values are scalars of type float64, and NaN
        if there are no rows.

        Raises
        ------
        InvalidRows
            If invalid rows were counted with ``validate_args=False``.
        """
        counts = self._counts()
        values = dict.fromkeys(NAMES if self.model == DEFAULT_MODEL else NAMES[:-1], np.nan)
        if counts.n_rows:
            ev = self._evaluation(counts)
            low, high = ev.ece.interval()
            values |= {"ece": ev.ece.mean(), "ece_low": low, "ece_high": high, "ece_if_calibrated": ev.null.mean()}
            if "p_calibrated" in values:
                values["p_calibrated"] = ev.p_calibrated
        return {name: self.sums.new_tensor(value) for name, value in values.items()}

    def counts(self) -> BinnedCounts:
        """Return the counts of the rows of all processes, which can be saved and added to others.

        They are as `BinnedCounts.from_predictions` makes them from all rows at once.
        """
        local = not self._is_synced
        with self.sync_context(
            dist_sync_fn=self.dist_sync_fn, should_sync=self._to_sync and local, should_unsync=local
        ):
            return self._counts()

    def evaluation(self) -> Evaluation:
        """Return the whole evaluation of the rows of all processes: tables, draws, other errors and scores.

        It is the result of `evaluate_counts` for `counts`, with the model, draws and seed of the metric.
        """
        return self._evaluation(self.counts())

    def plot(
        self, val: dict[str, Tensor] | Sequence[dict[str, Tensor]] | None = None, ax: "Axes | None" = None
    ) -> "tuple[Figure, Axes]":
        """Draw the reliability diagram, or results of `compute` over epochs; return figure and axes, as other metrics.

        Parameters
        ----------
        val : dict, or sequence of dict, optional
            Results of `compute`, which are drawn as lines. By default the reliability diagram is drawn.
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.
        """
        if val is not None:
            lines: tuple[Figure, Axes] = self._plot(val, ax)
            return lines
        axes = plot(self.evaluation(), ax)
        return axes.figure, axes  # type: ignore[return-value]  # the axes of a figure, not of a part of it

    def merge_state(self, incoming_state: "dict[str, Any] | Metric") -> None:
        """Add the state of another metric, or a dict of its states.

        Parameters
        ----------
        incoming_state : CalibrationPosterior or dict
            The other metric, or its `metric_state`.

        Raises
        ------
        ValueError
            If the other metric has another `task`, `n_bins`, `num_classes`, `logits` or `ignore_index`.
        """
        if isinstance(incoming_state, Metric | dict):
            self._require_settings(getattr(incoming_state, "metric_state", incoming_state).get("settings"))
        super().merge_state(incoming_state)
        self._computed = None

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        """Load the states if they are those of a metric with the same settings."""
        if any(prefix + name in state_dict for name in self._defaults):
            try:
                self._require_settings(state_dict.get(f"{prefix}settings"))
            except ValueError as problem:
                others[-1].append(str(problem))  # `load_state_dict` raises what is in this list
                return
        super()._load_from_state_dict(state_dict, prefix, *others)
        self._computed = None

    def _require_settings(self, settings: Any) -> None:
        """Raise if a state was counted by other rules."""
        if settings is None or int(settings) != int(self._defaults["settings"]):
            raise ValueError(text_of("states of other metrics"))

    def _evaluation(self, counts: BinnedCounts) -> Evaluation:
        return evaluate_counts(counts, model=self.model, draws=self.draws, rng=self.rng)

    def _apply(self, fn: Callable[..., Any], exclude_state: Sequence[str] = ()) -> "CalibrationPosterior":
        """Move the states to another device, and keep their types: `Module.to(torch.bfloat16)` would round sums."""
        super()._apply(fn, exclude_state=tuple(self._defaults))
        device = "cpu" if self._device.type in NO_FLOAT64 else self._device
        for name, default in self._defaults.items():
            self._defaults[name] = default.to(device)
            setattr(self, name, getattr(self, name).to(device))
        return self

    def _shaped(self, preds: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Check types and shapes, which needs no values; return columns, or a matrix and a column."""
        for name, values in (("preds", preds), ("target", target)):
            if not isinstance(values, Tensor):
                raise TypeError(f"`{name}` must be a tensor, not {type(values).__name__}.")
            if values.is_complex() or (name == "preds" and values.dtype == torch.bool):
                raise TypeError(f"`{name}` must hold numbers, not dtype {values.dtype}.")
        preds = preds.detach()
        matrix, shape = self.task == "multiclass", tuple(preds.shape)
        target = target[:, 0] if target.ndim == 2 and target.shape[1] == 1 else target
        preds = preds[:, 0] if not matrix and preds.ndim == 2 and preds.shape[1] == 1 else preds
        if target.ndim != 1 or preds.ndim != 1 + matrix or (matrix and preds.shape[1] < 2):
            needed = "(N, K) with K >= 2" if matrix else "(N,)"
            hint = ""
            if preds.ndim > 2:
                hint = " Pass pixels, or members of sequences, as rows: `preds.movedim(1, -1).flatten(0, -2)` and "
                hint += "`target.flatten()`. Rows of one image or sequence depend on each other, which makes intervals "
                hint += "too narrow."
            elif not matrix and preds.ndim == 2:
                hint = " Two classes? Pass `preds[:, 1]`, or use `task='multiclass'`."
            raise ValueError(
                f"`preds` must have shape {needed} and `target` (N,) for the task {self.task!r}; their shapes are "
                f"{shape} and {tuple(target.shape)}.{hint}"
            )
        _checks.same_length(("preds", "target"), (len(preds), len(target)))
        if self.num_classes not in (None, preds.shape[-1]):
            raise ValueError(f"`preds` must have {self.num_classes} columns, `num_classes`; its shape is {shape}.")
        if preds.device.type in NO_FLOAT64:
            return preds.cpu(), target.cpu()
        return preds, target

    def _binary(self, preds: Tensor, target: Tensor, tolerance: float) -> tuple[Tensor, ...]:
        """Return confidences, outcomes, which rows are valid, and which logits lie in [0, 1]."""
        confidence = preds.sigmoid() if self.logits else preds.double()
        valid = preds.isfinite() if self.logits else _in_unit_interval(confidence)
        outcome = target == 1
        inside = (preds >= 0) & (preds <= 1) & self.logits
        return confidence, outcome, valid & (outcome | (target == 0)), inside

    def _top_label(self, preds: Tensor, target: Tensor, tolerance: float) -> tuple[Tensor, ...]:
        """Return the same for the first most probable class; the last are rows that look like probabilities."""
        largest, top = preds.softmax(1).max(1) if self.logits else preds.max(1)
        confidence, low, high = largest.double(), preds.amin(1).double(), preds.amax(1).double()
        sums = (preds.sum(1, dtype=torch.float64) - 1).abs() <= tolerance
        like = _in_unit_interval(low) & _in_unit_interval(high) & sums
        valid = low.isfinite() & high.isfinite() if self.logits else like
        valid = valid & (target >= 0) & (target < preds.shape[1])
        if target.is_floating_point():
            valid = valid & (target == target.floor())
        return confidence, top == target, valid, like & self.logits

    def _counted(
        self, confidence: Tensor, outcome: Tensor, kept: Tensor, dtype: Any
    ) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Sum rows on their device: numbers, sums of floats, numbers with infinite log loss of each outcome."""
        starts, middle = self._edges_on(dtype, confidence.device)
        size = len(middle)
        confidence = confidence.clamp(0, 1)
        index = (torch.bucketize(confidence, starts, right=True) - 1).clamp(0, size - 1)
        # rows that are left out have a cell of their own; to select rows would synchronise the device
        cell = torch.where(kept, index + size * outcome, 2 * size)
        deviation = confidence - middle[index]
        probability = (1 - outcome.double() - confidence).abs()  # of the outcome
        zero = probability == 0
        log = -torch.where(zero, 1.0, probability).log()
        squared = (1 - probability).square()
        terms = torch.stack([deviation, deviation.square(), squared.square(), log, log.square()], 1)
        cells = torch.zeros(2 * size + 1, dtype=torch.int64, device=cell.device)
        sums = torch.zeros(2 * size + 1, 5, dtype=torch.float64, device=cell.device)
        cells.index_add_(0, cell, torch.ones_like(cell))
        sums.index_add_(0, cell, terms)
        infinite = [(zero & kept & ~outcome).sum(), (zero & kept & outcome).sum()]
        return cells[:-1].view(2, size), sums[:-1].T.reshape(5, 2, size), infinite

    def _edges_on(self, dtype: Any, device: Any) -> tuple[Tensor, Tensor]:
        """Return the first value of each bin in a type of floats, and the midpoints, as float64 on a device."""
        key = dtype, str(device)
        if key not in self._edges:
            starts = self.bins.starts_as(DTYPES[dtype]).astype(np.float64)
            self._edges[key] = tuple(torch.tensor(each, device=device) for each in (starts, self.bins.midpoints))
        return self._edges[key]

    def _refuse(self, preds: Tensor, target: Tensor, kept: Tensor, two_bytes: bool) -> None:
        """Raise the error of `evaluate` for invalid rows, in the names of this metric."""
        rows = kept.cpu().numpy()
        y = target.float() if target.dtype == torch.bfloat16 else target
        p, y = preds.cpu().numpy()[rows], y.cpu().numpy()[rows]
        if two_bytes and np.abs(p).max() <= np.finfo(np.float16).max:
            p = p.astype(np.float16)  # for its tolerance of the sums of rows
        try:
            columns = read_rows(y, p, target=TASKS[self.task], logits=self.logits)
            if isinstance(columns, TopLabels):
                replace(columns.rows, whole=False).checked()
            columns.checked()
        except InvalidRows as problem:
            finding = problem.finding
            first = None if finding.first is None else (int(np.flatnonzero(rows)[finding.first[0]]), *finding.first[1:])
            words: dict[str, Any] = {name: _renamed(getattr(finding, name)) for name in ("argument", "rule", "hint")}
            raise InvalidRows(replace(finding, first=first, **words)) from None
        except (ValueError, TypeError) as problem:
            raise type(problem)(_renamed(str(problem))) from None
        raise ArithmeticError("rows that pass the checks were refused; this is a bug, please report it.")

    def _counts(self) -> BinnedCounts:
        """Return the counts in the present state."""
        self._require_settings(self.settings)
        cells, sums, marks = (each.cpu().numpy() for each in (self.cells, self.sums, self.marks))
        n_rows = int(cells.sum())
        if marks[2]:
            words: dict[str, Any] = {"called": "`preds` and `target`", "rule": "must be valid", "unit": "rows"}
            words["hint"] = "With `validate_args=True`, `update` names the first of them."
            raise InvalidRows(Finding(argument="preds", count=int(marks[2]), size=n_rows, **words))
        if self._logits_of_classes and n_rows and marks[4] == n_rows:
            raise ValueError("`preds` must hold logits; its rows lie in [0, 1] and sum to 1. Drop `logits=True`.")
        deviation, deviation_sq, loss_sq, log, log_sq = sums
        weight, weight_sq = unit_weights(cells)
        infinite = np.zeros_like(cells)
        infinite[0, -1], infinite[1, 0] = marks[:2]
        squared = LossSums(total_loss(self.bins.midpoints, weight, deviation, deviation_sq), loss_sq)
        sums_of_rows = cells, weight, deviation, deviation_sq.sum(axis=0), weight_sq
        losses = squared, LossSums(log, log_sq, infinite)
        reading = Reading(not_above_half=int(marks[3]), like_probabilities=int(marks[4]))
        return BinnedCounts(self.bins, *sums_of_rows, TASKS[self.task], *losses, reading=reading)


def _equal(settings: Tensor) -> Tensor:
    """Return the settings of all processes if they are equal, and otherwise a number that is none."""
    return torch.where((settings == settings[0]).all(), settings[0], -1)


def _in_unit_interval(values: Tensor) -> Tensor:
    return (values >= -_rules.OVERSHOOT) & (values <= 1 + _rules.OVERSHOOT)


def _renamed(text: str) -> str:
    """Return a message in the names of the arguments of `update` and of the metric."""
    if "`classes=(" in text:
        text = EVENT
    for theirs, ours in ((r", or `classes=[^`]*`", ""), ("y_prob", "preds"), ("y_true", "target")):
        text = re.sub(theirs, ours, text)
    return re.sub(r"rows to be left out\?.*", "rows to be left out? Pass it as `ignore_index`.", text)
