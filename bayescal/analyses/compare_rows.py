"""Rows of several classifiers -> joint counts -> one posterior per classifier, with joint draws -> Comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from bayescal import _checks
from bayescal._arrays import Classes
from bayescal._invalid import errors_of
from bayescal.analyses.one import count_rows, evaluate_one
from bayescal.data.frames import by_column, same_rows
from bayescal.data.groups import Clusters, Groups, in_words
from bayescal.data.predictions import Predictions
from bayescal.results.comparison import Comparison
from bayescal.results.joint import checked_rope
from bayescal.stats.binned import BinnedCounts
from bayescal.stats.bins import make_bins
from bayescal.stats.paired import PairedCounts

#: Arguments of `compare` that say how columns are read.
COLUMN_OPTIONS = ("target", "weights", "cluster", "classes", "logits")


@dataclass(frozen=True, eq=False)
class ClassifierRows:
    """The same rows of several classifiers, which have been read and checked."""

    rows: dict[str, Predictions]
    clusters: Clusters | None  # of each row

    @classmethod
    def read(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        target: str | None = None,
        weights: Any = None,
        cluster: Any = None,
        classes: Classes = None,
        logits: bool = False,
        by: Any = None,
    ) -> "ClassifierRows":
        """Read labels and the probabilities of each classifier, as `compare` does; of `by`, only check the index."""
        y_prob = by_column(y_prob) or y_prob
        names = several_named("y_prob", y_prob)
        if target == "classwise":
            raise ValueError(
                "`target` must not be 'classwise', which is one problem per class; compare with `target='top-label'`, "
                "or one class at a time as an event."
            )
        labels = {f"y_true[{n!r}]": y for n, y in y_true.items()} if isinstance(y_true, Mapping) else {"y_true": y_true}
        columns = {**labels, **{f"y_prob[{n!r}]": p for n, p in y_prob.items()}, "weights": weights}
        more = {name: values for name, values in (("cluster", cluster), ("by", by)) if values is not None}
        same_rows(columns | more)
        rows = _predictions(names, y_true, y_prob, target, {"classes": classes, "logits": logits, "weights": weights})
        clusters = None if cluster is None else Clusters.from_column(cluster, len(rows[0]))
        return cls(dict(zip(names, rows, strict=True)), clusters)

    def __len__(self) -> int:
        return len(next(iter(self.rows.values())))

    def edges(self, bins: Any, binning: str) -> list[Any]:
        """Return the bins of each classifier, chosen from all rows."""
        return [make_bins(bins, binning=binning, confidence=p.confidence, weights=p.weight) for p in self.rows.values()]

    def by_name(self, groups: Groups) -> dict[str, "ClassifierRows"]:
        """Return the rows of each group, by its name in words; there must be several, with names that differ."""
        names = [in_words(label, groups.name) for label in groups.labels]
        if len(names) < 2:
            raise ValueError(
                f"`by` must define at least two data sets; it defines {len(names)}: {tuple(names)}. Leave it out to "
                "compare the classifiers on all rows."
            )
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"`by` must have labels that print differently; several groups are called {twice!r}.")
        parts = zip(*(groups.split(rows) for rows in self.rows.values()), strict=True)
        named = {}
        for name, part, numbers in zip(names, parts, groups.rows(), strict=True):
            clusters = None if self.clusters is None else self.clusters.take(numbers)
            named[name] = ClassifierRows(dict(zip(self.rows, part, strict=True)), clusters)
        return named

    def compare(
        self, *, bins: Sequence[Any], rope: float, rng: Any, binning: str = "equal-width", **arguments: Any
    ) -> Comparison:
        """Compare the classifiers, given the bins of each, and how a number of bins becomes edges."""
        rows = list(self.rows.values())
        each = zip(rows, bins, strict=True)
        how: dict[str, Any] = {"ranked": True, "clusters": self.clusters}
        counts = [count_rows(p, of_this, binning, **how) for p, of_this in each]
        pairs = {
            (i, j): PairedCounts.from_predictions(rows[i], rows[j], counts[i], counts[j], clusters=self.clusters)
            for i, j in combinations(range(len(rows)), 2)
        }
        return compared(dict(zip(self.rows, counts, strict=True)), pairs, rope, rng=rng, **arguments)


def compare_rows(y_true: Any, y_prob: Any, /, *, rope: float = 0.01, bins: Any = 15, **options: Any) -> Comparison:
    """Compare classifiers on the same rows; see `bayescal.compare`."""
    width = checked_rope(rope)
    read = {name: options.pop(name) for name in COLUMN_OPTIONS if name in options}
    rows = ClassifierRows.read(y_true, y_prob, **read)
    return rows.compare(bins=[bins] * len(rows.rows), rope=width, **options)


def compared(
    counts: dict[str, BinnedCounts], pairs: dict[tuple[int, int], PairedCounts], rope: float, rng: Any, **options: Any
) -> Comparison:
    """Evaluate each classifier, and tie the draws by the joint counts of each pair."""
    common, order = _checks.seeds(rng, 2)
    return Comparison({n: evaluate_one(c, rng=common, **options) for n, c in counts.items()}, pairs, rope, order)


def several_named(
    name: str, value: Any, kind: str = "classifiers", like: str = "{'A': ..., 'B': ...}", one: str = "", other: str = ""
) -> list[str]:
    """Return the names of a mapping, at least two strings; `one` and `other` are remedies for one, for other keys."""
    if not isinstance(value, Mapping):
        raise TypeError(f"`{name}` must be a mapping from names of {kind}, like {like}; not {type(value).__name__}.")
    if len(value) < 2:
        raise ValueError(f"`{name}` must hold at least two {kind}; it holds {len(value)}.{one}")
    for key in value:
        if not isinstance(key, str) or not key:
            renamed = f"`{{str(name): each for name, each in {name}.items()}}`{other}"
            raise TypeError(f"`{name}` must have names that are strings; {key!r} is not. Pass {renamed}.")
    return list(value)


def _predictions(
    names: list[str], y_true: Any, y_prob: Mapping[str, Any], target: str | None, arguments: dict[str, Any]
) -> list[Predictions]:
    """Read the rows of each classifier; errors begin with its name."""
    rows = []
    for name in names:
        labels = y_true
        if isinstance(y_true, Mapping):
            if target != "confidence":
                raise TypeError(
                    "`y_true` may be a mapping, with one column per classifier, for `target='confidence'` only."
                )
            if name not in y_true:
                raise ValueError(f"`y_true` has no {name!r}, which `y_prob` has.")
            labels = y_true[name]
        with errors_of(f"classifier {name!r}"):
            rows.append(Predictions.from_labels(labels, y_prob[name], target=target, **arguments).scale_free())
    sizes = {name: len(r) for name, r in zip(names, rows, strict=True)}
    if len(set(sizes.values())) > 1:
        raise ValueError(
            f"`y_prob` must be on the same rows; the numbers of rows are {sizes}. For different test sets, use "
            "`compare_independent`, which takes evaluations."
        )
    if len({r.target for r in rows}) > 1:
        targets = {name: r.target for name, r in zip(names, rows, strict=True)}
        raise ValueError(f"`y_prob` must have one target; the targets are {targets}. Give `target`.")
    return rows
