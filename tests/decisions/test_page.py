"""Pages and documents of net benefits."""

import json

import numpy as np

import bayescal as bc

T = np.array([0.1, 0.2, 0.5])


def test_documents(tmp_path, pair, data):
    document = json.loads(pair.to_json())
    assert document["kind"] == "NetBenefit"
    assert len(document["table"]) == 6
    assert document["pseudo_rows"] == 3
    assert document["seeds"] == {"draws": str(pair.draws_seed)}
    assert [row["threshold"] for row in document["treat_all"]] == T.tolist()
    assert document["evpi"][1]["evpi"] == pair.evpi[1]
    page = pair.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert (
        "<script>alert"
        not in bc.decisions.net_benefit(data.y, {"<script>alert": data.p["new"]}, T, rng=1)._repr_html_()
    )
    assert r"\begin{table}" in pair.to_latex()


def test_documents_of_selective_prediction(tmp_path):
    rng = np.random.default_rng(1)
    c = rng.random(300)
    y_prob = {"<b>": c, "b": rng.random(300)}
    result = bc.decisions.selective(rng.random(300) < c, y_prob, target="confidence", draws=100, rng=1)
    document = json.loads(result.to_json())
    assert document["kind"] == "SelectivePrediction"
    assert len(document["table"]) == 200
    assert [row["mean"] for row in document["augrc"]] == [each.mean() for each in result.augrc.values()]
    assert [row["observed"] for row in document["augrc"]] == list(result.observed_augrc.values())
    page = result.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert "<b>" not in page
    assert "smaller is better" in page
