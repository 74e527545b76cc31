"""The study of sixteen populations: its cells, its parts on the same data, and how rows are scored and repeated."""

import importlib
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    """The study chooses compiled loops for its process; later tests of the process make their own choice."""
    monkeypatch.setenv("BAYESCAL_COMPILE", "always")


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "make"))
    return importlib.import_module("populations")


def test_cells(study):
    """Sixteen populations and two sets of groups, two sizes each, with the sizes of rare events and tiny errors."""
    every = study.places(quick=False)
    assert (len(every), len(set(every))) == (36, 36)
    sizes = {name: sorted(n for other, n in every if other == name) for name, _ in every}
    assert sizes["rare events, shift 0.35"] == [5000, 20_000]
    assert sizes["all 0.003 too high"] == [5000, 100_000]
    assert sizes["opposite sides, -20 % and +25 %"] == [750, 3000]
    assert sum(of == [500, 5000] for of in sizes.values()) == 13


def test_jobs_have_streams_of_their_own(study):
    places = study.places(quick=False)
    jobs = [job for at in places for job in study.jobs_of_cell(at, ["errors", "groups"], 100, 1000, study.SEED)]
    assert len(jobs) == len({job.stream for job in jobs}) == 4 * 36
    assert sum(job.sets for job in jobs) == 3600
    assert {job.parts for job in jobs} == {("errors", "groups"), ("groups",)}
    assert study.jobs_of_cell(("half of the groups at temperature 2", 600), ["errors"], 100, 1000, 1) == []


def test_parts_measure_the_same_data_sets(study):
    """A part that is measured alone has the same intervals as beside others, and keys with words."""
    job = study.Job("leaves, calibrated", 300, 2, 100, ("errors", "curve"), (1, 2))
    both, alone = study.of_job(job), study.of_job(study.Job("leaves, calibrated", 300, 2, 100, ("curve",), (1, 2)))
    assert both["curve"].keys() == alone["curve"].keys()
    for key, ends in alone["curve"].items():
        np.testing.assert_array_equal(both["curve"][key], ends)
        assert ends.shape == (2, 3)
    assert {key[0] for of in both.values() for key in of} <= set(study.QUANTITIES)


def test_a_second_model_whose_noise_is_even(study):
    """Mean and standard deviation of the noise on the rows that represent a population, and its Brier score.

    Noise is independent of the true probability, so that a calibrated model is better by the mean squared change.
    """
    truths = study.truths_of("leaves, calibrated")
    score, probability = truths.classifier.grid
    noise = study.logit(truths.other) - study.logit(score)
    assert (noise.mean(), noise.std()) == pytest.approx((0, 0.5), abs=1e-3)
    _, brier = truths.differences
    assert brier == pytest.approx(-((truths.other - probability) ** 2).mean())


def test_scores_of_a_cell(study):
    """Refused intervals do not count; groups count together and by kind, which follows from their true values."""
    refused = np.array([[0.1, 0.3, 0.2], [0.1, 0.3, 0.4], [np.nan, np.nan, 0.2]])
    rows = list(study.scored(("a", 5), {("loss_ratio", 0.3, study.OURS): [refused[:2], refused[2:]]}))
    assert [(row["coverage"], row["above"], row["repeats"], row["none"], row["at"]) for row in rows] == [
        (0.5, 0.5, 2, 1, 0.3)
    ]
    off, calibrated = np.array([[0.0, 0.1, 0.2]]), np.array([[0.0, 0.1, 0.0]])
    found = {("group_ece", g, study.OURS): [ends] for g, ends in enumerate((off, calibrated, calibrated, calibrated))}
    shares = {row["quantity"]: row["coverage"] for row in study.scored(("a", 5), found)}
    assert shares == {"group_ece": 0.75, "group_off": 0.0, "group_calibrated": 1.0}


def test_cells_below_their_limit_are_measured_again(study, monkeypatch):
    """The first share of the ECE is 0, and only its part and cell are measured again, on four times as many sets."""
    seen = []

    def of_job(job):
        seen.append(job)
        high = 1.0 if job.stream[0] == study.AGAIN else 0.1
        return {part: {("ece", 0.0, study.OURS): np.tile([0.0, high, 0.5], (job.sets, 1))} for part in job.parts}

    monkeypatch.setattr(study, "of_job", of_job)
    monkeypatch.setattr(study, "places", lambda quick: [("leaves, calibrated", 500)])
    options = importlib.import_module("argparse").Namespace(
        quick=False, only=["errors"], repeats=30, draws=10, workers=1
    )
    numbers = study.measure(options)
    assert [job.sets for job in seen] == [25, 5, 25, 25, 25, 25, 20]
    (row,) = study.rows_in(numbers)
    assert (row["coverage"], row["again"], row["share"], row["repeats"]) == (0.0, 1.0, 1.0, 30)
    assert "0.00" not in study.overall([row])
