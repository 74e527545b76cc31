"""All results with pairs: tables, sentences, documents, pages, exports and pictures subtract in one order."""

import json
import re
from functools import cache

import numpy as np
import pytest
from matplotlib.figure import Figure

import bayescal as bc
from bayescal.datasets.simulate import simulate
from bayescal.report.comparison import comparison_shapes, difference_rows

WORSE_FIRST = ("timid", "honest", "bent", "flat", "high", "low")
#: Names and number of a sentence.
SUBTRACTED = r" of ((?:(?! of ).)+) minus that of (.+?): (-?[\d.]+)|(now) minus (baseline) (-?[\d.]+)"
ESTIMANDS = ("ece", "auc", "signed_error")


def columns(p, n):
    noisy = np.clip(p + 0.4 * np.sin(40 * p), 0, 1)
    every = (0.25 + noisy / 2, p, np.clip(p + 0.2 * np.sin(12 * p), 0, 1), 0.4 + p / 5, np.clip(p + 0.1, 0, 1), p**3)
    return dict(list(zip(WORSE_FIRST, every, strict=True))[:n])


def rows(n, seed=1, size=1500):
    made = simulate(size, population="flat", rng=seed)
    return made.outcome, columns(made.confidence, n)


def classifiers(n):
    return bc.compare(*rows(n), draws=400, rng=1)


def groups():
    y, p = rows(1)
    return bc.evaluate(y, p["timid"], by=np.arange(len(y)) % 2, draws=400, rng=1).compare()


def survival():
    made = np.random.default_rng(1)
    risk = made.beta(1.2, 2.4, 800)
    died, lost = (np.log(made.random(800)) / np.log1p(-risk)) ** 0.8, made.exponential(1.2, 800)
    time = np.minimum(died, lost)
    return bc.compare_survival(
        time, died <= lost, {"timid": 0.3 + risk / 4, "own": risk}, horizon=0.6, draws=400, rng=1
    )


def change():
    monitor = bc.monitoring.CalibrationMonitor(window=1, target="event")
    for window, strength in enumerate((2.0, 1.0)):
        made = simulate(1500, population="top", curve="temperature", strength=strength, rng=window)
        monitor.add(made.outcome, made.confidence, time=window)
    return monitor.change(draws=400, rng=1)


COMPARISONS = {
    "two": lambda: classifiers(2),
    "three": lambda: classifiers(3),
    "six": lambda: classifiers(6),
    "groups": groups,
    "survival": survival,
    "change": change,
}
EACH = [(kind, estimand) for kind in COMPARISONS for estimand in ESTIMANDS]
made_once = cache(lambda kind: COMPARISONS[kind]())


@pytest.fixture(scope="module", params=EACH, ids="-".join)
def case(request):
    kind, estimand = request.param
    return made_once(kind), estimand


def first_difference(summary):
    return next(name for name in summary.index if name.startswith("difference"))


def compared(result, first, second, estimand):
    """Draws of first - second, from the joint draws: of absolute values for the signed error."""
    values = result.draws(estimand).values
    values = np.abs(values) if estimand == "signed_error" else values
    return values[:, result.labels.index(first)] - values[:, result.labels.index(second)]


def test_table_frame_and_document_hold_the_difference_of_the_names_in_their_rows(case):
    result, estimand = case
    table = result.table(estimand=estimand)
    for row in table:
        assert row["mean"] == pytest.approx(compared(result, row["first"], row["second"], estimand).mean(), abs=1e-12)
        if estimand != "signed_error":
            assert row["mean"] == result.difference(row["first"], row["second"], estimand).mean()
        decision = result.decide(row["first"], row["second"], estimand=estimand)
        assert [row[key] for key in ("p_left", "p_right")] == [decision["p_left"], decision["p_right"]]
    frame = result.to_frame(estimand=estimand)
    assert list(frame.index) == [(row["first"], row["second"]) for row in table]
    assert list(frame["mean"]) == [row["mean"] for row in table]
    if len(result) == 2:
        assert (table[0]["first"], table[0]["second"]) == result.labels
        if estimand != "signed_error":
            assert table[0]["mean"] == result.difference(estimand=estimand).mean()
    else:
        ranks = result.expected_ranks(estimand)
        assert all(ranks[row["first"]] <= ranks[row["second"]] for row in table)
    summary = result.summary(estimand=estimand)
    listed_there = [name for name in summary.index if name.startswith("difference[")]
    assert listed_there == [f"difference[{row['first']} - {row['second']}]" for row in table]


@pytest.mark.slow
def test_print_latex_page_and_sentence_name_the_pairs_of_the_table(case):
    result, estimand = case
    row = result.table(estimand=estimand)[0]
    pair = f"{row['first']} - {row['second']}"
    cells = next(cells for cells in result.sheet(estimand=estimand).rows if " - " in cells[0])
    assert cells[0] == pair or cells[0] == "size now - size baseline"
    assert any(float(cell) == pytest.approx(row["mean"], abs=5e-4) for cell in cells[1:3] if cell)
    sentence = result.sentence(estimand=estimand)
    subtracted = re.search(
        r" of ((?:(?! of ).)+) minus that of (.+?): (-?[\d.]+)|(now) minus (baseline) (-?[\d.]+)", sentence
    )
    first, second, stated = [found for found in subtracted.groups() if found is not None]
    assert (first, second) == (row["first"], row["second"])
    assert float(stated) == pytest.approx(row["mean"], abs=6e-4)
    assert cells[0] in result.to_latex(estimand=estimand)
    if not isinstance(result, bc.Comparison):
        return
    document = json.loads(result.to_json(estimand=estimand))["differences"][0]
    assert (document["first"], document["second"], document["mean"]) == (row["first"], row["second"], row["mean"])
    assert estimand != "ece" or pair in result.to_html()


def test_the_picture_subtracts_as_the_table_and_says_so(case):
    result, estimand = case
    shapes = comparison_shapes(result, estimand=estimand)
    in_table = {(row["first"], row["second"]): row for row in result.table(estimand=estimand)}
    ax = bc.plot_comparison(result, estimand=estimand)
    panel = ax.child_axes[0]
    label = panel.get_xlabel().split("\n")[0]
    ends = [text.get_text().strip("\N{LEFTWARDS ARROW}\N{RIGHTWARDS ARROW} ").split("\n")[0] for text in panel.texts]
    left, right = ends[0], ends[-1].removesuffix(" \N{RIGHTWARDS ARROW}")
    for (first, second), mean, low, decided in zip(
        shapes.pairs, shapes.differences.mean, shapes.differences.low, shapes.decided, strict=True
    ):
        row = in_table[first, second]
        assert mean == pytest.approx(row["mean"], abs=1e-12)
        assert low == pytest.approx(row["low"], abs=1e-12)
        assert decided.tolist() == [row["p_left"], row["p_rope"], row["p_right"]]
        if len(result) == 2:
            assert label.endswith(f"of {first} minus that of {second}")
            assert shapes.density.mean == row["mean"]
            sides = (f"{first} better", f"{second} better")
        else:
            assert label.endswith(f"of {first} minus that of the row")
            sides = (f"{first} better", f"better than {first}")
        assert (left, right) == (sides if estimand != "auc" else sides[::-1])
        if abs(mean) > 0.05:  # where almost all draws lie, the side names the classifier with the better values
            assert (decided[0] > decided[2]) == ((left if mean < 0 else right) == sides[0])


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("estimand", ESTIMANDS)
def test_over_data_sets(n, estimand):
    result = bc.compare_over_datasets({f"set {i}": rows(n, i, 400) for i in range(3)}, draws=300, rng=1)
    table = result.table(estimand=estimand)
    for row in table:
        assert row["mean"] == result.difference(row["first"], row["second"], estimand).mean()
    pair = (table[0]["first"], table[0]["second"])
    assert n > 2 or pair == result.labels
    assert next(iter(result.to_frame(estimand=estimand).index)) == pair
    assert result.sheet(estimand=estimand).rows[0][0] == " - ".join(pair)
    assert f"of {pair[0]} minus that of {pair[1]}: " in result.sentence(estimand=estimand)
    each = result.by_dataset(estimand=estimand).xs(pair, level=("first", "second"))
    assert list(each.index) == list(result.datasets)
    drawn = difference_rows(result, *pair, estimand=estimand)
    np.testing.assert_allclose(drawn.mean[:3], each["mean"])
    assert drawn.mean[3] == pytest.approx(table[0]["mean"])
    ax = bc.plot_over_datasets(result, Figure().subplots(), first=pair[0], second=pair[1], estimand=estimand)
    label = " ".join(ax.get_xlabel().split())
    assert f": {pair[0]} - {pair[1]} " in label
    better, worse = pair[::-1] if estimand == "auc" else pair
    assert f"{better} is better left of 0, {worse} right of it" in label
    assert estimand != "ece" or f"{pair[0]} - {pair[1]}" in result.to_html()
    assert first_difference(result.summary(estimand=estimand)) == f"difference[{pair[0]} - {pair[1]}]"


@pytest.mark.parametrize("n", [2, 3])
def test_scores_of_several_classes(n):
    wine = bc.datasets.load_wine()
    names = sorted(wine.y_prob, key=lambda name: -bc.multiclass_brier_score(wine.y_true, wine.y_prob[name]).mean)[:n]
    result = bc.compare_scores(wine.y_true, {name: wine.y_prob[name] for name in names}, draws=400, rng=1)
    row = result.table()[0]
    pair = (row["first"], row["second"])
    assert pair == (tuple(names) if n == 2 else tuple(sorted(names, key=result.expected_ranks().__getitem__)[:2]))
    assert row["mean"] == result.difference(*pair).mean()
    assert f"of {pair[0]} minus that of {pair[1]}: " in result.sentence()
    assert result.sheet().rows[0][0] == " - ".join(pair)
    assert first_difference(result.summary()) == f"difference[{pair[0]} - {pair[1]}]"
    assert " - ".join(pair) in result.to_html()


def test_classes_and_groups():
    wine = bc.datasets.load_wine()
    classes = bc.evaluate(wine.y_true, wine.y_prob["naive_bayes"], target="classwise", draws=400, rng=1)
    y, p = rows(1)
    grouped = bc.evaluate(y, p["timid"], by=np.arange(len(y)) % 3, draws=400, rng=1)
    for result in (classes, grouped):
        ranks = result.expected_ranks()
        for row in result.pairs_table():
            assert row["mean"] == result.difference(row["first"], row["second"]).mean()
            assert ranks[row["first"]] <= ranks[row["second"]]
