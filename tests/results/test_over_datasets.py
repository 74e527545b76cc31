"""The comparison over data sets as it prints and exports itself."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import bayescal as bc
from bayescal.results.over_datasets import ComparisonOverDatasets


def test_sentence_table_and_exports(over_datasets, tmp_path):
    text = str(over_datasets)
    assert text.startswith("On average over these 5 data sets, A is better calibrated than")
    assert "In a population of data sets like these, the mean difference is" in " ".join(text.split())
    assert "mean rank" in text
    assert list(over_datasets.to_frame().index.names) == ["first", "second"]
    assert len(over_datasets.by_dataset()) == 15
    assert {"ece[A]", "rank[B]", "difference[A - B]", "population_mean[A - C]", "spread[B - C]"} <= set(
        over_datasets.summary().index
    )
    tree = over_datasets.to_datatree()
    assert dict(tree["posterior"]["ece"].sizes) == {"chain": 4, "draw": 200, "dataset": 5, "classifier": 3}
    assert tree["observed_data"]["n_rows"].values.tolist() == [200, 300, 400, 500, 600]
    document = json.loads(over_datasets.to_json(estimand="brier_score"))
    assert document["estimand"]["name"] == "brier_score"
    assert [each["rows"] for each in document["datasets"]] == [200, 300, 400, 500, 600]
    page = over_datasets.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "Each data set" in page
    assert r"\begin{table}" in over_datasets.to_latex()
    copy = pickle.loads(pickle.dumps(over_datasets))
    np.testing.assert_array_equal(copy.draws("ece").values, over_datasets.draws("ece").values)


def test_few_data_sets_have_a_remark(comparisons, over_datasets):
    few = bc.compare_over_datasets(dict(list(comparisons.items())[:4]), rng=1)
    assert few.remarks[0].startswith("With 4 data sets, intervals of the population depend on the prior")
    assert not any("data sets, intervals" in remark for remark in over_datasets.remarks)
    many = ComparisonOverDatasets({f"set {i}": comparisons["set 0"] for i in range(20)}, 0.01, 0.05, 1)
    assert many.remarks[0].startswith("With 20 data sets, the interval of the mean is narrow")


def test_differences_by_data_set_are_a_frame(over_datasets):
    found = over_datasets.by_dataset(0.8)
    assert isinstance(found, pd.DataFrame)
    assert found.index.names == ["dataset", "first", "second"]
    assert list(found)[:4] == ["mean", "sd", "eti80_lb", "eti80_ub"]
    assert len(found) == 15
    for (name, first, second), row in found.iterrows():
        own = over_datasets.comparisons[name].difference(first, second)
        assert row["mean"] == pytest.approx(own.mean(), abs=1e-12)
        assert (row["eti80_lb"], row["eti80_ub"]) == pytest.approx(own.interval(0.8), abs=1e-12)
    assert "set 4" in str(found)
    document = json.loads(over_datasets.to_json())["by_dataset"]
    assert [each["mean"] for each in document] == list(found["mean"])
