"""How a result presents itself: as text, HTML, table, data tree and file."""

import json
import pickle
import re
from dataclasses import FrozenInstanceError, replace
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

import bayescal as bc
from bayescal.estimands.registry import registered

QUANTITIES = ["ece", "l2_error", "e90_bins", "signed_error", "overconfidence", "underconfidence"]
ODD_NAMES = ["<b>bold</b>", "a & b", "[red] [/x]"]


@pytest.fixture(scope="module")
def ev():
    rng = np.random.default_rng(1)
    p = rng.random(1000) * 0.8  # the last of five bins stays empty
    return bc.evaluate(rng.random(1000) < p**1.5, p, bins=5, rng=1, model="dirichlet")


@pytest.fixture(scope="module")
def classwise():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), 300)
    label = np.array(ODD_NAMES)[[rng.choice(3, p=row) for row in p]]
    return bc.evaluate(label, p, target="classwise", classes=ODD_NAMES, rng=1, draws=1000, model="dirichlet")


@pytest.fixture(scope="module")
def prior():
    return bc.evaluate_counts(bc.BinnedCounts.empty(5), rng=1, model="dirichlet")


@pytest.fixture(params=["ev", "classwise", "prior"])
def any_evaluation(request):
    return request.getfixturevalue(request.param)


# --- words


def test_question(ev):
    assert ev.question == "event ECE, 5 equal-width bins [a, b), N = 1000, dirichlet model (two-rows prior)"


def test_questions_name_what_was_chosen():
    y, p = [0, 1, 1, 0], [0.1, 0.6, 0.7, 0.9]
    counts = bc.BinnedCounts.from_arrays(y, p, bins=[0, 0.5, 1], weights=[3, 1, 1, 1])
    question = bc.evaluate_counts(counts, model="dirichlet", alpha="jeffreys", formula="original", rng=1).question
    assert question == (
        "confidence ECE, 2 bins [a, b) (custom edges), N = 4 (weighted, effective N = 3), "
        "dirichlet model (jeffreys prior, original formula)"
    )


def test_the_specification_is_the_line_of_the_design(ev):
    """`... N = 10000, shrinkage model: 0.031, 95 % interval [0.024, 0.039], null mean 0.006, P(ECE < 0.02) = 0.00`."""
    pattern = (
        r"event ECE, 5 equal-width bins \[a, b\), N = 1000, dirichlet model \(two-rows prior\): "
        r"(\d\.\d{3}), 95 % interval \[(\d\.\d{3}), (\d\.\d{3})\], null mean (\d\.\d{3}), "
        r"P\(ECE < 0\.02\) (=|<|>) (\d\.\d\d)"
    )
    said = re.fullmatch(pattern, ev.spec)
    assert said, ev.spec
    low, high = ev.ece.interval(0.95)
    numbers = [ev.ece.mean(), low, high, ev.null.mean()]
    assert [float(said[i]) for i in range(1, 5)] == [round(v, 3) for v in numbers]
    assert "\n" not in ev.spec


def test_small_probabilities_are_not_rounded_to_nothing():
    """P = 1 / 4000 is "< 0.01", not "= 0.00"; only what never happened is 0.00."""
    from bayescal._render import probability

    assert [probability(v) for v in (0.0, 1 / 4000, 0.25, 0.999, 1.0)] == [
        "= 0.00",
        "< 0.01",
        "= 0.25",
        "> 0.99",
        "= 1.00",
    ]


def test_the_sentence(ev):
    low, high = ev.ece.interval(0.9)
    assert ev.sentence(0.9) == (
        f"The Expected Calibration Error is {ev.ece.mean():.3f} (90 % credible interval {low:.3f} to {high:.3f}). "
        f"The plug-in estimate is {ev.plug_in:.3f}; "
        f"for a perfectly calibrated classifier it would be {ev.null.mean():.3f} on average."
    )


def test_print_shows_headline_table_null_line_and_remarks(any_evaluation):
    text = str(any_evaluation)
    flat = " ".join(text.split())
    headline = any_evaluation.sentence().partition(" The plug-in estimate is ")[0]
    question = any_evaluation.question
    assert flat.startswith(f"{headline} {question[0].upper()}{question[1:]}. mean sd")
    if "under the prior" not in headline:
        mean, (low, high) = any_evaluation.null.mean(), any_evaluation.null.interval(0.95)
        assert (
            f"The plug-in estimate is {any_evaluation.plug_in:.4f}; for a perfectly calibrated classifier it would be "
            f"{mean:.4f}, 95 % interval [{low:.4f}, {high:.4f}]."
        ) in flat
    assert any_evaluation.spec not in text
    assert all(" ".join(remark.split()) in flat for remark in any_evaluation.remarks)
    rows = any_evaluation.table()
    of_events = {"overconfidence": "stated too high", "underconfidence": "stated too low"}
    called = {"e90_bins": "E90 of bins"} | (of_events if any_evaluation.spec.startswith("event ECE") else {})
    for row in rows:
        assert called.get(row["quantity"], row["quantity"]) in flat
        assert f"{row['mean']:.4f}" in flat
    assert "nan" not in flat
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_details_are_what_printing_leaves_out(any_evaluation):
    details, sheet = any_evaluation.details(), any_evaluation.sheet()
    text = str(details)
    assert text.endswith(any_evaluation.spec)
    assert details.to_dict() == {"spec": any_evaluation.spec, "notes": list(sheet.notes)}
    for note in details.notes:
        assert " ".join(note.split()) in " ".join(text.split())
        assert " ".join(note.split()) not in " ".join(str(any_evaluation).split())
        assert note not in sheet.remarks
    assert details._repr_html_().count("<p>") == len(details.notes) + 1
    assert "<table" in any_evaluation._repr_html_()
    assert "<table" not in details._repr_html_()
    document = json.loads(any_evaluation.to_json())
    assert document["notes"] == list(details.notes)
    page = any_evaluation.to_html()
    assert all(note in unescape(page) for note in details.notes)


def test_details_of_the_default_model_have_other_estimates_and_sub_models(ev):
    made = bc.evaluate_counts(ev.counts, rng=1, draws=200)
    notes = made.details().notes
    assert [note.split(":")[0] for note in notes[:3]] == ["Dirichlet model", "Plug-in estimate", "Exact calibration"]
    assert f"{made.dirichlet_ece.mean():.4f}, 95 % interval" in notes[0]
    assert made.spec not in str(made)
    assert ev.details().notes == ()  # the Dirichlet model has no other estimates to compare with


def test_repr_is_one_line(any_evaluation):
    text = repr(any_evaluation)
    assert text.startswith(type(any_evaluation).__name__)
    assert any_evaluation.spec in text
    assert "\n" not in text


def test_many_classes_are_cut_in_print_but_not_in_the_table():
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(40), 50)
    ev = bc.evaluate(np.arange(50) % 40, p, target="classwise", rng=1, draws=20)
    assert "Not shown: 20 of 40 classes" in str(ev)
    assert len(ev.table()) == 42


# --- table


def test_table_is_data(ev):
    rows = ev.table(0.8)
    assert [row["quantity"] for row in rows] == QUANTITIES
    for row in rows:
        draws = getattr(ev, row["quantity"])
        assert (row["low"], row["high"]) == draws.interval(0.8)
        assert (row["mean"], row["sd"]) == (draws.mean(), draws.sd())
        assert all(type(row[key]) is float for key in ("mean", "sd", "low", "high", "plug_in", "null_mean"))
    assert rows[0]["plug_in"] == ev.plug_in
    assert rows[0]["null_mean"] == ev.null.mean()


def test_plug_in_of_any_estimand(ev):
    observed = bc.BinnedCounts.from_arrays([0, 1, 1, 0], [0.1, 0.6, 0.7, 0.9], bins=2)
    made = bc.evaluate_counts(observed, rng=1)
    assert made.plug_in_of(bc.e90_bins) == pytest.approx(0.1)  # |0 - 0.1|, against |2 / 3 - 2.2 / 3|
    assert made.plug_in_of(bc.signed_error) == pytest.approx((2 - 2.3) / 4)


def test_quantities_belong_to_the_same_draws(ev):
    np.testing.assert_allclose(ev.overconfidence.values + ev.underconfidence.values, ev.ece.values, rtol=1e-12)
    np.testing.assert_array_equal(ev.lp_error().values, ev.l2_error.values)
    np.testing.assert_allclose(ev.lp_error(1).values, ev.ece.values, rtol=1e-12)
    assert ev.ece is ev.ece


def test_the_prior_has_no_plug_in(prior):
    assert np.isnan(prior.plug_in)
    assert all(np.isnan(row["plug_in"]) and np.isnan(row["null_mean"]) for row in prior.table())
    assert "NaN" not in str(prior)


# --- HTML


class Tags(HTMLParser):
    """Fails on a tag that is closed out of order; keeps the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.seen = [], [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_html_is_well_formed_and_says_the_same(any_evaluation):
    tags = Tags()
    tags.feed(any_evaluation._repr_html_() + any_evaluation.details()._repr_html_())
    assert tags.open == []
    assert set(tags.seen) <= {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "code"}
    text = " ".join(tags.text)
    assert any_evaluation.sheet().headline in text
    assert any_evaluation.spec in text
    for row in any_evaluation.table():
        assert f"{row['mean']:.4f}" in text


def test_names_of_classes_are_escaped_and_not_taken_for_markup(classwise):
    assert "&lt;b&gt;bold&lt;/b&gt;" in classwise._repr_html_()
    assert "<b>" not in classwise._repr_html_()
    for name in ODD_NAMES:
        assert f"class {name}" in str(classwise)


# --- ArviZ


def test_summary_is_arvizs_table(ev):
    import arviz as az

    table = ev.summary()
    assert table.index.tolist() == QUANTITIES
    assert {"mean", "sd", "r_hat", "ess_bulk"} < set(table.columns)
    exact = ev.summary(round_to="none")
    for name in QUANTITIES:
        draws = getattr(ev, name)
        low, high = draws.interval(0.95)
        row = exact.loc[name]
        assert row["mean"] == pytest.approx(draws.mean(), rel=1e-12)
        assert row["sd"] == pytest.approx(draws.sd(), rel=1e-12)
        assert (row["eti95_lb"], row["eti95_ub"]) == pytest.approx((low, high), rel=1e-9)
    same = az.summary(ev.to_datatree(), var_names=QUANTITIES, ci_prob=0.95, ci_kind="eti", round_to="none")
    np.testing.assert_allclose(exact.to_numpy(float), same.to_numpy(float))


def test_summary_passes_options_on(ev):
    assert "eti50_lb" in ev.summary(prob=0.5).columns
    assert "hdi95_lb" in ev.summary(ci_kind="hdi").columns
    assert "r_hat" not in ev.summary(kind="stats").columns
    with pytest.raises(ValueError, match="Percent"):
        ev.summary(prob=95)


def test_summary_of_classes(classwise):
    expected = ["classwise_ece", "marginal_error", *(f"ece[{name}]" for name in ODD_NAMES)]
    assert classwise.summary().index.tolist() == expected


def test_independent_draws_look_independent(ev):
    table = ev.summary()
    assert (table["ess_bulk"].astype(float) > 3000).all()
    assert (table["r_hat"].astype(float) < 1.01).all()


@pytest.mark.parametrize(("draws", "chains"), [(4000, (4, 1000)), (4001, (1, 4001)), (2, (1, 2))])
def test_chains_exist_only_here(draws, chains):
    made = bc.evaluate([0, 1, 1], [0.2, 0.6, 0.7], draws=draws, rng=1)
    posterior = made.to_datatree()["posterior"]
    assert (posterior.sizes["chain"], posterior.sizes["draw"]) == chains
    np.testing.assert_array_equal(posterior["ece"].to_numpy().ravel(), made.ece.values)


def test_datatree_holds_everything(ev):
    tree = ev.to_datatree()
    assert set(tree.children) == {"posterior", "observed_data", "constant_data"}
    posterior = tree["posterior"]
    for name in QUANTITIES:
        assert posterior[name].dims == ("chain", "draw")
    for name in ("mass", "accuracy", "confidence", "gap"):
        assert posterior[name].dims == ("chain", "draw", "bin")
        np.testing.assert_array_equal(posterior[name].to_numpy().reshape(4000, 5), getattr(ev.bin_draws, name))
    assert set(posterior.coords) == {"chain", "draw", "bin"}
    for group in ("observed_data", "constant_data"):
        coords = tree[group].coords
        np.testing.assert_array_equal(coords["bin_low"], ev.counts.bins.edges[:-1])
        np.testing.assert_array_equal(coords["bin_high"], ev.counts.bins.edges[1:])
        np.testing.assert_array_equal(coords["n"], ev.counts.n)
        np.testing.assert_array_equal(coords["mean_confidence"], ev.counts.mean_confidence)
    np.testing.assert_array_equal(tree["observed_data"]["n_rows"], ev.counts.n)
    np.testing.assert_array_equal(tree["observed_data"]["n_positive"], ev.counts.k)
    assert tree["observed_data"]["n_rows"].dtype == np.int64
    constant = tree["constant_data"]
    np.testing.assert_array_equal(constant["observed_accuracy_of_bin"], ev.counts.accuracy)
    np.testing.assert_array_equal(constant["bin_low_edge"], ev.counts.bins.edges[:-1])
    assert tree.attrs["spec"] == ev.spec
    assert tree.attrs["plug_in_ece"] == ev.plug_in


def test_datatree_of_classes(classwise):
    tree = classwise.to_datatree()
    assert tree["posterior"]["ece"].dims == ("chain", "draw", "class")
    assert tree["posterior"]["class"].to_numpy().tolist() == ODD_NAMES
    drawn = tree["posterior"]["ece"].sel({"class": "a & b"}).to_numpy().ravel()
    np.testing.assert_array_equal(np.sort(drawn), np.sort(classwise["a & b"].ece.values))
    np.testing.assert_array_equal(tree["posterior"]["classwise_ece"].to_numpy().ravel(), classwise.ece.values)
    np.testing.assert_array_equal(tree["observed_data"]["n_positive"], [c.k.sum() for c in classwise.counts])
    assert float(tree["constant_data"]["plug_in_ece"].mean()) == pytest.approx(classwise.plug_in)
    assert float(tree["constant_data"]["frequency"].sum()) == pytest.approx(1)


@pytest.mark.parametrize("which", ["ev", "prior", "classwise"])
def test_netcdf_keeps_all_of_it(which, request, tmp_path):
    import arviz as az
    import xarray as xr

    tree = request.getfixturevalue(which).to_datatree()
    path = tmp_path / "evaluation.nc"
    tree.to_netcdf(path)
    loaded = az.from_netcdf(path)
    assert set(loaded.children) == set(tree.children)
    for group in tree.children:
        before, after = tree[group].to_dataset(), loaded[group].to_dataset()
        xr.testing.assert_equal(before, after)  # values, NaN for NaN, and coordinates
        for name in before.variables:
            if before[name].dtype.kind != "U":  # names of classes come back as strings of another width
                assert before[name].dtype == after[name].dtype, name
            assert before[name].dims == after[name].dims, name
    assert dict(loaded.attrs).keys() == dict(tree.attrs).keys()
    for key, value in tree.attrs.items():
        assert loaded.attrs[key] == value or (np.isnan(loaded.attrs[key]) and np.isnan(value)), key


def test_arviz_can_use_it(ev):
    """What an ArviZ user does first: an interval of a quantity and of each bin."""
    import arviz as az

    tree = ev.to_datatree()
    ends = az.hdi(tree["posterior"]["ece"], prob=0.9)
    assert ends.to_numpy() == pytest.approx(ev.ece.interval(0.9, kind="hdi"))
    assert az.hdi(tree["posterior"]["accuracy"], prob=0.9).sizes["bin"] == 5


# --- directions of an error


def test_chosen_quantities_have_different_names():
    ev = bc.evaluate([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2, rng=1)
    with pytest.raises(ValueError, match="`estimands` must have different names; '<lambda>' is given twice"):
        ev.summary(estimands=[lambda bins: bins.mass[:, 0], lambda bins: bins.mass[:, 1]])


def test_an_estimand_that_the_counts_lack_is_no_attribute():
    """Rows of one outcome have no AUC: `hasattr` is False, and the error has the reason."""
    ev = bc.evaluate([1, 1, 1], [0.2, 0.4, 0.6], draws=50, rng=1)
    assert not hasattr(ev, "auc")
    assert hasattr(ev, "ece")
    assert getattr(ev, "auc", None) is None
    for error in (AttributeError, ValueError):
        with pytest.raises(error, match="the AUC needs rows of positive weight with outcome 0 and with outcome 1"):
            _ = ev.auc
        with pytest.raises(error, match="these counts have none with outcome 0"):
            ev.draws("auc")
    # a class without rows names itself
    classes = bc.evaluate([0, 0, 1], np.eye(3)[[0, 0, 1]] * 0.8 + 0.2 / 3, target="classwise", draws=50, rng=1)
    assert not hasattr(classes[2], "auc")
    with pytest.raises(AttributeError, match=r"class 2: the AUC needs .* none with outcome 1\.$"):
        _ = classes[2].auc


def test_a_class_is_evaluated_as_an_event_if_the_event_has_the_quantity():
    rng = np.random.default_rng(1)
    y, p, cluster = np.arange(60) % 3, rng.dirichlet([2, 2, 2], 60), np.arange(60) // 2
    options = {"cluster": cluster, "draws": 50, "rng": 1}
    of_class, event = bc.evaluate(y, p, target="classwise", **options)[2], bc.evaluate(y == 2, p[:, 2], **options)
    for name, helps in {"auc": True, "log_score": True, "largest_regret": False, "accuracy": False}.items():
        assert hasattr(event, name) == helps
        with pytest.raises(AttributeError, match="class 2: ") as caught:
            getattr(of_class, name)
        assert ("evaluate this class as an event" in str(caught.value)) == helps


def test_without_rows_there_is_no_risk_of_kept_predictions():
    empty = bc.evaluate_counts(bc.BinnedCounts.empty(10), draws=50, rng=1)
    assert not hasattr(empty, "augrc")
    with pytest.raises(ValueError, match="a selective risk needs rows; these counts have none"):
        empty.draws("augrc")


def test_an_estimand_that_raises_for_another_reason_is_not_hidden(monkeypatch):
    """Only what the counts lack makes an attribute absent."""
    ev = bc.evaluate([0, 1, 1], [0.2, 0.4, 0.6], draws=50, rng=1)

    def fails(*_, **__):
        raise ValueError("out of order")

    monkeypatch.setattr(type(registered()["ece"]), "draw", fails)
    with pytest.raises(ValueError, match="out of order") as caught:
        hasattr(ev, "ece")
    assert not isinstance(caught.value, AttributeError)


def test_the_null_distribution_is_drawn_when_it_is_read():
    """An evaluation keeps a function that is called once, also after pickling; a value is kept as it is."""
    evaluation = bc.evaluate([0, 1, 1, 0, 1], [0.2, 0.7, 0.8, 0.9, 0.4], bins=2, draws=100, rng=1)
    assert callable(vars(evaluation)["null_bin_draws"])
    again = pickle.loads(pickle.dumps(evaluation))
    drawn = evaluation.null_bin_draws
    assert evaluation.null_bin_draws is drawn
    np.testing.assert_array_equal(again.null_bin_draws.accuracy, drawn.accuracy)
    assert replace(evaluation, label="b").null_bin_draws is drawn
    assert not hasattr(bc.Evaluation, "null_bin_draws")
    with pytest.raises(FrozenInstanceError):
        evaluation.null_bin_draws = None
