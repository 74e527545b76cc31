"""Options become keywords of functions of the library."""

import pytest

import bayescal
from bayescal import datasets
from bayescal.cli.keywords import defaults_of, keywords_of, parse_bins, parse_classes, parse_sub_models
from bayescal.cli.options import ModelOptions, QuestionOptions
from bayescal.evaluate import evaluate


@pytest.mark.slow
def test_options_reach_evaluate(tmp_path, report, read_json):
    digits = datasets.load_digits()
    arguments = ["--bins", "7", "--binning", "equal-mass", "--draws", "500", "--seed", "3", "--target", "classwise"]
    out = tmp_path / "x.json"
    report(datasets.path("digits"), "--label", "label", "--prob-prefix", "random_forest_", *arguments, "--json", out)
    found = bayescal.evaluate(
        digits.y_true,
        digits.y_prob["random_forest"],
        bins=7,
        binning="equal-mass",
        draws=500,
        rng=3,
        target="classwise",
    )
    written = read_json(out)
    assert written["table"] == found.to_dict()["table"]
    assert [c["label"] for c in written["classes"]] == list(range(10))
    assert [b["n"] for b in written["classes"][4]["bins"]] == found[4].counts.n.tolist()
    asked = written["parameters"]
    assert (asked["bins"], asked["binning"], asked["draws"], asked["seed"]) == (7, "equal-mass", 500, 3)


def test_chosen_sub_models_reach_evaluate(tmp_path, report, read_json):
    """With one problem and with one problem per class."""
    digits = datasets.load_digits()
    names, out = ["logistic_dense", "noise"], tmp_path / "x.json"
    arguments = ["--label", "label", "--prob-prefix", "random_forest_", "--draws", "200", "--json", out]
    for target in ("top-label", "classwise"):
        report(datasets.path("digits"), *arguments, "--target", target, "--sub-models", ", ".join(names))
        known = {"target": target, "draws": 200, "rng": 1, "sub_models": names}
        found = bayescal.evaluate(digits.y_true, digits.y_prob["random_forest"], **known)
        written = read_json(out)
        assert written["table"] == found.to_dict()["table"]
        assert written["parameters"]["sub_models"] == names
        assert "prior with sub_models=['noise', 'logistic_dense']" in written["spec"]


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("logistic_dense", ["logistic_dense"]),  # one name, as it is printed
        (" independent ,label_noise", ["independent", "label_noise"]),
        ("shared", ["shared"]),
    ],
)
def test_names_of_sub_models_are_split_at_commas(typed, names):
    assert parse_sub_models(typed) == names


def test_example_of_defaults_of():
    assert defaults_of(evaluate)["bins"] == 15


def test_example_of_keywords_of():
    keywords = keywords_of(evaluate, QuestionOptions(bins="0,0.5,1"), ModelOptions(seed=7))
    assert (keywords["bins"], keywords["binning"], keywords["rng"]) == ([0.0, 0.5, 1.0], "equal-width", 7)


def test_example_of_parse_bins():
    assert (parse_bins("10"), parse_bins("0,0.5,1")) == (10, [0.0, 0.5, 1.0])


def test_example_of_parse_classes():
    assert parse_classes('"no, never",yes') == ["no, never", "yes"]


def test_example_of_parse_sub_models():
    assert parse_sub_models("shared, noise") == ["shared", "noise"]
